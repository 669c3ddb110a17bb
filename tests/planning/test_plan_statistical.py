"""What a plan predicts is what the real pipeline does: its errors, and the interval that it states.

A prediction is an approximation, good to a few percent. One setting would need thousands of trials to show an error of
20 %, so settings are pooled: the mean of ratios of observed to predicted numbers has a standard error that a few
hundred trials each make small. It may be off by `z_limit()` of them and by what the approximation is
allowed. Each setting by itself is tested by the long tests.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from hybriddp.mean import MeanStudy
from hybriddp.mean.expected import ExpectedStatistics
from hybriddp.planning.shape import beta_counts, beta_values
from hybriddp.release.mechanisms import mechanism_for
from hybriddp.simulation import MeanOutcome, simulate
from hybriddp.simulation.crowd import ValueCounts, code_frequencies
from hybriddp.simulation.distributions import named
from hybriddp.simulation.mean import MeanSetup
from tests.levels import z_limit
from tests.planning.settings import plan_mean

UNITS = 1 << 24


class Ratio(NamedTuple):
    """What was observed over what was predicted, and its standard error."""

    value: float
    se: float

    @classmethod
    def of_errors(cls, outcome: MeanOutcome, predicted: float) -> "Ratio":
        return cls(outcome.observed_mse / predicted, outcome.observed_mse_se / predicted)


def accepts(ratios: Sequence[Ratio], *, off: float, scale: float = 1.0) -> bool:
    """Whether the mean of the ratios is near 1; ``scale`` is what the predictions are multiplied by."""
    mean, se = np.mean([ratio.value for ratio in ratios]), np.hypot.reduce([ratio.se for ratio in ratios]) / len(ratios)
    return bool(abs(mean / scale - 1) < off + z_limit() * se / scale)


def check(ratios: Sequence[Ratio], *, off: float, power: int) -> None:
    """Accept the predictions, and reject those that are 20 % off (in squared errors: to the second power)."""
    assert accepts(ratios, off=off), ratios
    assert all(0.5 < ratio.value < 2 for ratio in ratios), ratios
    for scale in (0.8, 1.2):
        assert not accepts(ratios, off=off, scale=scale**power), ratios


# The error of the adaptive estimate

NAMES = ("beta(10,10)", "beta(0.1,0.1)", "lognormal(0.05,0.05)", "bernoulli(0.02)")
SETTINGS = list(product(NAMES, (1_000, 100_000), (0.005, 0.05), (0.1, 1.0, 3.0)))


def expected(
    study: MeanStudy, values: ValueCounts, n_trusted: int, n_local: int, gap: float = 0.0
) -> ExpectedStatistics:
    return ExpectedStatistics.of(
        study.channel,
        code_frequencies(study.channel, values),
        mean=values.mean,
        variance=values.variance,
        n_trusted=n_trusted,
        n_local=n_local,
        trusted_noise=mechanism_for(study.privacy).variance / (n_trusted * UNITS) ** 2,
        laplace=True,
        gap=gap,
    )


def adaptive_error(setting: tuple[str, int, float, float], trials: int) -> Ratio:
    data, n, c, epsilon = setting
    study, n_t = MeanStudy("x", bounds=(0, 1), epsilon=epsilon), round(c * n)
    found = simulate(
        study, data, n_users=n, trusted_fraction=c, trials=trials, estimators=("adaptive",), random_state=3
    )
    return Ratio.of_errors(found["adaptive"], expected(study, named(data), n_t, n - n_t).error_of_answer())


@pytest.mark.statistical
def test_the_prediction_for_the_adaptive_weight_agrees_with_the_pipeline() -> None:
    some = SETTINGS[::5]  # ten, of every distribution, size, fraction and ε
    for i in range(4):
        assert {setting[i] for setting in some} == {setting[i] for setting in SETTINGS}
    check([adaptive_error(setting, 300) for setting in some], off=0.03, power=2)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_prediction_agrees_in_each_setting(setting: tuple[str, int, float, float]) -> None:
    check([adaptive_error(setting, 6_000)], off=0.05, power=2)


def error_with_gap(n: int, c: float, gap: float, trials: int) -> Ratio:
    study, n_t = MeanStudy("x", bounds=(0, 1), epsilon=1.0), round(c * n)
    values = np.linspace(0.2, 0.6, 1001)
    crowd = beta_counts(0.4, float(values.std()))
    found = simulate(
        study,
        values + gap,
        local_data=values,
        n_users=n,
        trusted_fraction=c,
        trials=trials,
        estimators=("adaptive",),
    )
    return Ratio.of_errors(found["adaptive"], expected(study, crowd, n_t, n - n_t, gap).error().total)


@pytest.mark.statistical
def test_the_prediction_sees_what_a_gap_does() -> None:
    gaps = [(10_000, 0.05, 0.1), (100_000, 0.005, 0.25), (1_000, 0.05, 0.3)]
    check([error_with_gap(*setting, 500) for setting in gaps], off=0.08, power=2)


# Three deployments, with values of the assumed shape and of another one

DEPLOYMENTS: dict[str, dict[str, Any]] = {
    "page loads": {"n_users": 2_000_000, "trusted_fraction": 0.002, "epsilon": 1, "bounds": (0, 600)}
    | {"mean": 180, "sd": 115},
    "stays": {"n_users": 8_000, "trusted_fraction": 0.05, "epsilon": 0.5, "bounds": (0, 60), "mean": 6, "sd": 7},
    "salaries": {"n_users": 300, "trusted_fraction": 0.4, "epsilon": 1, "bounds": (0, 250_000)}
    | {"mean": 62_000, "sd": 28_000},
}


def deployed_error(asked: dict[str, Any], family: str, trials: int) -> Ratio:
    made = plan_mean(**asked)
    study = MeanStudy("x", bounds=asked["bounds"], epsilon=asked["epsilon"])
    values = beta_values(asked["mean"] / made.width, asked["sd"] / made.width, 5001) * made.width
    found = simulate(
        study,
        values if family == "beta" else f"gamma({made.mean}, {made.sd})",
        n_users=made.n_users,
        trusted_fraction=made.trusted_fraction,
        trials=trials,
        estimators=("adaptive",),
    )
    return Ratio.of_errors(found["adaptive"], made.rmse**2)


@pytest.mark.statistical
def test_deployments_err_as_planned() -> None:
    settings = product(DEPLOYMENTS.values(), ("beta", "gamma"))
    check([deployed_error(asked, family, 250) for asked, family in settings], off=0.05, power=2)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("name", DEPLOYMENTS)
@pytest.mark.parametrize("family", ["beta", "gamma"])
def test_each_deployment_errs_as_planned(name: str, family: str) -> None:
    check([deployed_error(DEPLOYMENTS[name], family, 5_000)], off=0.1, power=2)


# The interval: within 5 % of what is stated on average

# users, fraction who trust, ε, range, mean, sd, sd_at_most; the first three are the deployments
WIDTHS = [
    (2_000_000, 0.002, 1.0, 600, 180, 115, None),
    (8_000, 0.05, 0.5, 60, 6, 7, None),
    (300, 0.4, 1.0, 250_000, 62_000, 28_000, None),
    (300, 0.4, 1.0, 250_000, 62_000, 28_000, 35_000),
    (1_000, 0.05, 0.3, 1, 0.5, 0.1, None),
    (10_000, 0.01, 1.0, 1, 0.5, 0.29, None),
    (10_000, 0.1, 3.0, 1, 0.2, 0.12, None),
    (100_000, 0.05, 1.0, 1, 0.5, 0.11, None),
    (2_000, 0.5, 3.0, 1, 0.05, 0.2, None),
    (5_000, 0.2, 5.0, 1, 0.01, 0.05, None),
    (50_000, 0.001, 0.5, 1, 0.3, 0.2, None),
    (1_000, 0.3, 8.0, 1, 0.5, 0.45, None),
]


def stated_width(setting: tuple[Any, ...], trials: int) -> Ratio:
    n, fraction, epsilon, width, mean, sd, at_most = setting
    made = plan_mean(
        n_users=n, trusted_fraction=fraction, epsilon=epsilon, bounds=(0, width), mean=mean, sd=sd, sd_at_most=at_most
    )
    study = MeanStudy("x", bounds=(0, width), epsilon=epsilon, sd_at_most=at_most)
    crowd = beta_counts(mean / width, sd / width)
    n_trusted = made.n_trusted
    setup = MeanSetup(study, crowd, crowd, n_trusted, n - n_trusted, fixed=False, sd=sd, estimators=("adaptive",))
    rng = np.random.default_rng([n, n_trusted])
    stated = [setup.run_trial(rng).estimates[0].stated_interval(0.95).half_width for _ in range(trials)]
    ratios = np.array(stated) / made["adaptive"].half_width.worst
    return Ratio(float(ratios.mean()), float(ratios.std(ddof=1)) / trials**0.5)


@pytest.mark.statistical
def test_the_planned_interval_is_the_stated_one() -> None:
    check([stated_width(setting, 60) for setting in WIDTHS], off=0.05, power=1)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("setting", WIDTHS, ids=lambda s: f"{s[0]}-{s[2]}")
def test_each_planned_interval_is_the_stated_one(setting: tuple[Any, ...]) -> None:
    check([stated_width(setting, 1_500)], off=0.05, power=1)
