import json
import math
import re
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hybriddp.errors import DataError, ParameterError
from hybriddp.grid import UNITS
from hybriddp.mean import MeanStudy
from hybriddp.mean.published import fixed_weight, trusted_noise
from hybriddp.shares import FrequencyStudy
from hybriddp.simulation import MeanSimulation, simulate
from hybriddp.simulation.crowd import ValueCounts
from hybriddp.simulation.distributions import named, population
from hybriddp.simulation.mean import MeanSetup, predicted_error, predicted_setting, report_variance

STUDY = MeanStudy("x", bounds=(0, 10), epsilon=0.5)
VALUES = np.repeat([0, 1, 2, 5, 10], [400, 300, 200, 80, 20])
FIXED = ("trusted-only", "full-local", "local-only", "naive", "privacy", "known-variance", 0.3, 0.9)
FAST = {"estimators": ("adaptive", 0.3)}


def _run(**changes: object) -> MeanSimulation:
    settings: dict[str, Any] = {"study": STUDY, "data": VALUES, "trusted_fraction": 0.05, "trials": 60, **changes}
    result: MeanSimulation = simulate(**settings)
    return result


# The paper's estimators. A fixed weight is linear in the two groups' means, exactly, so its error has the parts that
# theory says if the means have (tests/mean/test_answer.py, test_crowd.py). A few settings are run end to end: a squared
# Laplace error, the worst case, has skewness 6.6, so a score beyond 7.5 over 3,000 trials has probability below 1e-9.

SETTINGS = [
    *product(("beta(10, 10)", "uniform", "beta(0.1, 0.1)"), (1_000, 100_000), (0.005, 0.05), (0.1, 1.0)),
    *product(("bernoulli(0.05)", "lognormal(0.05, 0.05)"), (20_000,), (0.002, 0.02, 0.2), (0.5,)),
]
Setting = tuple[str, int, float, float]


_crowd = cache(named)


def _setup(setting: Setting, local: str | None = None) -> MeanSetup:
    data, n, fraction, epsilon = setting
    study = MeanStudy("x", bounds=(0, 1), epsilon=epsilon)
    crowd, n_trusted = _crowd(data), round(fraction * n)
    others = crowd if local is None else _crowd(local)
    return MeanSetup(
        study, crowd, others, n_trusted, n - n_trusted, fixed=False, sd=crowd.variance**0.5, estimators=FIXED
    )


@pytest.mark.parametrize("setting", SETTINGS[::5])
def test_every_fixed_weight_is_linear_in_two_means(setting: Setting) -> None:
    setup = _setup(setting)
    trial = setup.run_trial(np.random.default_rng(1))
    found = dict(zip(FIXED, trial.estimates, strict=True))
    trusted, local = found["trusted-only"].value, found["local-only"].value
    for name, estimate in found.items():
        if name != "full-local":
            variance = setup.sd**2 if name == "known-variance" else 0.0
            sizes = setup.n_trusted, setup.n_local
            weight = name if isinstance(name, float) else fixed_weight(setup.study, *sizes, name, variance)
            assert estimate.weight == weight
            assert estimate.value == weight * trusted + (1 - weight) * local
    assert found["full-local"].n_local == setup.n_trusted + setup.n_local


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_predicted_error_has_a_part_for_each_mean(setting: Setting) -> None:
    """With groups that differ: a bias, the sampling of both groups and the noise of both means."""
    setup = _setup(setting, "beta(2, 8)")
    n_t, n_l = setup.n_trusted, setup.n_local
    c = n_t / (n_t + n_l)
    reports = report_variance(setup.study, setup.local) / n_l
    for name in FIXED:
        if isinstance(name, str):
            continue
        bias = (name - c) * (setup.trusted.mean - setup.local.mean)
        sampling = (name - c) ** 2 * (setup.trusted.variance / n_t + setup.local.variance / n_l)
        noise = name**2 * trusted_noise(setup.study, n_t) + (1 - name) ** 2 * reports
        predicted = predicted_error(setup, predicted_setting(setup), name)
        assert predicted == pytest.approx(bias**2 + sampling + noise, rel=1e-9)


