import json
import math
from html import escape
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hybriddp import plan, solve
from hybriddp.errors import ParameterError
from hybriddp.items.open_release import release_items
from hybriddp.planning import SharePlan
from hybriddp.planning.shares import chance_listed
from hybriddp.privacy import Privacy
from hybriddp.release.threshold import ThresholdRule
from hybriddp.shares import FrequencyStudy
from tests.levels import z_limit
from tests.planning.settings import plan_mean, plan_quantiles, plan_shares
from tests.release.numbers import cost

OPEN = {"n_users": 10**6, "trusted_fraction": 0.01, "epsilon": 1, "delta": 1e-6, "n_items": 10_000}


def _open(**changed: float) -> SharePlan:
    return plan_shares(**(OPEN | changed))


# Definition


@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 300), (4.0, 60), (0.2, 2000)])
def test_the_chance_of_being_listed_is_the_sum_over_counts_and_noise(epsilon: float, n: int) -> None:
    rule = ThresholdRule.of(Privacy(epsilon=epsilon, delta=1e-6))
    shares = np.array([0.9, 0.3, 0.1, 0.02, 1e-3, 0.0])
    noise = np.arange(-3000, 3001)
    law = np.exp(-np.abs(noise) / rule.scale)
    law /= law.sum()
    for f, found in zip(shares, chance_listed(shares, n, rule), strict=True):
        count = np.arange(1, n + 1)
        reached = np.array([law[noise >= rule.threshold - x].sum() for x in count])
        assert found == pytest.approx(float(stats.binom.pmf(count, n, f) @ reached), rel=1e-9, abs=1e-11)


def test_what_the_design_was_measured_to_give() -> None:
    """Lists of 38, 146, 193 and 732 items were counted in simulations of these settings, of 20 trials each."""
    for changed, measured in (
        ({}, 38),
        ({"epsilon": 4}, 146),
        ({"trusted_fraction": 0.05}, 193),
        ({"trusted_fraction": 0.05, "epsilon": 4}, 732),
    ):
        made = _open(**changed)
        assert made.method == "list"
        assert made.list_length == pytest.approx(measured, rel=0.03)


def test_interpolating_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse = _open(n_items=3000)
    monkeypatch.setattr("hybriddp.planning.shares._COMPUTED", 10_000)
    fine = _open(n_items=3000)
    assert coarse.list_length == pytest.approx(fine.list_length, abs=0.02)
    assert np.abs(coarse.chances - fine.chances).max() < 5e-3


# Identities


def test_zipf_of_slope_0_is_uniform_and_shares_can_be_given() -> None:
    flat = plan_shares(n_users=1000, trusted_fraction=0.1, epsilon=1, n_items=4, slope=0)
    given = plan_shares(n_users=1000, trusted_fraction=0.1, epsilon=1, shares=[0.25] * 4)
    assert flat.shares == given.shares
    assert flat.standard_errors.tolist() == given.standard_errors.tolist()
    assert (flat.method, flat.list_length, flat.list_length_sd) == ("dictionary", 4.0, 0.0)
    assert (flat.slope, given.slope) == (0.0, None)


def test_both_groups_are_never_worse_than_either() -> None:
    for made in (_open(), _open(epsilon=4, trusted_fraction=0.001), _open().with_dictionary()):
        trusted, local = made.errors_alone()
        assert np.all(made.standard_errors <= np.minimum(trusted, local) * (1 + 1e-12))
        assert made.rmse_of_top(50) > 0


def test_more_of_everything_is_better() -> None:
    base = _open()
    for changed in ({"n_users": 2 * 10**6}, {"trusted_fraction": 0.02}, {"epsilon": 2}, {"delta": 1e-4}):
        better = _open(**changed)
        assert better.list_length > base.list_length
        assert better.rmse_of_top(50) < base.rmse_of_top(50)


def test_few_who_trust_are_helped_by_local_discovery() -> None:
    made = _open(trusted_fraction=0.001, epsilon=4)
    assert made.method == "discovery"
    assert 35 < made.list_length < 60  # local discovery found items down to a share of about 0.2 %
    assert "local discovery" in made.explain()


def test_two_categories_have_half_the_noise() -> None:
    """Of two counts one says it all."""
    two = plan_shares(n_users=10**6, trusted_fraction=0.001, epsilon=0.01, shares=[0.5, 0.5])
    three = plan_shares(n_users=10**6, trusted_fraction=0.001, epsilon=0.01, shares=[0.5, 0.5, 0.0])
    assert three.errors_alone()[0][0] == pytest.approx(2 * two.errors_alone()[0][0], rel=0.05)


# Against the real pipeline


