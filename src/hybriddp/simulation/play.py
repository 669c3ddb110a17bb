r"""Split a population at random, let both groups play their part many times, and compare with theory.

A trial draws who trusts (everybody equally likely, the group sizes fixed), adds Laplace noise and forms every
estimator of [ADK20] from the same draw. Two laws make a trial cost microseconds instead of one draw per user:

- values come from few distinct ones, so the trusted group is a draw from a multivariate hypergeometric distribution;
- the sum of $k$ Laplace variables of scale $b$ is $b$ times the difference of two Gamma($k$) variables.

Both are exact, so the errors observed here are those of the estimators themselves. Over random splits of a fixed
population the formulas of `Setting` hold exactly with the variance whose divisor is $n - 1$.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.theory import Setting, laplace_noise

_CHUNK = 250  # trials between two signs of life


@dataclass(frozen=True, slots=True)
class Player:
    """One estimator: what it said in the first trial, and how far off it was over all of them.

    Attributes
    ----------
    name : str
        Which estimator.
    weight : float or None
        The weight on the trusted group; None where the estimator has none.
    estimate : float
        Its answer in the first trial.
    predicted_mse : float
        The error that theory gives.
    observed_mse, observed_mse_se : float
        The mean squared error over the trials, and its standard error.
    gain_over_best : float
        By how much the better single world errs more, in theory (R).
    """

    name: str
    weight: float | None
    estimate: float
    predicted_mse: float
    observed_mse: float
    observed_mse_se: float
    gain_over_best: float


@dataclass(frozen=True, slots=True)
class Play:
    """What came out of `play`: the truth, the groups and every estimator. Not a private release."""

    truth: float
    n_trusted: int
    n_local: int
    epsilon: float
    bounds: tuple[float, float]
    trials: int
    setting: Setting
    players: tuple[Player, ...]

    def player(self, name: str) -> Player:
        """The estimator of that name."""
        return next(player for player in self.players if player.name == name)


def play(
    values: ArrayLike,
    *,
    bounds: tuple[float, float],
    epsilon: float,
    trusted_fraction: float,
    trials: int,
    rng: np.random.Generator,
) -> Play:
    """Every estimator of the paper on ``values``, ``trials`` times.

    Parameters
    ----------
    values : array_like
        One number per person; numbers outside ``bounds`` are moved to the nearer bound.
    bounds : (float, float)
        The public range of a value, never read from the data.
    epsilon : float
        What every user is promised.
    trusted_fraction : float
        The share of users who trust the curator, rounded to whole users.
    trials : int
        How often the population is split and the noise drawn, at least 2.
    rng : numpy.random.Generator
        Seeded by the caller: this is a simulation.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> values = rng.integers(0, 11, 5000)
    >>> result = play(values, bounds=(0, 10), epsilon=1.0, trusted_fraction=0.01, trials=500, rng=rng)
    >>> [player.name for player in result.players][:3]
    ['trusted only', 'full local', 'local only']
    """
    *_, last = play_in_steps(
        values, bounds=bounds, epsilon=epsilon, trusted_fraction=trusted_fraction, trials=trials, rng=rng
    )
    return last


def play_in_steps(
    values: ArrayLike,
    *,
    bounds: tuple[float, float],
    epsilon: float,
    trusted_fraction: float,
    trials: int,
    rng: np.random.Generator,
) -> Iterator[Play]:
    """The same as `play`, handing out the result so far every few hundred trials; for a progress bar."""
    lower, upper = _checked_bounds(bounds)
    eps = _check.number("epsilon", epsilon, _check.POSITIVE)
    fraction = _check.number("trusted_fraction", trusted_fraction, _check.FRACTION)
    trials = _check.integer("trials", trials, at_least=2)
    if not isinstance(rng, np.random.Generator):
        raise ParameterError("rng", "a numpy.random.Generator", rng)
    support, counts = np.unique(np.clip(_checked_values(values), lower, upper), return_counts=True)

    n = int(counts.sum())
    n_trusted = round(fraction * n)
    if not 1 <= n_trusted <= n - 1:
        raise ParameterError("trusted_fraction", f"such that each of {n} users' two groups has somebody", fraction)
    truth = float(support @ counts / n)
    variance = float((support - truth) ** 2 @ counts / (n - 1))
    noise = laplace_noise(n_users=n, trusted_fraction=n_trusted / n, width=upper - lower, epsilon=eps)
    setting = Setting(
        n_users=n,
        trusted_fraction=n_trusted / n,
        trusted_variance=variance,
        local_variance=variance,
        trusted_noise=noise.trusted,
        local_noise=noise.local,
    )

    drawn: list[FloatArray] = []  # per chunk, one row per estimator
    for start in range(0, trials, _CHUNK):
        size = min(_CHUNK, trials - start)
        drawn.append(_estimates(setting, support, counts, n_trusted, (upper - lower) / eps, size, rng))
        estimates = np.concatenate(drawn, axis=1)
        yield Play(
            truth=truth,
            n_trusted=n_trusted,
            n_local=n - n_trusted,
            epsilon=eps,
            bounds=(lower, upper),
            trials=estimates.shape[1],
            setting=setting,
            players=_players(setting, estimates, truth),
        )


def _estimates(
    setting: Setting,
    support: FloatArray,
    counts: NDArray[np.int64],
    n_trusted: int,
    scale: float,
    trials: int,
    rng: np.random.Generator,
) -> FloatArray:
    """One column per trial, one row per estimator in the order of `_roster`."""
    n = int(counts.sum())
    n_local = n - n_trusted
    trusted_counts = rng.multivariate_hypergeometric(counts, n_trusted, size=trials)
    trusted_sum = trusted_counts @ support
    local_sum = support @ counts - trusted_sum
    # The curator draws once; every local user draws for herself. In full-local the trusting report locally as well.
    local_noise = _laplace_sum(n_local, scale, trials, rng)
    trusted = (trusted_sum + rng.laplace(0.0, scale, trials)) / n_trusted
    local = (local_sum + local_noise) / n_local
    full = (trusted_sum + local_sum + local_noise + _laplace_sum(n_trusted, scale, trials, rng)) / n
    return np.stack([full if w is None else w * trusted + (1.0 - w) * local for w in _roster(setting).values()])


def _laplace_sum(terms: int, scale: float, size: int, rng: np.random.Generator) -> FloatArray:
    """Sums of ``terms`` independent Laplace variables each."""
    return scale * (rng.standard_gamma(terms, size) - rng.standard_gamma(terms, size))


def _roster(setting: Setting) -> dict[str, float | None]:
    """The estimators by name, with their weight on the trusted group."""
    return {
        "trusted only": 1.0,
        "full local": None,
        "local only": 0.0,
        "hybrid, naive": float(setting.weight_naive()),
        "hybrid, privacy weight": float(setting.weight_privacy()),
        "hybrid, known variance": float(setting.weight_known_variance()),
    }


def _players(setting: Setting, estimates: FloatArray, truth: float) -> tuple[Player, ...]:
    squared = (estimates - truth) ** 2
    mse = squared.mean(axis=1)
    se = squared.std(axis=1, ddof=1) / np.sqrt(squared.shape[1])
    players = []
    for row, (name, weight) in enumerate(_roster(setting).items()):
        predicted = setting.error_full_local() if weight is None else setting.error_hybrid(weight)
        players.append(
            Player(
                name=name,
                weight=weight,
                estimate=float(estimates[row, 0]),
                predicted_mse=float(predicted),
                observed_mse=float(mse[row]),
                observed_mse_se=float(se[row]),
                gain_over_best=float(setting.gain_over_best(predicted)),
            )
        )
    return tuple(players)


def _checked_bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    try:
        lower, upper = bounds
    except (TypeError, ValueError):
        raise ParameterError("bounds", "a pair (lower, upper)", bounds) from None
    lower, upper = _check.number("bounds[0]", lower), _check.number("bounds[1]", upper)
    if not lower < upper:
        raise ParameterError("bounds", "a pair (lower, upper) with lower below upper", bounds)
    return lower, upper


def _checked_values(values: ArrayLike) -> FloatArray:
    array = np.asarray(values)
    if np.ma.is_masked(values):
        raise DataError("values must all be there, but some are masked. Remove them first.")
    if array.ndim != 1 or array.dtype.kind not in "iuf" or len(array) < 2:
        raise DataError("values must be a one-dimensional array of at least two numbers.")
    if not np.isfinite(array).all():
        raise DataError("values must be finite numbers, but some are NaN or infinite. Remove them first.")
    return array.astype(np.float64)