def _assert_errs_as_predicted(result: MeanSimulation) -> None:
    """Also that a scale which is 20 % off would be seen."""
    for outcome in result.outcomes:
        assert outcome.is_exact
        scores = [(factor**2 * outcome.observed_mse - outcome.predicted_mse) for factor in (0.8, 1.0, 1.2)]
        low, right, high = (score / outcome.predicted_mse_se for score in scores)
        assert right == outcome.z
        assert abs(right) < 7.5, outcome
        assert low < -7.5, outcome
        assert high > 7.5, outcome


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("setting", "estimators", "trials"),
    [
        (SETTINGS[3], ("full-local", 0.3), 3000),
        *(pytest.param(setting, FIXED, 8000, marks=pytest.mark.long) for setting in SETTINGS),
    ],
)
def test_the_papers_estimators_err_as_its_theory_says(
    setting: Setting, estimators: tuple[str | float, ...], trials: int
) -> None:
    data, n, fraction, epsilon = setting
    study = MeanStudy("x", bounds=(0, 1), epsilon=epsilon)
    options: dict[str, Any] = {"n_users": n, "trusted_fraction": fraction, "estimators": estimators}
    _assert_errs_as_predicted(simulate(study, data, trials=trials, random_state=11, **options))


@pytest.mark.statistical
@pytest.mark.parametrize(
    "change",
    [
        {"estimators": ("full-local", 0.4)},  # window channel, the same people split anew
        {"data": "bernoulli(0.3)", "local_data": "bernoulli(0.25)", "n_users": 5000, "trusted_fraction": 0.1},
        {"data": [0, 10], "n_users": 2000},  # few values: the variance is that of their distribution
        {"study": MeanStudy("x", bounds=(0, 10), epsilon=1, delta=1e-6), "trusted_fraction": 0.3},
    ],
)
def test_fixed_weights_err_as_predicted_in_other_settings(change: dict[str, Any]) -> None:
    """Nearly normal errors, for which 2,000 trials are enough: 20 % off is 11 standard errors."""
    _assert_errs_as_predicted(_run(**{"trials": 2000, "estimators": (0.4,), **change}))


# Identities


@pytest.mark.slow
def test_the_result_does_not_depend_on_who_does_the_work() -> None:
    alone = _run(trials=250, **FAST)
    assert _run(trials=250, processes=2, **FAST) == alone
    assert _run(trials=250, random_state=1, **FAST) != alone
    done: list[int] = []
    assert _run(trials=250, progress=done.append, **FAST) == alone
    assert done == list(range(1, 251))


def test_the_result_is_a_table_and_text() -> None:
    result = _run(estimators=("adaptive", 0.3))
    assert (result.n_trusted, result.n_local, result.trials) == (50, 950, 60)
    assert result["0.3"].weight == result[0.3].weight == pytest.approx(0.3)
    assert _run(estimators=(1,))[1.0].weight == 1
    assert result.truth == pytest.approx(VALUES.mean(), abs=1e-6)
    stored = json.loads(result.to_json())
    assert stored["private_release"] is False
    assert [row["name"] for row in stored["estimators"]] == ["adaptive", "0.3"]
    with pytest.raises(KeyError):
        result["naive"]


def test_a_score_knows_the_tail_of_the_noise() -> None:
    """A hundred trials rarely meet it, and would take their own small spread for the truth."""
    result = _run(trials=100, trusted_fraction=0.02, estimators=("trusted-only", 0.5))
    for outcome in result.outcomes:
        assert outcome.is_exact
        assert outcome.predicted_mse_se > 0.14 * outcome.predicted_mse  # of a normal error it is 0.1414
    curator = float(result.setting.trusted_noise)
    alone = result["trusted-only"]
    exact = (2 * alone.predicted_mse**2 + 3 * curator**2) ** 0.5 / 10  # Var(X²) of a normal and a Laplace part
    assert alone.predicted_mse_se == pytest.approx(exact)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [1.0, pytest.param(0.3, marks=pytest.mark.long)])
def test_the_adaptive_weight_is_compared_with_its_own_prediction(epsilon: float) -> None:
    """Approximate, within a few percent: a score beyond 7.5 has probability below 1e-9; 20 % off is seen."""
    study = MeanStudy("x", bounds=(0, 240), epsilon=epsilon)
    chosen = ("adaptive", "known-variance")
    values = stats.expon(scale=40).ppf((np.arange(50) + 0.5) / 50)
    result = simulate(study, values, n_users=5000, trusted_fraction=0.05, trials=3000, estimators=chosen)
    ours, best = result["adaptive"], result["known-variance"]
    assert not ours.is_exact
    assert ours.predicted_mse > best.predicted_mse
    assert abs(ours.z) < 7.5
    for factor in (0.8**2, 1.2**2):
        assert abs(factor * ours.observed_mse - ours.predicted_mse) > 7.5 * ours.predicted_mse_se


