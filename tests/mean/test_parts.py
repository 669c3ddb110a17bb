from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybriddp.errors import BudgetError, DataError, ParameterError, ProtocolError
from hybriddp.mean import MeanStudy
from hybriddp.mean.answer import Pair
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger

STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=1)
MEANS: dict[str | int, float] = {"DE": 40.0, "FR": 100.0, 7: 160.0}


def _parts(**sizes: int) -> dict[str | int, Pair]:
    result: dict[str | int, Pair] = {}
    for key, mean in MEANS.items():
        part = STUDY.part("country", key)
        codes = part.randomize(np.full(20_000, mean), random_state=1)
        values = np.full(sizes.get(str(key), 400), mean)
        result[key] = part.summarize_trusted(values), part.summarize_local(codes)
    return result


def test_each_part_has_its_own_answer_and_every_user_pays_once() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    estimates = STUDY.estimate_parts("country", _parts(), ledger=ledger)
    assert list(estimates) == list(MEANS)
    for key, estimate in estimates.items():
        assert abs(estimate.value - MEANS[key]) < 16 * estimate.standard_error
        assert estimate.privacy.counted
        assert f"minutes [country = {key}]" in estimate.explain()
        assert "Who has which country is public." in estimate.explain()
    assert ledger.spent("trusted").epsilon == 1
    with pytest.raises(BudgetError):
        STUDY.estimate(trusted=[1.0, 2.0], local=[1, 2], ledger=ledger)


def test_all_or_nothing_is_paid_for() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    with pytest.raises(DataError, match="1 of 3 parts cannot be estimated. FR: The trusted group has 1 user;"):
        STUDY.estimate_parts("country", _parts(FR=1), ledger=ledger)
    with pytest.raises(DataError, match="FR: The trusted group is empty"):
        STUDY.estimate_parts("country", _parts(FR=0), ledger=ledger)
    assert ledger.events == ()
    part = STUDY.part("country", 7)
    part.estimate(trusted=[1.0, 2.0], local=[1, 2], ledger=ledger)
    with pytest.raises(BudgetError, match="country = 7"):
        STUDY.estimate_parts("country", _parts(), ledger=ledger)
    assert len(ledger.events) == 1


def test_an_empty_group_is_fine_when_asked_for() -> None:
    estimates = STUDY.estimate_parts("country", _parts(FR=0), single_group=True, random_state=1)
    assert estimates["FR"].n_trusted == 0
    assert estimates["DE"].n_trusted == 400


def test_a_part_is_a_study_of_its_own() -> None:
    part = STUDY.part("country", "DE")
    assert MeanStudy.from_json(part.to_json()) == part
    assert part.title == "minutes [country = DE]"
    assert len({STUDY.digest, part.digest, STUDY.part("country", "FR").digest, STUDY.part("age", "DE").digest}) == 4
    with pytest.raises(ProtocolError, match="belongs to study"):
        STUDY.estimate(trusted=part.summarize_trusted([1.0, 2.0]), local=[1, 2])
    with pytest.raises(ProtocolError, match="belongs to study"):
        STUDY.estimate_parts("age", _parts(), random_state=1)
    with pytest.raises(ParameterError, match="study of everybody"):
        part.part("age", 5)
    with pytest.raises(ParameterError, match="at least one part"):
        STUDY.estimate_parts("country", {})


def test_a_seed_repeats_all_parts() -> None:
    assert STUDY.estimate_parts("country", _parts(), random_state=5) == STUDY.estimate_parts(
        "country", _parts(), random_state=5
    )


def test_a_summary_of_another_study_spends_nothing() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    parts = _parts()
    parts["FR"] = (parts["DE"][0], parts["FR"][1])
    with pytest.raises(ProtocolError, match="belongs to study"):
        STUDY.estimate_parts("country", parts, ledger=ledger)
    wrongs: list[Any] = [[1.0, 2.0], (1, 2), (parts["DE"][1], parts["DE"][0])]
    for wrong in wrongs:
        with pytest.raises(DataError, match="7: summaries must hold a pair"):
            STUDY.estimate_parts("country", {**parts, 7: wrong, "FR": _parts()["FR"]}, ledger=ledger)
    assert ledger.events == ()


def test_keys_that_are_the_same_to_the_ledger_spend_nothing() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    parts = _parts()
    twin = STUDY.part("country", "7")
    parts["7"] = twin.summarize_trusted([1.0, 2.0]), twin.summarize_local([1, 2])
    with pytest.raises(BudgetError):
        STUDY.estimate_parts("country", parts, ledger=ledger)
    assert ledger.events == ()


@pytest.mark.parametrize("ledger", ["people.ledger", Path("people.ledger"), 5, Privacy(epsilon=1)])
def test_a_path_is_no_ledger(ledger: Any) -> None:  # noqa: ANN401
    for ask in (
        lambda: STUDY.estimate(trusted=[1.0, 2.0], local=[1, 2], ledger=ledger),
        lambda: STUDY.estimate(trusted=[1.0, 2.0], local=[1, 2], weight="full-local", ledger=ledger),
        lambda: STUDY.estimate_parts("country", _parts(), ledger=ledger),
    ):
        with pytest.raises(ParameterError, match=r"^ledger must be None or a Ledger, .*Ledger\.open\(path\)\.$"):
            ask()


def test_what_another_process_spent_is_seen_before_the_first_part_is_paid(tmp_path: Path) -> None:
    mine, other = (Ledger(Privacy(epsilon=1), path=tmp_path / "book.json") for _ in range(2))
    STUDY.part("country", 7).estimate(trusted=[1.0, 2.0], local=[1, 2], ledger=other)
    with pytest.raises(BudgetError):
        STUDY.estimate_parts("country", _parts(), ledger=mine)
    assert len(Ledger(Privacy(epsilon=1), path=tmp_path / "book.json").events) == 1


def test_a_study_is_released_once_in_whole_or_in_parts() -> None:
    ledger = Ledger(Privacy(epsilon=5))
    STUDY.estimate_parts("country", _parts(), ledger=ledger)
    with pytest.raises(BudgetError):
        STUDY.estimate(trusted=[1.0, 2.0], local=[1, 2], ledger=ledger)
    with pytest.raises(BudgetError):
        STUDY.part("age", 18).estimate(trusted=[1.0, 2.0], local=[1, 2], ledger=ledger)
    assert STUDY.part("age", 18).whole_digest == STUDY.digest


def test_a_part_is_named_in_what_is_published() -> None:
    estimate = STUDY.part("country", "DE").estimate(trusted=[1.0, 2.0], local=[1, 2], random_state=1)
    assert estimate.to_dict()["users"] == {"by": "country", "key": "DE"}
