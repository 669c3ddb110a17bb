import math
from itertools import product

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from hybriddp.errors import NumericalError
from hybriddp.paper.amplification import PerGroup, laplace
from hybriddp.paper.amplification.laplace import LaplaceSum
from hybriddp.theory import UC_SALARIES as PAY
from hybriddp.theory import Setting, laplace_noise
from tests.examples import fewer_examples

# The law of the sum


def _bessel(x: float, k: int) -> float:
    """The density of a sum of k standard Laplace variables: |x|^{k-1/2} K_{k-1/2}(|x|) / (√π Γ(k) 2^{k-1/2})."""
    with mpmath.workdps(40):
        order = mpmath.mpf(k) - mpmath.mpf(1) / 2
        x = mpmath.mpf(x)
        value = x**order * mpmath.besselk(order, x) / (mpmath.sqrt(mpmath.pi) * mpmath.gamma(k) * 2**order)
        return float(mpmath.log(value))


def test_the_density_of_equal_terms_is_the_bessel_density() -> None:
    for terms, sds in product((2, 30, 40, 100), (0.01, 1.0, 5.0, 12.0)):
        law, without = LaplaceSum(1.0, 1.0, terms - 1), LaplaceSum(0.0, 1.0, terms)
        x = sds * law.sd
        assert [law.at(x).log_density, without.at(x).log_density] == pytest.approx([_bessel(x, terms)] * 2, abs=1e-11)


def test_the_tail_is_the_integral_of_the_density() -> None:
    laws = (LaplaceSum(1.0, 0.5, 1), LaplaceSum(1.0, 0.01, 5000), LaplaceSum(0.2, 1.0, 3), LaplaceSum(0.0, 1.0, 7))
    for law, sds in product(laws, (-1.0, 0.0, 0.5, 3.0)):
        x, end = sds * law.sd, (sds + 4) * law.sd
        mass, _ = integrate.quad(lambda y: math.exp(law.at(y).log_density), x, end, epsabs=1e-13, limit=200)  # noqa: B023
        assert math.exp(law.at(x).log_tail) - math.exp(law.at(end).log_tail) == pytest.approx(mass, abs=1e-9)


@pytest.mark.statistical
@pytest.mark.representative
def test_the_law_is_that_of_drawn_sums() -> None:
    law, rng = LaplaceSum(1.0, 0.3, 20), np.random.default_rng(0)
    drawn = rng.laplace(0, 1.0, 30_000) + 0.3 * rng.laplace(0, 1.0, (30_000, 20)).sum(axis=1)
    grid = np.linspace(-8, 8, 201)
    cdf = np.array([1 - math.exp(law.at(x).log_tail) for x in grid])
    assert stats.kstest(drawn, lambda x: np.interp(x, grid, cdf)).pvalue > 1e-9
    assert stats.kstest(1.2 * drawn, lambda x: np.interp(x, grid, cdf)).pvalue < 1e-9


def test_what_does_not_settle_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybriddp.paper.amplification.laplace._POINTS", (4, 8))
    with pytest.raises(NumericalError, match="did not settle"):
        LaplaceSum(1.0, 0.3, 20).at(1.0)


# The guarantee


def _exact(
    epsilon: float = 1.0, *, n: int = 1000, c: float = 0.1, weight: float = 0.5, honest: int = 900, width: float = 1.0,
    delta: float = 0.0,
) -> PerGroup[float]:  # fmt: skip
    noise = laplace_noise(n_users=n, trusted_fraction=c, width=width, epsilon=epsilon)
    setting = Setting(
        n_users=n, trusted_fraction=c, trusted_variance=0, local_variance=0, trusted_noise=noise.trusted,
        local_noise=noise.local,
    )  # fmt: skip
    return laplace.exact(setting, weight=weight, width=width, honest_local=honest, delta=delta)


def test_the_numbers_of_the_salaries() -> None:
    for c, collusion, delta, trusted, local in [
        (0.001, 0.0, 1e-5, 0.924776, 2.4894e-3),
        (0.001, 0.0, 1e-7, 0.988058, 3.7252e-3),
        (0.001, 0.9, 1e-7, 0.999985, 4.2087e-3),
        (0.01, 0.0, 1e-7, 0.999998, 6.5174e-4),
        (0.1, 0.0, 1e-7, 0.9999995, 2.9609e-4),
        (0.001, 0.0, 0.0, 1.0, 4.2157e-3),
        (0.01, 0.0, 0.0, 1.0, 6.5279e-4),
        (0.1, 0.0, 0.0, 1.0, 2.9650e-4),
    ]:
        setting = PAY.setting(c, laplace_noise(n_users=PAY.n_users, trusted_fraction=c, width=PAY.width, epsilon=1.0))
        honest, weight = round((1 - collusion) * (1 - c) * PAY.n_users), float(setting.weight_known_variance())
        exact = laplace.exact(setting, weight=weight, width=PAY.width, honest_local=honest, delta=delta)
        assert exact.trusted == pytest.approx(trusted, abs=6e-7)
        assert exact.local == pytest.approx(local, rel=1.5e-5)


