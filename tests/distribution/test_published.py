import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.distribution import DistributionEstimate, DistributionStudy, PublishedQuantile
from hybriddp.distribution.published import publish_quantile
from hybriddp.errors import ParameterError
from hybriddp.mean.published import nice_below

STUDY = DistributionStudy("load", bounds=(0, 10_000), epsilon=1, scale="log")
LOAD = np.random.default_rng(0).lognormal(6.0, 0.8, 62_000)


@pytest.fixture(scope="module")
def estimate() -> DistributionEstimate:
    reports = STUDY.randomize(LOAD[2000:], random_state=1)
    return STUDY.estimate(trusted=LOAD[:2000], local=reports, random_state=2)


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
    assert json.loads(p.to_json())["quantiles"] == told["quantiles"]
    assert repr(p).startswith("PublishedDistribution(p50 ")


def test_warnings_name_where_the_other_answer_is(estimate: DistributionEstimate) -> None:
    reports = STUDY.randomize(LOAD[2000:], random_state=1)
    different = STUDY.estimate(trusted=1.2 * LOAD[:2000], local=reports, random_state=2)
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
