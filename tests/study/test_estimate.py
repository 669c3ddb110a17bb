"""The pipeline from both groups to an answer, over all kinds of studies: check, charge, draw."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.release import release as door
from tests.study.kinds import ONE_OF_EACH, STUDIES, AnyStudy, extreme_values, values_for
from tests.study.test_groups import parts_of

every_kind = pytest.mark.parametrize("study", [STUDIES[kind] for kind in ONE_OF_EACH], ids=ONE_OF_EACH)
LABELS = dict(zip(ONE_OF_EACH, ("total", "counts", "histogram"), strict=True))


def _same(one: Any, other: Any) -> bool:
    """Whether two results have the same unrounded numbers and cost."""
    numbers = [found.fit.linear if hasattr(found, "fit") else found.unbiased for found in (one, other)]
    return np.array_equal(*numbers) and one.privacy == other.privacy


@every_kind
def test_values_and_summaries_give_the_same_answer(study: AnyStudy) -> None:
    values = values_for(study, 4000)
    trusted, reports = values[:400], study.randomize(values[400:], random_state=1)
    summaries = study.summarize_trusted(trusted), study.summarize_local(reports)
    shards: list[Any] = [sum(study.summarize_trusted(trusted[i::3]) for i in range(3))]
    shards.append(sum(study.summarize_local(reports[i::3]) for i in range(3)))
    direct = study.estimate(trusted=trusted, local=reports, random_state=5)
    for pair in (summaries, shards, (np.array(trusted), summaries[1])):
        assert _same(study.estimate(trusted=pair[0], local=pair[1], random_state=5), direct)
    untied = study.estimate(trusted=trusted, local=reports.codes, random_state=5)
    assert (direct.tied, untied.tied) == (True, False)
    assert (direct.n_trusted, direct.n_local) == (400, 3600)


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_a_release_is_charged_once_and_before_anything_is_drawn(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study, ledger = STUDIES[kind], Ledger(Privacy(epsilon=5))
    values = values_for(study, 60)
    reports = study.randomize(values)
    with monkeypatch.context() as patch:
        patch.setattr(door, "_add_noise", lambda *_: [][len(ledger.events)])
        with pytest.raises(IndexError):
            study.estimate(trusted=values, local=reports, ledger=ledger)
    (event,) = ledger.events
    assert event.what == f"{LABELS[kind]} of the trusted group"
    assert (event.name, event.study, event.who) == (study.name, study.digest, "everybody")
    assert (event.epsilon, event.delta) == ("1", "0")
    ledger = Ledger(Privacy(epsilon=5))
    assert study.estimate(trusted=values, local=reports, ledger=ledger).privacy.counted
    for _ in range(2):
        with pytest.raises(BudgetError, match="It has been released already"):
            study.estimate(trusted=values, local=reports, ledger=ledger)
    assert len(ledger.events) == 1


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_a_replaced_value_moves_what_is_released_by_the_stated_sensitivity_at_most(study: AnyStudy) -> None:
    others = values_for(study, 12)
    values = [*others, *extreme_values(study)]
    statistics = [study.statistic(study.summarize_trusted([*others, value])) for value in values]
    changes = [int(np.abs(one.values - other.values).sum()) for one in statistics for other in statistics]
    assert {one.sensitivity for one in statistics} == {max(changes)}


@every_kind
def test_reports_are_decoded_before_anything_is_charged(study: AnyStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, values = Ledger(Privacy(epsilon=5)), values_for(study, 60)
    monkeypatch.setattr(type(study), "decode", lambda *_: iter(()).__next__())
    with pytest.raises(StopIteration):
        study.estimate(trusted=values, local=study.randomize(values), ledger=ledger)
    with pytest.raises(StopIteration):
        study.estimate_parts("country", parts_of(study), ledger=ledger)
    assert ledger.events == ()


@every_kind
def test_a_seed_anywhere_makes_it_a_simulation_that_costs_nothing(study: AnyStudy) -> None:
    ledger, values = Ledger(Privacy(epsilon=1)), values_for(study, 60)
    seeded, real = study.randomize(values, random_state=1), study.randomize(values)
    simulations = [
        study.estimate(trusted=values, local=real, random_state=2, ledger=ledger),
        study.estimate(trusted=None, local=seeded, single_group=True, ledger=ledger),
        study.estimate(trusted=values, local=seeded),
    ]
    for found in simulations:
        assert (found.privacy.seeded, found.privacy.counted) == (True, False)
        assert "NOT a private release" in str(found)
        assert "NOT a private release" in found.explain()
    assert not simulations[1].privacy.released
    assert ledger.events == ()
    honest = study.estimate(trusted=values, local=real)
    assert (honest.privacy.seeded, honest.privacy.released, honest.privacy.counted) == (False, True, False)
    assert "simulation" not in str(honest)
    with pytest.raises(ParameterError, match="^random_state must be"):
        study.estimate(trusted=values, local=real, random_state=-1)


@every_kind
def test_seeds_repeat_and_nothing_else_does(study: AnyStudy) -> None:
    values = values_for(study, 60)
    reports = study.randomize(values, random_state=1)
    one, other = (study.estimate(trusted=values, local=reports, random_state=3) for _ in range(2))
    assert _same(one, other)
    one, other = (study.estimate(trusted=values, local=reports) for _ in range(2))
    assert not _same(one, other)
    assert study.randomize(values, random_state=1) == reports
    assert study.randomize(values) != reports


@every_kind
def test_estimates_from_reports_alone_charge_each_user_once(study: AnyStudy) -> None:
    ledger, reports = Ledger(Privacy(epsilon=1)), study.randomize(values_for(study, 60))
    for already in (False, True):
        found = study.estimate(trusted=None, local=reports, single_group=True, ledger=ledger)
        assert (found.privacy.released, found.privacy.counted) == (False, True)
        assert found.privacy.already_charged is already
    (event,) = ledger.events
    assert (event.what, event.who) == ("reports of the local group", "local")


@every_kind
def test_parts_are_charged_together_and_every_user_once(study: AnyStudy) -> None:
    ledger, parts = Ledger(Privacy(epsilon=1)), parts_of(study)
    found = study.estimate_parts("country", parts, ledger=ledger)
    assert list(found) == list(parts)
    assert [str(event.part) for event in ledger.events] == [f"country = {key}" for key in parts]
    assert {event.study for event in ledger.events} == {study.digest}
    assert ledger.spent("trusted").epsilon == 1
    for key, one in found.items():
        assert one.privacy.counted
        assert one.study == study.part("country", key)
        assert f"{study.name} [country = {key}]" in one.explain()
        assert "Who has which country is public." in one.explain()
    values = values_for(study, 60)
    for again in (
        lambda: study.estimate_parts("country", parts, ledger=ledger),
        lambda: study.estimate(trusted=values, local=study.randomize(values), ledger=ledger),
    ):
        with pytest.raises(BudgetError):
            again()


@every_kind
def test_parts_with_a_seed_repeat_and_have_noise_of_their_own(study: AnyStudy) -> None:
    ledger, parts = Ledger(Privacy(epsilon=1)), parts_of(study)
    one, other = (study.estimate_parts("country", parts, ledger=ledger, random_state=5) for _ in range(2))
    assert all(_same(one[key], other[key]) and one[key].privacy.seeded for key in parts)
    assert ledger.events == ()


@every_kind
def test_one_group_alone_is_fine_where_it_is_asked_for(study: AnyStudy) -> None:
    ledger = Ledger(Privacy(epsilon=1))
    parts = {key: (None, local) for key, (_, local) in parts_of(study).items()}
    found = study.estimate_parts("country", parts, single_group=True, ledger=ledger)
    assert ledger.events == ()  # seeded
    for one in found.values():
        assert "single model" in one.explain()
    with pytest.raises(DataError, match="3 of 3 parts cannot be estimated"):
        study.estimate_parts("country", parts)


@every_kind
def test_a_path_is_no_ledger(study: AnyStudy) -> None:
    values = values_for(study, 60)
    ledger: Any
    for ledger in ("people.ledger", Path("people.ledger"), 5, Privacy(epsilon=1)):
        for ask in (
            lambda ledger: study.estimate(trusted=values, local=study.randomize(values), ledger=ledger),
            lambda ledger: study.estimate_parts("country", parts_of(study), ledger=ledger),
        ):
            with pytest.raises(ParameterError, match=r"^ledger must be None or a Ledger, .*Ledger\.open\(path\)\.$"):
                ask(ledger)