def test_one_term_agrees_with_dp_accounting() -> None:
    loss = pld.from_laplace_mechanism(1 / 1.5, value_discretization_interval=1e-4)
    for delta in (1e-3, 1e-6):
        trusted = _exact(1.5, weight=0.7, honest=0, delta=delta).trusted
        assert trusted == pytest.approx(loss.get_epsilon_for_delta(delta), abs=3e-4)
        assert trusted == pytest.approx(1.5 + 2 * math.log1p(-delta))


@pytest.mark.slow
def test_delta_is_the_hockey_stick_divergence() -> None:
    """By direct integration of max(0, p(x - D) - e^ε p(x)) over a grid: an oracle that knows no half lines."""
    for terms, shift, delta in [(3, 1.0, 1e-3), (30, 2.0, 1e-5), (10, 0.1, 1e-4)]:
        law = LaplaceSum(1.0, 0.5, terms)
        epsilon = laplace._epsilon(law, shift, delta)
        grid, right = np.linspace(-14 * law.sd, 14 * law.sd, 40_001), np.linspace(0.0, 14 * law.sd, 1001)
        density = np.exp(np.interp(np.abs(grid), right, [law.at(x).log_density for x in right]))
        moved = np.interp(grid - shift, grid, density)
        excess = np.trapezoid(np.maximum(moved - math.exp(epsilon) * density, 0), grid)
        assert excess == pytest.approx(delta, rel=2e-3)


@pytest.mark.slow
@fewer_examples(2)
@given(
    c=st.floats(0.01, 0.5),
    w=st.floats(0.05, 0.95),
    epsilon=st.floats(0.1, 3.0),
    honest=st.tuples(st.integers(1, 500), st.integers(1, 500)),
    deltas=st.tuples(st.floats(1e-9, 1e-2), st.floats(1e-9, 1e-2)),
)
def test_more_noise_or_a_larger_delta_never_hurts(
    c: float, w: float, epsilon: float, honest: tuple[int, int], deltas: tuple[float, float]
) -> None:
    few, many = sorted(honest)
    small, large = sorted(deltas)

    def bound(honest: int, delta: float) -> PerGroup[float]:
        return _exact(epsilon, n=2000, c=c, weight=w, honest=honest, delta=delta)

    base, pure = bound(few, small), bound(few, 0.0)
    for better in (bound(many, small), bound(few, large)):
        assert better.trusted <= base.trusted * (1 + 1e-8) + 1e-11
        assert better.local <= base.local * (1 + 1e-8) + 1e-11
    assert base.trusted <= pure.trusted <= epsilon * (1 + 1e-12)
    assert base.local <= pure.local <= epsilon * (1 + 1e-12)
    assert pure.everyone == pytest.approx(epsilon)  # the worst user gains nothing


def test_limits() -> None:
    assert _exact(weight=1.0).local == 0.0
    assert _exact(weight=0.0, honest=0).local == math.inf
    assert _exact(delta=0.9).trusted == 0.0


@fewer_examples(3)
@given(epsilons=st.tuples(st.floats(0.1, 3.0), st.floats(0.1, 3.0)), w=st.floats(0.05, 0.95))
def test_a_larger_promise_is_never_amplified_to_a_smaller_one(epsilons: tuple[float, float], w: float) -> None:
    first, second = (_exact(epsilon, n=2000, weight=w, honest=300, delta=1e-5) for epsilon in sorted(epsilons))
    assert first.trusted <= second.trusted * (1 + 1e-8) + 1e-11
    assert first.local <= second.local * (1 + 1e-8) + 1e-11


def test_extreme_settings_fall_back_to_what_always_holds() -> None:
    for change in (
        {"weight": 0.999999},
        {"weight": 1e-6, "honest": 1},
        {"epsilon": 500.0},
        {"delta": 5e-324},
        {"width": 1e150},
        {"width": 1e-150},
    ):
        bound, pure = _exact(**{"delta": 1e-6, **change}), _exact(**{**change, "delta": 0.0})
        assert 0 <= bound.trusted <= pure.trusted
        assert 0 <= bound.local <= pure.local
