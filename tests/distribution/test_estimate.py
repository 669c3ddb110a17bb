from dataclasses import replace

import numpy as np
import pytest

from hybriddp.distribution import DistributionEstimate, DistributionStudy
from hybriddp.errors import ParameterError
from tests.distribution.conftest import LOAD, STUDY
from tests.levels import LEVEL, z_limit


def test_answers_are_near_the_truth(estimate: DistributionEstimate) -> None:
    """Six numbers; the seed is fixed, but would not matter."""
    assert [one.q for one in estimate.quantiles((0.5, 0.9))] == [0.5, 0.9]
    for q in (0.1, 0.5, 0.9):
        low, high = estimate.quantile(q, level=1 - LEVEL / 6).interval
        assert low <= np.quantile(LOAD, q) <= high
    for x in (200.0, 1000.0):
        answer = estimate.cdf(x)
        assert abs(answer.value - np.mean(x >= LOAD)) < z_limit(6) * answer.standard_error
    mean = estimate.mean()
    assert abs(mean.value - np.clip(LOAD, 0, 10_000).mean()) < z_limit(6) * mean.standard_error + mean.resolution
    bars = estimate.histogram([0, 200, 1000, 10_000])
    assert sum(bar.fraction for bar in bars) == pytest.approx(1)
    found = estimate.band(0.9)
    assert np.all(found.lower <= found.cdf)
    assert np.all(found.cdf <= found.upper)


def test_allowing_groups_to_differ_says_what_it_does(different: DistributionEstimate) -> None:
    honest = different.allowing_groups_to_differ()
    text = honest.explain()
    assert "Each group counts for its own users only" in text
    assert "counts as a sample" not in text
    assert honest.to_dict()["assumes_groups_alike"] is False
    assert (
        different.to_dict()["assumes_groups_alike"] is False
    )  # they clearly differ, and the trusted group counts less
    median = honest.quantile(0.5).interval
    assert median.lower <= np.quantile(np.concatenate([3 * LOAD[:2000], LOAD[2000:]]), 0.5) <= median.upper


def test_only_a_clear_difference_ends_the_assumption_that_groups_are_alike(different: DistributionEstimate) -> None:
    assert different.groups_clearly_differ
    seen = different.divergence
    assert seen is not None
    milder = replace(different, fits=replace(different.fits, comparison=replace(seen, statistic=30.0)))
    assert (milder.groups_differ, milder.groups_clearly_differ) == (True, False)
    assert milder.to_dict()["assumes_groups_alike"] is True


def test_it_is_shown_shortly(estimate: DistributionEstimate) -> None:
    assert repr(estimate).startswith("DistributionEstimate('page load ms': median ")
    assert "p95 " in str(estimate)
    assert [one.q for one in estimate.quantiles()] == [0.5, 0.9, 0.95, 0.99]
    assert str(estimate.quantile(0.95)) in estimate.explain()
    assert str(estimate.quantile(0.95)).startswith("p95: 1,")


def test_quantiles_are_asked_for_in_any_sequence(estimate: DistributionEstimate) -> None:
    asked = (0.5, 0.75)
    for at in (list(asked), np.array(asked, np.float32), iter(asked)):
        assert estimate.with_quantiles(at).at == asked
    few = estimate.with_quantiles((0.25, 0.999))
    for text in (few.explain(), few.to_json(), few.to_html()):
        assert "p25" in text
        assert "p99.9" in text
        assert "p90" not in text
    assert type(estimate.quantile(np.float32(0.5)).q) is float
    assert type(estimate.cdf(np.float32(0.5)).x) is float
    for wrong in (0.5, "0.5", np.array(0.5)):
        with pytest.raises(ParameterError, match="^at must be several quantiles"):
            estimate.with_quantiles(wrong)
        with pytest.raises(ParameterError, match="^q must be several quantiles"):
            estimate.quantiles(wrong)
    with pytest.raises(ParameterError, match="^at must be a number between 0 and 1"):
        estimate.with_quantiles((0.5, 95))


def test_groups_may_differ_is_the_same_before_and_after(estimate: DistributionEstimate) -> None:
    reports = STUDY.randomize(LOAD[2000:], random_state=1)
    before = STUDY.estimate(trusted=LOAD[:2000], local=reports, groups_may_differ=True, random_state=2)
    assert np.array_equal(before.fit.linear, estimate.allowing_groups_to_differ().fit.linear)
    assert before.rank_error > estimate.rank_error


@pytest.mark.parametrize("groups_may_differ", [False, True])
def test_each_part_has_an_answer_of_its_own(groups_may_differ: bool) -> None:
    study, summaries = DistributionStudy("minutes", bounds=(0, 240), epsilon=1), {}
    for key, median in {"DE": 40.0, "FR": 100.0}.items():
        part = study.part("country", key)
        reports = part.randomize(np.full(20_000, median), random_state=1)
        summaries[key] = part.summarize_trusted(np.full(400, median)), part.summarize_local(reports)
    found = study.estimate_parts("country", summaries, groups_may_differ=groups_may_differ)
    assert [one.quantile(0.5).value for one in found.values()] == pytest.approx([40, 100], abs=2)
    assert all(one.groups_may_differ is groups_may_differ for one in found.values())
