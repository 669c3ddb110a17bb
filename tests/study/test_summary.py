"""Summaries of both groups, over all kinds of studies."""

import json
from typing import Any

import numpy as np
import pytest

from hybriddp.channels import MaskedResponse
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import DataError, ProtocolError
from hybriddp.grid import UNITS
from hybriddp.mean import MeanStudy
from hybriddp.shares import FrequencyStudy
from hybriddp.study.summary import LocalSummary, TrustedSummary
from tests.channels.counts import tally_of
from tests.study.kinds import ONE_OF_EACH, STUDIES, AnyStudy, renamed, values_for

every_study = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
UNIT = MeanStudy("x", bounds=(0, 1), epsilon=0.5)
BINS = DistributionStudy("x", bounds=(0, 1), epsilon=1)


# What is counted


def test_totals_of_units_are_exact() -> None:
    values = np.random.default_rng(0).random(300_003)
    summary = UNIT.summarize_trusted(values)
    assert (summary.count, summary.missing) == (300_003, 0)
    assert summary.sums == (sum(int(np.floor(x * UNITS + 0.5)) for x in values.tolist()),)


def test_counts_of_bins_are_exact() -> None:
    values = np.random.default_rng(0).random(140_001)
    expected = np.bincount(BINS.bins.of_units(BINS.grid.units(values)), minlength=256)
    assert np.array_equal(BINS.summarize_trusted(values).sums, expected)


@pytest.mark.parametrize(("study", "sums"), [(UNIT, {0: 2 * UNITS}), (BINS, {0: 2, 255: 2})], ids=["mean", "bins"])
def test_values_that_are_missing_are_left_out_and_those_outside_are_clamped(
    study: AnyStudy, sums: dict[int, int]
) -> None:
    summary = study.summarize_trusted([0.0, None, float("nan"), 1.0, float("inf"), 7.0, -1.0])
    assert (summary.count, summary.missing, summary.outside, summary.clamped) == (4, 3, 0, 2)
    assert {at: summary.sums[at] for at in sums} == sums
    masked = np.ma.masked_array([0.5, 0.9], mask=[False, True])
    assert study.summarize_trusted(masked) == study.summarize_trusted([0.5, None])
    with pytest.raises(DataError, match="one-dimensional"):
        study.summarize_trusted([[0.5]])


@pytest.mark.parametrize(("other", "sums", "outside"), [(False, (2, 0, 1), 2), (True, (2, 0, 1, 2), 0)])
def test_items_are_counted(other: bool, sums: tuple[int, ...], outside: int) -> None:
    study = FrequencyStudy("x", categories=["a", "b", "c"], epsilon=1, other=other)
    found = study.summarize_trusted(["a", "c", "a", None, "d", "e"])
    assert (found.sums, found.count, found.missing, found.outside) == (sums, sum(sums), 1, outside)


def test_reports_are_counted() -> None:
    found = STUDIES["response"].summarize_local([0, 2, 2, 1, 2])
    assert (found.counts, found.count, found.rejected, found.tied, found.seeded) == ((1, 1, 3), 5, 0, False, False)
    unary = STUDIES["unary"].summarize_local([0b101, 0b1, (1 << 22) - 1])
    assert (unary.count, unary.counts[:4]) == (3, (3, 1, 2, 1))
    codes = UNIT.randomize(np.full(5000, 0.3), random_state=1)
    assert UNIT.summarize_local(codes).counts == tuple(np.bincount(codes, minlength=256).tolist())
    reports = BINS.randomize(np.full(5000, 0.3), random_state=1).codes
    assert isinstance(BINS.channel, MaskedResponse)
    assert np.array_equal(BINS.summarize_local(reports).counts, tally_of(BINS.channel, reports).ravel())


@every_study
def test_summaries_of_shards_add_up_to_the_summary_of_all(study: AnyStudy) -> None:
    values = values_for(study, 700)
    reports = study.randomize(values, random_state=1)
    mixed = [*values, None, float("nan")] if not isinstance(study, FrequencyStudy) else [*values, None, None]
    whole = study.summarize_trusted(mixed)
    assert sum(study.summarize_trusted(mixed[i::7]) for i in range(7)) == whole
    assert study.summarize_trusted(mixed[::-1]) == whole
    assert whole.count + whole.missing + whole.outside == len(mixed)
    local = study.summarize_local(reports)
    assert (local.count, local.tied, local.seeded) == (700, True, True)
    assert sum(study.summarize_local(reports[i::7]) for i in range(7)) == local
    assert study.summarize_local([]).count == 0


