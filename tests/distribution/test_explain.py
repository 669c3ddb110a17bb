from dataclasses import replace

import numpy as np

from hybriddp.distribution import DistributionEstimate, DistributionStudy
from hybriddp.distribution.explain import cell, quantile_words, shown
from hybriddp.distribution.quantile import Quantile
from hybriddp.study.intervals import Interval
from tests.distribution.conftest import LOAD


def test_the_explanation_says_which_quantiles_are_determined(estimate: DistributionEstimate) -> None:
    text = estimate.explain()
    assert "\np50: " in text
    assert "\np95: " in text
    p99 = next(line for line in text.splitlines() if line.startswith("p99: "))
    assert (
        p99.endswith("Not determined from above: it touches the upper bound.") == estimate.quantile(0.99).touches_upper
    )


def test_few_users_are_warned_about() -> None:
    study = DistributionStudy("x", bounds=(0, 1), epsilon=0.5)
    few = study.estimate(
        trusted=None, local=study.randomize(np.full(5000, 0.5), random_state=1), single_group=True, random_state=1
    )
    assert few.rank_error > 0.05
    assert any(warning.startswith("WARNING: this answer is mostly noise") for warning in few.warnings)
    touching = [warning for warning in few.warnings if "touch" in warning]
    assert touching
    assert all("bound" in warning for warning in touching)
    assert str(few).startswith("WARNING: ")


def test_a_bin_that_holds_too_much_is_warned_about() -> None:
    study = DistributionStudy("ms", bounds=(0, 10_000), epsilon=2)
    reports = study.randomize(np.full(60_000, 333.0), random_state=1)
    estimate = study.estimate(trusted=np.full(3000, 333.0), local=reports, random_state=1)
    (warning,) = [one for one in estimate.warnings if "resolution" in one]
    assert "holds more than 5 % of all users" in warning
    assert 'scale="log"' in warning
    zeros = study.estimate(
        trusted=np.zeros(3000), local=study.randomize(np.zeros(60_000), random_state=1), random_state=1
    )
    assert not any("resolution" in one for one in zeros.warnings)  # a bound is exactly where it is
    assert "p50: 0, the lower bound itself, or below." in zeros.explain()
    assert not any("bound itself" in one for one in zeros.warnings)  # many zeros are nothing to warn about


def test_quantiles_that_are_a_bound_are_warned_about() -> None:
    """Milliseconds with bounds for seconds."""
    study = DistributionStudy("load", bounds=(0, 10), epsilon=2, scale="log")
    narrow = study.estimate(
        trusted=LOAD[:2000], local=study.randomize(LOAD[2000:22_000], random_state=1), random_state=1
    )
    assert narrow.warnings == (
        "WARNING: p50, p90, p95 and p99 are the upper bound itself, 10, or above: if values can lie above it, check "
        "their units and the bounds.",
    )
    assert "p95: at or above 10, the upper bound." in narrow.explain()
    assert "p95 at or above 10, the upper bound." in str(narrow)
    assert cell(narrow.quantile(0.95)) == ("p95", "≥ 10", "10 or above", "no: the upper bound itself, or above")
    assert quantile_words(narrow.quantile(0.95)) == "p95: ≥ 10 (the bound)"
    told = narrow.to_dict()["rows"][0]
    assert (told["determined_from_below"], told["determined_from_above"]) == (True, False)
    above = DistributionStudy("age", bounds=(1000, 1010), epsilon=2)
    low = above.estimate(
        trusted=np.zeros(2000), local=above.randomize(np.zeros(20_000), random_state=1), random_state=1
    )
    assert low.warnings[0].startswith("WARNING: p50, p90 and p95 are the lower bound itself, 1,000, or below: ")
    assert cell(low.quantile(0.5))[3] == "no: the lower bound itself, or below"


def test_groups_that_differ_are_warned_about(different: DistributionEstimate, estimate: DistributionEstimate) -> None:
    assert different.groups_differ
    assert not estimate.groups_differ
    assert "The groups differ, so the intervals do not assume that they are alike." in different.explain()
    slightly = different.divergence
    assert slightly is not None
    like = round(2000 / (1 + 2000 * slightly.tau**2))
    assert f" Therefore 2,000 trusted users count like {like} beside the others." in different.warnings[0]
    assert "Therefore" not in different.allowing_groups_to_differ().warnings[0]
    milder = replace(different, fits=replace(different.fits, comparison=replace(slightly, statistic=30.0)))
    assert "by more than chance explains in 95 % of studies. Therefore" in milder.warnings[0]
    assert "The intervals assume that those who trust" in milder.explain()


def test_intervals_are_rounded_outward(estimate: DistributionEstimate) -> None:
    for one in estimate.quantiles((0.05, 0.3, 0.5, 0.95)):
        low, high = (
            float(word.replace(",", "")) for word in shown(one).split("between ")[1].split(" (")[0].split(" and ")
        )
        assert low <= one.interval.lower
        assert high >= one.interval.upper


def test_an_interval_is_rounded_outward_where_its_error_gains_a_digit() -> None:
    """A quarter of the width is 0.0000996, which two digits round to 0.00010."""
    interval = Interval(0.00012531, 0.00052381, 0.95)
    one = Quantile(0.5, 0.00043633, interval, 3, 0.01, touches_lower=False, touches_upper=False)
    assert shown(one) == "0.00044, between 0.00012 and 0.00053 (95 %)"
