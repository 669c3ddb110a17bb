"""The dots: the pipeline agrees with the curves, and would not if its noise were wrong by a fifth."""

from collections.abc import Sequence

import numpy as np
import pytest

from hybriddp.paper.figures import FIGURES
from hybriddp.paper.figures.curves import DOTS, Dot
from hybriddp.paper.figures.figure import run_all
from hybriddp.paper.figures.rows import SIMULATION, GainRow
from tests.levels import z_limit

TRIALS = 80
ALL_DOTS = [dot for figure in FIGURES for dot in figure.dots if isinstance(dot, Dot)]
ONE_PER_CURVE = [ALL_DOTS[i * 5 + i % 5] for i in range(len(ALL_DOTS) // 5)]  # at all numbers of users


def _off(dots: Sequence[Dot], rows: Sequence[GainRow], noise: float = 1.0) -> float:
    """By how many standard errors the mean of observed over expected squared errors is off 1.

    The expected ones are for noise that is ``noise`` times as large. Means over all dots, since one needs many trials
    by itself.
    """
    ratios, errors = [], []
    for dot, row in zip(dots, rows, strict=True):
        place = {"n_users": dot.n_users, "trusted_fraction": dot.trusted_fraction}
        setting = dot.scenario.setting(**place, epsilon=dot.epsilon)
        assumed = dot.scenario.setting(**place, epsilon=dot.epsilon / noise)
        expected = float(assumed.error_hybrid(dot.scenario.weight_in(setting)))
        observed = float(np.minimum(setting.error_trusted_only(), setting.error_full_local())) / row.gain_over_best
        ratios.append(observed / expected)
        errors.append(ratios[-1] * (row.gain_over_best_se or 0.0) / row.gain_over_best)
    return float((np.mean(ratios) - 1) * len(ratios) / np.hypot.reduce(errors))


def test_every_trusted_group_is_whole_and_every_seed_is_used_once() -> None:
    for (c, _), users in DOTS.items():
        for n in users:
            assert c * n == pytest.approx(round(c * n), abs=1e-9)
    assert len({dot.seed for dot in ALL_DOTS}) == len(ALL_DOTS) == 11 * 20


@pytest.mark.statistical
def test_the_pipeline_agrees_with_the_curves_and_not_if_noise_is_wrong_by_a_fifth() -> None:
    rows = run_all(ONE_PER_CURVE, trials=TRIALS, processes=1)
    curves = {(row.panel, row.trusted, row.trusted_fraction, row.epsilon) for row in rows}
    assert len(curves) == 11 * 4
    assert abs(_off(ONE_PER_CURVE, rows)) < z_limit()
    for noise in (0.8, 1.2):
        assert abs(_off(ONE_PER_CURVE, rows, noise)) > z_limit()
    for row in rows:
        assert row.source == SIMULATION
        assert row.trials == TRIALS
        assert row.gain_over_best_se is not None
        assert row.gain_over_worst_se is not None
        assert row.gain_over_worst_se / row.gain_over_worst == pytest.approx(row.gain_over_best_se / row.gain_over_best)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("dot", ALL_DOTS[::3], ids=lambda dot: str(dot.seed))
def test_the_pipeline_agrees_at_each_dot(dot: Dot) -> None:
    assert abs(_off([dot], [dot.run(2_000)])) < z_limit()


@pytest.mark.slow
def test_a_dot_does_not_depend_on_how_the_work_is_shared() -> None:
    told: list[int] = []
    dots = ALL_DOTS[:2]
    shared = run_all(dots, trials=10, processes=2, progress=told.append)
    assert shared == [dot.run(10) for dot in dots]
    assert told == [10, 20]
    assert run_all(dots, trials=10, processes=1) == shared
