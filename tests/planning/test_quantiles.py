import json
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from hybriddp.channels.masked import MaskedResponse
from hybriddp.distribution import DistributionStudy
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.expected import Outcome, outcomes
from hybriddp.distribution.fit import DistributionFit
from hybriddp.errors import ParameterError
from hybriddp.grid import Grid
from hybriddp.planning.quantile_law import AnswerLaw, CurveLaw
from hybriddp.simulation import simulate
from tests.planning.settings import plan_quantiles, solve_quantiles

pytestmark = pytest.mark.repeated

LATENCY: dict[str, Any] = {"bounds": (0, 10_000), "scale": "log", "shape": "lognormal(550, 520)"}


def test_without_a_shape_there_are_ranks_only() -> None:
    made = plan_quantiles(n_users=10**6, trusted_fraction=0, epsilon=1, bounds=(0, 1))
    assert made.rank_error == pytest.approx((MaskedResponse(epsilon=1).rank_variance / 10**6) ** 0.5, rel=0.01)
    (median, *_) = made.rows
    assert median.value is median.value_error is median.median_error is None
    assert np.isnan(median.trusted_rank_error)
    assert "single model" in made.explain()
    assert "nothing about the shape" in made.explain()


def test_with_a_shape_there_are_values_too() -> None:
    made = plan_quantiles(n_users=10**6, trusted_fraction=0.01, epsilon=1, **LATENCY)
    row = made.row(0.95)
    assert row.value == pytest.approx(1486, rel=0.01)
    assert row.value_error == pytest.approx(row.rank_error / 7.9e-5, rel=0.15)  # by the density at p95
    assert row.lower is not None
    assert row.upper is not None
    assert row.lower < 1486 < row.upper
    assert row.rank_error < min(row.trusted_rank_error, row.local_rank_error)
    assert "lognormal(550, 520)" in made.explain()
    assert json.loads(made.to_json())["quantiles"][2]["q"] == 0.95


@pytest.mark.statistical
@pytest.mark.parametrize("fraction", [0.002, 0.05])
def test_the_plan_is_what_the_pipeline_does(fraction: float) -> None:
    """Of 50 trials and 4 quantiles; isotonic regression may make the local group's noise a fifth smaller."""
    study = DistributionStudy("x", bounds=(0, 10_000), epsilon=2, scale="log")
    made = plan_quantiles(n_users=100_000, trusted_fraction=fraction, epsilon=2, **LATENCY)
    seen = simulate(study, LATENCY["shape"], n_users=100_000, trusted_fraction=fraction, trials=50, random_state=1)
    planned = np.sqrt(np.mean([row.rank_error**2 for row in made.rows]))
    observed = np.sqrt(np.mean([outcome.rank_error**2 for outcome in seen.outcomes]))
    assert 0.65 < observed / planned < 1.3
    for row in made.rows[:2]:
        assert row.value_error is not None
        assert 0.55 < seen[row.q].value_error / row.value_error < 1.5


@pytest.mark.repeated
@pytest.mark.parametrize("for_", ["n_users", "trusted_fraction", "epsilon"])
def test_what_is_found_is_enough_and_a_little_less_is_not(for_: str) -> None:
    known: dict[str, Any] = {"n_users": 200_000, "trusted_fraction": 0.01, "epsilon": 1}
    del known[for_]
    found = solve_quantiles(for_=for_, at=(0.95,), target_rmse=60, **known, **LATENCY)
    (row,) = found.plan.rows
    assert row.value_error is not None
    assert row.value_error <= 60
    less = 0.95 * found.value
    fewer = plan_quantiles(**known, **{for_: int(less) if for_ == "n_users" else less}, **LATENCY).row(0.95)
    assert fewer.value_error is not None
    assert fewer.value_error > 60
    assert for_ in repr(found)


