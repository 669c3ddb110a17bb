r"""Hybrid frequencies of Zipf items: how well the top 50 are found and measured, beside BLENDER and single groups.

    make bench NAME=frequency_accuracy (or python -m benchmarks.frequency_accuracy; --help says how to run a part of it)

The item of rank $r$ has a share in proportion to $1/r$. Open domain: one release of the trusted group is the list, and
local users report on it. Known domain: both groups are asked about all items. All reports are drawn by the channels
that devices have. The truth is the shares among all users of a trial.

- NDCG@50: the gain of an item is 50 minus its true rank, from 0, and discounted by $\log_2$ of where it is listed.
- MSE@50: the mean squared error over the true top 50, times 10^6; an item that is not listed counts as 0.

Targets are those of the design: MSE@50 of its simulation times 1.15, and the NDCG@50 that it names.
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybriddp.items.counts import ItemCounts
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.paper.blender import blender
from hybriddp.shares.study import FrequencyStudy
from hybriddp.study.reports import Reports
from hybriddp.study.summary import TrustedSummary

TOP = 50
DELTA = 1e-6
SLACK = 1.15
OPEN, BLENDER, KNOWN, TRUSTED, LOCAL = "open", "BLENDER", "known", "known, trusted only", "known, full local"
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """One setting: users, items, the fraction of trusted users, and ε."""

    n_users: int
    n_items: int
    trusted_fraction: float
    epsilon: float

    def __str__(self) -> str:
        return f"| {self.n_users:,} | {self.n_items:,} | {self.trusted_fraction:.0%} | {self.epsilon:g} |"


# MSE@50 times 10^6 of one open release and the pooled blend, in a simulation of 20 trials (design, table 7.1).
SIMULATED = dict(
    zip(
        (Row(n, d, c, e) for n in (10**5, 10**6) for d in (10**3, 10**4, 10**5) for c in (0.01, 0.05) for e in (1, 4)),
        (
            *(68.8, 13.8, 9.32, 0.545, 53.5, 11.7, 8.06, 0.554, 43.1, 10.9, 7.19, 0.64),
            *(1.45, 0.0737, 0.158, 0.0528, 2.09, 0.0812, 0.16, 0.0471, 2.34, 0.0693, 0.126, 0.0394),
        ),
        strict=True,
    )
)
LEAST_NDCG = {
    Row(10**6, 10**4, 0.01, 1): 0.935,
    Row(10**6, 10**4, 0.01, 4): 0.995,
    Row(10**6, 10**4, 0.05, 1): 0.995,
    Row(10**6, 10**4, 0.05, 4): 0.995,
}


@dataclass(frozen=True, slots=True)
class Score:
    """How good a list is."""

    ndcg: float
    mse: float  # times 10^6


@dataclass(frozen=True, slots=True)
class People:
    """How many trusted and local users have each item; items are numbered by their rank in the law, not in the data."""

    trusted: Counts
    local: Counts

    @property
    def shares(self) -> NDArray[np.float64]:
        """The true shares among all users."""
        both = self.trusted + self.local
        shares: NDArray[np.float64] = both / both.sum()
        return shares


def draw_people(row: Row, rng: np.random.Generator) -> People:
    """Users who have one item each."""
    law = 1 / np.arange(1, row.n_items + 1)
    law /= law.sum()
    n_trusted = round(row.trusted_fraction * row.n_users)
    return People(rng.multinomial(n_trusted, law), rng.multinomial(row.n_users - n_trusted, law))


def score(people: People, items: Sequence[int], shares: NDArray[np.float64]) -> Score:
    """The score of items, best first, with their estimated shares."""
    truth = people.shares
    best = np.argsort(-truth, kind="stable")[:TOP]
    gains = {int(item): TOP - rank for rank, item in enumerate(best)}
    ideal = sum((TOP - i) / math.log2(i + 2) for i in range(TOP))
    found = sum(gains.get(int(item), 0) / math.log2(i + 2) for i, item in enumerate(items[:TOP]))
    estimated = np.zeros(len(truth))
    estimated[np.asarray(items, dtype=np.int64)] = shares
    return Score(found / ideal, 1e6 * float(np.mean((estimated[best] - truth[best]) ** 2)))


def _reports(study: FrequencyStudy, counts: Counts, rng: np.random.Generator) -> Reports:
    """What devices with these items send, by the study's own channel."""
    return Reports(study.oracle.randomize(np.repeat(np.arange(len(counts)), counts), rng), study.digest, seeded=True)


def open_domain(row: Row, people: People, rng: np.random.Generator) -> Score:
    """One release of the trusted group, reports on the list, and the blend."""
    study = HeavyHitterStudy("items", epsilon=row.epsilon, delta=DELTA)
    held = {str(item): int(people.trusted[item]) for item in np.flatnonzero(people.trusted).tolist()}
    released = study.release(ItemCounts(study.digest, int(people.trusted.sum()), held), random_state=rng)
    if not released.items:
        return score(people, [], np.zeros(0))
    question = study.question(released)
    listed = np.array(released.items, dtype=np.int64)
    on_list = people.local[listed]
    reports = _reports(question, np.append(on_list, people.local.sum() - on_list.sum()), rng)
    found = study.estimate(trusted=released, local=reports, random_state=rng)
    return score(people, [int(str(item)) for item in found.items], np.asarray(found.shares))


