"""The curves on Beta distributions, against what the errata page states of them."""

from itertools import product

import numpy as np
import pytest

from hybriddp.paper.figures.beta import ALIKE, PRIVATE, SHIFTED, SKEWED, shapes_1, shapes_5
from hybriddp.paper.figures.curves import EPSILONS, FRACTIONS, FigureScenario, theory_curves
from hybriddp.paper.figures.rows import GainRow
from hybriddp.theory import (
    laplace_critical_users,
    laplace_gain_at_crossover,
    laplace_privacy_weight_wins_below,
)

CURVES = list(product(FRACTIONS, EPSILONS))
ONE = theory_curves(ALIKE)
THREE = theory_curves(PRIVATE)
FOUR = theory_curves(SKEWED)
FIVE = theory_curves(SHIFTED)


def _curve(rows: list[GainRow], panel: str, c: float, epsilon: float) -> list[GainRow]:
    return [row for row in rows if (row.panel, row.trusted_fraction, row.epsilon) == (panel, c, epsilon)]


def _gain(rows: list[GainRow], panel: str, c: float, epsilon: float, n: float) -> float:
    (found,) = [row.gain_over_best for row in _curve(rows, panel, c, epsilon) if np.isclose(row.n_users, n, rtol=1e-9)]
    return found


def _critical(scenario: FigureScenario, c: float, epsilon: float) -> float:
    return float(
        laplace_critical_users(
            trusted_fraction=c, width=scenario.width, epsilon=epsilon, variance=scenario.trusted.variance
        )
    )


def test_every_curve_spans_the_plot_in_200_steps_and_has_its_kinks() -> None:
    for rows in (ONE, THREE, FOUR, FIVE):
        for panel, (c, epsilon) in product({row.panel for row in rows}, CURVES):
            users = np.array([row.n_users for row in _curve(rows, panel, c, epsilon)])
            assert (users[0], users[-1]) == (1e3, 1e5)
            assert 201 <= len(users) <= 203
            assert np.all(np.diff(users) > 0)


def test_figure_1_lies_between_the_stated_bounds() -> None:
    gains = [row.gain_over_best for row in ONE]
    assert min(gains) == pytest.approx(1.005, abs=5e-4)
    assert max(gains) == pytest.approx(2.0304, abs=5e-5)


def test_figure_1_peaks_where_both_single_models_are_equally_good() -> None:
    for scenario, (c, epsilon) in product(ALIKE, CURVES):
        rows, critical = _curve(ONE, scenario.panel, c, epsilon), _critical(scenario, c, epsilon)
        peak = max(rows, key=lambda row: row.gain_over_best)
        if 1e3 < critical < 1e5:
            assert peak.n_users == pytest.approx(critical, rel=1e-12)
            gain = laplace_gain_at_crossover(
                trusted_fraction=c, width=1.0, epsilon=epsilon, variance=scenario.trusted.variance
            )
            assert peak.gain_over_best == pytest.approx(float(gain), rel=1e-12)
        elif critical <= 1e3:
            assert peak is rows[0]  # erratum 18: it falls from a peak left of the plot
            assert critical >= 1 / c**2
        else:
            assert peak is rows[-1]  # full-local stays better: R only rises


def test_figure_3_beats_both_single_models_exactly_where_erratum_13_says() -> None:
    for scenario, (c, epsilon) in product(PRIVATE, CURVES):
        limit = laplace_privacy_weight_wins_below(
            trusted_fraction=c, width=1.0, epsilon=epsilon, variance=scenario.trusted.variance
        )
        for row in _curve(THREE, scenario.panel, c, epsilon):
            assert (row.gain_over_best > 1) == (row.n_users < float(limit))


def test_figure_3_never_loses_to_both_single_models_but_can_lose_to_the_better() -> None:
    assert min(row.gain_over_worst for row in THREE) > 1  # erratum 14: true for Laplace noise of one width
    assert min(row.gain_over_best for row in THREE) < 0.1


def test_figure_3_is_below_figure_1_everywhere() -> None:
    for known, private in zip(ONE, THREE, strict=True):
        assert (known.trusted, known.n_users) == (private.trusted, private.n_users)
        assert private.gain_over_best <= known.gain_over_best * (1 + 1e-12)


def test_figure_4_differs_from_figure_1_by_at_most_the_stated_amount() -> None:
    parts, changes = [], []
    for panel, alike in (("a", "b"), ("b", "d")):
        change = []
        for c, epsilon in CURVES:
            skewed, plain = _curve(FOUR, panel, c, epsilon), _curve(ONE, alike, c, epsilon)
            assert {row.trusted for row in skewed} == {row.trusted for row in plain}
            assert {row.local for row in skewed}.isdisjoint({row.local for row in plain})
            same = {row.n_users: row.gain_over_best for row in plain}
            change += [abs(row.gain_over_best - same[row.n_users]) for row in skewed if row.n_users in same]
        assert len(change) >= 4 * 201
        parts.append(float(np.mean(np.array(change) < 0.01)))
        changes.append(max(change))
    assert max(changes) == pytest.approx(0.0982, abs=5e-5)
    assert parts == pytest.approx([0.67, 0.75], abs=0.01)


def test_figure_5_is_ruined_with_many_users_and_gains_with_few() -> None:
    assert _gain(FIVE, "b", 0.05, 0.1, 1e3) == pytest.approx(1.382, abs=5e-4)
    assert _gain(FIVE, "d", 0.05, 0.1, 1e3) == pytest.approx(1.581, abs=5e-4)
    for c, epsilon in CURVES:
        at_end = [_gain(FIVE, panel, c, epsilon, 1e5) for panel in "bdf"]
        assert at_end == sorted(at_end, reverse=True)
        assert at_end[1] < 0.1


def test_figure_5_shifts_the_trusted_down_and_the_local_up() -> None:
    groups = {(row.panel, row.trusted, row.local) for row in FIVE}
    assert groups == {
        ("b", "Beta(1, 1) + 0.5", "Beta(1, 1) + 0.5"),
        ("d", "Beta(1, 1) + 0.25", "Beta(1, 1) + 0.75"),
        ("f", "Beta(1, 1)", "Beta(1, 1) + 1"),
    }


def test_densities_are_densities() -> None:
    shapes = shapes_1() + shapes_5()
    areas = {}
    for panel, population in dict.fromkeys((row.panel, row.population) for row in shapes):
        of = [row for row in shapes if (row.panel, row.population) == (panel, population)]
        areas[panel, population] = float(np.trapezoid([row.density for row in of], [row.value for row in of]))
    assert len(areas) == 8
    infinite_ends = areas.pop(("a", "Beta(0.1, 0.1)"))
    assert 0.3 < infinite_ends < 1  # the rest is in the ends that are left out
    assert list(areas.values()) == pytest.approx([1.0] * 7, abs=0.01)
