import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hybriddp.distribution import DistributionEstimate, PublishedDistribution, PublishedQuantile
from hybriddp.distribution.published import publish_quantile
from hybriddp.errors import DataError, ParameterError
from hybriddp.study.rounding import nice_below
from tests.distribution.conftest import STUDY, estimated


@pytest.fixture(scope="module")
def read(estimate: DistributionEstimate) -> PublishedDistribution:
    return DistributionEstimate.from_json(estimate.to_json(at=[0.5]))


def _is_multiple(x: float, step: Fraction) -> bool:
    return math.isclose(x / float(step), round(x / float(step)), abs_tol=1e-6)


def test_quantiles_are_rounded_to_their_own_steps(estimate: DistributionEstimate) -> None:
    for exact, told in zip(estimate.quantiles([0.5, 0.95]), estimate.published(at=[0.5, 0.95]).quantiles, strict=True):
        assert told.step is not None
        error = (exact.interval.upper - exact.interval.lower) / (2 * 1.96)
        assert told.step == nice_below(error / 10.0)
        assert abs(told.value - exact.value) <= told.step / 2
        assert all(_is_multiple(x, told.step) for x in (told.value, told.lower, told.upper))
        assert exact.interval.lower - told.step < told.lower <= exact.interval.lower
        assert exact.interval.upper <= told.upper < exact.interval.upper + told.step
        assert tuple(told.interval) == (told.lower, told.upper)


def test_the_cdf_is_rounded_and_never_falls(estimate: DistributionEstimate) -> None:
    told = estimate.published().cdf
    assert float(told.step) <= estimate.fit.standard_errors.min() / 10
    assert np.all(np.diff(told.values) >= 0)
    assert np.abs(told.values - estimate.fit.cdf).max() <= float(told.step) / 2 + 1e-12
    assert np.all(told.standard_errors >= estimate.fit.standard_errors - 1e-12)
    assert np.all(told.standard_errors < estimate.fit.standard_errors + float(told.step) + 1e-12)


def test_a_step_can_be_chosen(estimate: DistributionEstimate) -> None:
    (told,) = estimate.published(at=[0.5], step=50, level=0.9).quantiles
    assert told.step == Fraction(50)
    assert (told.level, told.value % 50, told.lower % 50, told.upper % 50) == (0.9, 0, 0, 0)
    assert "interval_90" in told.to_dict()
    for step in (0, -1, 6000, "many"):
        with pytest.raises(ParameterError, match="^step must be"):
            estimate.published(step=step)


def test_a_bound_is_not_rounded_and_nothing_goes_beyond_one(estimate: DistributionEstimate) -> None:
    one = estimate.quantile(0.5)
    at_bound = replace(one, value=0.123, interval=replace(one.interval, lower=0.123, upper=0.123))
    assert publish_quantile(at_bound, (0.123, 9.0)) == PublishedQuantile(
        0.5, 0.123, 0.123, 0.123, 0.95, True, True, None
    )
    wide = replace(one, value=9.77, interval=replace(one.interval, lower=0.123, upper=9.77))
    told = publish_quantile(wide, (0.123, 9.77))
    assert (told.lower, told.upper) == (0.123, 9.77)


def test_json_holds_what_may_be_published_and_both_answers(estimate: DistributionEstimate) -> None:
    told, p = estimate.to_dict(), estimate.published()
    assert told["quantiles"] == [one.to_dict() for one in p.quantiles]
    assert told["cdf"]["values"] == p.cdf.values.tolist()
    assert told["cdf"]["step"] == float(p.cdf.step)
    assert _is_multiple(told["mean"]["value"], Fraction(told["mean"]["step"]))
    honest = estimate.allowing_groups_to_differ()
    assert told["if_groups_may_differ"]["quantiles"] == honest.to_dict()["quantiles"]
    assert honest.to_dict()["if_groups_may_differ"] is None
    full = estimate.to_dict(full=True)["curator"]
    assert full["both"]["cdf"] == estimate.fit.cdf.tolist()
    assert full["quantiles"][0]["value"] == estimate.quantile(0.5).value
    assert p.to_dict() == told
    assert repr(p).startswith("PublishedDistribution(p50 ")


def test_warnings_name_where_the_other_answer_is(estimate: DistributionEstimate) -> None:
    different = estimated(1.2)
    seen = different.comparison
    assert seen is not None
    milder = replace(different, fits=replace(different.fits, comparison=replace(seen, statistic=30.0, tau=0.1)))
    (warning,) = [text for text in milder.to_dict()["warnings"] if "hold however" in text]
    assert "if_groups_may_differ gives intervals" in warning
    page = milder.to_html()
    assert "allowing_groups_to_differ" not in page
    assert "The second table gives" in page
    assert page.count("<table") == 2
    assert "allowing_groups_to_differ" not in estimate.to_html()


