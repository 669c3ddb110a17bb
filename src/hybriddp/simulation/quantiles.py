"""A simulation of quantiles: observed errors of ranks and values beside the errors that were expected.

A trial draws both groups, the local group's reports as counts (the exact law: users of a bin draw patterns, patterns
give labels, and labels go through randomized response), and the curator's noise; then it estimates as a study does.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp._check import FloatArray
from hybriddp.channels.masked import N_BINS, MaskedResponse
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.estimate import DistributionEstimate
from hybriddp.distribution.expected import expected_fits, pattern_chances
from hybriddp.distribution.quantile import USUAL, asked, quantile
from hybriddp.distribution.study import DistributionStudy
from hybriddp.errors import ParameterError
from hybriddp.grid import read_only
from hybriddp.simulation.crowd import ValueCounts
from hybriddp.simulation.distributions import population
from hybriddp.simulation.trials import Simulation, SimulationSetup, TrialSums
from hybriddp.study.summary import LocalSummary, TrustedSummary


@dataclass(frozen=True, slots=True)
class QuantileOutcome:
    """One quantile over all trials."""

    q: float
    truth: float
    """Quantile of the population."""
    predicted_rank_error: float
    """Expected standard error of the CDF there."""
    rank_error: float
    """Root mean squared rank error over the trials: how far the fraction of users below the answer was from q."""
    trusted_rank_error: float
    """That of the trusted group alone, in the same trials."""
    local_rank_error: float
    """That of the local group alone, in the same trials."""
    value_error: float
    """Root mean squared error of the answer itself, in the units of the values."""
    coverage: float
    """Fraction of the trials whose 95 % interval held the quantile."""
    interval_width: float
    """Its width, on average."""


@dataclass(frozen=True, slots=True, repr=False)
class QuantileSimulation(Simulation):
    """Result of `simulate` for a distribution. Not a private release."""

    outcomes: tuple[QuantileOutcome, ...]
    """One per quantile."""

    def __getitem__(self, q: float) -> QuantileOutcome:
        for outcome in self.outcomes:
            if outcome.q == q:
                return outcome
        raise KeyError(q)

    def _rows(self) -> dict[str, Any]:
        rows = [asdict(outcome) for outcome in self.outcomes]
        finite = [{name: None if math.isnan(x) else x for name, x in row.items()} for row in rows]
        return {"quantiles": finite}  # JSON has no NaN


@dataclass(frozen=True, slots=True, eq=False)
class BinnedCounts:
    """A population in the bins of a study: their masses, and the exact CDF to measure answers by."""

    bins: Bins
    values: ValueCounts
    masses: FloatArray

    @classmethod
    def of(cls, values: ValueCounts, bins: Bins) -> "BinnedCounts":
        """Count values in bins."""
        masses = np.bincount(bins.of_units(values.units), values.users / values.count, N_BINS)
        return cls(bins, values, masses.astype(float))

    def quantile(self, q: float) -> float:
        """Return the value below which a fraction ``q`` lies."""
        at = int(np.searchsorted(np.cumsum(self.values.users), q * self.values.count))
        return float(self.bins.grid.values(self.values.units[[min(at, len(self.values.units) - 1)]])[0])

    def between(self, q: float) -> float:
        """Return it on a line through the middles of equal values: smooth, for shapes that are rough anyway."""
        ranks = (np.cumsum(self.values.users) - self.values.users / 2) / self.values.count
        return float(np.interp(q, ranks, self.bins.grid.values(self.values.units)))

    def rank_error(self, value: float, q: float) -> float:
        """Return how far the rank of a value is from q, with its sign; 0 if it is one of equal values around q."""
        units = int(self.bins.grid.units(np.array([value]))[0])
        below = np.searchsorted(self.values.units, units, side="left")
        upto = np.searchsorted(self.values.units, units, side="right")
        ranks = np.concatenate([[0.0], np.cumsum(self.values.users) / self.values.count])
        low, high = float(ranks[below]), float(ranks[upto])
        return min(max(q, low), high) - q


@dataclass(frozen=True)
class QuantileSetup(SimulationSetup):
    """Setup of a distribution's simulation."""

    at: tuple[float, ...]

    single_groups: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        study: DistributionStudy,
        data: ArrayLike | str,
        local_data: ArrayLike | str | None,
        *,
        n_users: int | None,
        trusted_fraction: float,
        at: Sequence[float] = USUAL,
    ) -> "QuantileSetup":
        """Set up a simulation of quantiles; see `hybriddp.simulate`."""
        if not (quantiles := asked("at", at)):
            raise ParameterError("at", "one quantile or more", quantiles)
        trusted = population(data, study.bounds).values
        local = trusted if local_data is None else population(local_data, study.bounds).values
        return cls(study, trusted, local, **cls.group_sizes(trusted, n_users, trusted_fraction), at=quantiles)

    @cached_property
    def population(self) -> BinnedCounts:
        """Both groups together, whose quantiles are the truth."""
        return BinnedCounts.of(self.everybody(), self.study.bins)

    def run_trial(self, rng: np.random.Generator) -> DistributionEstimate:
        """Run one trial: both groups are drawn, report, and are estimated together."""
        study: DistributionStudy = self.study
        drawn = self.draw_groups(rng)
        trusted, local = (
            np.bincount(study.bins.of_units(group.units), group.users, N_BINS).astype(np.int64) for group in drawn
        )
        values = TrustedSummary(study.digest, self.n_trusted, tuple(trusted.tolist())) if self.n_trusted else None
        reports = None
        if self.n_local:
            counts = report_counts(study.channel, local, rng)
            reports = LocalSummary.of_codes(study.digest, counts.ravel().tolist(), tied=True, seeded=True)
        alone = values is None or reports is None
        return study.estimate(trusted=values, local=reports, single_group=alone, random_state=rng)

    def measure(self, rng: np.random.Generator) -> FloatArray:
        """Run one trial and return squared errors of rank, of either group's rank and of value, coverage and width."""
        estimate, truth, rows = self.run_trial(rng), self.population, []
        for q in self.at:
            answer, right = estimate.quantile(q), truth.quantile(q)
            alone = [
                truth.rank_error(quantile(fit, truth.bins, q, 0.95).value, q) if fit is not None else float("nan")
                for fit in (estimate.fits.trusted, estimate.fits.local)
            ]
            low, high = answer.interval
            errors = np.array([truth.rank_error(answer.value, q), *alone, answer.value - right])
            rows.append([*errors**2, float(low <= right <= high), high - low])
        return np.array(rows)

    def result(self, sums: TrialSums, seed: int) -> QuantileSimulation:
        """Set what was observed beside the expected errors."""
        truth, sizes = self.population, {"n_trusted": self.n_trusted, "n_local": self.n_local}
        expected = expected_fits(self.study.channel, truth.masses, **sizes, alone=False).both
        outcomes = []
        for q, row in zip(self.at, sums.sums / sums.trials, strict=True):
            right = truth.quantile(q)
            predicted = float(np.interp(right, truth.bins.edges, expected.standard_errors))
            outcomes.append(QuantileOutcome(q, right, predicted, *np.sqrt(row[:4]).tolist(), *row[4:].tolist()))
        return QuantileSimulation(self.study, self.n_trusted, self.n_local, sums.trials, seed, tuple(outcomes))


def report_counts(channel: MaskedResponse, bins: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw how many reports have each pattern and code, from users per bin: shape (n_patterns, n_labels)."""
    chances, g = pattern_chances(channel), channel.n_labels
    users = rng.multinomial(bins, chances).T  # (patterns, bins)
    label_counts = np.bincount(_cells(channel), users.ravel(), channel.n_codes).astype(np.int64).reshape(-1, g)
    response = channel.response
    rows = np.full((g, g), response.miss_probability) + np.eye(g) * response.gap
    return np.asarray(rng.multinomial(label_counts, rows / rows.sum(axis=1, keepdims=True)).sum(axis=1), np.int64)


@lru_cache(maxsize=4)
def _cells(channel: MaskedResponse) -> NDArray[np.intp]:
    """Return for each pattern and bin the pattern and its label, as one number."""
    every, patterns = np.arange(N_BINS, dtype=np.uint8), np.arange(channel.n_patterns)
    labels = channel.labels(np.tile(every, len(patterns)), np.repeat(patterns, N_BINS))
    return read_only(np.repeat(patterns, N_BINS) * channel.n_labels + labels)
