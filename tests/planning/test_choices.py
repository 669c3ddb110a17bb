import math

import pytest
from scipy import stats

from hybriddp import plan
from hybriddp.planning import Plan, bounds_choices, epsilon_choices
from hybriddp.simulation.distributions import population

STAYS = {"n_users": 8_000, "trusted_fraction": 0.05, "epsilon": 0.5, "bounds": (0, 60), "mean": 6, "sd": 7}


def _plan(**changes: object) -> Plan:
    return plan(**{**STAYS, **changes})


def test_every_epsilon_is_a_plan() -> None:
    rows = epsilon_choices(_plan())
    assert [row.epsilon for row in rows] == ["0.125", "0.25", "0.5", "1", "2"]
    for row in rows:
        ours = _plan(epsilon=row.epsilon)["adaptive"]
        assert (row.rmse, row.half_width) == (ours.rmse, ours.half_width)
        assert row.guess == pytest.approx(math.exp(float(row.epsilon)) / (1 + math.exp(float(row.epsilon))))
    assert [row.epsilon for row in epsilon_choices(_plan(epsilon=12))] == ["3", "6", "12"]


def test_tight_bounds_cost_what_they_cut_off() -> None:
    made = _plan()
    rows = {row.bounds[1]: row for row in bounds_choices(made)}
    assert list(rows) == [15, 30, 45, 60, 120]
    mean, sd = 0.1, 7 / 60
    size = mean * (1 - mean) / sd**2 - 1
    law = stats.beta(mean * size, (1 - mean) * size, scale=60)
    for upper in (15.0, 30.0, 45.0):
        assert rows[upper].cut_off == pytest.approx(law.sf(upper), rel=0.02, abs=5e-5)
        pull = law.expect(lambda x, u=upper: x - u, lb=upper, ub=60)
        assert rows[upper].pull == pytest.approx(pull, rel=0.02, abs=5e-5)
        assert rows[upper].total.worst == pytest.approx(math.hypot(rows[upper].noise.worst, pull), rel=0.01)
    assert rows[60].total == made["adaptive"].rmse
    assert rows[60].cut_off == 0
    for upper in (15.0, 30.0, 60.0):
        found = population("lognormal(6, 7)", (0, upper))
        assert rows[upper].tail_pull == pytest.approx(6 - found.crowd.mean * upper, rel=0.05)
    assert rows[120].noise.worst > 1.5 * rows[60].noise.worst


def test_bounds_that_a_long_tail_would_outgrow_are_warned_of() -> None:
    loads = {"n_users": 2_000_000, "trusted_fraction": 0.002, "epsilon": 1, "bounds": (0, 600), "mean": 180, "sd": 115}
    warning = "Beware: if values have a long tail, 0 to 600 cuts it off and pulls the mean by 1."
    assert warning in _plan(**loads).explain().splitlines()[2]
    assert "Beware" not in _plan().explain()
    assert "Beware" not in _plan(**{**loads, "bounds": (0, 3000)}).explain()
    assert [row.tail_pull for row in bounds_choices(_plan(sd=0))][-2:] == [0, 0]


def test_noise_falls_with_the_width_while_the_pull_grows() -> None:
    rows = bounds_choices(_plan())
    noises = [row.noise.worst for row in rows]
    assert noises == sorted(noises)
    pulls = [row.pull or 0.0 for row in rows]
    assert pulls == sorted(pulls, reverse=True)


def test_the_bound_moves_that_is_far_from_the_mean() -> None:
    mirrored = bounds_choices(_plan(mean=54))
    assert [row.bounds for row in mirrored] == [(45, 60), (30, 60), (15, 60), (0, 60), (-60, 60)]
    for row, other in zip(mirrored, bounds_choices(_plan()), strict=True):
        assert row.cut_off == other.cut_off
        assert row.total.worst == pytest.approx(other.total.worst, rel=0.02)


@pytest.mark.parametrize("change", [{"mean": None}, {"sd": None, "mean": None}])
def test_without_a_shape_nothing_is_said_about_what_is_cut_off(change: dict[str, object]) -> None:
    rows = bounds_choices(_plan(**change))
    assert len(rows) >= 4
    assert all(row.cut_off is None for row in rows)
    assert "with bounds of" not in _plan(**change).explain()


def test_everybody_at_a_bound_has_no_tighter_bounds() -> None:
    rows = bounds_choices(_plan(mean=30, sd=30))
    assert [row.cut_off for row in rows if row.bounds[1] < 60] == pytest.approx([0.5] * 3, abs=1e-4)


def test_tighter_bounds_are_proposed_where_they_cut_off_little() -> None:
    assert "0.35 with bounds of 0 to 30 (beyond: 1.2 %)" in _plan().explain()
    assert "with bounds of" not in _plan(mean=25, sd=15).explain()
