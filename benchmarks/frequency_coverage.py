"""How often intervals of selected shares, and of listed items, hold: ``python -m benchmarks.frequency_coverage``.

**Selected shares**: the 10 largest of 20, 100 or 1,000 categories whose shares follow Zipf's law, against the shares
among the users of each study. Beside their intervals stand plain 95 % intervals of the same rows.

**Listed items**: by the probability that an item is listed, given its share in the population. Beside it, intervals
without that condition; and how often the groups, which are alike, are said to differ.

All reports are drawn by the channels that devices have.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hybriddp.items.counts import ItemCounts
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.release.threshold import ThresholdRule
from hybriddp.shares.law import ShareIntervals
from hybriddp.shares.study import FrequencyStudy
from hybriddp.study.reports import Reports
from hybriddp.study.summary import TrustedSummary

LEAST = 0.93
SELECTED = 10
SIZES = ((200, 10_000), (2000, 10_000), (2000, 100_000))
CATEGORIES, EPSILONS = (20, 100, 1000), (0.5, 1.0, 4.0)
BANDS = (0.0, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
ENOUGH = 500  # listings of a band
# ε, trusted and local users, items
LISTS = (
    (1.0, 2000, 20_000, 1000),
    (1.0, 5000, 100_000, 10_000),
    (2.0, 2000, 2000, 10_000),
    (4.0, 500, 50_000, 1000),
    (4.0, 2000, 20_000, 1000),
    (4.0, 5000, 100_000, 10_000),
    (8.0, 500, 50_000, 1000),
)
List = tuple[float, int, int, int]
Counts = NDArray[np.int64]


@dataclass(slots=True)
class Tally:
    """Intervals that held, and their widths."""

    n: int = 0
    held: int = 0
    plain_held: int = 0
    width: float = 0.0
    plain_width: float = 0.0

    def add(self, truth: NDArray[np.float64], found: ShareIntervals, plain: ShareIntervals) -> None:
        """Count intervals of some rows."""
        self.n += len(truth)
        self.held += int(np.count_nonzero((found.lower <= truth) & (truth <= found.upper)))
        self.plain_held += int(np.count_nonzero((plain.lower <= truth) & (truth <= plain.upper)))
        self.width += float(np.sum(found.upper - found.lower))
        self.plain_width += float(np.sum(plain.upper - plain.lower))

    @property
    def coverage(self) -> float:
        """Fraction of intervals that held."""
        return self.held / max(self.n, 1)

    def __str__(self) -> str:
        wider = self.width / max(self.plain_width, 1e-300)
        return f"{self.coverage:.3f} | {self.plain_held / max(self.n, 1):.3f} | {wider:.2f} | {self.n:,}"


def zipf(n: int) -> NDArray[np.float64]:
    """Shares in proportion to 1/rank."""
    law = 1 / np.arange(1.0, n + 1)
    return np.asarray(law / law.sum())


def _rows(found: ShareIntervals, rows: NDArray[np.int64]) -> ShareIntervals:
    return ShareIntervals(found.lower[rows], found.upper[rows], found.level)


def selected_shares(k: int, epsilon: float, n_trusted: int, n_local: int, trials: int) -> Tally:
    """Measure one cell of selected shares."""
    rng = np.random.default_rng([k, int(10 * epsilon), n_trusted, n_local])
    study, tally = FrequencyStudy("word", categories=range(k), other=False, epsilon=epsilon), Tally()
    for _ in range(trials):
        trusted, local = rng.multinomial(n_trusted, zipf(k)), rng.multinomial(n_local, zipf(k))
        codes = study.oracle.randomize(np.repeat(np.arange(k), local), rng)
        found = study.estimate(
            trusted=TrustedSummary(study.digest, int(trusted.sum()), tuple(trusted.tolist())),
            local=Reports(codes, study.digest, seeded=True),
            random_state=rng,
        )
        rows = found.top(SELECTED)
        numbers = np.array([int(row.name) for row in rows])
        ends = np.array([tuple(row.interval) for row in rows]).T
        truth = ((trusted + local) / (n_trusted + n_local))[numbers]
        tally.add(
            truth, ShareIntervals(ends[0], ends[1], rows[0].interval.level), _rows(found.stated_intervals(), numbers)
        )
    return tally


@dataclass(slots=True)
class ListTally:
    """Listed items by how likely they were to be listed, and studies in which groups were said to differ."""

    bands: list[Tally] = field(default_factory=lambda: [Tally() for _ in BANDS[1:]])
    differ: int = 0


def listing_chance(rule: ThresholdRule, n_trusted: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability that an item of each share in the population is listed."""
    from scipy import stats

    k = np.arange(1, n_trusted + 1)
    ratio = np.exp(-1 / rule.scale)
    missing = rule.threshold - k
    reaches = np.exp(-np.maximum(missing, 0) / rule.scale) / (1 + ratio)
    reaches = np.where(missing > 0, reaches, 1 - np.exp(-(np.maximum(-missing, 0) + 1) / rule.scale) / (1 + ratio))
    return np.array([float(stats.binom.pmf(k, n_trusted, share) @ reaches) for share in shares.tolist()])


