"""Statistical tests here compare draws with a law at a p-value of 1e-9, and with scales that are a fifth off."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from hybriddp.grid import UNITS
from hybriddp.kmeans.statistics import L1_UNIT
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger, mechanisms
from hybriddp.release.mechanisms import Mechanism, laplace_scale, mechanism_for
from hybriddp.theory import gaussian_sigma
from tests.levels import LEVEL, z_limit
from tests.release.numbers import noisy, noisy_total

SENSITIVITIES = (1, 2, 3, 2 * L1_UNIT, 2 * (L1_UNIT + L1_UNIT // 9), UNITS)


# Scales


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.1425", "0.3", "1", "3", "7", "20"])
@pytest.mark.parametrize("sensitivity", SENSITIVITIES)
def test_the_scale_is_the_smallest_that_opendps_own_map_allows(epsilon: str, sensitivity: int) -> None:
    dp.enable_features("contrib")
    one_number = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    many = dp.vector_domain(one_number[0]), dp.l1_distance(T="i64")
    scale = laplace_scale(sensitivity, Privacy(epsilon=epsilon))
    for domain, distance in (one_number, many):
        assert Fraction(dp.m.make_laplace(domain, distance, scale=scale).map(sensitivity)) <= Fraction(epsilon)
        smaller = dp.m.make_laplace(domain, distance, scale=math.nextafter(scale, 0.0))
        assert Fraction(smaller.map(sensitivity)) > Fraction(epsilon)
    # And without OpenDP: neighbors at that distance differ by a factor of e^(sensitivity/scale) at most.
    assert Fraction(sensitivity) / Fraction(scale) <= Fraction(epsilon)
    assert scale == pytest.approx(sensitivity / float(epsilon), rel=1e-15)


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "20"])
def test_a_total_has_discrete_laplace_noise_for_the_whole_range(epsilon: str) -> None:
    mechanism = mechanism_for(Privacy(epsilon=epsilon))
    assert mechanism == Mechanism("discrete-laplace", laplace_scale(UNITS, Privacy(epsilon=epsilon)))
    assert mechanism.variance == pytest.approx(2 * (UNITS / float(epsilon)) ** 2, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.2, 1e-9)])
def test_gaussian_noise_keeps_the_promise_by_opendps_own_map(epsilon: float, delta: float) -> None:
    mechanism = mechanism_for(Privacy(epsilon=epsilon, delta=delta))
    gaussian = dp.m.make_gaussian(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=mechanism.scale)
    assert dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian), delta=delta).map(UNITS)[0] <= epsilon
    # The conversion is not tight: up to a fifth more noise than the analytic calibration of continuous noise.
    least = float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=float(UNITS)))
    assert least < mechanism.scale < 1.2 * least


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 7.3, 60.0])
def test_the_variance_is_that_of_the_law(scale: float) -> None:
    k = np.arange(-int(60 * scale) - 2, int(60 * scale) + 3)
    law = np.exp(-np.abs(k) / scale)
    exact = float(np.sum(law * k**2) / law.sum())
    assert Mechanism("discrete-laplace", scale).variance == pytest.approx(exact, rel=1e-12)
    assert Mechanism("discrete-gaussian", scale).variance == scale**2


# Laws


def _pvalue(noise: np.ndarray, scale: float) -> float:
    """Chi-square of single values against the closed form of the discrete Laplace law, each tail as one cell."""
    reach = int(3 * scale) + 1
    k = np.arange(-reach, reach + 1)
    shrink = math.exp(-1 / scale)
    law = (1 - shrink) / (1 + shrink) * shrink ** np.abs(k)
    tail = shrink ** (reach + 1) / (1 + shrink)
    counts = np.bincount(np.clip(noise, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    return float(stats.chisquare(counts, len(noise) * np.array([tail, *law, tail])).pvalue)


@pytest.mark.statistical
@pytest.mark.representative
@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(2, "2"), (2, "0.5"), (7, "1")])
def test_the_noise_has_the_law_that_is_claimed(seed: int | None, sensitivity: int, epsilon: str) -> None:
    values = np.arange(40_000) - 20_000
    private = noisy(values, sensitivity=sensitivity, privacy=Privacy(epsilon=epsilon), random_state=seed)
    noise = private.values - values
    assert _pvalue(noise, private.mechanism.scale) > LEVEL / 2
    assert _pvalue(noise, 0.8 * private.mechanism.scale) < LEVEL
    assert _pvalue(noise, 1.2 * private.mechanism.scale) < LEVEL
    # Numbers in the same vector get noise of their own.
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < z_limit(2) / math.sqrt(len(noise))


@pytest.mark.statistical
@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (Mechanism("discrete-laplace", 2 * UNITS), stats.laplace.cdf),  # a total, at ε = 0.5
        (Mechanism("discrete-laplace", 2 * (L1_UNIT + L1_UNIT // 9) / 0.15), stats.laplace.cdf),
        (Mechanism("discrete-gaussian", 4.9 * UNITS), stats.norm.cdf),
    ],
)
def test_noise_of_a_large_scale_has_its_law_too(mechanism: Mechanism, law: object, seed: int | None) -> None:
    # Kolmogorov-Smirnov against the continuous law: the integers are a ten-millionth of the scale apart.
    noise = mechanism.draw((20_000,), seed) / mechanism.scale
    assert stats.kstest(noise, law).pvalue > LEVEL
    assert stats.kstest(1.2 * noise, law).pvalue < LEVEL
    assert stats.kstest(0.8 * noise, law).pvalue < LEVEL


@pytest.mark.statistical
def test_totals_that_are_drawn_one_by_one_from_a_generator_have_the_law() -> None:
    privacy, generator = Privacy(epsilon=20), np.random.default_rng(7)
    drawn = [int(noisy_total(0, privacy, random_state=generator).values[0]) for _ in range(20_000)]
    noise = np.array(drawn) / mechanism_for(privacy).scale
    assert stats.kstest(noise, stats.laplace.cdf).pvalue > LEVEL / 2
    assert stats.kstest(1.2 * noise, stats.laplace.cdf).pvalue < LEVEL
    assert stats.kstest(0.8 * noise, stats.laplace.cdf).pvalue < LEVEL
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < z_limit(2) / math.sqrt(len(noise))


@pytest.mark.parametrize("privacy", [Privacy(epsilon=1), Privacy(epsilon=1, delta=1e-6)])
def test_a_seed_repeats(privacy: Privacy) -> None:
    mechanism = mechanism_for(privacy)
    assert np.array_equal(mechanism.draw((5,), 3), mechanism.draw((5,), 3))
    assert mechanism.draw((), 3) == mechanism.draw((), 3) != mechanism.draw((), 4)
    released = noisy_total(77, privacy, random_state=3)
    assert released.values[0] == 77 + int(mechanism.draw((), 3))
    assert len({int(mechanism.draw((), None)) for _ in range(5)}) > 1  # five equal ones: once in 10^30 runs


@pytest.mark.parametrize("size", [1, 2, 4096])
def test_what_comes_out_has_the_shape_of_what_went_in(size: int) -> None:
    privacy = Privacy(epsilon=1)
    values = np.full(size, -7, np.int64)
    real = noisy(values, sensitivity=2, privacy=privacy)
    simulated = [noisy(values, sensitivity=2, privacy=privacy, random_state=3) for _ in range(2)]
    assert not real.seeded
    assert simulated[0].seeded
    for private in (real, *simulated):
        assert private.values.shape == (size,)
        assert private.values.dtype == np.int64
        assert private.mechanism.scale == laplace_scale(2, privacy)
    assert np.array_equal(simulated[0].values, simulated[1].values)
    assert np.array_equal(values, np.full(size, -7))  # what is exact stays as it was


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_seed_never_reaches_opendp_and_no_seed_never_reaches_numpy(
    monkeypatch: pytest.MonkeyPatch, delta: float
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the wrong source")

    mechanism = mechanism_for(Privacy(epsilon="0.77", delta=delta))
    with monkeypatch.context() as patch:
        patch.setattr(mechanisms, "_measurement", fail)
        mechanism.draw((1,), 1)
        with pytest.raises(RuntimeError):
            mechanism.draw((1,), None)
    monkeypatch.setattr(mechanisms, "simulation_generator", fail)
    mechanism.draw((1,), None)
    with pytest.raises(RuntimeError):
        mechanism.draw((1,), 1)


@pytest.mark.slow
def test_drawing_noise_imports_no_machine_learning() -> None:
    program = (
        "import sys; from hybriddp.release.mechanisms import import_opendp; import_opendp(); "
        "print(sorted({'sklearn', 'opendp.prelude'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_release_that_fails_after_the_draw_counts_as_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise RuntimeError("the machine went down")

    monkeypatch.setattr(Mechanism, "draw", fail)
    ledger = Ledger(Privacy(epsilon=1))
    with pytest.raises(RuntimeError):
        noisy_total(0, Privacy(epsilon=1), ledger=ledger)
    assert len(ledger.events) == 1
