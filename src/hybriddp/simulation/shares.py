"""A simulation of shares: the observed error of every category's share beside the predicted one.

A trial draws both groups' items, makes their reports, releases the counts of the trusted group and estimates as a study
does. All of it is the real pipeline, seeded.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.errors import DataError
from hybriddp.shares.categories import Item
from hybriddp.shares.estimate import Frequencies
from hybriddp.shares.expected import ExpectedShares
from hybriddp.shares.study import FrequencyStudy, sensitivity
from hybriddp.simulation.crowd import ValueCounts
from hybriddp.simulation.trials import Simulation, SimulationSetup, TrialSums


@dataclass(frozen=True, slots=True)
class ShareOutcome:
    """One category over all trials."""

    item: Item
    share: float
    """Share of the users, averaged over the trials."""
    predicted_error: float
    """Expected standard error of the share."""
    observed_error: float
    """Root mean squared error over the trials, of the unbiased share."""
    coverage: float
    """Fraction of the trials whose 95 % interval held the share."""


@dataclass(frozen=True, slots=True, repr=False)
class ShareSimulation(Simulation):
    """Result of `simulate` for shares. Not a private release."""

    outcomes: tuple[ShareOutcome, ...]
    """One per category."""

    def __getitem__(self, item: Item) -> ShareOutcome:
        for outcome in self.outcomes:
            if outcome.item == item:
                return outcome
        raise KeyError(item)

    def _rows(self) -> dict[str, Any]:
        return {"shares": [asdict(outcome) for outcome in self.outcomes]}


@dataclass(frozen=True)
class ShareSetup(SimulationSetup):
    """Setup of a simulation of shares."""

    @classmethod
    def of(
        cls,
        study: FrequencyStudy,
        data: object,
        local_data: object,
        *,
        n_users: int | None,
        trusted_fraction: float,
    ) -> "ShareSetup":
        """Set up a simulation of shares; see `hybriddp.simulate`."""
        trusted = _counts(study, data)
        local = trusted if local_data is None else _counts(study, local_data)
        return cls(study, trusted, local, **cls.group_sizes(trusted, n_users, trusted_fraction))

    def run_trial(self, rng: np.random.Generator) -> tuple[FloatArray, Frequencies]:
        """Run one trial, and return the users' shares and the estimate."""
        study: FrequencyStudy = self.study
        trusted, local = self.draw_groups(rng)
        items = np.array(study.names, dtype=object)
        counts = [np.zeros(len(items), np.int64) for _ in range(2)]
        for of, group in zip(counts, (trusted, local), strict=True):
            of[group.units] = group.users
        reports = study.randomize(np.repeat(items, counts[1]).tolist(), random_state=rng)
        raw = np.repeat(items, counts[0]).tolist()
        truth = (counts[0] + counts[1]) / (self.n_trusted + self.n_local)
        return truth, study.estimate(trusted=raw, local=reports, random_state=rng)

    def measure(self, rng: np.random.Generator) -> FloatArray:
        """Run one trial and return share, squared error and coverage of every category."""
        truth, estimate = self.run_trial(rng)
        intervals = estimate.intervals(0.95)
        covered = (intervals.lower <= truth) & (truth <= intervals.upper)
        return np.column_stack([truth, (estimate.unbiased - truth) ** 2, covered])

    def result(self, sums: TrialSums, seed: int) -> ShareSimulation:
        """Set what was observed beside the predicted errors."""
        study: FrequencyStudy = self.study
        everybody, shares = self.everybody(), np.zeros(len(study.names))
        shares[everybody.units] = everybody.users / everybody.count
        expected = ExpectedShares.of(
            shares,
            n_trusted=self.n_trusted,
            n_local=self.n_local,
            epsilon=study.privacy.epsilon,
            sensitivity=sensitivity(len(shares)),
            hit=study.oracle.hit,
            miss=study.oracle.miss,
        )
        errors = expected.standard_errors(expected.weights).tolist()
        rows = zip(study.names, (sums.sums / sums.trials).tolist(), errors, strict=True)
        outcomes = tuple(ShareOutcome(item, f, error, mse**0.5, covered) for item, (f, mse, covered), error in rows)
        return ShareSimulation(study, self.n_trusted, self.n_local, sums.trials, seed, outcomes)


def _counts(study: FrequencyStudy, items: object) -> ValueCounts:
    """Count people by category."""
    summary = study.summarize_trusted(items)
    if summary.count < 2:
        raise DataError("data must be at least two items that are among the categories.")
    counts = np.array(summary.sums, np.int64)
    held = np.flatnonzero(counts)
    return ValueCounts(held, counts[held])
