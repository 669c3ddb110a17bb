import math
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import log_ndtr

from hybriddp import MeanStudy
from hybriddp.amplification import amplify, window
from hybriddp.amplification.window import exact, pure_epsilon, rounding_cost, trusted_epsilon
from hybriddp.channels.window_channel import VALUE_BITS, WindowChannel
from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS
from hybriddp.mean import published
from tests.examples import fewer_examples

# Rounding to a step


def _run(start: Fraction, length: Fraction, rate: float) -> float:
    """The logarithm of the unnormalized probability that discrete Laplace noise lies in a half-open interval."""
    k = np.arange(math.ceil(start), math.ceil(start + length))
    return float(np.logaddexp.reduce(-rate * np.abs(k)))


def _worst(length: Fraction, moved: Fraction, rate: float) -> float:
    """The largest log ratio over all places of the interval, by enumeration: 12 origins within a step, 80 steps."""
    starts = [Fraction(i, 12) for i in range(-40 * 12, 40 * 12)]
    moves = [moved * Fraction(j, 4) for j in range(-4, 5)]
    here = {x: _run(x, length, rate) for x in starts}
    return max(abs(here[x] - _run(x + d, length, rate)) for x in starts for d in moves)


@pytest.mark.repeated
@pytest.mark.parametrize("length", [Fraction(1), Fraction(5), Fraction(17, 12), Fraction(37, 12), Fraction(95, 12)])
def test_no_cell_is_likelier_by_more_than_the_bound(length: Fraction) -> None:
    """Definition: every cell of a small lattice, wherever it lies and wherever the rest of the sum goes."""
    for moved, rate in product((Fraction(1, 12), Fraction(7, 12), Fraction(3), Fraction(29, 12)), (0.02, 0.7)):
        worst = _worst(length, moved, rate)
        bound = rate * math.ceil(moved) + rounding_cost(length, Fraction(1))
        assert worst <= bound * (1 + 1e-12)
        if rate < 0.1:  # and it is needed: without its second part the bound would be false
            assert worst > 0.8 * bound


def test_a_step_that_is_no_multiple_of_the_lattice_costs_more_than_none() -> None:
    length, moved, rate = Fraction(37, 12), Fraction(1, 12), 1e-3
    assert _worst(length, moved, rate) > 100 * rate * math.ceil(moved)
    assert rounding_cost(Fraction(3), Fraction(1)) == 0.0
    assert rounding_cost(length, Fraction(1)) == pytest.approx(math.log(4 / 3))
    assert rounding_cost(Fraction(1, 2), Fraction(1)) == math.inf
    one = Fraction(1)
    assert pure_epsilon(one, Fraction(0), step=one, lattice=one) == 0.0
    assert pure_epsilon(one, one, step=one, lattice=Fraction(0)) == 1.0
    assert pure_epsilon(one, one, step=one / 2, lattice=one) == 1.0  # finer than the lattice: only the promise is left
    assert pure_epsilon(one, Fraction(UNITS, 2), step=Fraction(512), lattice=one) == pytest.approx(0.5, rel=1e-12)


# The steps that are named, in a study in which a step of three digits was false


STUDY = MeanStudy("x", bounds=(0, 1), epsilon=1.0)
N_TRUSTED, N_LOCAL, WEIGHT = 10, 1_000_003, Fraction(1, 2)


def _largest_log_ratio(step: Fraction, rng: np.random.Generator) -> float:
    """Between the first and the last row's law of a published value, over random published values."""
    channel = WindowChannel(epsilon=1.0)
    unit = WEIGHT / N_TRUSTED / UNITS
    others = Fraction(int(rng.integers(-(10**9), 10**9)), 2 << VALUE_BITS)
    rest = [(1 - WEIGHT) / N_LOCAL * (others + Fraction(v, 2 << VALUE_BITS)) for v in channel.code_values]
    rows = channel.probabilities[[0, -1]]
    worst = 0.0
    for y in rng.integers(10**4, 10**5, 20).tolist():
        edges = [[math.ceil((Fraction(2 * y + side, 2) * step - r) / unit) for side in (-1, 1)] for r in rest]
        first = edges[0][0]
        mass = [math.exp(-(low - first) / UNITS) * -math.expm1(-(high - low) / UNITS) for low, high in edges]
        one, other = rows @ np.array(mass)
        worst = max(worst, abs(math.log(one / other)))
    return worst


