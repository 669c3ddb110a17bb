"""What quantiles are measured by: the shapes of the benchmark, and the peer that we wrote ourselves."""

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks import square_wave
from benchmarks.distribution_shapes import AWKWARD, DEV, NEW, STEEP, Shape
from hybriddp.distribution.bins import Bins
from hybriddp.grid import Grid
from tests.levels import LEVEL, z_limit

BINS = Bins(Grid(0, 1))


@pytest.mark.parametrize("shape", [*DEV, STEEP, *NEW, *AWKWARD], ids=lambda shape: shape.name)
def test_masses_ranks_and_draws_are_those_of_the_law(shape: Shape) -> None:
    """260 fractions of 20,000 draws, each with a standard error of 0.0036 at most."""
    limit, masses = z_limit(260) * 0.5 / math.sqrt(20_000), shape.masses(BINS)
    assert masses.sum() == pytest.approx(1)
    drawn = shape.draw(20_000, np.random.default_rng(0))
    counted = np.bincount(BINS.of_units(BINS.grid.units(drawn)), minlength=256) / len(drawn)
    assert np.abs(np.cumsum(counted) - np.cumsum(masses)).max() < limit
    for q in (0.1, 0.5, 0.9, 0.99):
        x = shape.quantile(q)
        assert float(shape.cdf(x)) >= q - 1e-9
        assert float(shape.cdf(x, left=True)) <= q + 1e-9
        assert shape.rank_error(x, q) == pytest.approx(0, abs=1e-9)
        assert abs(np.mean(drawn < x) - float(shape.cdf(x, left=True))) < limit


def test_a_scaled_shape_has_scaled_quantiles() -> None:
    assert DEV[0].scaled(1.1).quantile(0.5) == pytest.approx(1.1 * DEV[0].quantile(0.5))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_square_wave_is_private_and_its_table_the_law_of_its_reports(epsilon: float) -> None:
    table = square_wave.transitions(epsilon)
    np.testing.assert_allclose(table.sum(axis=0), 1)
    assert table.max() / table.min() <= math.exp(epsilon) * (1 + 1e-9)
    middle = (100 + 0.5) / square_wave.N_INPUTS
    reports = square_wave.report(np.full(200_000, middle), epsilon, np.random.default_rng(0))
    seen, law = square_wave.histogram(reports, epsilon), stats.binom(len(reports), table[:, 100])
    assert min(law.cdf(seen).min(), law.sf(seen - 1).min()) > LEVEL / 2 / seen.size
    wrong = 1.2 * seen
    assert min(law.cdf(wrong).min(), law.sf(wrong - 1).min()) < LEVEL / 2 / seen.size


def test_expectation_maximization_finds_the_median() -> None:
    rng = np.random.default_rng(0)
    counts = square_wave.histogram(square_wave.report(DEV[0].draw(100_000, rng), 2.0, rng), 2.0)
    masses = square_wave.estimate(counts, 2.0)
    assert masses.sum() == pytest.approx(1)
    assert abs(DEV[0].rank_error(square_wave.quantile(masses, 0.5), 0.5)) < 0.02
