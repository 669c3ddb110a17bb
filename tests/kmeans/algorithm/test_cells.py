import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.cells import LEAST_SD, Frequencies, Start, blended, passed_variance, start
from hybriddp.kmeans.clustering import nearest
from hybriddp.kmeans.reports.grid import GridQuestion

GRID = GridQuestion(None, np.zeros(2), np.full(2, 0.05), (21, 21))
CENTERS = np.array([[0.25, 0.3], [0.75, 0.7]])


def _frequencies(seed: int, n: int, noise_sd: float) -> tuple[Frequencies, FloatArray]:
    rng = np.random.default_rng(seed)
    points = CENTERS[rng.integers(2, size=n)] + 0.06 * rng.standard_normal((n, 2))
    symbols = GRID.symbols(np.clip(points, 0, 1), np.zeros(n, np.int64), rng)
    shares = np.bincount(symbols, minlength=GRID.n_symbols) / n + noise_sd * rng.standard_normal(GRID.n_symbols)
    threshold = noise_sd * np.sqrt(2 * np.log(GRID.n_symbols))
    return Frequencies(shares, noise_sd**2, n, threshold), points


def _ordered(found: Start) -> FloatArray:
    return found.centers[nearest(CENTERS, found.centers)]


@pytest.mark.parametrize(
    ("n", "noise_sd", "least", "most"), [(2000, 1e-9, 0.75, 1.33), (5000, 1e-4, 0.75, 1.33), (5000, 1e-3, 0.4, 1.33)]
)
def test_first_centers_have_about_the_variance_that_they_claim(
    n: int, noise_sd: float, least: float, most: float
) -> None:
    """The mean square of the deviations, over fixed seeds; where there is much noise, rather too much is claimed."""
    squares, claimed = [], []
    for seed in range(150):
        frequencies, _ = _frequencies(seed, n, noise_sd)
        found = start(GRID, frequencies, 2, np.random.default_rng(0))
        squares.append((_ordered(found) - CENTERS) ** 2)
        claimed.append(found.variance)
    assert least < float(np.mean(squares) / np.mean(claimed)) < most


@pytest.mark.parametrize("mean", [-0.3, 0.0, 0.6, 1.0, 1.4, 5.0])
def test_the_variance_of_what_passes_a_cut_is_that_of_the_definition(mean: float) -> None:
    """By quadrature. Below half of the cut, the mean is taken to be 0."""
    cut, sd = 1.0, 0.3
    taken = mean if mean > cut / 2 else 0.0

    def moment(power: int) -> float:
        return float(
            quad(lambda x: x**power * norm.pdf(x, taken, sd), cut, max(taken, cut) + 12 * sd, points=[taken + sd])[0]
        )

    found = passed_variance(np.array([mean]), cut, sd)
    np.testing.assert_allclose(found, [moment(2) - moment(1) ** 2], rtol=1e-6, atol=1e-12)


def test_first_centers_know_sizes_and_spread() -> None:
    frequencies, points = _frequencies(0, 100_000, 1e-5)
    found = start(GRID, frequencies, 2, np.random.default_rng(0))
    label = nearest(points, found.centers)
    np.testing.assert_allclose(found.sizes, np.bincount(label) / len(points), atol=0.005)
    np.testing.assert_allclose(found.spread, 0.06**2, rtol=0.06)
    assert found.sizes.sum() == pytest.approx(1)


def test_a_cluster_is_never_taken_for_a_point() -> None:
    shares = np.zeros(GRID.n_symbols)
    shares[[50, 300]] = 0.5
    found = start(GRID, Frequencies(shares, 1e-12, 10, 1e-6), 2, np.random.default_rng(0))
    assert (found.spread >= LEAST_SD**2).all()
    np.testing.assert_allclose(found.spread, np.mean(GRID.step**2) / 60)  # a tenth of what rounding adds
    np.testing.assert_allclose(np.sort(found.centers, axis=0), np.sort(GRID.vertices()[[50, 300]], axis=0), atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 50, 441, 600])
@pytest.mark.parametrize("kind", ["nothing", "all below the threshold", "negative"])
def test_there_are_always_centers_inside_the_box(k: int, kind: str) -> None:
    rng = np.random.default_rng(k)
    shares = {
        "nothing": np.zeros(GRID.n_symbols),
        "all below the threshold": 1e-4 * rng.standard_normal(GRID.n_symbols),
        "negative": -rng.random(GRID.n_symbols),
    }[kind]
    found = start(GRID, Frequencies(shares, 1.0, 5, 4.0), k, rng)
    assert found.centers.shape == found.variance.shape == (k, 2)
    for values in (found.centers, found.variance, found.sizes, found.size_variance, found.spread):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    assert (found.centers <= 1).all()


# Blends


def test_blends_are_by_inverse_variance_at_the_average_vertex() -> None:
    """By hand, for two vertices."""
    trusted = Frequencies(np.array([0.6, 0.4]), 0.02, 100, 1.0)
    local = Frequencies(np.array([0.2, 0.8]), 0.01, 1000, 1.0)
    blend = blended(trusted, local)
    a, b = 0.02 + 1 / 200, 0.01 + 1 / 2000
    weight = (1 / a) / (1 / a + 1 / b)
    assert blend.trusted_weight == pytest.approx(weight)
    np.testing.assert_allclose(blend.frequencies.shares, weight * trusted.shares + (1 - weight) * local.shares)
    variance = weight**2 * 0.02 + (1 - weight) ** 2 * 0.01
    assert blend.frequencies.variance == pytest.approx(variance)
    assert blend.frequencies.users == pytest.approx(1 / (weight**2 / 100 + (1 - weight) ** 2 / 1000))
    assert blend.frequencies.threshold == pytest.approx(np.sqrt(2 * np.log(2) * variance))
    assert variance + 1 / 2 / blend.frequencies.users < min(a, b)


def test_one_group_alone_is_not_blended() -> None:
    only = Frequencies(np.array([0.6, 0.4]), 0.02, 100, 1.0)
    assert blended(only, None).frequencies is only
    assert blended(None, only).frequencies is only
    assert blended(only, None).trusted_weight == 1
    assert blended(None, only).trusted_weight == 0
