"""One trial of K-means: a data set, the groups, the algorithms, and the cost over the non-private one."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from benchmarks.kmeans_data import DataSet, Points
from hybriddp.kmeans.clustering import wcss, weighted_kmeans
from hybriddp.kmeans.estimator import HybridKMeans

HYBRID, TRUSTED_ONLY, FULL_LOCAL = "hybrid", "trusted only", "full local"
STARTS = 10


@dataclass(frozen=True, slots=True)
class Fit:
    """Centers, the processor time they took, and whether they say of themselves that they are doubtful."""

    centers: Points
    cpu_seconds: float
    doubtful: bool = False


def non_private(data: DataSet, *, starts: int = STARTS) -> Fit:
    """The best of several starts of ordinary K-means on the raw points, by scikit-learn if it is there."""
    seed = crc32(data.name.encode())
    try:
        from sklearn.cluster import KMeans
    except ImportError:
        return _own_non_private(data, starts, np.random.default_rng(seed))
    began = time.process_time()
    centers = KMeans(data.n_clusters, n_init=starts, random_state=seed).fit(data.points).cluster_centers_
    return Fit(np.asarray(centers, dtype=float), time.process_time() - began)


def _own_non_private(data: DataSet, starts: int, generator: np.random.Generator) -> Fit:
    """One start at a time: side by side they would hold a distance for each point, center and start."""
    began = time.process_time()
    ones = np.ones(len(data.points))
    runs = [
        weighted_kmeans(data.points, ones, data.n_clusters, starts=1, generator=generator)[0] for _ in range(starts)
    ]
    return Fit(min(runs, key=lambda run: run.cost).centers, time.process_time() - began)


def private(data: DataSet, algorithm: str, *, epsilon: float, trusted_fraction: float, seed: int) -> Fit:
    """Our centers. The first points are the trusted users' (they are in random order); full local ignores the share."""
    first = round(trusted_fraction * len(data.points))
    trusted, local = {
        HYBRID: (data.points[:first], data.points[first:]),
        TRUSTED_ONLY: (data.points[:first], None),
        FULL_LOCAL: (None, data.points),
    }[algorithm]
    noise = np.random.default_rng([crc32(algorithm.encode()), crc32(data.name.encode()), seed])
    model = HybridKMeans(n_clusters=data.n_clusters, epsilon=epsilon, bounds=list(data.bounds), random_state=noise)
    began = time.process_time()
    centers = model.fit(trusted, local).cluster_centers_
    return Fit(np.asarray(centers, dtype=float), time.process_time() - began, model.doubtful_)


def ratio(data: DataSet, centers: Points, reference: float) -> float:
    """The cost of these centers on everybody's points, over the non-private cost."""
    return wcss(data.points, centers) / reference


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """What a mean is taken over: everything but the seed. Full local has a trusted share of 0."""

    data: str
    epsilon: float
    trusted_fraction: float
    algorithm: str


def trial(
    data: DataSet, seed: int, *, epsilons: Sequence[float], fractions: Sequence[float], algorithms: Sequence[str]
) -> dict[Cell, float]:
    """Ratios of the algorithms on one data set: all see the same points and, per share, the same groups."""
    reference = wcss(data.points, non_private(data).centers)
    ratios = {}
    for epsilon in epsilons:
        for algorithm in algorithms:
            for fraction in (0.0,) if algorithm == FULL_LOCAL else fractions:
                fit = private(data, algorithm, epsilon=epsilon, trusted_fraction=fraction, seed=seed)
                ratios[Cell(data.name, epsilon, fraction, algorithm)] = ratio(data, fit.centers, reference)
    return ratios