def test_what_the_bounds_clamp_is_told() -> None:
    study = MeanStudy("minutes", bounds=(0, 240), epsilon=1.0)
    inside = simulate(study, "normal(40, 20)", n_users=2000, trusted_fraction=0.1, trials=2)
    assert inside.outside == pytest.approx(stats.norm(40, 20).cdf(0))
    assert (inside.mean, inside.to_dict()["outside_of_bounds"]) == (40.0, inside.outside)
    assert inside.truth == pytest.approx(40, abs=3)
    values = np.array([-10.0, 10.0, 250.0, 990.0])
    counted = simulate(study, values, trusted_fraction=0.5, trials=2)
    assert (counted.outside, counted.mean) == (0.75, 310.0)
    mixed = simulate(study, "uniform(0, 480)", local_data="uniform", n_users=1000, trusted_fraction=0.1, trials=2)
    assert mixed.outside == pytest.approx(0.05)


def test_results_say_little_in_one_line() -> None:
    result = _run(trials=2)
    for thing in (result, *result.outcomes):
        assert len(repr(thing)) < 200
    assert "not a release" in repr(result)


@pytest.mark.parametrize(
    ("text", "mean", "sd"),
    [
        ("normal(60, 10)", 60, 10),
        ("lognormal(40, 20)", 40, 20),
        ("gamma(40, 20)", 40, 20),
        ("exponential(20)", 20, 20),
        ("uniform(30, 90)", 60, 17.3205),
        ("beta(2, 8)", 48, 28.9448),
        ("uniform", 120, 69.2820),
        ("bernoulli(0.25)", 60, 103.923),
    ],
)
def test_parameters_are_in_the_units_of_the_values(text: str, mean: float, sd: float) -> None:
    for low in (0.0, -40.0):  # where the bounds start does not move what is in units
        shift = low if text.startswith(("beta", "bernoulli")) or text == "uniform" else 0.0
        found = population(text, (low, low + 240))
        assert low + found.values.mean * 240 == pytest.approx(mean + shift, rel=4e-3)
        assert found.values.variance**0.5 * 240 == pytest.approx(sd, rel=8e-3)
        assert found.mean == pytest.approx(mean + shift)
        assert found.outside < 1e-3


def test_named_distributions_have_their_moments() -> None:
    for text, mean, sd in (
        ("uniform", 0.5, 0.288675),
        ("beta(10, 10)", 0.5, 0.10911),
        ("Beta(1,3)", 0.25, 0.193649),
        ("normal(0.4, 0.05)", 0.4, 0.05),
        ("lognormal(0.1, 0.02)", 0.1, 0.02),
        ("bernoulli(0.25)", 0.25, 0.433013),
    ):
        crowd = named(text)
        assert crowd.mean == pytest.approx(mean, rel=2e-3)
        assert crowd.variance**0.5 == pytest.approx(sd, rel=4e-3)


# Edges


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("study", {"study": "x"}),
        ("trials", {"trials": 1}),
        ("trusted_fraction", {"trusted_fraction": 0.0}),
        ("trusted_fraction", {"trusted_fraction": 0.0001}),
        ("estimators", {"estimators": ()}),
        ("estimators", {"estimators": ("best",)}),
        ("estimators", {"estimators": (1.5,)}),
        ("estimators", {"estimators": 0.5}),
        ("n_users", {"data": "uniform"}),
        ("n_users", {"local_data": "uniform"}),
        ("n_users", {"data": "uniform", "n_users": 1}),
        ("n_users", {"data": "uniform", "n_users": 10**15}),
        ("data", {"data": "cauchy(1, 2)", "n_users": 10}),
        ("data", {"data": "beta(1)", "n_users": 10}),
        ("data", {"data": "beta(a, b)", "n_users": 10}),
        ("data", {"data": "beta(-1, 2)", "n_users": 10}),
        ("data", {"data": "bernoulli(2)", "n_users": 10}),
        ("data", {"data": "exponential(1, 2)", "n_users": 10}),
        ("data", {"data": "gamma(0, 2)", "n_users": 10}),
        ("data", {"data": "normal(1, 0)", "n_users": 10}),
        ("data", {"data": "uniform(3, 3)", "n_users": 10}),
        ("random_state", {"random_state": -1}),
        ("processes", {"processes": 0}),
    ],
)
def test_bad_parameters_are_named(name: str, change: dict[str, object]) -> None:
    with pytest.raises(ParameterError) as caught:
        _run(**change)
    assert caught.value.name == name