def _found(step: Any = None) -> tuple[float, Fraction]:
    n = N_TRUSTED + N_LOCAL
    found = amplify(STUDY, n_users=n, trusted_fraction=N_TRUSTED / n, weight=float(WEIGHT), step=step)
    return found.local.epsilon, found.resolution


def test_the_bound_holds_at_the_resolution_of_the_result_and_not_at_three_digits_of_it() -> None:
    rng = np.random.default_rng(0)
    epsilon, finest = _found("finest")
    assert finest == published.CELL * WEIGHT / N_TRUSTED / UNITS
    assert _largest_log_ratio(finest, rng) <= epsilon
    printed = Fraction(f"{float(finest):.3g}")
    assert _largest_log_ratio(printed, rng) > 10 * epsilon
    told, resolution = _found(printed)
    assert resolution == printed
    assert _largest_log_ratio(printed, rng) <= told


def test_the_step_of_published_values_costs_next_to_nothing() -> None:
    epsilon, step = _found()
    assert step == published.default_step(STUDY, N_TRUSTED, N_LOCAL, 0.5) == Fraction(1, 200)
    assert _found("finest")[0] < epsilon < _found("finest")[0] * 1.05
    assert _largest_log_ratio(step, np.random.default_rng(1)) <= epsilon


def test_the_step_is_told_exactly() -> None:
    text = str(amplify(STUDY, n_users=1000, trusted_fraction=0.3, weight=0.5, step="finest"))
    assert f"a multiple of {Fraction(512, 2 * 300 * UNITS)} (that is" in text
    assert "a multiple of 0.0005, as Estimate.published does" in str(
        amplify(STUDY, n_users=1000, trusted_fraction=0.3, weight=0.5, step="0.0005")
    )


def test_steps_are_positive_numbers() -> None:
    for step in (0, -1, "a", 0.6, True, math.nan, math.inf, type(None)):
        with pytest.raises(ParameterError, match="^step must be"):
            _found(step)
    with pytest.raises(ParameterError, match="^step must be a number where the weight is 0"):
        amplify(STUDY, n_users=1000, trusted_fraction=0.3, weight=0.0, step="finest")  # no noise of the curator
    assert amplify(STUDY, n_users=1000, trusted_fraction=0.3, weight=0.0).local.epsilon == 1.0


# Trusted users, with a δ: continuous noise stands in for the curator's


def test_a_cell_is_as_likely_under_continuous_noise_but_for_the_cost() -> None:
    lengths, starts = (Fraction(1), Fraction(4), Fraction(17, 12), Fraction(37, 12)), range(-15 * 12, 15 * 12)
    for length, rate, i in product(lengths, (0.02, 0.7), starts):
        start, bound = Fraction(i, 12), rate + rounding_cost(length, Fraction(1))
        low, high = float(start) * rate, float(start + length) * rate
        tails = [math.copysign(-math.expm1(-abs(x)), x) for x in (low, high)]
        continuous = math.log((tails[1] - tails[0]) / rate)
        assert abs(_run(start, length, rate) - continuous) <= bound * (1 + 1e-9)


def test_trusted_users_pay_next_to_nothing_for_a_nice_step() -> None:
    options = {"n_users": 101_000, "trusted_fraction": 1000 / 101_000, "weight": 0.02, "delta": 1e-6}
    finest, nice = (amplify(STUDY, **options, step=step).trusted.epsilon for step in ("finest", None))
    assert finest <= nice <= finest + 1e-4 < 0.9


# The blanket


CHANNEL = WindowChannel(epsilon=1.0)
VALUES = CHANNEL.values - 0.5


