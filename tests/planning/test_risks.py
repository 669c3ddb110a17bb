import json
from dataclasses import replace

import numpy as np
import pytest

from hybriddp import MeanStudy, plan, solve
from hybriddp.errors import ParameterError
from hybriddp.planning import Plan, Span, crossovers, differences, poisoning
from hybriddp.planning.headline import worth_it
from hybriddp.planning.page import page
from hybriddp.theory import Setting


def _plan(**changes: object) -> Plan:
    good = {"n_users": 20_000, "trusted_fraction": 0.01, "epsilon": 1.0, "bounds": (0, 240), "sd": 30.0}
    return plan(**{**good, **changes})


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
    assert attacked.value - honest.value == pytest.approx(poisoning(made, forged).local, rel=1e-9, abs=1e-9)
    values = np.zeros(200)
    before = study.estimate(trusted=values, local=codes, weight=weight, random_state=1)
    values[:forged] = 240.0
    after = study.estimate(trusted=values, local=codes, weight=weight, random_state=1)
    assert after.value - before.value == pytest.approx(poisoning(made, forged).trusted, rel=1e-6, abs=1e-9)


def test_more_forgers_than_users_can_do_no_more() -> None:
    made = _plan()
    assert poisoning(made, 10**9).local == poisoning(made, 19_800).local
    with pytest.raises(ParameterError):
        poisoning(made, -1)


# Groups that differ


def test_differences_start_with_none_and_are_those_of_plans() -> None:
    made = _plan()
    rows = differences(made)
    assert rows[0].mean_gap == 0
    assert rows[0].adaptive == made.rmse
    assert [row.mean_gap for row in rows[:6]] == pytest.approx([0, 3, 7.5, 15, 30, 60])
    assert {row.variance_ratio for row in rows[6:]} == {0.25, 0.5, 2.0, 4.0}
    assert rows[4].trusted_only == pytest.approx(_plan(mean_gap=30)["trusted-only"].rmse.worst)
    assert all(row.full_local == pytest.approx(made.full_local.worst) for row in rows)
    assert rows[5].adaptive < rows[5].known_variance / 5


def test_impossible_spreads_are_left_out() -> None:
    assert {row.variance_ratio for row in differences(_plan(sd=110.0))} == {1.0, 0.25, 0.5}
    assert len(differences(_plan(sd=None))) == 10


# Crossovers


def test_the_trusted_alone_are_as_good_as_everybody_local_from_the_crossover_on() -> None:
    made = _plan()
    found = crossovers(made).trusted_only_wins
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


def test_halving_and_least_users_are_what_they_say() -> None:
    made = _plan()
    found = crossovers(made)
    assert found.halves_the_error is not None
    assert _plan(trusted_fraction=found.halves_the_error / 20_000).rmse <= made.full_local.worst / 2
    assert found.least_users is None  # even two who trust, and 198 others, are enough
    private = crossovers(_plan(epsilon=0.1)).least_users
    assert private is not None
    small = _plan(epsilon=0.1, n_users=private)
    assert small.rmse <= small.noise_limit == 24.0
    assert crossovers(_plan(sd=0.0)).least_users is None
    assert "would be mostly noise: off by more than 24" in _plan(epsilon=0.1).explain()


# Words, values and pages


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "Worth it: yes. Off by"),
        ({"n_users": 400, "epsilon": 0.1}, "Worth it: no. Mostly noise"),
        ({"n_users": 400, "epsilon": 0.1}, "What would change it: at least"),
        ({"trusted_fraction": 0.3}, "the trusting users alone are enough"),
        ({"trusted_fraction": 0.0002}, "the opt-ins hardly help"),
        ({"mean_gap": 12.0}, "publish the two groups' means side by side"),
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
        ({"delta": 1e-6}, ", but for a chance of 0.000001."),
        ({}, "times as many local users."),
        ({}, "To halve the error of a study in which nobody trusts"),
        ({}, "forged local reports could move the answer by at most"),
    ],
)
def test_the_story_says_what_the_numbers_mean(change: dict[str, object], words: str) -> None:
    assert words in _plan(**change).explain()


def test_the_plan_is_plain_values_and_a_page() -> None:
    made = _plan(sd=None)
    stored = json.loads(json.dumps(made.to_dict()))
    assert [row["name"] for row in stored["estimators"]][-1] == "adaptive"
    assert stored["rmse"] == made.rmse
    assert [line.split(":")[0] for line in stored["answer"]] == ["What you get", "Worth it", "What would change it"]
    assert stored["words"][:3] == stored["answer"]
    html = page(made)
    for words in (
        "Plan of a hybrid study",
        "both (adaptive)",
        "<svg",
        "Which ε",
        "Which bounds",
        "If the groups differ",
        "mean gap",
    ):
        assert words in html
    assert "<table>" in made._repr_html_()


def test_results_say_little_in_one_line() -> None:
    for made in (_plan(), _plan(sd=None, n_users=123_456_789, bounds=(-1e9, 1e9))):
        found = solve(for_="rmse", **{name: value for name, value in made.question.items() if name != "rmse"})
        things = [made, found, *made.options, *made.papers, *differences(made), crossovers(made), poisoning(made, 100)]
        for thing in things:
            assert len(repr(thing)) < 200, thing


def test_the_picture_has_both_panels(tmp_path: object) -> None:
    figure = _plan(sd=None).plot(f"{tmp_path}/plan.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["Opt-ins, at ε = 1", "If those who trust are different"]


def test_impossible_gaps_are_left_out() -> None:
    near = plan(n_users=10_000, trusted_fraction=0.1, epsilon=1, bounds=(0, 60), mean=59, sd=5)
    assert [row.mean_gap for row in differences(near)][:3] == [0.0, 0.5, 0.0]  # 59 + 0.9 · 1.25 is beyond 60
    assert len(near.plot().axes) == 2


def test_where_local_reports_are_better_nothing_else_is_said() -> None:
    made = _plan(trusted_fraction=0.0001)
    worse = replace(made["full-local"], rmse=Span(0.9 * made.rmse, 0.9 * made.rmse))
    better = replace(made, options=tuple(worse if option.name == "full-local" else option for option in made.options))
    assert "not the opt-ins" in worth_it(better)
    assert "more. Ask" not in worth_it(better)