def as_published(row: Row, people: People, rng: np.random.Generator) -> Score:
    """BLENDER with one level, without a limit on the list."""
    trusted, local = (
        np.repeat(np.arange(len(counts)), counts).astype(str).tolist() for counts in (people.trusted, people.local)
    )
    found = blender(trusted, local, random_state=rng, epsilon=row.epsilon, delta=DELTA, head_size=None)
    return score(people, [int(str(item)) for item in found.items], found.shares)


def known_domain(row: Row, people: People, rng: np.random.Generator) -> dict[str, Score]:
    """The blend over all items, and each single model."""
    study = FrequencyStudy("items", categories=range(row.n_items), other=False, epsilon=row.epsilon)
    trusted = TrustedSummary(study.digest, int(people.trusted.sum()), tuple(people.trusted.tolist()))
    local = study.summarize_local(_reports(study, people.local, rng))
    everybody = local + study.summarize_local(_reports(study, people.trusted, rng))
    found = {
        KNOWN: study.estimate(trusted=trusted, local=local, random_state=rng),
        TRUSTED: study.estimate(trusted=trusted, local=None, single_group=True, random_state=rng),
        LOCAL: study.estimate(trusted=None, local=everybody, single_group=True, random_state=rng),
    }
    scores = {}
    for name, estimate in found.items():
        order = np.argsort(-estimate.unbiased, kind="stable")
        scores[name] = score(people, order.tolist(), np.asarray(estimate.shares)[order])
    return scores


def measure(row: Row, *, trials: int, blender_trials: int, known_trials: int) -> Mapping[str, list[Score]]:
    """Scores of each way, in the order of the trials, and so paired."""
    scores: dict[str, list[Score]] = defaultdict(list)
    for trial in range(trials):
        rng = np.random.default_rng([row.n_users, row.n_items, round(100 * row.trusted_fraction), trial])
        people = draw_people(row, rng)
        scores[OPEN].append(open_domain(row, people, rng))
        if trial < blender_trials:
            scores[BLENDER].append(as_published(row, people, rng))
        if trial < known_trials:
            for name, one in known_domain(row, people, rng).items():
                scores[name].append(one)
    return scores


def _mean(numbers: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error."""
    values = np.asarray(numbers)
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf


def _cell(scores: Sequence[Score]) -> str:
    if not scores:
        return "-"
    ndcg, ndcg_error = _mean([one.ndcg for one in scores])
    mse, mse_error = _mean([one.mse for one in scores])
    return f"{ndcg:.3f} ± {ndcg_error:.3f} / {mse:.3g} ± {mse_error:.1g}"


def _worse(ours: Sequence[Score], theirs: Sequence[Score]) -> list[str]:
    """In what ours are worse by two standard errors of the paired difference."""
    pairs = list(zip(ours, theirs, strict=False))
    if len(pairs) < 2:
        return []
    less, less_error = _mean([b.ndcg - a.ndcg for a, b in pairs])
    more, more_error = _mean([a.mse - b.mse for a, b in pairs])
    return [name for name, x, s in (("NDCG", less, less_error), ("MSE", more, more_error)) if x > 2 * s]


def misses(row: Row, scores: Mapping[str, list[Score]]) -> list[str]:
    """What misses its target."""
    ours, most = scores[OPEN], SLACK * SIMULATED[row]
    missed = []
    mse, ndcg = _mean([one.mse for one in ours])[0], _mean([one.ndcg for one in ours])[0]
    if mse > most:
        missed.append(f"{row} MSE@50 {mse:.3g}, at most {most:.3g}")
    if ndcg < LEAST_NDCG.get(row, 0):
        missed.append(f"{row} NDCG@50 {ndcg:.4f}, at least {LEAST_NDCG[row]}")
    missed += [f"{row} {what} worse than BLENDER's" for what in _worse(ours, scores[BLENDER])]
    for way in (TRUSTED, LOCAL):
        missed += [f"{row} {what} worse than {way}" for what in _worse(scores[KNOWN], scores[way])]
    return missed


def main(words: Sequence[str] | None = None) -> None:
    """Measure what is asked for, and print it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frequency_accuracy")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--blender-trials", type=int, default=20)
    parser.add_argument("--known-trials", type=int, default=20)
    parser.add_argument("--users", nargs="+", type=int, default=[10**5, 10**6])
    parser.add_argument("--items", nargs="+", type=int, default=[10**3, 10**4, 10**5])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 4.0])
    asked = parser.parse_args(words)
    rows = [
        row
        for row in SIMULATED
        if row.n_users in asked.users and row.n_items in asked.items and row.epsilon in asked.epsilons
    ]
    trials = {"trials": asked.trials, "blender_trials": asked.blender_trials, "known_trials": asked.known_trials}
    ways = (OPEN, BLENDER, KNOWN, TRUSTED, LOCAL)
    print(f"| n | items | trusted | ε | {' | '.join(ways)} | MSE at most |")
    print("| ---: | ---: | ---: | ---: |" + " --- |" * len(ways) + " ---: |", flush=True)
    missed = []
    for row in rows:
        scores = measure(row, **trials)
        print(f"{row} {' | '.join(_cell(scores[way]) for way in ways)} | {SLACK * SIMULATED[row]:.3g} |", flush=True)
        missed += misses(row, scores)
    print(f"\n{len(missed)} targets missed.", *missed, sep="\n")


if __name__ == "__main__":
    main()
