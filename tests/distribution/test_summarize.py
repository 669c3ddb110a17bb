import numpy as np
import pytest

from hybriddp.channels import MaskedResponse
from hybriddp.distribution import DistributionStudy, PatternCounts
from hybriddp.errors import DataError

STUDY = DistributionStudy("x", bounds=(0, 1), epsilon=1)
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


def test_values_have_one_dimension() -> None:
    with pytest.raises(DataError, match="one-dimensional"):
        STUDY.summarize_trusted([[0.5]])