@pytest.mark.statistical
def test_lists_are_as_long_as_predicted() -> None:
    """20 % of the length are more than 20 standard errors."""
    n, trials = 40_000, 400
    made = plan_shares(n_users=n, trusted_fraction=0.05, epsilon=2, delta=1e-6, n_items=300)
    rng = np.random.default_rng(0)
    rule = ThresholdRule.of(made.privacy)
    items = [f"item {i}" for i in range(300)]
    lengths = []
    for _ in range(trials):
        counts = rng.multinomial(made.n_trusted, made.shares).tolist()
        held = {item: count for item, count in zip(items, counts, strict=True) if count}
        lengths.append(len(release_items(held, made.n_trusted, rule, cost(rule.privacy), random_state=rng).items))
    error = np.std(lengths) / math.sqrt(trials)
    assert abs(np.mean(lengths) - made.list_length) < z_limit() * error
    assert abs(np.mean(lengths) - 1.2 * made.list_length) > z_limit() * error
    assert np.std(lengths) == pytest.approx(made.list_length_sd, rel=0.25)


@pytest.mark.statistical
@pytest.mark.representative
def test_errors_are_as_large_as_predicted() -> None:
    """Of all shares, as ratios to what is predicted; a scale that is 20 % off is rejected."""
    n, trials = 4000, 500
    made = plan_shares(n_users=n, trusted_fraction=0.1, epsilon=1, n_items=6)
    study = FrequencyStudy("x", categories=list(range(6)), other=False, epsilon=1)
    rng = np.random.default_rng(1)
    squared = []
    for _ in range(trials):
        people = rng.choice(6, n, p=made.shares)
        reports = study.randomize(people[made.n_trusted :], random_state=rng)
        found = study.estimate(trusted=people[: made.n_trusted], local=reports, random_state=rng)
        errors = found.unbiased - np.bincount(people, minlength=6) / n
        squared.append(float(np.mean((errors / made.standard_errors) ** 2)))
    se = np.std(squared) / math.sqrt(trials)
    assert abs(np.mean(squared) - 1) < z_limit() * se + 0.03  # weights are estimated, too
    assert abs(np.mean(squared) - 1.44) > z_limit() * se + 0.03
    assert abs(np.mean(squared) - 0.64) > z_limit() * se + 0.03


# Words, and edges


def test_the_plan_in_words_and_numbers() -> None:
    made = _open()
    said = made.explain()
    for words in ("about 38 items", "almost surely", "public dictionary", "Zipf's law of slope 1", "10,000 of whom"):
        assert words in said
    assert str(made) == said
    assert "typical error" in repr(made)
    stored = json.loads(made.to_json())
    assert stored["list_length"] == made.list_length
    assert [row["rank"] for row in stored["ranks"]][:4] == [1, 2, 5, 10]
    assert "may as well be 0" in made.with_dictionary().explain()
    few = plan_shares(n_users=60_000, trusted_fraction=50 / 60_000, epsilon=2, delta=1e-6, n_items=400)
    assert "would have 10 times, the local group alone 1.0 times the error" in few.explain()
    assert "All are above" in plan_shares(n_users=10**6, trusted_fraction=0.1, epsilon=1, n_items=3).explain()


def test_a_plan_without_hope_says_so() -> None:
    made = _open(n_users=2000, n_items=1000)
    said = made.explain()
    assert "no item at all" in said
    assert "nothing to estimate" in said
    assert math.isinf(made.surely_listed)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"n_items": None}, "n_items must be"),
        ({"n_items": 1}, "n_items must be"),
        ({"slope": -1}, "slope must be"),
        ({"trusted_fraction": 1e-9}, "trusted_fraction must be such that"),
        ({"n_users": 3}, "n_users must be"),
        ({"shares": [0.5, 0.5]}, "n_items must be left out"),
        ({"n_items": None, "shares": [0.5, 0.6]}, "shares must be at least two"),
        ({"n_items": None, "shares": [0.5]}, "shares must be at least two"),
        ({"n_items": None, "shares": [0.5, -0.1]}, "shares"),
    ],
)
def test_mistakes_are_named(changed: dict[str, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        _open(**changed)


# What every plan can do


@pytest.mark.repeated
def test_every_plan_is_a_table_a_page_and_solved_for() -> None:
    plans = [
        plan_mean(n_users=2000, trusted_fraction=0.1, bounds=(0, 1), sd=0.2, mean=0.5),
        plan_shares(n_users=2000, trusted_fraction=0.1, shares=[0.3, 0.7]),
        plan_quantiles(n_users=2000, trusted_fraction=0.1, bounds=(0, 1)),
    ]
    for made in plans:
        rows, page = made.to_pandas(), made.to_html()
        assert len(rows) == len(made.rows)
        assert "<svg" in page
        assert all(escape(table.title) in page for table in made.tables())
        assert made.typical_error in repr(made)
    wrong: Any = "x"
    study = FrequencyStudy("x", categories=range(4), epsilon=1)
    found = solve(study, for_="n_users", target_rmse=0.01, trusted_fraction=0.05, slope=0)
    assert found.plan.rmse <= 0.01 < found.plan.changed(n_users=int(found.value) - 20, trusted_fraction=0.05).rmse
    with pytest.raises(ParameterError, match="only quantiles have ranks"):
        solve(study, for_="n_users", target_rank_error=0.01, trusted_fraction=0.05)
    with pytest.raises(ParameterError, match="study must be one of"):
        plan(wrong, n_users=10, trusted_fraction=0.5)
