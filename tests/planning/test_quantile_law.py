import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from hybriddp.distribution.bins import Bins
from hybriddp.distribution.expected import Outcome
from hybriddp.distribution.fit import DistributionFit
from hybriddp.grid import Grid
from hybriddp.planning.quantile_law import AnswerLaw, CurveLaw
from hybriddp.planning.quantiles import plan_quantiles


def _fit(masses: np.ndarray, error: float) -> DistributionFit:
    """Make a fit whose CDF has the same standard error at all edges."""
    covariance = np.zeros((256, 256))
    covariance[0, 0] = covariance[-1, -1] = error**2
    covariance[0, -1] = covariance[-1, 0] = -(error**2)
    return DistributionFit(masses, covariance)


def _law(fit: DistributionFit, bins: Bins, q: float) -> AnswerLaw:
    return CurveLaw.of([Outcome(1.0, fit)]).answer(bins, q)


def test_a_small_rank_error_is_divided_by_the_density() -> None:
    """For masses that are equal within the bounds 0 and 100, of density 1/100."""
    masses = np.full(256, 1 / 254)
    masses[[0, -1]] = 0.0
    law = _law(_fit(masses, 0.01), Bins(Grid(0, 100)), 0.3)
    assert law.masses.sum() == pytest.approx(1)
    assert law.rms_error(30.0) == pytest.approx(1.0, rel=1e-3)
    assert law.median_error(30.0) == pytest.approx(ndtri(0.75), rel=0.02)
    assert law.rms_error(33.0) == pytest.approx((1 + 9) ** 0.5, rel=1e-3)


def test_the_answer_lies_above_an_edge_if_the_cdf_there_is_below_q() -> None:
    rng = np.random.default_rng(3)
    masses, bins = rng.dirichlet(np.ones(256)), Bins(Grid(0, 1), "log", 0.01)
    found = _fit(masses, 0.05)
    law = _law(found, bins, 0.95)
    for i in (0, 40, 128, 200, 253):
        above = float(law.masses[law.values > bins.edges[i]].sum())
        assert above == pytest.approx(float(ndtr((0.95 - np.cumsum(masses)[i]) / 0.05)), abs=0.006)
    assert law.masses[law.values == 1].sum() == pytest.approx(float(ndtr((0.95 - found.cdf[-1]) / 0.05)), abs=0.006)
    lowest = _law(found, bins, 0.01)
    assert lowest.masses[lowest.values == 0].sum() == pytest.approx(float(ndtr((masses[0] - 0.01) / 0.05)), abs=0.006)


def test_a_few_large_errors_are_in_the_mean_square_and_not_in_the_median() -> None:
    law = AnswerLaw(np.array([9.0, 10.0, 11.0, 110.0]), np.array([0.3, 0.3, 0.3, 0.1]))
    assert law.rms_error(10.0) == pytest.approx((0.6 + 1000) ** 0.5)
    assert law.median_error(10.0) == 1.0


def test_long_tails_are_told() -> None:
    """Pay with a mean of 40,000 and bounds of two million: 200 studies had a root mean square of 195,676 at p95."""
    plan = plan_quantiles(
        n_users=12_000,
        trusted_fraction=1 / 6,
        epsilon=0.2,
        bounds=(0, 2_000_000),
        shape="lognormal(40000, 56000)",
        at=(0.5, 0.95),
    )
    row = plan.row(0.95)
    assert row.value_error == pytest.approx(195_676, rel=0.25)
    assert row.median_error is not None
    assert row.median_error < 0.15 * row.value_error
    median, p95 = plan.explain().splitlines()[1:3]
    assert "half of the time by less than" in p95
    assert "half of the time" not in median
    assert plan.to_dict()["quantiles"][1]["median_error"] == row.median_error