def test_noise_may_lead_as_far_as_the_bounds() -> None:
    """Equal values do not make an answer that is all noise exact; the place within their bin is not known."""
    made = plan_quantiles(n_users=100, trusted_fraction=0.1, epsilon=0.1, bounds=(0, 8), shape=[2.0, 2.0])
    assert made.row(0.5).rank_error > 0.5
    for q in (0.5, 0.95):
        error = made.row(q).value_error
        assert error is not None
        assert 3 < error < 6  # answers are 0 or 8, and the truth is 2
    many = plan_quantiles(n_users=10**6, trusted_fraction=0.1, epsilon=1, bounds=(0, 8), shape=[2.0, 2.0])
    assert many.row(0.5).value_error == pytest.approx(0.0, abs=8 / 254)


@pytest.mark.parametrize(("fraction", "missing"), [(0, "trusted_rank_error"), (1, "local_rank_error")])
def test_a_group_that_is_not_there_has_no_error_in_json(fraction: int, missing: str) -> None:
    made = plan_quantiles(n_users=1000, trusted_fraction=fraction, epsilon=1, bounds=(0, 1))
    played = simulate(
        DistributionStudy("x", bounds=(0, 1), epsilon=1),
        "beta(2, 5)",
        n_users=1000,
        trusted_fraction=fraction,
        trials=2,
        at=iter([0.5]),
    )
    for text in (made.to_json(), played.to_json()):
        assert "NaN" not in text
        assert json.loads(text)["quantiles"][0][missing] is None


@pytest.mark.parametrize("at", [0.5, (), "0.5"])
def test_quantiles_are_named_in_a_sequence(at: Any) -> None:
    study = DistributionStudy("x", bounds=(0, 1), epsilon=1)
    with pytest.raises(ParameterError, match="^at must be"):
        plan_quantiles(n_users=1000, trusted_fraction=0.1, epsilon=1, bounds=(0, 1), at=at)
    with pytest.raises(ParameterError, match="^at must be"):
        simulate(study, "beta(2, 5)", n_users=1000, trusted_fraction=0.1, trials=2, at=at)


def test_a_rank_error_needs_no_shape() -> None:
    found = solve_quantiles(
        for_="n_users", at=(0.5,), target_rank_error=0.01, trusted_fraction=0, epsilon=1, bounds=(0, 1)
    )
    assert found.plan.row(0.5).rank_error == pytest.approx(0.01, rel=0.01)


def test_what_is_wrong_or_out_of_reach_is_refused() -> None:
    known: dict[str, Any] = {"trusted_fraction": 0.01, "epsilon": 1}
    with pytest.raises(ParameterError, match="target_rmse must be given, or target_rank_error is, but not both"):
        solve_quantiles(for_="n_users", at=(0.5,), **known, **LATENCY)
    with pytest.raises(ParameterError, match="shape must be given for an error in the units of the values"):
        solve_quantiles(for_="n_users", at=(0.5,), target_rmse=1, **known, bounds=(0, 1))
    with pytest.raises(ParameterError, match="n_users must be left out when solving for n_users"):
        solve_quantiles(for_="n_users", at=(0.5,), target_rmse=1, n_users=100, **known, **LATENCY)
    with pytest.raises(ParameterError, match="target_rank_error must be at least .*: not even if all users trust"):
        solve_quantiles(
            for_="trusted_fraction", at=(0.5,), target_rank_error=1e-6, n_users=1000, epsilon=1, bounds=(0, 1)
        )
    with pytest.raises(ParameterError, match="at must be"):
        plan_quantiles(n_users=1000, bounds=(0, 1), at=(0.0,), **known)


def test_what_is_mostly_noise_or_open_is_told() -> None:
    few = plan_quantiles(n_users=2000, trusted_fraction=0.01, epsilon=0.5, **LATENCY).explain()
    assert "Not recommended: the answer would be mostly noise." in few
    assert "Touching a bound" in few
    one_sided = plan_quantiles(n_users=10**6, trusted_fraction=0.3, epsilon=1, **LATENCY)
    assert "trusted group alone would be about as good" in one_sided.explain()