@every_study
def test_one_untied_or_seeded_report_is_enough(study: AnyStudy) -> None:
    value = values_for(study, 1)
    tied = study.summarize_local(study.randomize(value))
    assert (tied.tied, tied.seeded) == (True, False)
    assert not (tied + study.summarize_local([1])).tied
    assert (tied + study.summarize_local([])).tied  # which has no report that is not
    assert (tied + study.summarize_local(study.randomize(value, random_state=1))).seeded


@every_study
def test_a_few_reports_that_are_no_codes_are_counted_and_many_are_refused(study: AnyStudy) -> None:
    most = study.reports_between[1]
    codes = np.zeros(1000, np.int64)
    codes[:5] = [most + 1, -1, most + 2, most + 1000, 10**9 if most < 10**9 else -7]
    summary = study.summarize_local(codes)
    assert (summary.count, summary.rejected) == (995, 5)
    codes[:11] = most + 1
    with pytest.raises(
        DataError, match=f"11 of 1,000 reports are outside 0 to {most}; they probably belong to another"
    ):
        study.summarize_local(codes)


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_reports_are_integers_that_are_there(kind: str) -> None:
    reports: Any
    for reports in ([0.5], ["a"], [[1]], [True], [None], np.ma.masked_array([1, 2], mask=[True, False])):
        with pytest.raises(DataError, match="^reports must"):
            STUDIES[kind].summarize_local(reports)


# What does not belong together


@every_study
def test_summaries_of_different_studies_do_not_add_up(study: AnyStudy) -> None:
    values, other = values_for(study, 3), renamed(study)
    trusted, local = study.summarize_trusted(values), study.summarize_local([1])
    for foreign in (other, study.part("country", "DE")):
        with pytest.raises(ProtocolError, match="different studies"):
            trusted + foreign.summarize_trusted(values)
        with pytest.raises(ProtocolError, match="different studies"):
            local + foreign.summarize_local([1])
    one: Any
    for one, more in ((trusted, local), (local, trusted), (local, 5), (trusted, 5), (5, local), (5, trusted)):
        with pytest.raises(TypeError):
            one + more


def test_summaries_of_different_lengths_do_not_add_up() -> None:
    with pytest.raises(ProtocolError, match="different channels"):
        LocalSummary("d", 3, (1, 2)) + LocalSummary("d", 3, (1, 2, 0))
    with pytest.raises(ProtocolError, match="different channels"):
        TrustedSummary("d", 3, (1, 2)) + TrustedSummary("d", 3, (1, 2, 0))


# As text


@every_study
def test_text_and_summary_are_inverses(study: AnyStudy) -> None:
    for summary in (study.summarize_trusted(values_for(study, 9)), study.summarize_local([1, 0])):
        assert type(summary).from_json(summary.to_json()) == summary


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (
            TrustedSummary,
            [
                {"count": -1},
                {"count": 1.5},
                {"sums": [True]},
                {"sums": [-1]},
                {"sums": [0.5]},
                {"sums": [1 << 63]},
                {"sums": 5},
                {"missing": "0"},
                {"outside": -1},
                {"clamped": 100},
                {"study": 5},
                {"more": 1},
            ],
        ),
        (
            LocalSummary,
            [
                {"counts": [-1]},
                {"counts": [0.5]},
                {"counts": [True]},
                {"counts": 5},
                {"counts": [5]},
                {"count": None},
                {"study": None},
                {"rejected": -1},
                {"tied": 1},
                {"seeded": None},
                {"more": 1},
            ],
        ),
    ],
)
def test_a_tampered_summary_is_refused(kind: type[Any], wrong: list[dict[str, object]]) -> None:
    summary = UNIT.summarize_trusted([0.1, 0.2]) if kind is TrustedSummary else UNIT.summarize_local([3])
    stored = json.loads(summary.to_json())
    twice = json.dumps(stored).replace('"count"', '"count": 1, "count"')
    texts = ["", "[]", "5", "null", "{}", "x", "[", "[" * 200_000, twice]
    for text in [*texts, *(json.dumps({**stored, **change}) for change in wrong)]:
        with pytest.raises(DataError, match=f"^The text is not of type {kind.__name__}"):
            kind.from_json(text)
    for change in wrong:
        if change != {"more": 1}:
            with pytest.raises(DataError, match=f"^A {kind.__name__} needs a study"):
                kind(**{**stored, ("sums" if kind is TrustedSummary else "counts"): (1,), **change})


@every_study
def test_exact_sums_are_not_shown(study: AnyStudy) -> None:
    summary = study.summarize_trusted(values_for(study, 1) * 31_337)
    assert repr(summary) == f"TrustedSummary(31,337 users of study {study.digest[:12]}…: not private)"
    local = f"LocalSummary(1 reports of study {study.digest[:12]}…, tied=False)"
    assert repr(study.summarize_local([1])) == local
