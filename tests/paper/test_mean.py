"""The paper's estimators in a simulation, against its formulas."""

import math

import numpy as np
import pytest
from scipy import stats

from hybriddp.errors import DataError, ParameterError
from hybriddp.paper.mean import ESTIMATORS, PaperMean
from hybriddp.release.mechanisms import mechanism_for
from hybriddp.simulation.crowd import ValueCounts
from hybriddp.theory import Setting, laplace_noise
from tests.levels import LEVEL, z_limit

VALUES = np.random.default_rng(0).beta(2, 5, 101) * 240
OTHERS = np.random.default_rng(1).beta(5, 2, 101) * 240
LAPLACE, GAUSSIAN = PaperMean(bounds=(0, 240), epsilon=1), PaperMean(bounds=(0, 240), epsilon=1, delta=1e-6)
CROWD = {"n_users": 2000, "trusted_fraction": 0.05}
TRIALS = 1700


@pytest.mark.statistical
@pytest.mark.representative
def test_every_estimator_errs_as_its_formula_says() -> None:
    """Both kinds of noise, groups that are alike and not: 28 numbers.

    Noise that is a fifth smaller would be 0.36/sqrt(2/1700), 10 standard errors off where most of the error is noise.
    """
    rejected = 0
    for study in (LAPLACE, GAUSSIAN):
        for i, (estimator, local) in enumerate(
            (name, local) for name in (*ESTIMATORS, 0.3) for local in (None, OTHERS)
        ):
            trials = study.simulate(VALUES, local, **CROWD, estimator=estimator, trials=TRIALS, random_state=i)
            limit = z_limit(28) * max(trials.mse_se, trials.predicted_mse * math.sqrt(2 / TRIALS))
            assert abs(trials.mse - trials.predicted_mse) < limit
            rejected += abs(trials.mse - 0.64 * trials.predicted_mse) > limit
    assert rejected == 28


@pytest.mark.statistical
def test_the_sum_of_reports_is_drawn_at_once() -> None:
    """Against sums of single reports; noise that is a fifth larger does not pass."""
    crowd, rng = ValueCounts(np.array([5]), np.array([20])), np.random.default_rng(3)
    for study in (LAPLACE, GAUSSIAN):
        fast = np.array([study._reports(crowd, rng) for _ in range(20_000)], float) - 100
        slow = mechanism_for(study.privacy).draw((20_000, 20), rng).sum(axis=1).astype(float)
        assert stats.ks_2samp(fast, slow).pvalue > LEVEL / 2
        assert stats.ks_2samp(1.2 * fast, slow).pvalue < LEVEL / 2


def test_weights_are_those_of_the_paper_and_the_noise_of_one_width() -> None:
    trials = {name: LAPLACE.simulate(VALUES, **CROWD, estimator=name, trials=2, random_state=0) for name in ESTIMATORS}
    setting = trials["privacy"].setting
    noise = laplace_noise(**CROWD, width=240.0, epsilon=1.0)
    assert float(setting.trusted_noise) == pytest.approx(float(noise.trusted), rel=1e-9)
    assert float(setting.local_noise) == pytest.approx(float(noise.local), rel=1e-9)
    assert float(setting.trusted_variance) == pytest.approx(VALUES.var(), rel=1e-6)
    exact = Setting(
        **CROWD, trusted_variance=VALUES.var(), local_variance=VALUES.var(), trusted_noise=noise.trusted,
        local_noise=noise.local,
    )  # fmt: skip
    weights = {
        "trusted-only": 1.0,
        "full-local": None,
        "local-only": 0.0,
        "naive": 0.05,
        "privacy": float(exact.weight_privacy()),
        "known-variance": float(exact.weight_known_variance()),
    }
    for name, weight in weights.items():
        assert trials[name].weight == (None if weight is None else pytest.approx(weight, rel=1e-6))


def test_estimates_are_near_the_mean_of_both_groups() -> None:
    trusted, local = VALUES.repeat(200), VALUES.repeat(10_000)
    for study in (LAPLACE, GAUSSIAN):
        for estimator in (*ESTIMATORS, 0.5):
            sd = VALUES.std() if estimator == "known-variance" else None
            estimate = study.estimate(trusted, local, estimator=estimator, sd=sd, random_state=1)
            assert estimate == pytest.approx(VALUES.mean(), abs=8)
            assert estimate == study.estimate(trusted, local, estimator=estimator, sd=sd, random_state=1)


def test_trials_depend_on_the_seed_alone() -> None:
    first, again, more, other = (
        LAPLACE.simulate(VALUES, **CROWD, estimator=0.3, trials=trials, random_state=seed)
        for trials, seed in ((150, 1), (150, 1), (250, 1), (150, 2))
    )
    assert np.array_equal(first.squares, again.squares)
    assert np.array_equal(first.squares[:100], more.squares[:100])
    assert not np.array_equal(first.squares, other.squares)
    assert first.mse_se == pytest.approx(first.squares.std() / math.sqrt(149))


def test_bad_parameters_are_named() -> None:
    wrong = [
        ("bounds", lambda: PaperMean(bounds=(1, 1), epsilon=1)),
        ("epsilon", lambda: PaperMean(bounds=(0, 1), epsilon=0)),
        ("delta", lambda: PaperMean(bounds=(0, 1), epsilon=1, delta=0.5)),
        ("sd", lambda: LAPLACE.estimate(VALUES, VALUES, estimator="known-variance", random_state=0)),
        ("sd", lambda: LAPLACE.estimate(VALUES, VALUES, estimator="privacy", sd=1.0, random_state=0)),
        ("estimator", lambda: LAPLACE.estimate(VALUES, VALUES, estimator="adaptive", random_state=0)),
        ("estimator", lambda: LAPLACE.estimate(VALUES, VALUES, estimator=1.5, random_state=0)),
        *(
            (name, lambda change={name: value}: LAPLACE.simulate(
                VALUES, **{**CROWD, "estimator": 0.5, "trials": 2, "random_state": 0, **change}
            ))
            for name, value in (
                ("n_users", 1), ("trusted_fraction", 1e-9), ("trusted_fraction", 1.0), ("trials", 1),
                ("random_state", -1),
            )
        ),
    ]  # fmt: skip
    for name, call in wrong:
        with pytest.raises(ParameterError) as caught:
            call()
        assert caught.value.name.startswith(name)
    with pytest.raises(DataError):
        LAPLACE.estimate([1.0, math.nan], VALUES, estimator=0.5, random_state=0)