@pytest.mark.parametrize(
    ("text", "law", "upper"),
    [
        ("lognormal(50, 500)", stats.lognorm(math.log(101) ** 0.5, scale=50 / 101**0.5), 1e5),
        ("lognormal(50, 500)", stats.lognorm(math.log(101) ** 0.5, scale=50 / 101**0.5), 1e3),
        ("gamma(1, 30)", stats.gamma(1 / 900, scale=900), 1e4),
        ("exponential(10)", stats.expon(scale=10), 15.0),
        ("normal(40, 20)", stats.norm(40, 20), 60.0),
    ],
)
def test_a_long_tail_is_not_flattened(text: str, law: Any, upper: float) -> None:
    """E[min(max(X, 0), u)] is the integral of P[X > x], and that of the square is the integral of 2 x P[X > x]."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    edges = np.concatenate([[0.0], np.geomspace(1e-9, upper, 60)])
    x = (edges[1:] + edges[:-1])[:, None] / 2 + np.diff(edges)[:, None] / 2 * nodes
    above = law.sf(x) @ weights @ np.diff(edges) / 2
    square = (2 * x * law.sf(x)) @ weights @ np.diff(edges) / 2
    crowd = named(text, (0, upper))
    assert crowd.mean * upper == pytest.approx(above, rel=1e-3)
    assert crowd.variance**0.5 * upper == pytest.approx((square - above**2) ** 0.5, rel=1e-3)


def test_rare_events_happen() -> None:
    assert named("bernoulli(1e-10)").mean == pytest.approx(1e-10)
    with pytest.raises(ParameterError, match="p is 0 or at least 1e-12"):
        named("bernoulli(1e-13)")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lognormal(1, 1e200)", "lognormal(mean, sd) where sd is"),
        ("gamma(1e-200, 1e200)", "gamma(mean, sd) where sd is"),
        ("gamma(1, 1e9)", "from 0.0001 to 10000 times the mean"),
        ("uniform(-1e308, 1e308)", "uniform(low, high) where low is"),
        ("exponential(1e300)", "exponential(mean) where mean is"),
        ("normal(1, 0)", "normal(mean, sd) where sd is a number above 0"),
    ],
)
def test_parameters_that_no_law_has_are_refused(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)):
        named(text)


def test_the_sum_of_very_many_people_fits() -> None:
    crowd = ValueCounts(np.array([0, UNITS]), np.array([10**15, 3 * 10**15]))
    assert crowd.total == 3 * 10**15 * UNITS
    assert crowd.mean == 0.75


# Shares


@pytest.mark.statistical
def test_observed_errors_of_shares_are_those_predicted() -> None:
    """Of 800 trials a mean square has a relative standard error of 3 %; a scale that is 20 % off is 12 of them away."""
    study = FrequencyStudy("x", categories=["a", "b", "c", "d"], other=False, epsilon=1)
    people = np.repeat(["a", "b", "c", "d"], [800, 600, 400, 200]).tolist()
    result = simulate(study, people, trusted_fraction=0.1, trials=800, random_state=2)
    ratio = np.mean([(outcome.observed_error / outcome.predicted_error) ** 2 for outcome in result.outcomes])
    assert 0.8 < ratio < 1.2
    assert min(outcome.coverage for outcome in result.outcomes) > 0.9
    assert [outcome.share for outcome in result.outcomes] == pytest.approx([0.4, 0.3, 0.2, 0.1])


def test_shares_are_simulated_by_category() -> None:
    study = FrequencyStudy("x", categories=["a", "b"], epsilon=1)
    settings: dict[str, Any] = {"trusted_fraction": 0.2, "trials": 2, "n_users": 500, "local_data": ["b"] * 5}
    result, again = (simulate(study, ["a"] * 5, **settings) for _ in range(2))
    assert result.to_json() == again.to_json()
    assert result["a"].share == pytest.approx(0.2)
    assert (result.n_trusted, result.n_local) == (100, 400)
    with pytest.raises(KeyError):
        result["c"]
    with pytest.raises(DataError, match="at least two items"):
        simulate(study, ["a"], trusted_fraction=0.5, trials=2)
