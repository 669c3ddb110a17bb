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
    return PublishedDistribution.from_json(estimate.with_quantiles([0.5]).to_json())


def _is_multiple(x: float, step: Fraction) -> bool:
    return math.isclose(x / float(step), round(x / float(step)), abs_tol=1e-6)


def test_quantiles_are_rounded_to_their_own_steps(estimate: DistributionEstimate) -> None:
    for exact, told in zip(
        estimate.quantiles([0.5, 0.95]), estimate.with_quantiles([0.5, 0.95]).published().rows, strict=True
    ):
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
    assert np.all(np.diff(told.cdf) >= 0)
    assert np.abs(told.cdf - estimate.fit.cdf).max() <= float(told.step) / 2 + 1e-12
    assert np.all(told.standard_errors >= estimate.fit.standard_errors - 1e-12)
    assert np.all(told.standard_errors < estimate.fit.standard_errors + float(told.step) + 1e-12)


def test_a_step_can_be_chosen(estimate: DistributionEstimate) -> None:
    (told,) = estimate.with_quantiles([0.5]).published(step=50, level=0.9).rows
    assert told.step == Fraction(50)
    assert (told.level, told.value % 50, told.lower % 50, told.upper % 50) == (0.9, 0, 0, 0)


def test_a_bound_is_not_rounded_and_nothing_goes_beyond_one(estimate: DistributionEstimate) -> None:
    one = estimate.quantile(0.5)
    at_bound = replace(one, value=0.123, interval=replace(one.interval, lower=0.123, upper=0.123))
    told = publish_quantile(at_bound, (0.123, 9.0))
    assert told == PublishedQuantile("p50", 0.123, 0.123, 0.123, 0.95, q=0.5)
    assert told.step is None
    wide = replace(one, value=9.77, interval=replace(one.interval, lower=0.123, upper=9.77))
    told = publish_quantile(wide, (0.123, 9.77))
    assert (told.lower, told.upper) == (0.123, 9.77)


def test_json_holds_both_answers(estimate: DistributionEstimate) -> None:
    told, p = estimate.to_dict(), estimate.published()
    assert told["cdf"]["values"] == p.cdf.cdf.tolist()
    assert len(told["cdf"]["edges"]) == len(told["cdf"]["standard_errors"]) == 255
    assert _is_multiple(told["mean"]["value"], Fraction(told["mean"]["step"]))
    honest = estimate.allowing_groups_to_differ()
    assert told["if_groups_may_differ"] == honest.to_dict()
    assert honest.to_dict()["if_groups_may_differ"] is None
    full = estimate.to_dict(full=True)["curator"]
    assert full["cdf"]["both"]["values"] == estimate.fit.cdf.tolist()
    assert full["rows"][0]["value"] == estimate.quantile(0.5).value
    for one in (honest, replace(estimate, study=STUDY.part("country", "DE")), estimate.with_quantiles([0.25, 0.999])):
        assert PublishedDistribution.from_json(one.to_json()).to_dict() == one.to_dict()


def test_warnings_and_pages_name_the_other_answer() -> None:
    different = estimated(1.2)
    seen = different.divergence
    assert seen is not None
    milder = replace(different, fits=replace(different.fits, comparison=replace(seen, statistic=30.0, tau=0.1)))
    (warning,) = [text for text in milder.warnings if "hold however" in text]
    assert 'The answer "if the groups may differ" has intervals' in warning
    assert "If the groups may differ, each counts for its own users only" in milder.to_html()
    assert milder.to_html().count("<table") == 2


# Read back from JSON


def test_other_quantiles_are_those_of_the_estimate(estimate: DistributionEstimate, read: PublishedDistribution) -> None:
    assert np.array_equal(read.cdf.bins.edges, STUDY.bins.edges)
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
    assert [row.name for row in other.rows] == ["p80", "p90"]
    assert other.rows[0] == publish_quantile(read.quantile(0.8), STUDY.bounds)
    beside = read.allowing_groups_to_differ().with_quantiles([0.8, 0.9])
    assert other.to_dict()["if_groups_may_differ"] == beside.to_dict()
    with pytest.raises(ParameterError, match="^q must be"):
        read.quantile(1.0)
    with pytest.raises(DataError, match="one answer only"):
        beside.allowing_groups_to_differ()


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
        (("rows", 0, "q"), 1.0),
        (("if_groups_may_differ", "cdf"), {}),
    ],
)
def test_other_texts_are_refused(estimate: DistributionEstimate, path: Any, value: Any) -> None:
    with pytest.raises(DataError, match="holds no released result"):
        PublishedDistribution.from_json(_with_other(estimate.to_dict(), *path, value=value))