# Read back from JSON


def test_a_result_reads_what_it_wrote(estimate: DistributionEstimate) -> None:
    part = replace(estimate, study=STUDY.part("country", "DE"))
    for one in (estimate, part, estimate.allowing_groups_to_differ()):
        published = one.published(at=[0.25, 0.5, 0.999])
        for text in (published.to_json(), one.to_json(at=[0.25, 0.5, 0.999], full=True)):
            assert DistributionEstimate.from_json(text).to_dict() == published.to_dict()
    odd = estimate.published(level=0.9, step=7.5)
    assert PublishedDistribution.from_json(odd.to_json()).quantiles == odd.quantiles
    assert part.published().title == "page load ms [country = DE]"


def test_other_quantiles_are_those_of_the_estimate(estimate: DistributionEstimate, read: PublishedDistribution) -> None:
    assert np.array_equal(read.edges, STUDY.bins.edges)
    for here, there in ((read, estimate), (read.allowing_groups_to_differ(), estimate.allowing_groups_to_differ())):
        for q in (0.1, 0.5, 0.8, 0.95):
            again, first = here.quantile(q), there.quantile(q)
            widest = STUDY.bins.widths[first.bin_number : first.bin_number + 2].max()
            assert abs(again.value - first.value) <= widest
            assert again.interval.lower <= first.interval.lower  # errors were rounded up
            assert again.interval.upper >= first.interval.upper
            assert np.searchsorted(STUDY.bins.edges, again.interval.upper) <= 2 + np.searchsorted(
                STUDY.bins.edges, first.interval.upper
            )
    other = read.with_quantiles([0.8, 0.9])
    assert [one.q for one in other.quantiles] == [0.8, 0.9]
    assert other.quantiles[0] == publish_quantile(read.quantile(0.8), STUDY.bounds)
    beside = read.allowing_groups_to_differ().with_quantiles([0.8, 0.9])
    assert other.to_dict()["if_groups_may_differ"]["quantiles"] == [one.to_dict() for one in beside.quantiles]
    with pytest.raises(ParameterError, match="^q must be"):
        read.quantile(1.0)
    with pytest.raises(DataError, match="one answer only"):
        beside.allowing_groups_to_differ()


def test_results_of_servers_and_parts_are_read(estimate: DistributionEstimate) -> None:
    told = estimate.to_dict()
    server = PublishedDistribution.from_json(json.dumps({"estimate": told, "answer": "…"}))
    assert server.to_dict() == told
    part = {**told, "users": {"by": "country", "key": "DE"}}
    text = json.dumps({"by": "country", "parts": [{"key": "DE", "estimate": part}, {"key": "FR", "estimate": told}]})
    german, _ = PublishedDistribution.parts_from_json(text)
    assert german.title == "page load ms [country = DE]"
    with pytest.raises(DataError, match="2 parts of the users"):
        PublishedDistribution.from_json(text)


def _with_other(told: dict[str, Any], *path: Any, value: Any) -> str:
    *first, last = path
    place: Any = told
    for name in first:
        place = place[name]
    place[last] = value
    return json.dumps(told)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("cdf", "standard_errors", 7), -1.0),
        (("cdf", "standard_errors", 7), math.inf),
        (("cdf", "values", 9), 1.0),
        (("cdf", "values", 254), 1.5),
        (("cdf", "edges", 9), 0.0),
        (("cdf", "edges"), [0.0, 1.0]),
        (("cdf", "step"), None),
        (("quantiles", 0, "value"), math.nan),
        (("quantiles", 0, "q"), 1.0),
        (("quantiles", 0, "interval_90"), [0.0, 1.0]),
        (("users",), {"by": "country"}),
        (("privacy", "more"), 1),
        (("if_groups_may_differ", "cdf"), {}),
        (("warnings",), None),
        (("parts",), [7]),
    ],
)
def test_other_texts_are_refused(estimate: DistributionEstimate, path: Any, value: Any) -> None:
    with pytest.raises(DataError, match="holds no released distribution"):
        PublishedDistribution.from_json(_with_other(estimate.to_dict(), *path, value=value))


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}", '{"estimate": 7}', "[" * 100_000, "\ud800"])
def test_texts_that_are_no_results_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="holds no released distribution"):
        DistributionEstimate.from_json(text)
