import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import DataError, ProtocolError
from hybriddp.shares import FrequencyStudy, LocalCounts, TrustedCounts

STUDY = FrequencyStudy("x", categories=["a", "b", "c"], other=False, epsilon=1)
OTHER = FrequencyStudy("y", categories=["a", "b", "c"], other=False, epsilon=1)
STUDIES = [
    STUDY,
    FrequencyStudy("x", categories=list("abc"), epsilon=1, other=True),
    FrequencyStudy("x", categories=list("abcdefghijkl"), other=False, epsilon="0.5"),
    FrequencyStudy("x", categories=list("abcdefghijklmnopqrstuv"), other=False, epsilon=1),
    FrequencyStudy("x", categories=["a", "b", "c", *map(str, range(60))], other=False, epsilon=1),
]
items = st.lists(st.sampled_from(["a", "b", "c", "zz", None]))


@pytest.mark.repeated
@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.channel.kind)
@given(one=items, two=items, three=items)
def test_sums_of_summaries_are_summaries_of_all(
    study: FrequencyStudy, one: list[str | None], two: list[str | None], three: list[str | None]
) -> None:
    parts = [study.summarize_trusted(part) for part in (one, two, three)]
    whole = study.summarize_trusted(one + two + three)
    assert sum(parts) == whole
    assert parts[0] + parts[1] == parts[1] + parts[0]
    assert whole.count + whole.missing + whole.outside == len(one + two + three)
    reports = [study.randomize([x for x in part if x in ("a", "b", "c")], random_state=1) for part in (one, two, three)]
    assert sum(map(study.summarize_local, reports)) == study.summarize_local(sum(reports))


def test_items_are_counted() -> None:
    found = STUDY.summarize_trusted(["a", "c", "a", None, "d", "e"])
    assert (found.counts, found.count, found.missing, found.outside) == ((2, 0, 1), 3, 1, 2)
    with_others = STUDIES[1].summarize_trusted(["a", "c", "a", None, "d", "e"])
    assert (with_others.counts, with_others.missing, with_others.outside) == ((2, 0, 1, 2), 1, 0)


def test_reports_are_counted() -> None:
    found = STUDY.summarize_local([0, 2, 2, 1, 2])
    assert (found.counts, found.count, found.rejected, found.tied, found.seeded) == ((1, 1, 3), 5, 0, False, False)
    unary = STUDIES[3].summarize_local([0b101, 0b1, (1 << 22) - 1])
    assert (unary.count, unary.counts[:4]) == (3, (3, 1, 2, 1))


def test_a_few_reports_that_are_no_codes_are_counted_and_many_are_refused() -> None:
    codes = np.zeros(1000, int)
    codes[:5] = [3, -1, 1000, 300, 10**9]
    found = STUDY.summarize_local(codes)
    assert (found.count, found.rejected) == (995, 5)
    codes[:11] = 256
    with pytest.raises(DataError, match="11 of 1,000 reports are outside 0 to 2; they probably belong to another"):
        STUDY.summarize_local(codes)


@pytest.mark.parametrize("codes", [[0.5], ["a"], [[1]], [True], [None]])
def test_reports_are_integers(codes: object) -> None:
    with pytest.raises(DataError, match="^reports must be"):
        STUDY.summarize_local(codes)
    with pytest.raises(DataError, match="some are masked"):
        STUDY.summarize_local(np.ma.masked_array([1, 2], mask=[True, False]))


def test_what_does_not_belong_together_does_not_add_up() -> None:
    with pytest.raises(ProtocolError, match="different studies"):
        STUDY.summarize_trusted(["a"]) + OTHER.summarize_trusted(["a"])
    with pytest.raises(ProtocolError, match="different studies"):
        STUDY.summarize_local([1]) + OTHER.summarize_local([1])
    with pytest.raises(ProtocolError, match="different channels"):
        LocalCounts("d", 3, (1, 2)) + LocalCounts("d", 3, (1, 2, 0))
    with pytest.raises(TypeError):
        STUDY.summarize_trusted(["a"]) + STUDY.summarize_local([1])
    with pytest.raises(TypeError):
        STUDY.summarize_local([1]) + 5


def test_one_untied_or_seeded_report_is_enough_to_say_so() -> None:
    tied = STUDY.summarize_local(STUDY.randomize(["a"]))
    assert (tied.tied, tied.seeded) == (True, False)
    assert (tied + STUDY.summarize_local([1])).tied is False
    assert (tied + STUDY.summarize_local([])).tied is True
    assert (tied + STUDY.summarize_local(STUDY.randomize(["a"], random_state=1))).seeded is True


def test_text_and_summary_are_inverses() -> None:
    for summary in (STUDY.summarize_trusted(["a", None, "z"]), STUDY.summarize_local([2, 1])):
        assert type(summary).from_json(summary.to_json()) == summary


@pytest.mark.parametrize(
    "change",
    [
        {"counts": [1, -1, 2]},
        {"counts": [1, 1.0, 2]},
        {"counts": [1, True, 2]},
        {"counts": 5},
        {"counts": [1 << 63]},
        {"study": None},
        {"more": 1},
    ],
)
@pytest.mark.parametrize("summary", [STUDY.summarize_trusted(["a", "b"]), STUDY.summarize_local([2, 1])])
def test_what_is_no_summary_is_refused(summary: TrustedCounts | LocalCounts, change: dict[str, object]) -> None:
    with pytest.raises(DataError, match="^The text is not a"):
        type(summary).from_json(json.dumps({**json.loads(summary.to_json()), **change}))


@pytest.mark.parametrize("change", [{"count": 1}, {"tied": 1}, {"seeded": None}, {"rejected": -1}])
def test_counts_that_reports_cannot_have_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(DataError, match="^LocalCounts need"):
        LocalCounts(**{"study": "d", "count": 3, "counts": (2, 1), **change})
    with pytest.raises(DataError, match="^TrustedCounts need"):
        TrustedCounts("d", (1, 2), -1)


def test_exact_counts_are_not_shown() -> None:
    assert repr(STUDY.summarize_trusted(["a"] * 77 + ["b"])).startswith("TrustedCounts(78 items of study ")
    assert "77" not in repr(STUDY.summarize_trusted(["a"] * 77 + ["b"])).replace(STUDY.digest[:12], "")
    assert repr(STUDY.summarize_local([1])).startswith("LocalCounts(1 reports of study ")
