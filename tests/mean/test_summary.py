import json

import numpy as np
import pytest

from hybriddp.errors import DataError, ProtocolError
from hybriddp.grid import UNITS
from hybriddp.mean import LaplaceSummary, LocalSummary, MeanStudy, TrustedSummary

STUDY = MeanStudy("x", bounds=(0, 1), epsilon=0.5)
OTHER = MeanStudy("y", bounds=(0, 1), epsilon=0.5)


def test_totals_are_exact_and_do_not_depend_on_the_order() -> None:
    values = np.random.default_rng(0).random(100_003)
    summary = STUDY.summarize_trusted(values)
    expected = sum(int(np.floor(x * UNITS + 0.5)) for x in values.tolist())
    assert (summary.count, summary.total, summary.rejected) == (100_003, expected, 0)
    assert STUDY.summarize_trusted(values[::-1]) == summary
    assert sum(STUDY.summarize_trusted(part) for part in np.array_split(values, 7)) == summary


def test_missing_values_are_left_out_and_counted() -> None:
    summary = STUDY.summarize_trusted([0.5, None, float("nan"), 1.0, float("inf")])
    assert (summary.count, summary.total, summary.rejected) == (2, UNITS // 2 + UNITS, 3)


def test_codes_are_counted() -> None:
    codes = STUDY.randomize(np.full(5000, 0.3), random_state=1)
    summary = STUDY.summarize_local(codes)
    assert isinstance(summary, LocalSummary)
    assert summary.count == 5000
    assert summary.counts == tuple(np.bincount(codes, minlength=256).tolist())
    assert sum(STUDY.summarize_local(codes[part]) for part in np.array_split(np.arange(5000), 3)) == summary


def test_a_few_reports_that_are_no_codes_are_counted_and_many_are_refused() -> None:
    codes = np.zeros(1000, int)
    codes[:5] = [256, -1, 1000, 300, 10**9]
    summary = STUDY.summarize_local(codes)
    assert (summary.count, summary.rejected) == (995, 5)
    codes[:11] = 256
    with pytest.raises(DataError, match="11 of 1,000 reports are outside 0 to 255"):
        STUDY.summarize_local(codes)


@pytest.mark.parametrize("codes", [[0.5], ["a"], [[1]], [True]])
def test_reports_are_integers(codes: object) -> None:
    with pytest.raises(DataError, match="^reports must be"):
        STUDY.summarize_local(codes)


def test_masked_values_are_missing_and_masked_reports_are_refused() -> None:
    masked = np.ma.masked_array([0.5, 0.9], mask=[False, True])
    assert STUDY.summarize_trusted(masked) == STUDY.summarize_trusted([0.5, None])
    with pytest.raises(DataError, match="some are masked"):
        STUDY.summarize_local(np.ma.masked_array([1, 2], mask=[True, False]))


def test_summaries_of_different_studies_do_not_add_up() -> None:
    with pytest.raises(ProtocolError, match="different studies"):
        STUDY.summarize_trusted([0.5]) + OTHER.summarize_trusted([0.5])
    with pytest.raises(ProtocolError, match="different studies"):
        STUDY.summarize_local([1]) + OTHER.summarize_local([1])
    with pytest.raises(ProtocolError, match="different channels"):
        LocalSummary("d", (1, 2)) + LocalSummary("d", (1, 2, 3))
    with pytest.raises(TypeError):
        STUDY.summarize_trusted([0.5]) + STUDY.summarize_local([1])
    with pytest.raises(TypeError):
        STUDY.summarize_local([1]) + 5


def test_text_and_summary_are_inverses() -> None:
    for summary in (STUDY.summarize_trusted([0.1, 0.2]), STUDY.summarize_local([3, 4])):
        assert type(summary).from_json(summary.to_json()) == summary


@pytest.mark.parametrize(
    "change",
    [
        {"count": -1},
        {"count": 1.5},
        {"total": 3 * UNITS},
        {"total": True},
        {"rejected": "0"},
        {"study": 5},
        {"more": 1},
    ],
)
def test_a_tampered_trusted_summary_is_refused(change: dict[str, object]) -> None:
    stored = json.loads(STUDY.summarize_trusted([0.1, 0.2]).to_json())
    with pytest.raises(DataError):
        TrustedSummary.from_json(json.dumps({**stored, **change}))


@pytest.mark.parametrize(
    "change", [{"counts": [-1]}, {"counts": 5}, {"counts": [0.5]}, {"study": None}, {"rejected": -1}]
)
def test_a_tampered_local_summary_is_refused(change: dict[str, object]) -> None:
    stored = json.loads(STUDY.summarize_local([3]).to_json())
    with pytest.raises(DataError):
        LocalSummary.from_json(json.dumps({**stored, **change}))
    for text in ("[", "[" * 200_000, json.dumps(stored).replace('"rejected"', '"rejected": 1, "rejected"')):
        with pytest.raises(DataError, match="not a LocalSummary"):
            LocalSummary.from_json(text)


def test_values_have_one_dimension() -> None:
    with pytest.raises(DataError, match="one-dimensional"):
        STUDY.summarize_trusted([[0.5]])


# Reports with Laplace noise


LAPLACE = MeanStudy("x", bounds=(0, 1), epsilon=0.5, channel="laplace")


def test_laplace_reports_are_summed_exactly() -> None:
    reports = LAPLACE.randomize(np.linspace(0, 1, 200_001), random_state=1)
    summary = LAPLACE.summarize_local(reports)
    assert summary == LaplaceSummary(LAPLACE.digest, 200_001, sum(reports.tolist()), tied=True, seeded=True)
    assert sum(LAPLACE.summarize_local(reports[i::7]) for i in range(7)) == summary
    assert LaplaceSummary.from_json(summary.to_json()) == summary


def test_a_sum_beyond_64_bits_does_not_wrap_around() -> None:
    most = LAPLACE.reports_between[1]
    summary = LAPLACE.summarize_local(np.full(300_000, most))
    assert isinstance(summary, LaplaceSummary)
    assert summary.total == 300_000 * most


def test_impossible_laplace_reports_are_counted_or_refused() -> None:
    least, most = LAPLACE.reports_between
    reports = np.zeros(1000, np.int64)
    reports[:3] = [least - 1, most + 1, 2**62]
    summary = LAPLACE.summarize_local(reports)
    assert (summary.count, summary.rejected) == (997, 3)
    with pytest.raises(DataError, match="probably belong to another study"):
        LAPLACE.summarize_local(np.full(10, most + 1))


def test_summaries_of_the_other_kind_are_refused() -> None:
    with pytest.raises(ProtocolError, match="is not what"):
        LAPLACE.estimate(trusted=[0.5, 0.6], local=LocalSummary(LAPLACE.digest, (5,) * 256))
    with pytest.raises(ProtocolError, match="is not what"):
        STUDY.estimate(trusted=[0.5, 0.6], local=LaplaceSummary(STUDY.digest, 5, 5))
    with pytest.raises(ProtocolError, match="different studies"):
        LaplaceSummary("a", 1, 1) + LaplaceSummary("b", 1, 1)
    with pytest.raises(TypeError):
        LaplaceSummary("a", 1, 1) + 5
    with pytest.raises(DataError, match="needs a study"):
        LaplaceSummary("a", 1, 0.5)
    assert MeanStudy.from_json(LAPLACE.to_json()) == LAPLACE


@pytest.mark.parametrize("text", ["[]", "5", "null", "{}", "x"])
def test_texts_that_are_no_summaries_are_refused(text: str) -> None:
    for kind in (TrustedSummary, LocalSummary, LaplaceSummary):
        with pytest.raises(DataError, match=f"not a {kind.__name__}"):
            kind.from_json(text)


def test_an_empty_list_of_reports_is_an_empty_summary() -> None:
    assert STUDY.summarize_local([]).count == 0
    assert LAPLACE.summarize_local([]).count == 0


def test_a_summary_with_the_wrong_number_of_codes_is_refused() -> None:
    with pytest.raises(ProtocolError, match="has 5 codes"):
        STUDY.estimate(trusted=[0.5, 0.6], local=LocalSummary(STUDY.digest, (1,) * 5))
