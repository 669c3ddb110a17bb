"""Public knowledge of the spread: in the study, weight and interval, and refused where the reports refute it."""

import math

import numpy as np
import pytest

from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger

PAY = np.random.default_rng(5).normal(62_000, 28_000, 300).clip(0, 250_000)


def _study(sd: float | None) -> MeanStudy:
    return MeanStudy("salary", bounds=(0, 250_000), epsilon=1, sd_at_most=sd)


def test_it_belongs_to_the_study() -> None:
    study = _study(40_000)
    assert MeanStudy.from_json(study.to_json()) == study
    assert study.device_json() == _study(None).to_json()
    assert study.part("country", "DE").sd_at_most == 40_000
    assert study.variance_at_most == pytest.approx(0.16**2)
    assert math.isinf(_study(None).variance_at_most)


@pytest.mark.parametrize("sd", [0, 1e-170, -1, math.nan, math.inf, 125_001, "40000", True])
def test_impossible_spreads_are_refused(sd: float) -> None:
    with pytest.raises(ParameterError, match="sd_at_most"):
        _study(sd)


def test_it_narrows_the_interval_where_the_reports_say_little() -> None:
    def half(sd: float | None) -> float:
        study = _study(sd)
        reports = study.randomize(PAY[120:], random_state=1)
        return study.estimate(trusted=PAY[:120], local=reports, random_state=2).interval().half_width

    assert half(40_000) < 0.85 * half(None)
    assert half(30_000) < half(40_000)


def test_it_is_about_reading_the_answer_not_about_what_is_sent() -> None:
    """Reports, summaries and ledgers do not change with it, so a study goes on when the reports refute it."""
    reports = _study(None).randomize(PAY[120:])
    study = _study(40_000)
    assert study.digest == _study(None).digest
    assert study.estimate(trusted=_study(30_000).summarize_trusted(PAY[:120]), local=reports).n_local == 180
    ledger = Ledger(Privacy(epsilon=2))
    study.estimate(trusted=PAY[:120], local=reports, ledger=ledger)
    with pytest.raises(BudgetError):
        _study(50_000).estimate(trusted=PAY[:120], local=reports, ledger=ledger)


@pytest.mark.parametrize("sd", [0.12, 0.2, 0.4])
def test_it_never_widens_an_interval(sd: float) -> None:
    """Also not where the reports know better, and the limit is close to what they say."""
    values = np.random.default_rng(1).normal(0.4, 0.11, 22_000).clip(0, 1)
    plain, told = (MeanStudy("x", bounds=(0, 1), epsilon=1.5, sd_at_most=known) for known in (None, sd))
    reports = plain.randomize(values[2000:], random_state=1)
    without = plain.estimate(trusted=values[:2000], local=reports, weight=0.9, random_state=2).interval()
    limited = told.estimate(trusted=values[:2000], local=reports, weight=0.9, random_state=2).interval()
    assert limited.half_width <= without.half_width * (1 + 1e-9)


def test_reports_that_vary_more_refute_it_before_anything_is_spent() -> None:
    study = MeanStudy("x", bounds=(0, 1), epsilon=3, sd_at_most=0.1)
    spread = np.repeat([0.0, 1.0], 5000)
    ledger = Ledger(Privacy(epsilon=3))
    with pytest.raises(DataError, match="vary more than sd_at_most=0.1 allows"):
        study.estimate(trusted=spread[::10], local=study.randomize(spread), ledger=ledger)
    assert not ledger.events
    same = MeanStudy("x", bounds=(0, 1), epsilon=3, sd_at_most=0.5)
    assert same.estimate(trusted=spread[::10], local=same.randomize(spread), ledger=ledger).n_local == 10_000


@pytest.mark.parametrize("epsilon", [1.0, 8.0, 20.0])
@pytest.mark.parametrize("n", [30, 1000])
def test_what_no_values_can_violate_is_never_refuted(epsilon: float, n: int) -> None:
    study = MeanStudy("x", bounds=(0, 1), epsilon=epsilon, sd_at_most=0.5)
    rng = np.random.default_rng(7)
    for _ in range(20):
        reports = study.randomize(np.repeat([0.0, 1.0], n // 2), random_state=rng)
        assert study.estimate(trusted=[0.0, 1.0], local=reports, random_state=rng).n_local == n


def test_all_parts_are_checked_before_one_is_paid_for() -> None:
    study = MeanStudy("x", bounds=(0, 1), epsilon=3, sd_at_most=0.05)
    spread, ledger = np.repeat([0.0, 1.0], 2500), Ledger(Privacy(epsilon=3))
    parts = {}
    for key in ("DE", "FR"):
        part = study.part("country", key)
        reports = part.randomize(spread if key == "FR" else np.full(5000, 0.5))
        parts[key] = part.summarize_trusted(spread[::10]), part.summarize_local(reports)
    with pytest.raises(DataError, match="FR: The reports vary more"):
        study.estimate_parts("country", parts, ledger=ledger)
    assert not ledger.events
