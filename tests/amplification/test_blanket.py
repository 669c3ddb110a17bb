import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import log_ndtr

from hybriddp.amplification import blanket
from hybriddp.amplification.blanket import trusted_epsilon
from hybriddp.amplification.window import exact
from hybriddp.channels import WindowChannel

CHANNEL = WindowChannel(epsilon=1.0, n_codes=64)
VALUES = CHANNEL.values - 0.5


def _lattice_delta(kappa: float, terms: int, epsilon: float, shift: float = 1.0) -> float:
    """δ from the definition, on a lattice of values: the law of the sum of codes by convolution, then Laplace noise."""
    unit = 1 / 200  # of a value; the error of rounding is a hundredth of a value's spread, and has no bias
    size = 1 << 20
    steps = np.rint(VALUES / unit).astype(int)
    one = np.bincount(steps % size, minlength=size) / len(steps)
    law = np.fft.irfft(np.fft.rfft(one) ** terms, size)
    y = kappa * unit * np.where(np.arange(size) < size // 2, np.arange(size), np.arange(size) - size)
    noise = np.exp(-np.abs(y))
    density = np.fft.irfft(np.fft.rfft(np.maximum(law, 0)) * np.fft.rfft(noise / noise.sum()), size)
    moved = np.roll(density, round(shift / (kappa * unit)))
    return float(np.maximum(moved - math.exp(epsilon) * density, 0.0).sum())


# Definition


@pytest.mark.parametrize(("kappa", "terms"), [(0.05, 1500), (0.1, 600), (0.02, 20_000)])
@pytest.mark.parametrize("epsilon", [0.3, 0.7])
def test_delta_is_that_of_the_definition_from_above(kappa: float, terms: int, epsilon: float) -> None:
    found = blanket._blanket(CHANNEL, kappa, terms, 1.0, 0.0)
    assert found is not None
    assert _lattice_delta(kappa, terms, epsilon) < found.delta(epsilon)
    paid = epsilon - found.slack  # what is paid for in ε has been taken off
    assert _lattice_delta(kappa, terms, paid) == pytest.approx(found.delta(epsilon), rel=0.03)
    assert _lattice_delta(1.2 * kappa, terms, paid) != pytest.approx(found.delta(epsilon), rel=0.03)
    assert found.slack < 0.006


def test_without_codes_it_is_the_laplace_mechanism() -> None:
    """With next to no weight on the codes, δ(ε) = 1 - e^{(ε - 1)/2} of one Laplace variable."""
    found = blanket._blanket(CHANNEL, 1e-4, 1000, 1.0, 0.0)
    assert found is not None
    for epsilon in (0.2, 0.6, 0.9):
        exact_delta = 1 - math.exp((epsilon - 1) / 2)
        assert exact_delta <= found.delta(epsilon) <= exact_delta + 0.002


def test_the_blanket_is_what_every_row_has_in_common() -> None:
    share = blanket._blanket_share(CHANNEL)
    common = CHANNEL.probabilities.min(axis=0).sum()
    assert share == pytest.approx(common, rel=1e-12)


def test_the_number_of_uniform_codes_is_rarely_smaller() -> None:
    for delta in (1e-3, 1e-9):
        terms = blanket._surely(5000, 0.4, delta)
        assert stats.binom.cdf(terms - 1, 5000, 0.4) <= delta < stats.binom.cdf(terms + 1, 5000, 0.4)
    assert blanket._surely(3, 0.4, 1e-9) == 0


def test_the_bound_of_the_characteristic_function_holds_everywhere() -> None:
    s = np.sort(np.random.default_rng(0).uniform(0.0, 399.0, 20_000))
    cosine = np.abs(np.cos(np.outer(s, VALUES)).mean(axis=1))
    for start in (0.01, 0.1, 0.5, 2.0, 30.0):
        assert cosine[s >= start].max() <= blanket._largest_from(CHANNEL, start)


# Identities and limits


@settings(max_examples=20)
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


@pytest.mark.parametrize("change", [{"weight": 1.0}, {"weight": 0.0}, {"honest": 0}, {"honest": 2}, {"weight": 1e-6}])
def test_where_it_can_show_nothing_the_promise_stays(change: dict[str, float]) -> None:
    known = {"n_trusted": 50, "n_local": 20_000, "weight": 0.05, "delta": 1e-9, "cell": 1e-5, "honest": 20_000}
    assert trusted_epsilon(CHANNEL, **{**known, **change}) == 1.0


@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_it_agrees_with_dp_accounting_on_a_finite_channel(delta: float) -> None:
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
    found = blanket._blanket(CHANNEL, kappa, terms, 1.0, 0.0)
    assert found is not None
    epsilon = loss.get_epsilon_for_delta(delta)
    assert found.delta(epsilon + found.slack + 2e-3) < delta < found.delta(epsilon - 4e-3)


@pytest.mark.parametrize("terms", [1000, 10**6, 10**9])
def test_a_large_power_of_a_cosine_keeps_its_digits(terms: int) -> None:
    s = np.array([0.0, 0.3, 1.0, 3.0, 6.0]) / math.sqrt(terms)
    with mpmath.workdps(40):
        for value, found in zip(s, blanket._power(VALUES, s, terms), strict=True):
            mean = mpmath.fsum(mpmath.cos(mpmath.mpf(float(value)) * mpmath.mpf(float(v))) for v in VALUES) / len(
                VALUES
            )
            assert found == pytest.approx(float(mean**terms), rel=1e-12)


def test_odd_powers_of_negative_cosines_are_negative() -> None:
    s = np.linspace(0.5, 6.0, 200)
    plain = np.cos(np.outer(s, VALUES)).mean(axis=1)
    assert plain.min() < 0
    for terms in (3, 4):
        assert blanket._power(VALUES, s, terms) == pytest.approx(plain**terms, abs=1e-14)


@pytest.mark.parametrize(("n_local", "weight", "delta"), [(10**8, 0.9009841729328909, 1e-10), (10**7, 0.8118, 1e-9)])
def test_many_reports_are_not_promised_too_much(n_local: int, weight: float, delta: float) -> None:
    """Sums of so many codes are normal: the density of normal plus Laplace noise is the oracle."""
    channel = WindowChannel(epsilon=1.0)
    found = exact(channel, n_trusted=n_local // 100, n_local=n_local, weight=weight, delta=delta).trusted
    terms = blanket._surely(n_local, blanket._blanket_share(channel), delta / 100)
    kappa = (1 - weight) / weight / 100
    sd = kappa * math.sqrt(terms * float(np.mean((channel.values - 0.5) ** 2)))
    y = np.linspace(-80.0, 80.0, 1_600_001)
    density = 0.5 * np.exp(sd**2 / 2 - y + log_ndtr(y / sd - sd)) + 0.5 * np.exp(sd**2 / 2 + y + log_ndtr(-y / sd - sd))
    moved = density[10_000:] - math.exp(found) * density[:-10_000]
    assert np.maximum(moved, 0).sum() * 1e-4 <= delta


@pytest.mark.parametrize("change", [{"weight": 1e-300}, {"weight": 5e-324}, {"delta": 5e-324}, {"weight": 0.01}])
def test_extreme_settings_have_an_answer(change: dict[str, float]) -> None:
    known = {"n_trusted": 10_000, "n_local": 1_000_000, "weight": 0.5, "delta": 1e-6}
    found = exact(WindowChannel(epsilon=1.0), **{**known, **change})
    assert 0 < found.trusted <= 1
    assert 0 < found.local <= 1