@lru_cache
def _lattice_density(kappa: float, terms: int) -> tuple[np.ndarray, float]:
    """The law of codes plus Laplace noise on a lattice of values, by convolution, and the lattice's unit."""
    unit = 1 / 200  # of a value; the error of rounding is a hundredth of a value's spread, and has no bias
    size = 1 << 20
    steps = np.rint(VALUES / unit).astype(int)
    one = np.bincount(steps % size, minlength=size) / len(steps)
    law = np.fft.irfft(np.fft.rfft(one) ** terms, size)
    y = kappa * unit * np.where(np.arange(size) < size // 2, np.arange(size), np.arange(size) - size)
    noise = np.exp(-np.abs(y))
    return np.fft.irfft(np.fft.rfft(np.maximum(law, 0)) * np.fft.rfft(noise / noise.sum()), size), kappa * unit


def _lattice_delta(kappa: float, terms: int, epsilon: float, shift: float = 1.0) -> float:
    """δ from the definition, on the lattice."""
    density, unit = _lattice_density(kappa, terms)
    moved = np.roll(density, round(shift / unit))
    return float(np.maximum(moved - math.exp(epsilon) * density, 0.0).sum())


@pytest.mark.repeated
@pytest.mark.parametrize(("kappa", "terms"), [(0.05, 1500), (0.1, 600), (0.02, 20_000)])
def test_delta_is_that_of_the_definition_from_above(kappa: float, terms: int) -> None:
    found = window._blanket(CHANNEL, kappa, terms, 1.0, 0.0)
    assert found is not None
    assert found.slack < 0.006
    for epsilon in (0.3, 0.7):
        assert _lattice_delta(kappa, terms, epsilon) < found.delta(epsilon)
        paid = epsilon - found.slack  # what is paid for in ε has been taken off
        assert _lattice_delta(kappa, terms, paid) == pytest.approx(found.delta(epsilon), rel=0.03)
        assert _lattice_delta(1.2 * kappa, terms, paid) != pytest.approx(found.delta(epsilon), rel=0.03)


def test_without_codes_it_is_the_laplace_mechanism() -> None:
    """With next to no weight on the codes, δ(ε) = 1 - e^{(ε - 1)/2} of one Laplace variable."""
    found = window._blanket(CHANNEL, 1e-4, 1000, 1.0, 0.0)
    assert found is not None
    for epsilon in (0.2, 0.6, 0.9):
        exact_delta = 1 - math.exp((epsilon - 1) / 2)
        assert exact_delta <= found.delta(epsilon) <= exact_delta + 0.002


def test_the_blanket_is_what_every_row_has_in_common() -> None:
    share = window._blanket_probability(CHANNEL)
    common = CHANNEL.probabilities.min(axis=0).sum()
    assert share == pytest.approx(common, rel=1e-12)


def test_the_number_of_uniform_codes_is_rarely_smaller() -> None:
    for delta in (1e-3, 1e-9):
        terms = window._surely(5000, 0.4, delta)
        assert stats.binom.cdf(terms - 1, 5000, 0.4) <= delta < stats.binom.cdf(terms + 1, 5000, 0.4)
    assert window._surely(3, 0.4, 1e-9) == 0


def test_the_bound_of_the_characteristic_function_holds_everywhere() -> None:
    s = np.sort(np.random.default_rng(0).uniform(0.0, 399.0, 20_000))
    cosine = np.abs(np.cos(np.outer(s, VALUES)).mean(axis=1))
    for start in (0.01, 0.1, 0.5, 2.0, 30.0):
        assert cosine[s >= start].max() <= window._largest_from(CHANNEL, start)


@fewer_examples(3)
@given(honest=st.tuples(st.integers(200, 20_000), st.integers(200, 20_000)), weight=st.floats(0.02, 0.5))
def test_more_honest_users_never_hurt(honest: tuple[int, int], weight: float) -> None:
    few, many = sorted(honest)
    known = {"n_trusted": 50, "n_local": 20_000, "weight": weight, "delta": 1e-4, "cell": 1e-5}
    worse, better = (trusted_epsilon(CHANNEL, honest=count, **known) for count in (few, many))
    assert better <= worse + 2e-3  # the grids differ a little
    assert 0 <= better <= 1.0


def test_codes_help_trusted_users_if_a_delta_is_allowed_for() -> None:
    known = {"n_trusted": 50, "n_local": 20_000, "weight": 0.05}
    assert exact(CHANNEL, **known).trusted == 1.0
    allowed = exact(CHANNEL, **known, delta=1e-4)
    assert 0.2 < allowed.trusted < 0.95
    assert allowed.local == exact(CHANNEL, **known).local
    assert exact(CHANNEL, **known, delta=1e-4, honest_local=0).trusted == 1.0
    assert exact(CHANNEL, **known, delta=0.9).trusted < 0.01
    for change in ({"weight": 1.0}, {"weight": 0.0}, {"honest": 0}, {"honest": 2}, {"weight": 1e-6}):
        options: dict[str, Any] = {**known, "delta": 1e-9, "cell": 1e-5, "honest": 20_000, **change}
        assert trusted_epsilon(CHANNEL, **options) == 1.0  # where it can show nothing the promise stays


def test_it_agrees_with_dp_accounting_on_a_finite_channel() -> None:
    """The law of the published value in cells of a hundredth, moved by one scale, as two probability mass functions."""
    kappa, terms = 0.05, 1500
    size, unit = 1 << 18, kappa / 50
    steps = np.rint(VALUES * 50).astype(int)
    law = np.fft.irfft(np.fft.rfft(np.bincount(steps % size, minlength=size) / len(steps)) ** terms, size)
    y = unit * np.where(np.arange(size) < size // 2, np.arange(size), np.arange(size) - size)
    noise = np.exp(-np.abs(y))
    density = np.fft.fftshift(np.fft.irfft(np.fft.rfft(np.maximum(law, 0)) * np.fft.rfft(noise / noise.sum()), size))
    cells = np.maximum(density[: size // 10 * 10].reshape(-1, 10).sum(axis=1), 1e-18)
    shift = round(1.0 / (10 * unit))
    lower = {i: float(np.log(mass)) for i, mass in enumerate(cells[shift:])}
    upper = {i: float(np.log(mass)) for i, mass in enumerate(cells[:-shift])}
    loss = pld.from_two_probability_mass_functions(lower, upper, value_discretization_interval=1e-3)
    found = window._blanket(CHANNEL, kappa, terms, 1.0, 0.0)
    assert found is not None
    for delta in (1e-2, 1e-4):
        epsilon = loss.get_epsilon_for_delta(delta)
        assert found.delta(epsilon + found.slack + 2e-3) < delta < found.delta(epsilon - 4e-3)


def test_a_large_power_of_a_cosine_keeps_its_digits_and_odd_powers_their_sign() -> None:
    for terms in (1000, 10**6, 10**9):
        s = np.array([0.0, 0.3, 1.0, 3.0, 6.0]) / math.sqrt(terms)
        with mpmath.workdps(40):
            for value, power in zip(s.tolist(), window._power(VALUES, s, terms), strict=True):
                cosines = [mpmath.cos(mpmath.mpf(value) * mpmath.mpf(float(v))) for v in VALUES]
                assert power == pytest.approx(float((mpmath.fsum(cosines) / len(VALUES)) ** terms), rel=1e-12)
    s = np.linspace(0.5, 6.0, 200)
    plain = np.cos(np.outer(s, VALUES)).mean(axis=1)
    assert plain.min() < 0
    for terms in (3, 4):
        assert window._power(VALUES, s, terms) == pytest.approx(plain**terms, abs=1e-14)


@pytest.mark.parametrize(("n_local", "weight", "delta"), [(10**8, 0.9009841729328909, 1e-10), (10**7, 0.8118, 1e-9)])
def test_many_reports_are_not_promised_too_much(n_local: int, weight: float, delta: float) -> None:
    """Sums of so many codes are normal: the density of normal plus Laplace noise is the oracle."""
    channel = WindowChannel(epsilon=1.0)
    found = exact(channel, n_trusted=n_local // 100, n_local=n_local, weight=weight, delta=delta).trusted
    terms = window._surely(n_local, window._blanket_probability(channel), delta / 100)
    kappa = (1 - weight) / weight / 100
    sd = kappa * math.sqrt(terms * float(np.mean((channel.values - 0.5) ** 2)))
    y = np.linspace(-80.0, 80.0, 1_600_001)
    density = 0.5 * np.exp(sd**2 / 2 - y + log_ndtr(y / sd - sd)) + 0.5 * np.exp(sd**2 / 2 + y + log_ndtr(-y / sd - sd))
    moved = density[10_000:] - math.exp(found) * density[:-10_000]
    assert np.maximum(moved, 0).sum() * 1e-4 <= delta


def test_extreme_settings_have_an_answer() -> None:
    known = {"n_trusted": 10_000, "n_local": 1_000_000, "weight": 0.5, "delta": 1e-6}
    for change in ({"weight": 1e-300}, {"weight": 5e-324}, {"delta": 5e-324}, {"weight": 0.01}):
        tiers = exact(CHANNEL, **{**known, **change})
        assert 0 < tiers.trusted <= 1
        assert 0 < tiers.local <= 1