def test_a_bin_that_holds_too_much_is_told() -> None:
    """Exponential values with a mean of a hundredth of the range: the first bins hold a third of them each."""
    known: dict[str, Any] = {"n_users": 10**6, "trusted_fraction": 0.01, "epsilon": 1, "bounds": (0, 10_000)}
    shape = np.random.default_rng(0).exponential(100, 20_000)
    coarse = plan_quantiles(**known, shape=shape)
    assert coarse.bin_mass(0.5) == pytest.approx(0.2, abs=0.03)
    assert "more than 5 % of all users, and so as coarse as that bin: p50. Edges that are closer" in coarse.explain()
    fine = plan_quantiles(**known, shape=shape, scale="log")
    assert fine.bin_mass(0.5) < 0.02
    zeros = plan_quantiles(**known, shape=np.append(np.zeros(60), np.full(40, 9000.0)), at=(0.5,))
    assert zeros.bin_mass(0.5) == 0  # at the bound
    for made in (fine, zeros, plan_quantiles(**known)):
        assert "as coarse as" not in made.explain()


def test_a_shape_beyond_the_bounds_is_told() -> None:
    """Milliseconds with bounds for seconds."""
    known: dict[str, Any] = {"n_users": 10**5, "trusted_fraction": 0.01, "epsilon": 1}
    narrow = plan_quantiles(**known, bounds=(0, 10), shape="lognormal(550, 520)").explain()
    assert "Of the assumed values 100 % are at or above the upper bound, and count as the bound" in narrow
    assert (
        "count as the bound" not in plan_quantiles(**known, bounds=(0, 10_000), shape="lognormal(550, 520)").explain()
    )
    high = plan_quantiles(**known, bounds=(1000, 2000), shape=[10.0, 1500.0]).explain()
    assert "Of the assumed values 50 % are at or below the lower bound" in high
    zeros = plan_quantiles(**known, bounds=(0, 10), shape=[0.0, 5.0]).explain()
    assert "count as the bound" not in zeros


# Law of an answer


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
    assert law.median_error(30.0) == pytest.approx(ndtri(0.75), rel=0.1)  # of some hundred curves
    assert law.rms_error(33.0) == pytest.approx((1 + 9) ** 0.5, rel=1e-3)


def test_the_answer_lies_above_an_edge_if_the_cdf_there_is_below_q() -> None:
    rng = np.random.default_rng(3)
    masses, bins = rng.dirichlet(np.ones(256)), Bins(Grid(0, 1), "log", 0.01)
    found = _fit(masses, 0.05)
    law = _law(found, bins, 0.95)
    for i in (0, 40, 128, 200, 253):
        above = float(law.masses[law.values > bins.edges[i]].sum())
        assert above == pytest.approx(
            float(ndtr((0.95 - np.cumsum(masses)[i]) / 0.05)), abs=0.02
        )  # of some hundred curves
    assert law.masses[law.values == 1].sum() == pytest.approx(
        float(ndtr((0.95 - found.cdf[-1]) / 0.05)), abs=0.02
    )  # of some hundred curves
    lowest = _law(found, bins, 0.01)
    assert lowest.masses[lowest.values == 0].sum() == pytest.approx(
        float(ndtr((masses[0] - 0.01) / 0.05)), abs=0.02
    )  # of some hundred curves


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


def test_studies_in_which_chance_tells_alike_groups_apart_count() -> None:
    """400 studies had these errors; without the 5 % in which groups are told apart, the median would have 4.5."""
    options: dict[str, Any] = {"epsilon": 0.2, "bounds": (0, 23_400), "scale": "log", "shape": "gamma(1490, 1490)"}
    made = plan_quantiles(n_users=254_446, trusted_fraction=0.5, at=(0.1, 0.5, 0.9, 0.99), **options)
    assert made.values is not None
    for row, seen in zip(made.rows, (3.784, 8.562, 28.62, 108.3), strict=True):
        assert row.value_error == pytest.approx(seen, rel=0.25)
    sizes = {"n_trusted": made.n_trusted, "n_local": made.n_local}
    found = outcomes(MaskedResponse(epsilon="0.2"), made.values.masses, **sizes)
    assert [one.chance for one in found] == pytest.approx([0.95, 0.025, 0.025])
    errors = [float(one.fit.standard_errors.max()) for one in found]
    assert errors[2] > errors[1] > 2 * errors[0]
    alone = outcomes(MaskedResponse(epsilon="0.2"), made.values.masses, n_trusted=0, n_local=1000)
    assert [one.chance for one in alone] == [1.0]
