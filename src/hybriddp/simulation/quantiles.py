"""Quantiles before any data is collected: the real pipeline, many times, against the errors that were expected.

A trial draws both groups, the local group's reports as counts (the exact law: users of a bin draw patterns, patterns
give labels, and labels go through randomized response), and the curator's noise; then it estimates as a study does.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.channels.masked import N_BINS, MaskedResponse
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.estimate import DistributionEstimate
from hybriddp.distribution.expected import expected_fits, pattern_chances
from hybriddp.distribution.explain import USUAL
from hybriddp.distribution.fit import DistributionFit
from hybriddp.distribution.quantile import asked, quantile
from hybriddp.distribution.study import DistributionStudy
from hybriddp.errors import ParameterError
from hybriddp.grid import read_only
from hybriddp.simulation.crowd import Crowd
from hybriddp.simulation.distributions import population
from hybriddp.study.summary import LocalSummary, TrustedSummary


@dataclass(frozen=True, slots=True)
class QuantileOutcome:
    """One quantile over all trials."""

    q: float
    truth: float
    """The quantile of the population."""
    predicted_rank_error: float
    """The expected standard error of the CDF there."""
    rank_error: float
    """The root mean squared rank error over the trials: how far the fraction of users below the answer was from q."""
    trusted_rank_error: float
    """That of the trusted group alone, in the same trials."""
    local_rank_error: float
    """That of the local group alone, in the same trials."""
    value_error: float
    """The root mean squared error of the answer itself, in the units of the values."""
    coverage: float
    """How often the 95 % interval held the quantile."""
    interval_width: float
    """How wide it was, on average."""


@dataclass(frozen=True, slots=True, repr=False)
class QuantileSimulation:
    """What came out of `simulate_quantiles`. Not a private release."""

    study: DistributionStudy
    n_trusted: int
    n_local: int
    trials: int
    seed: int
    outcomes: tuple[QuantileOutcome, ...]

    def __repr__(self) -> str:
        users = f"{self.n_trusted:,} trusted and {self.n_local:,} local users"
        return f"<QuantileSimulation of {users}, {self.trials:,} trials; not a release>"

    def __getitem__(self, q: float) -> QuantileOutcome:
        for outcome in self.outcomes:
            if outcome.q == q:
                return outcome
        raise KeyError(q)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "private_release": False,
            "seed": self.seed,
            "study": json.loads(self.study.to_json()),
            "n_trusted": self.n_trusted,
            "n_local": self.n_local,
            "trials": self.trials,
            "quantiles": [finite_fields(outcome) for outcome in self.outcomes],
        }

    def to_json(self) -> str:
        """Everything as text."""
        return json.dumps(self.to_dict(), indent=2)


def finite_fields(row: Any) -> dict[str, Any]:  # noqa: ANN401  (any dataclass of numbers)
    """The fields of a row, None where there is no number: JSON has no NaN."""
    found: dict[str, Any] = asdict(row)
    return {name: None if isinstance(x, float) and math.isnan(x) else x for name, x in found.items()}


@dataclass(frozen=True, slots=True, eq=False)
class BinnedCrowd:
    """A population as a study sees it: the masses of the bins, and the exact CDF to measure answers by."""

    bins: Bins
    crowd: Crowd
    masses: FloatArray

    @classmethod
    def of(cls, crowd: Crowd, bins: Bins) -> "BinnedCrowd":
        """The population of a crowd."""
        masses = np.bincount(bins.of_units(crowd.units), crowd.users / crowd.count, N_BINS)
        return cls(bins, crowd, masses.astype(float))

    def quantile(self, q: float) -> float:
        """The value below which a fraction ``q`` lies."""
        at = int(np.searchsorted(np.cumsum(self.crowd.users), q * self.crowd.count))
        return float(self.bins.grid.values(self.crowd.units[[min(at, len(self.crowd.units) - 1)]])[0])

    def between(self, q: float) -> float:
        """The same on a line through the middles of equal values: smooth, for shapes that are rough anyway."""
        ranks = (np.cumsum(self.crowd.users) - self.crowd.users / 2) / self.crowd.count
        return float(np.interp(q, ranks, self.bins.grid.values(self.crowd.units)))

    def rank_error(self, value: float, q: float) -> float:
        """How far the rank of a value is from q, with its sign; 0 if it is one of several equal values around q."""
        units = int(self.bins.grid.units(np.array([value]))[0])
        below = np.searchsorted(self.crowd.units, units, side="left")
        upto = np.searchsorted(self.crowd.units, units, side="right")
        ranks = np.concatenate([[0.0], np.cumsum(self.crowd.users) / self.crowd.count])
        low, high = float(ranks[below]), float(ranks[upto])
        return min(max(q, low), high) - q


def simulate_quantiles(
    data: ArrayLike | str,
    *,
    study: DistributionStudy,
    trusted_fraction: float,
    trials: int,
    n_users: int,
    at: Sequence[float] = USUAL,
    local_data: ArrayLike | str | None = None,
    random_state: int = 0,
    progress: Callable[[int], None] | None = None,
) -> QuantileSimulation:
    """Quantiles on ``data``, ``trials`` times: observed rank and value errors, coverage, and the expected error.

    Parameters
    ----------
    data : array_like or str
        Values of people, or the name of a distribution, as for `hybriddp.simulate`.
    study : DistributionStudy
        The study as it would be run.
    trusted_fraction : float
        Which fraction of the users trusts the curator, rounded to whole users.
    trials : int
        How often, at least 2.
    n_users : int
        How many people are drawn from ``data`` for each trial.
    at : sequence of float
        The quantiles.
    local_data : array_like or str, optional
        What the local group is drawn from if it differs. The truth is then that of everybody.
    random_state : int
        The seed: this is a simulation.
    progress : callable, optional
        Called with the number of trials done.

    Examples
    --------
    >>> study = DistributionStudy("x", bounds=(0, 1), epsilon=2)
    >>> result = simulate_quantiles("beta(2, 5)", study=study, n_users=100_000, trusted_fraction=0.01, trials=4)
    >>> median = result[0.5]
    >>> median.rank_error < 0.05, median.coverage > 0.5
    (True, True)
    """
    if not isinstance(study, DistributionStudy):
        raise ParameterError("study", "a DistributionStudy", study)
    trials = _check.integer("trials", trials, at_least=2)
    n = _check.integer("n_users", n_users, at_least=4)
    n_trusted = round(_check.number("trusted_fraction", trusted_fraction, _check.WEIGHT) * n)
    n_local = n - n_trusted
    if not (wanted := asked("at", at)):
        raise ParameterError("at", "one quantile or more", wanted)
    trusted = population(data, study.bounds).crowd
    local = trusted if local_data is None else population(local_data, study.bounds).crowd
    truth = BinnedCrowd.of(_mixed(trusted, n_trusted, local, n_local), study.bins)
    rng = np.random.default_rng(_check.integer("random_state", random_state, at_least=0))
    found = []
    for i in range(trials):
        estimate = play_quantiles(study, trusted, local, n_trusted, n_local, rng)
        found.append([_measured(estimate, truth, q) for q in wanted])
        if progress is not None:
            progress(i + 1)
    expected = expected_fits(study.channel, truth.masses, n_trusted=n_trusted, n_local=n_local, alone=False).both
    outcomes = tuple(
        _outcome(q, truth, expected, np.array([trial[i] for trial in found])) for i, q in enumerate(wanted)
    )
    return QuantileSimulation(study, n_trusted, n_local, trials, random_state, outcomes)


def play_quantiles(
    study: DistributionStudy,
    trusted: Crowd,
    local: Crowd,
    n_trusted: int,
    n_local: int,
    rng: np.random.Generator,
) -> DistributionEstimate:
    """One trial: both groups are drawn from their crowds, report, and are estimated together."""
    values, reports = None, None
    if n_trusted:
        bins = tuple(_drawn_bins(study, trusted, n_trusted, rng).tolist())
        values = TrustedSummary(study.digest, n_trusted, bins)
    if n_local:
        counts = report_counts(study.channel, _drawn_bins(study, local, n_local, rng), rng)
        reports = LocalSummary.of_codes(study.digest, counts.ravel().tolist(), tied=True, seeded=True)
    alone = values is None or reports is None
    return study.estimate(trusted=values, local=reports, single_group=alone, random_state=rng)


def _drawn_bins(study: DistributionStudy, crowd: Crowd, n_users: int, rng: np.random.Generator) -> NDArray[np.int64]:
    drawn = crowd.draw(n_users, rng)
    return np.bincount(study.bins.of_units(drawn.units), drawn.users, N_BINS).astype(np.int64)


def report_counts(channel: MaskedResponse, bins: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """How many reports have each pattern and code, if so many users are in each bin: shape (n_patterns, n_labels)."""
    chances, g = pattern_chances(channel), channel.n_labels
    users = rng.multinomial(bins, chances).T  # (patterns, bins)
    label_counts = np.bincount(_cells(channel), users.ravel(), channel.n_codes).astype(np.int64).reshape(-1, g)
    response = channel.response
    rows = np.full((g, g), response.miss_probability) + np.eye(g) * response.gap
    return np.asarray(rng.multinomial(label_counts, rows / rows.sum(axis=1, keepdims=True)).sum(axis=1), np.int64)


@lru_cache(maxsize=4)
def _cells(channel: MaskedResponse) -> NDArray[np.intp]:
    """For each pattern and bin the pattern and its label, as one number."""
    every, patterns = np.arange(N_BINS, dtype=np.uint8), np.arange(channel.n_patterns)
    labels = channel.labels(np.tile(every, len(patterns)), np.repeat(patterns, N_BINS))
    return read_only(np.repeat(patterns, N_BINS) * channel.n_labels + labels)


def _mixed(trusted: Crowd, n_trusted: int, local: Crowd, n_local: int) -> Crowd:
    """Everybody: both groups in proportion to their sizes."""
    if trusted is local:
        return trusted
    units = np.concatenate([trusted.units, local.units])
    shares = np.concatenate([n_trusted * trusted.users / trusted.count, n_local * local.users / local.count])
    every, which = np.unique(units, return_inverse=True)
    users = np.rint(np.bincount(which, shares) / (n_trusted + n_local) * 10**15).astype(np.int64)
    return Crowd(every[users > 0], users[users > 0])


def _measured(estimate: DistributionEstimate, truth: BinnedCrowd, q: float) -> tuple[float, ...]:
    """Rank errors of both and of either group, value error, whether it is covered, and the width."""
    found, right = estimate.quantile(q), truth.quantile(q)
    alone = [
        truth.rank_error(quantile(fit, truth.bins, q, 0.95).value, q) if fit is not None else float("nan")
        for fit in (estimate.fits.trusted, estimate.fits.local)
    ]
    low, high = found.interval
    covered, width = float(low <= right <= high), high - low
    return truth.rank_error(found.value, q), *alone, found.value - right, covered, width


def _outcome(q: float, truth: BinnedCrowd, expected: DistributionFit, measured: FloatArray) -> QuantileOutcome:
    both, trusted, local, value = np.sqrt(np.mean(measured[:, :4] ** 2, axis=0)).tolist()
    right = truth.quantile(q)
    predicted = float(np.interp(right, truth.bins.edges, expected.standard_errors))
    covered, width = measured[:, 4:].mean(axis=0).tolist()
    return QuantileOutcome(q, right, predicted, both, trusted, local, value, covered, width)
