import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

from hybriddp import MeanStudy
from hybriddp.errors import ParameterError
from hybriddp.planning import MeanPlan, Span
from hybriddp.planning.words import worth_it
from hybriddp.simulation.distributions import population
from hybriddp.theory import Setting
from tests.planning.settings import plan_mean

pytestmark = pytest.mark.repeated


@cache  # what a plan computes, it keeps
def _plan(**changes: object) -> MeanPlan:
    good = {"n_users": 20_000, "trusted_fraction": 0.01, "epsilon": 1.0, "bounds": (0, 240), "sd": 30.0}
    return plan_mean(**{**good, **changes})


STAYS = {"n_users": 8_000, "trusted_fraction": 0.05, "epsilon": 0.5, "bounds": (0, 60), "mean": 6, "sd": 7}


@cache
def _stays(**changes: object) -> MeanPlan:
    return plan_mean(**{**STAYS, **changes})


# Forged reports: what the plan says is what happens


@pytest.mark.parametrize("forged", [0, 1, 50])
def test_forged_reports_move_the_answer_by_as_much_as_is_said(forged: int) -> None:
    made = _plan()
    study = MeanStudy("x", bounds=(0, 240), epsilon=1.0)
    weight = made["adaptive"].weight.worst
    codes = np.sort(study.randomize([0.0] * 19_800, random_state=1).codes)
    assert codes[forged] == 0  # those who will forge have the smallest code
    honest = study.estimate(trusted=[5.0] * 200, local=codes, weight=weight, random_state=1)
    codes[:forged] = 255  # from the smallest code to the largest
    attacked = study.estimate(trusted=[5.0] * 200, local=codes, weight=weight, random_state=1)
    assert attacked.value - honest.value == pytest.approx(made.poisoning(forged).local, rel=1e-9, abs=1e-9)
    values = np.zeros(200)
    before = study.estimate(trusted=values, local=codes, weight=weight, random_state=1)
    values[:forged] = 240.0
    after = study.estimate(trusted=values, local=codes, weight=weight, random_state=1)
    assert after.value - before.value == pytest.approx(made.poisoning(forged).trusted, rel=1e-6, abs=1e-9)


def test_more_forgers_than_users_can_do_no_more() -> None:
    made = _plan()
    assert made.poisoning(10**9).local == made.poisoning(19_800).local
    with pytest.raises(ParameterError):
        made.poisoning(-1)


# Groups that differ


def test_differences_start_with_none_and_are_those_of_plans() -> None:
    made = _plan()
    rows = made.differences
    assert rows[0].mean_gap == 0
    assert rows[0].adaptive == made.rmse
    assert [row.mean_gap for row in rows[:6]] == pytest.approx([0, 3, 7.5, 15, 30, 60])
    assert {row.variance_ratio for row in rows[6:]} == {0.25, 0.5, 2.0, 4.0}
    assert rows[4].trusted_only == pytest.approx(_plan(mean_gap=30)["trusted-only"].rmse.worst)
    assert all(row.full_local == pytest.approx(made.full_local.worst) for row in rows)
    assert rows[5].adaptive < rows[5].known_variance / 5


def test_impossible_spreads_are_left_out() -> None:
    assert {row.variance_ratio for row in _plan(sd=110.0).differences} == {1.0, 0.25, 0.5}
    assert len(_plan(sd=None).differences) == 10


# Crossovers


def test_the_trusted_alone_are_as_good_as_everybody_local_from_the_crossover_on() -> None:
    made = _plan()
    found = made.crossovers.trusted_only_wins
    assert found is not None

    def alone(users: int) -> float:
        return float(
            Setting(
                n_users=20_000,
                trusted_fraction=users / 20_000,
                trusted_variance=900,
                local_variance=900,
                trusted_noise=2 * 240**2 / users**2,
                local_noise=0,
            ).error_trusted_only()
        )

    assert alone(found) <= made.full_local.worst**2 < alone(found - 1)


@pytest.mark.slow
def test_halving_and_least_users_are_what_they_say() -> None:
    made = _plan()
    found = made.crossovers
    assert found.halves_the_error is not None
    assert _plan(trusted_fraction=found.halves_the_error / 20_000).rmse <= made.full_local.worst / 2
    assert found.least_users is None  # even two who trust, and 198 others, are enough
    private = _plan(epsilon=0.1).crossovers.least_users
    assert private is not None
    small = _plan(epsilon=0.1, n_users=private)
    assert small.rmse <= small.noise_limit == 24.0
    assert _plan(sd=0.0).crossovers.least_users is None
    assert "would be mostly noise: off by more than 24" in _plan(epsilon=0.1).explain()


