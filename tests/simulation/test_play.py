import numpy as np
import pytest
from scipy import stats

from hybriddp.errors import DataError, ParameterError
from hybriddp.simulation import Play, play
from hybriddp.simulation.play import _laplace_sum, play_in_steps

VALUES = np.repeat([0, 1, 2, 5, 10], [400, 300, 200, 80, 20])
GOOD = {"bounds": (0, 10), "epsilon": 0.5, "trusted_fraction": 0.05, "trials": 40_000}


def _play(seed: int = 0, **changes: object) -> Play:
    return play(VALUES, **{**GOOD, **changes}, rng=np.random.default_rng(seed))


# Definition and statistics. A z-score beyond 5.4 has probability below 1e-6, the skewness of squared errors included.


def _z(result: Play) -> dict[str, float]:
    return {p.name: (p.observed_mse - p.predicted_mse) / p.observed_mse_se for p in result.players}


def test_observed_errors_are_the_predicted_ones() -> None:
    assert max(map(abs, _z(_play()).values())) < 5.4


@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_the_same_test_rejects_a_noise_variance_that_is_20_percent_off(factor: float) -> None:
    claimed = {p.name: p.predicted_mse for p in _play(trials=2).players}
    for player in _play(epsilon=0.5 / factor**0.5).players:
        assert abs(player.observed_mse - claimed[player.name]) / player.observed_mse_se > 5.4, player


def test_a_sum_of_laplace_variables_is_a_difference_of_gammas() -> None:
    rng = np.random.default_rng(3)
    fast = _laplace_sum(7, 2.0, 50_000, rng)
    slow = rng.laplace(0, 2.0, (50_000, 7)).sum(axis=1)
    assert stats.ks_2samp(fast, slow).pvalue > 1e-6
    assert stats.ks_2samp(1.2 * fast, slow).pvalue < 1e-6


# Identities


def test_the_truth_is_the_mean_of_the_clamped_values() -> None:
    assert _play(trials=2).truth == pytest.approx(VALUES.mean())
    assert _play(trials=2, bounds=(1, 2)).truth == pytest.approx(np.clip(VALUES, 1, 2).mean())


def test_the_groups_make_up_everybody() -> None:
    result = _play(trials=2)
    assert (result.n_trusted, result.n_local) == (50, 950)
    assert result.player("trusted only").weight == 1.0
    assert result.player("full local").weight is None


def test_a_seed_repeats_and_steps_do_not_matter() -> None:
    assert _play(seed=1, trials=600).players == _play(seed=1, trials=600).players
    steps = list(play_in_steps(VALUES, **{**GOOD, "trials": 600}, rng=np.random.default_rng(1)))
    assert [step.trials for step in steps] == [250, 500, 600]
    assert steps[-1].players == _play(seed=1, trials=600).players


def test_a_last_chunk_of_one_trial_counts() -> None:
    assert _play(trials=251).trials == 251


# Edges


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("bounds", 5),
        ("bounds", (1, 2, 3)),
        ("bounds", (2, 1)),
        ("bounds", (1, 1)),
        ("bounds[0]", (float("nan"), 1)),
        ("bounds[1]", (0, float("inf"))),
        ("epsilon", 0),
        ("epsilon", "1"),
        ("trusted_fraction", 1.0),
        ("trusted_fraction", 1e-6),
        ("trials", 1),
        ("trials", 2.5),
    ],
)
def test_bad_parameters_are_named(name: str, bad: object) -> None:
    with pytest.raises(ParameterError) as caught:
        _play(**{name.split("[", maxsplit=1)[0]: bad})
    assert caught.value.name == name


def test_the_generator_is_one_and_nothing_is_masked() -> None:
    with pytest.raises(ParameterError, match="^rng must be"):
        play(VALUES, **GOOD, rng=5)
    with pytest.raises(DataError, match="masked"):
        play(np.ma.masked_array([1.0, 1e6, 3.0], mask=[0, 1, 0]), **GOOD, rng=np.random.default_rng(0))


@pytest.mark.parametrize("values", [[1.0], [[1.0, 2.0]], ["a", "b"], [1.0, float("nan")], [1.0, float("inf")]])
def test_bad_values_are_refused(values: list[object]) -> None:
    with pytest.raises(DataError, match="values must be"):
        play(values, **GOOD, rng=np.random.default_rng(0))
