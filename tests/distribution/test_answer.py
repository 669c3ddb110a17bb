from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybriddp.distribution import DistributionStudy
from hybriddp.distribution.answer import CountPair
from hybriddp.errors import BudgetError, DataError, ParameterError, ProtocolError
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger

STUDY = DistributionStudy("minutes", bounds=(0, 240), epsilon=1)
VALUES = np.random.default_rng(0).gamma(2.0, 20.0, 30_000)
REPORTS = STUDY.randomize(VALUES[500:], random_state=1)
MEDIANS: dict[str | int, float] = {"DE": 40.0, "FR": 100.0, 7: 160.0}


def _parts(**sizes: int) -> dict[str | int, CountPair]:
    result: dict[str | int, CountPair] = {}
    for key, median in MEDIANS.items():
        part = STUDY.part("country", key)
        codes = part.randomize(np.full(20_000, median), random_state=1)
        values = np.full(sizes.get(str(key), 400), median)
        result[key] = part.summarize_trusted(values), part.summarize_local(codes)
    return result


def test_values_and_summaries_give_the_same_answer() -> None:
    trusted, local = STUDY.summarize_trusted(VALUES[:500]), STUDY.summarize_local(REPORTS)
    given = [(VALUES[:500], REPORTS), (trusted, local), (VALUES[:500], REPORTS.codes)]
    estimates = [STUDY.estimate(trusted=t, local=r, random_state=5) for t, r in given]
    assert all(np.array_equal(one.fit.linear, estimates[0].fit.linear) for one in estimates)
    assert [one.tied for one in estimates] == [True, True, False]
    shards = sum(STUDY.summarize_local(REPORTS[i::3]) for i in range(3))
    again = STUDY.estimate(trusted=sum(STUDY.summarize_trusted(VALUES[i:500:3]) for i in range(3)), local=shards)
    assert again.n_trusted + again.n_local == len(VALUES)


def test_the_release_is_written_down_once_and_a_second_one_refused() -> None:
    ledger = Ledger(Privacy(epsilon=5))
    estimate = STUDY.estimate(trusted=VALUES[:500], local=STUDY.randomize(VALUES[500:]), ledger=ledger)
    assert estimate.privacy.counted
    assert not estimate.privacy.seeded
    (event,) = ledger.events
    assert (event.what, event.study, event.who, event.epsilon) == (
        "histogram of the trusted group",
        STUDY.digest,
        "everybody",
        "1",
    )
    with pytest.raises(BudgetError):
        STUDY.estimate(trusted=VALUES[:500], local=REPORTS, ledger=ledger)
    assert len(ledger.events) == 1


def test_seeded_reports_cost_the_ledger_nothing() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    estimate = STUDY.estimate(trusted=None, local=REPORTS, single_group=True, ledger=ledger)
    assert ledger.events == ()
    assert not estimate.privacy.released


def test_a_simulation_says_so_and_costs_nothing() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    seeded = STUDY.estimate(trusted=VALUES[:500], local=REPORTS, random_state=1, ledger=ledger)
    assert seeded.privacy.seeded
    assert ledger.events == ()
    of_reports = STUDY.estimate(trusted=VALUES[:500], local=REPORTS)  # the reports were drawn with a seed
    assert of_reports.privacy.seeded
    honest = STUDY.estimate(trusted=VALUES[:500], local=STUDY.randomize(VALUES[500:]))
    assert not honest.privacy.seeded


def test_without_a_seed_nothing_repeats() -> None:
    one, other = (STUDY.estimate(trusted=VALUES[:500], local=REPORTS) for _ in range(2))
    assert not np.array_equal(one.fit.linear, other.fit.linear)


def test_groups_may_differ_is_the_same_before_and_after() -> None:
    before = STUDY.estimate(trusted=VALUES[:500], local=REPORTS, groups_may_differ=True, random_state=5)
    after = STUDY.estimate(trusted=VALUES[:500], local=REPORTS, random_state=5)
    assert np.array_equal(before.fit.linear, after.allowing_groups_to_differ().fit.linear)
    assert before.rank_error > after.rank_error


# Parts of the users


def test_each_part_has_its_own_answer_and_every_user_pays_once() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    estimates = STUDY.estimate_parts("country", _parts(), ledger=ledger)
    assert list(estimates) == list(MEDIANS)
    for key, estimate in estimates.items():
        assert estimate.quantile(0.5).value == pytest.approx(MEDIANS[key], abs=2)
        assert estimate.privacy.counted
        assert f"minutes [country = {key}]" in estimate.explain()
        assert "Who has which country is public." in estimate.explain()
    assert ledger.spent("trusted").epsilon == 1
    with pytest.raises(BudgetError):
        STUDY.estimate(trusted=VALUES[:500], local=REPORTS, ledger=ledger)


def test_all_or_nothing_is_paid_for() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    with pytest.raises(DataError, match="1 of 3 parts cannot be estimated. FR: The trusted group has 1 user;"):
        STUDY.estimate_parts("country", _parts(FR=1), ledger=ledger)
    with pytest.raises(DataError, match="FR: The trusted group is empty"):
        STUDY.estimate_parts("country", _parts(FR=0), ledger=ledger)
    parts = _parts()
    parts["FR"] = (parts["DE"][0], parts["FR"][1])
    with pytest.raises(ProtocolError, match="belongs to study"):
        STUDY.estimate_parts("country", parts, ledger=ledger)
    wrongs: list[Any] = [[1.0, 2.0], (1, 2), (parts["DE"][1], parts["DE"][0])]
    for wrong in wrongs:
        with pytest.raises(DataError, match="7: summaries must hold a pair"):
            STUDY.estimate_parts("country", {**_parts(), 7: wrong}, ledger=ledger)
    with pytest.raises(ParameterError, match="^summaries must be"):
        STUDY.estimate_parts("country", {}, ledger=ledger)
    assert ledger.events == ()


def test_parts_with_a_seed_repeat() -> None:
    one, other = (STUDY.estimate_parts("country", _parts(), random_state=5) for _ in range(2))
    assert all(np.array_equal(one[key].fit.linear, other[key].fit.linear) for key in MEDIANS)
    assert not np.array_equal(one["DE"].fits.trusted, one["FR"].fits.trusted)


def test_one_group_alone_is_fine_where_it_is_asked_for() -> None:
    parts = {key: (None, local) for key, (_, local) in _parts().items()}
    ledger = Ledger(Privacy(epsilon=1))
    estimates = STUDY.estimate_parts("country", parts, single_group=True, ledger=ledger)
    assert ledger.events == ()
    assert all(estimate.divergence is None for estimate in estimates.values())


@pytest.mark.parametrize("ledger", ["people.ledger", Path("people.ledger"), 5, Privacy(epsilon=1)])
def test_a_path_is_no_ledger(ledger: Any) -> None:
    for ask in (
        lambda: STUDY.estimate(trusted=VALUES[:500], local=REPORTS, ledger=ledger),
        lambda: STUDY.estimate_parts("country", _parts(), ledger=ledger),
    ):
        with pytest.raises(ParameterError, match=r"^ledger must be None or a Ledger, .*Ledger\.open\(path\)\.$"):
            ask()
