"""K-means on the paper's data set, many times: the paper's algorithms, as printed and repaired, and ours."""

import warnings
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import count, product
from typing import Any

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.figures.paper.rows import SIMULATION, ClusteringRow
from hybriddp.kmeans import paper
from hybriddp.kmeans.clustering import nearest, wcss
from hybriddp.kmeans.estimator import HybridKMeans

PLACES = ((0.20, 0.25), (0.35, 0.80), (0.65, 0.40), (0.85, 0.75))
"""Where the clusters are: our choice, since the paper does not say."""
FRACTIONS = {"b": 0.001, "c": 0.01}
"""The share of users who trust, by panel."""
ROUNDS = tuple(range(1, 11))
EPSILON = 7.0
PRINTED, REPAIRED = "printed", "repaired"

_PER_CLUSTER, _SPREAD = 40_000, 0.028
_FEWER = 50  # one run of K-means takes as long as many of a mean
_MIDDLE = (10, 90)  # percentiles


class Algorithm(StrEnum):
    """Who clusters what."""

    TRUSTED_ONLY = "trusted-only"
    """The paper's, with the trusted group alone."""
    FULL_LOCAL = "full-local"
    """The paper's, with everybody as a local user."""
    HYBRID = "hybrid"
    """The paper's, with both groups."""
    OURS = "ours"
    """`hybriddp.kmeans`, with both groups; it has no rounds to choose."""


@cache
def points() -> FloatArray:
    """The data set: four round clusters, always the same."""
    rng = np.random.default_rng(6)
    return np.repeat(PLACES, _PER_CLUSTER, axis=0) + rng.normal(0.0, _SPREAD, (len(PLACES) * _PER_CLUSTER, 2))


@cache
def best_cost() -> float:
    """What the best centers cost: the means of the clusters, which are too far apart for any doubt."""
    labels = nearest(points(), np.array(PLACES))
    return wcss(points(), np.stack([points()[labels == k].mean(axis=0) for k in range(len(PLACES))]))


@dataclass(frozen=True, slots=True)
class ClusteringDot:
    """One algorithm in one setting, with its seed; see `ClusteringRow` for what it is described by."""

    panel: str
    algorithm: Algorithm
    reading: str
    trusted_fraction: float | None
    iterations: int | None
    seed: int

    def trials(self, asked: int) -> int:
        """A fiftieth of what is asked for, but at least 2."""
        return max(2, asked // _FEWER)

    def run(self, trials: int) -> ClusteringRow:
        """What the centers cost; who trusts, the start and the noise are drawn anew in each trial."""
        rng = np.random.default_rng(self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the print is flawed is what the figure shows
            costs = np.array([wcss(points(), self._centers(rng)) for _ in range(trials)])
        low, high = np.percentile(costs, _MIDDLE)
        return ClusteringRow(
            panel=self.panel,
            source=SIMULATION,
            algorithm=str(self.algorithm),
            reading=self.reading,
            trusted_fraction=self.trusted_fraction,
            iterations=self.iterations,
            epsilon=EPSILON,
            cost=float(costs.mean()),
            cost_low=float(low),
            cost_high=float(high),
            cost_se=float(costs.std(ddof=1) / np.sqrt(trials)),
            trials=trials,
        )

    def _centers(self, rng: np.random.Generator) -> FloatArray:
        everybody, printed = points(), self.reading == PRINTED
        trusts = np.zeros(len(everybody), np.bool_)
        trusts[rng.choice(len(everybody), round((self.trusted_fraction or 0.0) * len(everybody)), replace=False)] = True
        trusted, local = everybody[trusts], everybody[~trusts]
        public: dict[str, Any] = {"n_clusters": len(PLACES), "epsilon": EPSILON, "bounds": [(0.0, 1.0)] * 2}
        if self.algorithm is Algorithm.OURS:
            ours = HybridKMeans(**public, random_state=int(rng.integers(1 << 31)))
            return np.asarray(ours.fit(trusted, local).cluster_centers_)
        public |= {"iterations": self.iterations, "random_state": rng}
        neighbors = "add-remove" if printed else "replace-one"
        if self.algorithm is Algorithm.TRUSTED_ONLY:
            return paper.trusted_only(trusted, **public, neighbors=neighbors).centers
        if self.algorithm is Algorithm.FULL_LOCAL:
            return paper.full_local(local, **public, debias=not printed).centers
        weights = "printed" if printed else "mean"
        return paper.hybrid(trusted, local, **public, weights=weights, debias=not printed, neighbors=neighbors).centers


def clustering_dots(*, first_seed: int) -> tuple[ClusteringDot, ...]:
    """All settings of the figure, the longest first so that the processes end together."""
    seeds = count(first_seed)
    both = [
        ClusteringDot(panel, algorithm, reading, c, rounds, next(seeds))
        for rounds, algorithm, reading, (panel, c) in product(
            ROUNDS[::-1], (Algorithm.HYBRID, Algorithm.TRUSTED_ONLY), (PRINTED, REPAIRED), FRACTIONS.items()
        )
    ]
    alone = [
        ClusteringDot("bc", Algorithm.FULL_LOCAL, reading, None, rounds, next(seeds))
        for rounds, reading in product(ROUNDS[::-1], (PRINTED, REPAIRED))
    ]
    ours = [ClusteringDot(panel, Algorithm.OURS, "", c, None, next(seeds)) for panel, c in FRACTIONS.items()]
    return (*alone, *both, *ours)