# Other choices of ε and of the bounds


def test_every_epsilon_is_a_plan() -> None:
    rows = _stays().epsilon_choices
    assert [row.epsilon for row in rows] == ["0.125", "0.25", "0.5", "1", "2"]
    for row in rows:
        ours = _stays(epsilon=row.epsilon)["adaptive"]
        assert (row.rmse, row.half_width) == (ours.rmse, ours.half_width)
        assert row.guess == pytest.approx(math.exp(float(row.epsilon)) / (1 + math.exp(float(row.epsilon))))
    assert [row.epsilon for row in _stays(epsilon=12).epsilon_choices] == ["3", "6", "12"]


def test_tight_bounds_cost_what_they_clip() -> None:
    made = _stays()
    rows = {row.bounds[1]: row for row in made.bounds_choices}
    assert list(rows) == [15, 30, 45, 60, 120]
    mean, sd = 0.1, 7 / 60
    size = mean * (1 - mean) / sd**2 - 1
    law = stats.beta(mean * size, (1 - mean) * size, scale=60)
    for upper in (15.0, 30.0, 45.0):
        assert rows[upper].clipped_fraction == pytest.approx(law.sf(upper), rel=0.02, abs=5e-5)
        pull = law.expect(lambda x, u=upper: x - u, lb=upper, ub=60)
        assert rows[upper].clipping_bias == pytest.approx(pull, rel=0.02, abs=5e-5)
        assert rows[upper].total.worst == pytest.approx(math.hypot(rows[upper].noise.worst, pull), rel=0.01)
    assert rows[60].total == made["adaptive"].rmse
    assert rows[60].clipped_fraction == 0
    for upper in (15.0, 30.0, 60.0):
        found = population("lognormal(6, 7)", (0, upper))
        assert rows[upper].long_tail_bias == pytest.approx(6 - found.values.mean * upper, rel=0.05)
    assert rows[120].noise.worst > 1.5 * rows[60].noise.worst


@pytest.mark.slow
def test_bounds_that_a_long_tail_would_outgrow_are_warned_of() -> None:
    loads = {"n_users": 2_000_000, "trusted_fraction": 0.002, "epsilon": 1, "bounds": (0, 600), "mean": 180, "sd": 115}
    warning = "Beware: if values have a long tail, 0 to 600 clips it and moves the mean by 1."
    assert warning in _stays(**loads).explain().splitlines()[2]
    assert "Beware" not in _stays().explain()
    assert "Beware" not in _stays(**{**loads, "bounds": (0, 3000)}).explain()
    assert [row.long_tail_bias for row in _stays(sd=0).bounds_choices][-2:] == [0, 0]


def test_noise_falls_with_the_width_while_the_bias_grows() -> None:
    rows = _stays().bounds_choices
    noises = [row.noise.worst for row in rows]
    assert noises == sorted(noises)
    pulls = [row.clipping_bias or 0.0 for row in rows]
    assert pulls == sorted(pulls, reverse=True)


def test_the_bound_moves_that_is_far_from_the_mean() -> None:
    mirrored = _stays(mean=54).bounds_choices
    assert [row.bounds for row in mirrored] == [(45, 60), (30, 60), (15, 60), (0, 60), (-60, 60)]
    for row, other in zip(mirrored, _stays().bounds_choices, strict=True):
        assert row.clipped_fraction == other.clipped_fraction
        assert row.total.worst == pytest.approx(other.total.worst, rel=0.02)


@pytest.mark.repeated
@pytest.mark.parametrize("change", [{"mean": None}, pytest.param({"sd": None, "mean": None}, marks=pytest.mark.slow)])
def test_without_a_shape_nothing_is_said_about_what_is_clipped(change: dict[str, object]) -> None:
    rows = _stays(**change).bounds_choices
    assert len(rows) >= 4
    assert all(row.clipped_fraction is None for row in rows)
    assert "with bounds of" not in _stays(**change).explain()


