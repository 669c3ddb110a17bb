import math
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from hybriddp.kmeans.statistics import UNIT
from hybriddp.privacy import Privacy
from hybriddp.release.vector import PrivateVector, laplace_scale, laplace_variance, release_vector

SENSITIVITIES = (1, 2, 3, 2 * UNIT, 2 * (UNIT + UNIT // 9))


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.1425", "0.3", "1", "3", "7", "20"])
@pytest.mark.parametrize("sensitivity", SENSITIVITIES)
def test_the_scale_is_the_smallest_that_opendps_own_map_allows(epsilon: str, sensitivity: int) -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")

    def cost(scale: float) -> Fraction:
        return Fraction(dp.m.make_laplace(*space, scale=scale).map(sensitivity))

    scale = laplace_scale(sensitivity, Privacy(epsilon=epsilon))
    assert cost(scale) <= Fraction(epsilon)
    assert cost(math.nextafter(scale, 0.0)) > Fraction(epsilon)
    # And without OpenDP: neighbors at that distance differ by a factor of e^(sensitivity/scale) at most.
    assert Fraction(sensitivity) / Fraction(scale) <= Fraction(epsilon)
    assert scale == pytest.approx(sensitivity / float(epsilon), rel=1e-15)


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 7.3, 60.0])
def test_the_variance_is_that_of_the_law(scale: float) -> None:
    k = np.arange(-int(60 * scale) - 2, int(60 * scale) + 3)
    law = np.exp(-np.abs(k) / scale)
    exact = float(np.sum(law * k**2) / law.sum())
    assert laplace_variance(scale) == pytest.approx(exact, rel=1e-12)
    assert PrivateVector(k, scale, seeded=False).variance == laplace_variance(scale)


def _pvalue(noise: np.ndarray, scale: float) -> float:
    """Chi-square of single values, those in the tails together."""
    reach = int(3 * scale) + 1
    k = np.arange(-reach, reach + 1)
    shrink = math.exp(-1 / scale)
    law = (1 - shrink) / (1 + shrink) * shrink ** np.abs(k)
    tail = shrink ** (reach + 1) / (1 + shrink)
    counts = np.bincount(np.clip(noise, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    return float(stats.chisquare(counts, len(noise) * np.array([tail, *law, tail])).pvalue)


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(2, "2"), (2, "0.5"), (7, "1")])
def test_the_noise_has_the_law_that_is_claimed(seed: int | None, sensitivity: int, epsilon: str) -> None:
    # A false alarm has probability 1e-7, and a scale that is a fifth off does not pass.
    values = np.arange(40_000) - 20_000
    private = release_vector(values, sensitivity=sensitivity, privacy=Privacy(epsilon=epsilon), random_state=seed)
    noise = private.values - values
    assert _pvalue(noise, private.scale) > 1e-7
    assert _pvalue(noise, 0.8 * private.scale) < 1e-7
    assert _pvalue(noise, 1.2 * private.scale) < 1e-7
    # Numbers in the same vector get noise of their own.
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 5.4 / math.sqrt(len(noise))


@pytest.mark.parametrize("seed", [None, 5])
def test_noise_of_a_large_scale_has_it_too(seed: int | None) -> None:
    sensitivity = 2 * (UNIT + UNIT // 9)
    zeros = np.zeros(20_000, np.int64)
    private = release_vector(zeros, sensitivity=sensitivity, privacy=Privacy(epsilon="0.15"), random_state=seed)
    noise = private.values / private.scale
    assert stats.kstest(noise, stats.laplace.cdf).pvalue > 1e-7
    assert stats.kstest(1.2 * noise, stats.laplace.cdf).pvalue < 1e-7
    assert stats.kstest(0.8 * noise, stats.laplace.cdf).pvalue < 1e-7


@pytest.mark.parametrize("size", [1, 2, 4096])
def test_what_comes_out_has_the_shape_of_what_went_in(size: int) -> None:
    privacy = Privacy(epsilon=1)
    values = np.full(size, -7, np.int64)
    real = release_vector(values, sensitivity=2, privacy=privacy)
    simulated = [release_vector(values, sensitivity=2, privacy=privacy, random_state=3) for _ in range(2)]
    assert not real.seeded
    assert simulated[0].seeded
    for private in (real, *simulated):
        assert private.values.shape == (size,)
        assert private.values.dtype == np.int64
        assert private.scale == laplace_scale(2, privacy)
    assert np.array_equal(simulated[0].values, simulated[1].values)
    assert np.array_equal(values, np.full(size, -7))  # what is exact stays as it was


def test_a_seed_never_reaches_opendp_and_no_seed_never_reaches_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    from hybriddp.release import vector

    def fail(*_: object) -> None:
        raise RuntimeError("the wrong source")

    privacy = Privacy(epsilon="0.77")
    release_vector(np.zeros(1, np.int64), sensitivity=2, privacy=privacy)  # the scale is known from now on
    with monkeypatch.context() as patch:
        patch.setattr(vector, "_measurement", fail)
        release_vector(np.zeros(1, np.int64), sensitivity=2, privacy=privacy, random_state=1)
        with pytest.raises(RuntimeError):
            release_vector(np.zeros(1, np.int64), sensitivity=2, privacy=privacy)
    monkeypatch.setattr(vector, "simulation_generator", fail)
    release_vector(np.zeros(1, np.int64), sensitivity=2, privacy=privacy)
