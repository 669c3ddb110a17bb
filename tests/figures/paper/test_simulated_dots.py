"""The dots: the pipeline agrees with the curves, and would not if its noise were wrong by a fifth."""

from dataclasses import replace

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.figures.paper import FIGURES
from hybriddp.figures.paper.rows import SIMULATION, GainRow
from hybriddp.figures.paper.running import run_all
from hybriddp.figures.paper.simulated import USERS, Dot

TRIALS = 250
ALL_DOTS = [dot for figure in FIGURES for dot in figure.dots if isinstance(dot, Dot)]
SOME_DOTS = ALL_DOTS[::3]  # 3 divides neither the dots of a curve nor those of a panel: all of them have some


def _off(dots: list[Dot], rows: list[GainRow]) -> FloatArray:
    """By how many standard errors each row is off its curve."""
    off = []
    for dot, row in zip(dots, rows, strict=True):
        setting = dot.scenario.setting(n_users=dot.n_users, trusted_fraction=dot.trusted_fraction, epsilon=dot.epsilon)
        error = setting.error_hybrid(dot.scenario.weight_in(setting))
        assert row.gain_over_best_se is not None
        off.append((row.gain_over_best - float(setting.gain_over_best(error))) / row.gain_over_best_se)
    return np.array(off)


def test_every_trusted_group_is_whole_and_every_seed_is_used_once() -> None:
    for (c, _), users in USERS.items():
        for n in users:
            assert c * n == pytest.approx(round(c * n), abs=1e-9)
    assert len({dot.seed for dot in ALL_DOTS}) == len(ALL_DOTS) == 11 * 20


def test_the_pipeline_agrees_with_the_curves() -> None:
    rows = run_all(SOME_DOTS, trials=TRIALS)
    curves = {(row.panel, row.trusted, row.trusted_fraction, row.epsilon) for row in rows}
    assert len(curves) == 11 * 4
    off = _off(SOME_DOTS, rows)
    assert np.abs(off).max() < 5.5
    assert abs(off.mean()) < 5.5 / len(off) ** 0.5
    for row in rows:
        assert row.source == SIMULATION
        assert row.trials == TRIALS
        assert row.gain_over_worst_se / row.gain_over_worst == pytest.approx(row.gain_over_best_se / row.gain_over_best)


@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_noise_that_is_wrong_by_a_fifth_would_be_noticed(factor: float) -> None:
    right = [dot for dot in ALL_DOTS if dot.epsilon == 0.1 and dot.scenario.width == 1.0][::11]
    wrong = [replace(dot, epsilon=dot.epsilon / factor) for dot in right]
    rows = [
        replace(row, gain_over_best=row.gain_over_best * scale, gain_over_best_se=row.gain_over_best_se * scale)
        for dot, other, row in zip(right, wrong, run_all(wrong, trials=TRIALS), strict=True)
        for scale in [_best(dot) / _best(other)]
    ]
    assert abs(_off(right, rows).mean()) > 5.5 / len(rows) ** 0.5


def _best(dot: Dot) -> float:
    setting = dot.scenario.setting(n_users=dot.n_users, trusted_fraction=dot.trusted_fraction, epsilon=dot.epsilon)
    return float(np.minimum(setting.error_trusted_only(), setting.error_full_local()))


def test_a_dot_does_not_depend_on_how_the_work_is_shared() -> None:
    told: list[int] = []
    dots = ALL_DOTS[:2]
    shared = run_all(dots, trials=20, processes=2, progress=told.append)
    assert shared == [dot.run(20) for dot in dots]
    assert told == [20, 40]
    assert run_all(dots, trials=20, processes=1) == shared