def listed_items(setting: List, trials: int) -> ListTally:
    """Measure one setting of listed items."""
    epsilon, n_trusted, n_local, n_items = setting
    rng = np.random.default_rng([int(10 * epsilon), n_trusted, n_local, n_items])
    study, law, tally = HeavyHitterStudy("items", epsilon=epsilon, delta=1e-6), zipf(n_items), ListTally()
    band = np.clip(np.searchsorted(BANDS, listing_chance(study.rule, n_trusted, law)) - 1, 0, len(BANDS) - 2)
    for _ in range(trials):
        trusted, local = rng.multinomial(n_trusted, law), rng.multinomial(n_local, law)
        held = {str(item): int(trusted[item]) for item in np.flatnonzero(trusted).tolist()}
        released = study.release(ItemCounts(study.digest, n_trusted, held), random_state=rng)
        if not released.items:
            continue
        question, listed = study.question(released), np.array(released.items, np.int64)
        people = np.append(local[listed], n_local - local[listed].sum())
        codes = question.oracle.randomize(np.repeat(np.arange(len(people)), people), rng)
        found = study.estimate(trusted=released, local=Reports(codes, question.digest, seeded=True), random_state=rng)
        tally.differ += found.divergence is not None and found.divergence.differ
        items = np.array(found.items, np.int64)
        truth = ((trusted + local) / (n_trusted + n_local))[items]
        stated, plain = found.stated_intervals(), found.blend.law().intervals(0.95)
        for b in range(len(BANDS) - 1):
            rows = np.flatnonzero(band[items] == b)
            tally.bands[b].add(truth[rows], _rows(stated, rows), _rows(plain, rows))
    return tally


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frequency_coverage")
    parser.add_argument("--trials", type=int, default=100, help="studies per cell of selected shares")
    parser.add_argument("--lists", type=int, default=1000, help="studies per setting of listed items")
    asked = parser.parse_args(words)
    missed = []
    print(f"| categories | ε | trusted | local | coverage of the {SELECTED} largest | plain | wider | intervals |")
    print("| ---: " * 8 + "|", flush=True)
    for k in CATEGORIES:
        for epsilon in EPSILONS:
            for n_trusted, n_local in SIZES:
                cell = selected_shares(k, epsilon, n_trusted, n_local, asked.trials)
                name = f"| {k:,} | {epsilon:g} | {n_trusted:,} | {n_local:,} |"
                print(f"{name} {cell} |", flush=True)
                missed += [name] if cell.coverage < LEAST else []
    print("\n| ε | trusted | local | items | chance of being listed | coverage | plain | wider | listings |")
    print("| ---: " * 9 + "|", flush=True)
    differ = []
    for setting in LISTS:
        found = listed_items(setting, asked.lists)
        differ.append(f"{found.differ / asked.lists:.3f}")
        epsilon, n_trusted, n_local, n_items = setting
        name = f"| {epsilon:g} | {n_trusted:,} | {n_local:,} | {n_items:,} |"
        for low, high, band in zip(BANDS, BANDS[1:], found.bands, strict=False):
            if band.n >= ENOUGH:
                print(f"{name} {low:g} to {high:g} | {band} |", flush=True)
                missed += [f"{name} {low:g} to {high:g}"] if band.coverage < LEAST else []
    print(f"\nGroups that are alike are said to differ in these fractions of the studies: {', '.join(differ)}.")
    print(f"{len(missed)} cells are below {LEAST}.", *missed, sep="\n")


if __name__ == "__main__":
    main()
