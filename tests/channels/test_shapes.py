import math

import numpy as np
import pytest
from scipy.optimize import brentq

from hybriddp.channels.shapes import (
    WindowShape,
    _Program,
    best_shape,
    half_window,
    least_worst,
    row_moments,
    sine_window,
)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 0.75])
def test_the_half_window_has_the_variance_of_its_closed_form(epsilon: float) -> None:
    d = 2 * math.tanh(epsilon / 2)
    expected = (2 / d / math.tanh(d / 2) - 1) / 4
    assert row_moments(epsilon, half_window(epsilon, 256)).worst_variance() / 4 == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("epsilon", [5.5, 6.0, 8.0, 10.0])
def test_the_sine_window_has_the_variance_of_its_closed_form(epsilon: float) -> None:
    shape = sine_window(epsilon, 256)
    w = shape.width / 256
    low = 1 / (1 + math.expm1(epsilon) * w)
    d = math.expm1(epsilon) * low
    mu = brentq(lambda m: math.sin(m * w / 2) * 2 * d - m * math.cos(m * w / 2), 0.5, math.pi)
    c = 1 / (math.sin(mu * (1 - w) / 2) * math.cos(mu * w / 2))
    expected = c**2 * (low * (0.5 - math.sin(mu) / (2 * mu)) + d * (w / 2 - math.sin(mu * w) / (2 * mu))) / 4
    # The closed form is of the continuum; 256 codes round inputs to rows, which costs up to a percent at ε = 10.
    assert row_moments(epsilon, shape).worst_variance() / 4 == pytest.approx(expected, rel=0.012)


def test_no_neighbor_of_the_programs_solution_is_better() -> None:
    program = _Program(2.0, 64, 25)
    v = program.solve(half_window(1.0, 64).half)
    best = program.variances(v).max()
    rng = np.random.default_rng(0)
    for _ in range(500):
        other = v + 1e-3 * rng.standard_normal(len(v))
        other = other / (program.extra * (program.sign[-1] @ other))
        assert program.variances(other).max() >= best * (1 - 1e-7)


def test_the_programs_gradient_is_the_derivative() -> None:
    program, v = _Program(2.0, 16, 6), np.linspace(0.2, 1.5, 8)
    numeric = [(program.variances(v + h) - program.variances(v - h)) / 2e-6 for h in 1e-6 * np.eye(8)]
    assert program.gradients(v) == pytest.approx(np.array(numeric).T, abs=1e-8)


@pytest.mark.slow
def test_the_optimized_shape_agrees_with_the_closed_forms_where_they_meet() -> None:
    for epsilon, closed in ((0.75, half_window), (5.5, sine_window)):
        optimized = row_moments(epsilon, least_worst(epsilon, 256)).worst_variance()
        assert optimized <= row_moments(epsilon, closed(epsilon, 256)).worst_variance() * (1 + 1e-6)
        assert optimized == pytest.approx(row_moments(epsilon, closed(epsilon, 256)).worst_variance(), rel=0.006)


def test_shapes_are_cached() -> None:
    assert best_shape(6.0) is best_shape(6.0)


def test_few_codes_are_enough_for_the_coarse_search_alone() -> None:
    shape = least_worst(2.0, 16)
    assert len(shape.half) == 8


def test_rows_that_coincide_are_no_shape() -> None:
    assert row_moments(1.0, WindowShape(2, np.array([1.0, 1.0, 1.0, 1.0]))).worst_variance() == math.inf
