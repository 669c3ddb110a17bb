"""Means per part: which parts have an answer, what is paid, and what is published."""

import numpy as np
import pytest

from hybriddp import FrequencyStudy, MeanStudy
from hybriddp.errors import BudgetError, DataError, ProtocolError
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.mechanisms import Mechanism
from hybriddp.service.kinds import Gathered, MeanKind, part_obstacle, part_sizes, release_parts, study_kind
from hybriddp.service.kinds.kind import Released
from hybriddp.service.store.part_sums import in_part, trusted_entry
from hybriddp.study.users import StudyParts

STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=1.0)
PARTS = StudyParts("country", ["DE", "FR", "other"])
KIND = MeanKind(STUDY, PARTS)


def gathered(values: dict[int, list[float]], codes: dict[int, list[int]], kind: MeanKind = KIND) -> Gathered:
    """What the people of each part have contributed."""
    integers = [in_part(kind.value(value), part) for part, mine in values.items() for value in mine]
    tally = {trusted_entry(part): len(mine) for part, mine in values.items()}
    for part, mine in codes.items():
        for code in mine:
            (entry,) = kind.part_sums.entries(in_part(code, part))
            tally[entry] = tally.get(entry, 0) + 1
    return Gathered(len(integers), kind.part_sums.addend(integers), tally)


def release(found: Gathered, kind: MeanKind = KIND, **changes: object) -> Released:
    wanted = {"min_trusted": 2, "min_local": 2, "single_group": False, "ledger": Ledger(kind.privacy)} | changes
    return release_parts(kind, found, **wanted)


ALL = gathered({0: [1.0, 99.0], 1: [50.0, 51.0], 2: [240.0, 0.0]}, {0: [7, 7], 1: [9, 200], 2: [255, 0, 3]})


def test_only_a_mean_has_parts() -> None:
    assert study_kind(STUDY.to_json(), PARTS) == KIND
    with pytest.raises(ProtocolError, match="Only a study of a mean can have parts"):
        study_kind(FrequencyStudy("fruit", categories=["a", "b"], epsilon=1).to_json(), PARTS)
    for missing in (lambda: MeanKind(STUDY).part_sums, lambda: release(ALL, MeanKind(STUDY))):
        with pytest.raises(ProtocolError, match="it has no parts"):
            missing()


def test_everybody_pays_once_for_all_parts_together() -> None:
    ledger = Ledger(STUDY.privacy)
    release(ALL, ledger=ledger)
    assert ledger.remaining("trusted").epsilon == 0
    with pytest.raises(BudgetError):
        release(ALL, ledger=ledger)


def test_a_mean_of_everybody_is_paid_for_by_the_parts_too() -> None:
    ledger = Ledger(STUDY.privacy)
    STUDY.estimate(trusted=[1.0, 2.0], local=[1, 2], ledger=ledger)
    with pytest.raises(BudgetError):
        release(ALL, ledger=ledger)


def test_without_a_ledger_everybody_has_paid() -> None:
    told = release(ALL, ledger=None).result["estimate"]
    assert [one["privacy"]["counted"] for one in (told, *told["parts"])] == [True] * 4


@pytest.mark.parametrize("single_group", [False, True])
def test_parts_that_are_too_small_are_told_and_left_out(single_group: bool) -> None:
    found = gathered({0: [1.0, 99.0], 1: [50.0]}, {0: [7, 7], 1: [9, 200], 2: [255]})
    released = release(found, single_group=single_group)
    told = released.result["estimate"]
    names = ["DE", "FR"] if single_group else ["DE"]
    assert [one["users"]["key"] for one in told["parts"]] == names
    assert [one["name"] for one in told["left_out"]] == [name for name in PARTS.names if name not in names]
    if single_group:
        assert (told["parts"][1]["n_trusted"], told["parts"][1]["n_local"]) == (0, 2)
    for warning in told["warnings"]:
        assert warning in released.result["answer"]


def test_nothing_is_spent_where_no_part_is_large_enough() -> None:
    ledger = Ledger(STUDY.privacy)
    with pytest.raises(DataError, match="None of the 3 parts has as many contributions"):
        release(ALL, min_trusted=3, ledger=ledger)
    assert ledger.remaining("trusted").epsilon == STUDY.privacy.exact_epsilon


def test_sizes_that_do_not_add_up_stop_the_release() -> None:
    with pytest.raises(DataError, match="do not add up to the trusted group"):
        release(Gathered(ALL.n_trusted + 1, ALL.total, ALL.tally))


def test_a_part_whose_reports_refute_the_spread_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mechanism, "draw", lambda *_: np.int64(0))
    kind = MeanKind(MeanStudy("m", bounds=(0, 240), epsilon=3.0, sd_at_most=20.0), PARTS)
    wild, calm = (
        kind.study.randomize(values, random_state=1).codes.tolist()
        for values in (np.repeat([0.0, 240.0], 3000), np.repeat(60.0, 3000))
    )
    found = gathered({0: [60.0] * 20, 1: [60.0] * 20}, {0: wild, 1: calm}, kind)
    told = release(found, kind).result["estimate"]
    assert [one["sd_at_most"] for one in told["parts"]] == [None, None]
    refuted = [one for one in told["warnings"] if "vary more than sd_at_most=20 allows" in one]
    assert [one[:4] for one in refuted] == ["DE: "]


def test_the_operator_is_told_which_parts_have_too_few() -> None:
    study = {"min_trusted": 2, "min_local": 3, "single_group": False}
    counts = [{"name": "DE", "trusted": 2, "local": 3}, {"name": "FR", "trusted": 2, "local": 2}]
    sizes = part_sizes(counts, study)
    assert [bool(one.missing) for one in sizes] == [False, True]
    assert part_obstacle(sizes) == ""
    assert part_obstacle(sizes[1:]).startswith("None of the 1 parts")
