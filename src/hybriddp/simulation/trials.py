"""One runner for all simulations: the setup of one kind of study, many times.

Trials come in blocks with a seed each, so the result is the same however many processes share them. Only sums are
kept: memory does not depend on the number of trials.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import reduce
from itertools import count
from operator import add
from typing import Any, ClassVar

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError
from hybriddp.simulation.crowd import ValueCounts


@dataclass(frozen=True)
class SimulationSetup(ABC):
    """Everything that stays the same from trial to trial."""

    study: Any
    trusted: ValueCounts  # where each group comes from
    local: ValueCounts
    n_trusted: int
    n_local: int
    fixed: bool  # whether the same people are split at random, so that their mean stays the same, or new ones are drawn

    block: ClassVar[int | None] = None  # trials that share a seed; None for all
    single_groups: ClassVar[bool] = False  # whether there may be one group only

    @abstractmethod
    def measure(self, rng: np.random.Generator) -> FloatArray:
        """Run one trial and return numbers to add up, a row for each row of the result."""

    @abstractmethod
    def result(self, sums: "TrialSums", seed: int) -> "Simulation":
        """Return the result from the sums of all trials."""

    @classmethod
    def group_sizes(cls, people: ValueCounts, n_users: int | None, trusted_fraction: float) -> dict[str, Any]:
        """Check the number of users, and round the fraction who trust to whole users."""
        n = (
            people.count
            if n_users is None
            else _check.integer("n_users", n_users, at_least=2, at_most=_check.MOST_USERS)
        )
        possible = _check.WEIGHT if cls.single_groups else _check.FRACTION
        n_trusted = round(_check.number("trusted_fraction", trusted_fraction, possible) * n)
        if not cls.single_groups and not 1 <= n_trusted <= n - 1:
            words = f"such that each of {n:,} users' two groups has somebody"
            raise ParameterError("trusted_fraction", words, trusted_fraction)
        return {"n_trusted": n_trusted, "n_local": n - n_trusted, "fixed": n_users is None}

    def draw_groups(self, rng: np.random.Generator) -> tuple[ValueCounts, ValueCounts]:
        """Draw who trusts and who does not."""
        if self.fixed:
            return self.trusted.split(self.n_trusted, rng)
        return self.trusted.draw(self.n_trusted, rng), self.local.draw(self.n_local, rng)

    def everybody(self) -> ValueCounts:
        """Return both groups together, in proportion to their sizes."""
        if self.trusted is self.local:
            return self.trusted
        units = np.concatenate([self.trusted.units, self.local.units])
        groups = ((self.n_trusted, self.trusted), (self.n_local, self.local))
        shares = np.concatenate([n * group.users / group.count for n, group in groups])
        every, which = np.unique(units, return_inverse=True)
        users = np.rint(np.bincount(which, shares) / (self.n_trusted + self.n_local) * 10**15).astype(np.int64)
        return ValueCounts(every[users > 0], users[users > 0])


@dataclass(frozen=True, slots=True)
class TrialSums:
    """Sums over trials, and the numbers of the first one: all that a simulation keeps."""

    trials: int
    first: FloatArray
    sums: FloatArray

    def __add__(self, other: "TrialSums") -> "TrialSums":
        return TrialSums(self.trials + other.trials, self.first, self.sums + other.sums)


@dataclass(frozen=True, slots=True, repr=False)
class Simulation(ABC):
    """Result of `simulate`. Not a private release."""

    study: Any
    n_trusted: int
    n_local: int
    trials: int
    seed: int

    def __repr__(self) -> str:
        users = f"{self.n_trusted:,} trusted and {self.n_local:,} local users"
        return f"<{type(self).__name__} of {users}, {self.trials:,} trials; not a release>"

    @abstractmethod
    def _rows(self) -> dict[str, Any]:
        """Return what this kind of simulation observed, as plain values."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "private_release": False,
            "seed": self.seed,
            "study": json.loads(self.study.to_json()),
            "n_trusted": self.n_trusted,
            "n_local": self.n_local,
            "trials": self.trials,
            **self._rows(),
        }

    def to_json(self) -> str:
        """Return everything as text."""
        return json.dumps(self.to_dict(), indent=2)


def run_trials(
    setup: SimulationSetup,
    *,
    trials: int,
    random_state: int,
    processes: int | None = 1,
    progress: Callable[[int], None] | None = None,
) -> TrialSums:
    """Run all trials and add up what they measure; call ``progress`` with the number of those done."""
    _check.integer("trials", trials, at_least=2)
    if processes is not None:
        _check.integer("processes", processes, at_least=1)
    seed, size = np.random.SeedSequence(_check.integer("random_state", random_state, at_least=0)), setup.block or trials
    seeds = [seed] if setup.block is None else seed.spawn(-(-trials // size))
    blocks = [(setup, of, min(size, trials - i * size)) for i, of in enumerate(seeds)]
    done = count(1)

    def report(finished: int = 1) -> None:
        number = [next(done) for _ in range(finished)][-1]
        if progress is not None:
            progress(number)

    workers = min(processes or os.cpu_count() or 1, len(blocks))
    if workers <= 1:
        return reduce(add, [_run_block(block, report) for block in blocks])
    results = []
    with ProcessPoolExecutor(workers) as pool:
        for sums in pool.map(_run_block, blocks):
            results.append(sums)
            report(sums.trials)
    return reduce(add, results)


def _run_block(
    block: tuple[SimulationSetup, np.random.SeedSequence, int], report: Callable[[], None] | None = None
) -> TrialSums:
    setup, seed, trials = block
    rng, measured = np.random.default_rng(seed), []
    for _ in range(trials):
        measured.append(setup.measure(rng))
        if report is not None:
            report()
    return TrialSums(trials, measured[0], reduce(add, measured))


def check_choices(name: str, choices: Sequence[Any]) -> tuple[Any, ...]:
    """Check that there is a sequence of at least one."""
    if isinstance(choices, str) or not isinstance(choices, Sequence) or not choices:
        raise ParameterError(name, "a sequence of at least one", choices)
    return tuple(choices)
