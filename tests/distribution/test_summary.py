import json

import numpy as np
import pytest

from hybriddp.channels import MaskedResponse
from hybriddp.distribution import BinCounts, DistributionStudy, PatternCounts
from hybriddp.errors import DataError, ProtocolError

STUDY = DistributionStudy("x", bounds=(0, 1), epsilon=1)
OTHER = DistributionStudy("y", bounds=(0, 1), epsilon=1)
VALUES = np.random.default_rng(0).random(70_001)


def test_counts_of_bins_are_exact_and_add_up() -> None:
    summary = STUDY.summarize_trusted(VALUES)
    assert np.array_equal(summary.counts, np.bincount(STUDY.bins.of_units(STUDY.grid.units(VALUES)), minlength=256))
    assert STUDY.summarize_trusted(VALUES[::-1]) == summary
    assert sum(STUDY.summarize_trusted(part) for part in np.array_split(VALUES, 7)) == summary


def test_missing_values_are_left_out_and_what_is_outside_is_clamped_and_both_are_counted() -> None:
    summary = STUDY.summarize_trusted([0.0, None, float("nan"), 1.0, float("inf"), 7.0, -1.0])
    assert (summary.count, summary.rejected, summary.clamped) == (4, 3, 2)
    assert (summary.counts[0], summary.counts[255]) == (2, 2)


def test_counts_of_reports_add_up() -> None:
    reports = STUDY.randomize(VALUES, random_state=1)
    summary = STUDY.summarize_local(reports)
    assert isinstance(summary, PatternCounts)
    assert (summary.count, summary.tied, summary.seeded) == (len(VALUES), True, True)
    assert isinstance(STUDY.channel, MaskedResponse)
    assert np.array_equal(summary.counts, STUDY.channel.tally(reports.codes).ravel())
    parts = [STUDY.summarize_local(reports[i::5]) for i in range(5)]
    assert sum(parts) == summary
    plain = STUDY.summarize_local(reports.codes)
    assert not plain.tied
    assert not (summary + plain).tied
    assert (summary + STUDY.summarize_local([])).tied  # which has no report that is not


def test_a_few_reports_that_are_none_are_counted_and_many_are_refused() -> None:
    reports = np.zeros(1000, int)
    reports[:5] = [1996, -1, 10**6, 2000, 65535]
    summary = STUDY.summarize_local(reports)
    assert (summary.count, summary.rejected) == (995, 5)
    reports[:11] = 1996
    with pytest.raises(DataError, match="11 of 1,000 reports are outside 0 to 1995; they probably belong to another"):
        STUDY.summarize_local(reports)


@pytest.mark.parametrize("reports", [[0.5], ["a"], [[1]], [True], np.ma.masked_array([1, 2], mask=[True, False])])
def test_reports_are_integers_that_are_there(reports: object) -> None:
    with pytest.raises(DataError, match="^reports must"):
        STUDY.summarize_local(reports)


def test_what_belongs_to_another_study_is_refused() -> None:
    """Another name, ε, number of label bits or edges: all of them are in the digest."""
    others = [
        OTHER,
        DistributionStudy("x", bounds=(0, 1), epsilon=2),
        DistributionStudy("x", bounds=(0, 1), epsilon=1, channel=MaskedResponse(epsilon=1, label_bits=3)),
        DistributionStudy("x", bounds=(0, 1), epsilon=1, scale="log"),
        DistributionStudy("x", bounds=(0, 1), epsilon=1, scale=(np.arange(255) / 254) ** 3),
        DistributionStudy("x", bounds=(0, 2), epsilon=1),
        STUDY.part("country", "DE"),
    ]
    for other in others:
        with pytest.raises(ProtocolError, match="different studies"):
            STUDY.summarize_trusted([0.5]) + other.summarize_trusted([0.5])
        with pytest.raises(ProtocolError, match="different studies"):
            STUDY.summarize_local([1]) + other.summarize_local([1])
        with pytest.raises(ProtocolError, match="The reports belong to study"):
            STUDY.summarize_local(other.randomize([0.5]))
        with pytest.raises(ProtocolError, match="The summary belongs to study"):
            STUDY.estimate(trusted=other.summarize_trusted([0.5, 0.6]), local=[1, 2])
        with pytest.raises(ProtocolError, match="The summary belongs to study"):
            STUDY.estimate(trusted=[0.5, 0.6], local=other.summarize_local([1, 2]))
    with pytest.raises(ProtocolError, match="different channels"):
        PatternCounts("d", (1, 2)) + PatternCounts("d", (1, 2, 3))
    with pytest.raises(ProtocolError, match="has 5 codes, the study 1996"):
        STUDY.estimate(trusted=[0.5, 0.6], local=PatternCounts(STUDY.digest, (1,) * 5))


def test_only_the_same_kind_adds_up() -> None:
    with pytest.raises(TypeError):
        STUDY.summarize_trusted([0.5]) + STUDY.summarize_local([1])
    with pytest.raises(TypeError):
        STUDY.summarize_local([1]) + 5
    with pytest.raises(TypeError):
        5 + STUDY.summarize_local([1])


def test_text_and_summary_are_inverses() -> None:
    for summary in (STUDY.summarize_trusted(VALUES[:9]), STUDY.summarize_local([3, 4])):
        assert type(summary).from_json(summary.to_json()) == summary


@pytest.mark.parametrize(
    "change",
    [
        {"counts": [1] * 255},
        {"counts": [-1, *[0] * 255]},
        {"counts": [0.5, *[0] * 255]},
        {"counts": 5},
        {"study": 5},
        {"rejected": -1},
        {"clamped": 100},
        {"more": 1},
    ],
)
def test_tampered_bin_counts_are_refused(change: dict[str, object]) -> None:
    stored = json.loads(STUDY.summarize_trusted([0.1, 0.2]).to_json())
    with pytest.raises(DataError, match="not a BinCounts"):
        BinCounts.from_json(json.dumps({**stored, **change}))


@pytest.mark.parametrize("change", [{"counts": [True]}, {"tied": 1}, {"seeded": None}, {"study": None}])
def test_tampered_pattern_counts_are_refused(change: dict[str, object]) -> None:
    stored = json.loads(STUDY.summarize_local([3]).to_json())
    with pytest.raises(DataError, match="not a PatternCounts"):
        PatternCounts.from_json(json.dumps({**stored, **change}))


def test_exact_counts_are_not_shown() -> None:
    summary = STUDY.summarize_trusted([0.0] * 31337)
    assert "31,337 values" in repr(summary)
    assert "not private" in repr(summary)
    assert str(summary.counts) not in repr(summary)