def test_everybody_at_a_bound_has_no_tighter_bounds() -> None:
    rows = _stays(mean=30, sd=30).bounds_choices
    assert [row.clipped_fraction for row in rows if row.bounds[1] < 60] == pytest.approx([0.5] * 3, abs=1e-4)


def test_tighter_bounds_are_proposed_where_they_clip_little() -> None:
    assert "0.35 with bounds of 0 to 30 (beyond: 1.2 %)" in _stays().explain()
    assert "with bounds of" not in _stays(mean=25, sd=15).explain()


# Words, values and pages


@pytest.mark.repeated
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "Worth it: yes. Off by"),
        ({"n_users": 400, "epsilon": 0.1}, "Worth it: no. Mostly noise"),
        ({"n_users": 400, "epsilon": 0.1}, "What would change it: at least"),
        ({"trusted_fraction": 0.3}, "the trusting users alone are enough"),
        ({"trusted_fraction": 0.0002}, "the opt-ins hardly help"),
        pytest.param({"mean_gap": 12.0}, "publish the two groups' means side by side", marks=pytest.mark.slow),
        ({"sd": None}, "Nothing is assumed about the values"),
        ({}, "Assumed: a Beta shape on the bounds with the middle of the bounds as its mean and sd 30."),
        ({"mean": 45.5}, "Assumed: a Beta shape on the bounds with mean 45.5 and sd 30."),
        ({"mean": 45.5}, "What you get: the mean (about 45.5) ±"),
        ({}, "of the range). Between two such studies, a change of"),
        (
            {"epsilon": 12},
            "more than 99.9 % of the time (50 % without it). A smaller ε is more private. This one is hardly",
        ),
        ({"epsilon": 5}, "guesses right at most 99.3 %"),
        pytest.param({"delta": 1e-6}, ", but for a chance of 0.000001.", marks=pytest.mark.slow),
        ({}, "times as many local users."),
        ({}, "To halve the error of a study in which nobody trusts"),
        ({}, "forged local reports could move the answer by at most"),
    ],
)
def test_the_story_says_what_the_numbers_mean(change: dict[str, object], words: str) -> None:
    assert words in _plan(**change).explain()


@pytest.mark.slow
def test_the_plan_is_plain_values_and_a_page() -> None:
    made = _plan(sd=None)
    stored = json.loads(json.dumps(made.to_dict()))
    assert [row["name"] for row in stored["estimators"]][-1] == "adaptive"
    assert stored["rmse"] == made.rmse
    assert [line.split(":")[0] for line in stored["answer"]] == ["What you get", "Worth it", "What would change it"]
    assert stored["words"][:3] == stored["answer"]
    html = made.to_html()
    for words in (
        "Plan of a hybrid study",
        "both (adaptive)",
        "<svg",
        "What ε costs",
        "What bounds cost",
        "If the groups differ",
        "mean gap",
    ):
        assert words in html
    assert "<table>" in made._repr_html_()


def test_results_say_little_in_one_line() -> None:
    for made in (_plan(), _plan(sd=None, n_users=123_456_789, bounds=(-1e9, 1e9))):
        things = [made, *made.options, *made.papers, *made.differences, made.crossovers, made.poisoning(100)]
        for thing in things:
            assert len(repr(thing)) < 200, thing


def test_the_picture_has_both_panels(tmp_path: object) -> None:
    figure = _plan(sd=None).plot(f"{tmp_path}/plan.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["Opt-ins, at ε = 1", "If those who trust are different"]


def test_impossible_gaps_are_left_out() -> None:
    near = plan_mean(n_users=10_000, trusted_fraction=0.1, epsilon=1, bounds=(0, 60), mean=59, sd=5)
    assert [row.mean_gap for row in near.differences][:3] == [0.0, 0.5, 0.0]  # 59 + 0.9 · 1.25 is beyond 60
    assert len(near.plot().axes) == 2


def test_where_local_reports_are_better_nothing_else_is_said() -> None:
    made = _plan(trusted_fraction=0.0001)
    better = replace(made, mean_gap=0.0)
    worse = Span(0.9 * made.rmse, 0.9 * made.rmse)
    better.__dict__["errors"] = made.errors | {"full-local": worse}  # what is computed once
    assert "not the opt-ins" in worth_it(better)
    assert "more. Ask" not in worth_it(better)
