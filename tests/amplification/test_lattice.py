import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hybriddp import MeanStudy
from hybriddp.amplification import amplify
from hybriddp.amplification.lattice import pure_epsilon, rounding_cost
from hybriddp.channels.numeric import VALUE_BITS
from hybriddp.channels.window import WindowChannel
from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS
from hybriddp.mean import published


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


@pytest.mark.parametrize("length", [Fraction(1), Fraction(5), Fraction(17, 12), Fraction(37, 12), Fraction(95, 12)])
@pytest.mark.parametrize("moved", [Fraction(1, 12), Fraction(7, 12), Fraction(3), Fraction(29, 12)])
@pytest.mark.parametrize("rate", [0.02, 0.7])
def test_no_cell_is_likelier_by_more_than_the_bound(length: Fraction, moved: Fraction, rate: float) -> None:
    """Definition: every cell of a small lattice, wherever it lies and wherever the rest of the sum goes."""
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


def test_the_pure_bound_has_its_limits() -> None:
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
    for y in rng.integers(10**4, 10**5, 60).tolist():
        edges = [[math.ceil((Fraction(2 * y + side, 2) * step - r) / unit) for side in (-1, 1)] for r in rest]
        first = edges[0][0]
        mass = [math.exp(-(low - first) / UNITS) * -math.expm1(-(high - low) / UNITS) for low, high in edges]
        one, other = rows @ np.array(mass)
        worst = max(worst, abs(math.log(one / other)))
    return worst


def _found(step: Any = None) -> tuple[float, Fraction]:  # noqa: ANN401
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


@pytest.mark.parametrize("step", [0, -1, "a", 0.6, True, float("nan"), float("inf"), None.__class__])
def test_steps_are_positive_numbers(step: object) -> None:
    with pytest.raises(ParameterError, match="^step must be"):
        _found(step)


def test_without_a_curators_noise_there_is_no_finest_step() -> None:
    with pytest.raises(ParameterError, match="^step must be a number where the weight is 0"):
        amplify(STUDY, n_users=1000, trusted_fraction=0.3, weight=0.0, step="finest")
    assert amplify(STUDY, n_users=1000, trusted_fraction=0.3, weight=0.0).local.epsilon == 1.0


def test_laplace_reports_have_the_bound_of_their_own_lattice() -> None:
    """At δ = 0 in whole units: a little above the closed form for continuous noise."""
    study = MeanStudy("x", bounds=(0, 1), epsilon=1.0, channel="laplace")
    found = amplify(study, n_users=10_000, trusted_fraction=0.1, weight=0.5)
    continuous = 0.5 / 9000 / (0.5 / 1000)
    assert continuous < found.local.epsilon < continuous + 1e-5
    swapped = amplify(study, n_users=10_000, trusted_fraction=0.9, weight=0.5)
    assert continuous < swapped.trusted.epsilon < continuous + 1e-5
    assert swapped.local.epsilon == 1.0


# Trusted users, with a δ: continuous noise stands in for the curator's


@pytest.mark.parametrize("length", [Fraction(1), Fraction(4), Fraction(17, 12), Fraction(37, 12)])
@pytest.mark.parametrize("rate", [0.02, 0.7])
def test_a_cell_is_as_likely_under_continuous_noise_but_for_the_cost(length: Fraction, rate: float) -> None:
    bound = rate + rounding_cost(length, Fraction(1))
    for i in range(-15 * 12, 15 * 12):
        start = Fraction(i, 12)
        low, high = float(start) * rate, float(start + length) * rate
        tails = [math.copysign(-math.expm1(-abs(x)), x) for x in (low, high)]
        continuous = math.log((tails[1] - tails[0]) / rate)
        assert abs(_run(start, length, rate) - continuous) <= bound * (1 + 1e-9)


def test_trusted_users_pay_next_to_nothing_for_a_nice_step() -> None:
    options = {"n_users": 101_000, "trusted_fraction": 1000 / 101_000, "weight": 0.02, "delta": 1e-6}
    finest, nice = (amplify(STUDY, **options, step=step).trusted.epsilon for step in ("finest", None))
    assert finest <= nice <= finest + 1e-4 < 0.9
