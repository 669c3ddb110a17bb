r"""Counts and sums per cluster that one group gives in one round of the paper's K-means [ADK20, appendix D].

Points lie in a box inside the cube $[0, 1]^d$, so $m = 1$; $\tau$ is the number of rounds, $K$ that of clusters.

- **Trusted.** True counts and sums of the nearest points, each number with Laplace noise of scale
  $b_T = (d + 1)\tau/\epsilon$. A point that comes or goes changes one count by 1 and one sum by at most $d$. A point
  that is *replaced* can change two of each: then $b_T = 2(d + 1)\tau/\epsilon$ (erratum 2).
- **Local.** Every user sends their point once, with Laplace noise of scale $b_L = d(\tau + 1)/\epsilon$, and in each
  round the number of their cluster: the true one with probability
  $p = (e^{\epsilon_0} - 1)/(K + e^{\epsilon_0} - 1)$, $\epsilon_0 = \epsilon/(\tau + 1)$, else one of all $K$.
  So $(1-p)/K$ of everybody is counted in each cluster, which is taken out again (erratum 5):

$$
N_k = \frac{\tilde N_k - (1-p) N_L/K}{p}, \qquad S_k = \frac{\tilde S_k - (1-p) S_L/K}{p}.
$$
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.kmeans.clustering import blocks, nearest
from hybriddp.release.release import simulate_printed_noise

Points = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ClusterMoments:
    """Released counts, shape (K,), and sums, shape (K, d), of one group in one round."""

    counts: FloatArray
    sums: FloatArray

    def floored(self) -> FloatArray:
        """Raise counts to at least 1: they are noisy, and are divided by (erratum 7)."""
        return np.maximum(self.counts, 1.0)

    def means(self) -> FloatArray:
        """Divide sums by counts."""
        return self.sums / self.floored()[:, None]


@dataclass(frozen=True, slots=True)
class LaplaceScales:
    """Scales of Laplace noise: $b_T$ on every trusted count and sum, $b_L$ on every coordinate of a local report."""

    trusted: float
    local: float

    @classmethod
    def of(cls, *, n_dimensions: int, iterations: int, epsilon: float, replace_one: bool) -> "LaplaceScales":
        """Compute the scales that give every user ε over all rounds."""
        moved = (n_dimensions + 1) * (2 if replace_one else 1)
        return cls(trusted=moved * iterations / epsilon, local=n_dimensions * (iterations + 1) / epsilon)


def truth_probability(*, n_clusters: int, iterations: int, epsilon: float) -> float:
    r"""Compute $p$, with which a local user reports their own cluster rather than one of all at random."""
    e = epsilon / (iterations + 1)
    return -math.expm1(-e) / (1 + (n_clusters - 1) * math.exp(-e))  # numerator and denominator times exp(-e)


class PaperTrustedGroup:
    """Users whose points in the unit box the curator has; ``scale`` is $b_T$."""

    def __init__(self, points: Points, *, scale: float, generator: np.random.Generator) -> None:
        self._points, self._scale, self._generator = points, scale, generator

    def moments(self, centers: FloatArray) -> ClusterMoments:
        """Count and sum the points nearest to each center, with fresh noise."""
        counts, sums = np.zeros(len(centers)), np.zeros(centers.shape)
        for part in blocks(len(self._points)):
            points = self._points[part]
            _add(counts, sums, nearest(points, centers), points)
        return ClusterMoments(
            simulate_printed_noise(counts, self._scale, self._generator),
            simulate_printed_noise(sums, self._scale, self._generator),
        )


class PaperLocalGroup:
    """Users who randomize their reports; ``scale`` is $b_L$ and ``truth`` is $p$.

    ``debias`` removes from each cluster what randomized response adds of everybody; ``assign_on_report`` compares noisy
    reports with the centers instead of points.
    """

    def __init__(
        self,
        points: Points,
        *,
        scale: float,
        truth: float,
        debias: bool,
        assign_on_report: bool,
        generator: np.random.Generator,
    ) -> None:
        noise = generator.standard_exponential(points.shape, dtype=np.float32)
        noise -= generator.standard_exponential(points.shape, dtype=np.float32)  # the difference of two is Laplace
        noise *= np.float32(scale)
        self._reports: Points = noise
        self._reports += points
        self._compared = self._reports if assign_on_report else points
        self._truth = truth
        self._total = self._reports.sum(axis=0, dtype=np.float64)
        self._debias = debias
        self._generator = generator

    def moments(self, centers: FloatArray) -> ClusterMoments:
        """Count and sum the reports by the cluster that their senders report in this round."""
        counts, sums = np.zeros(len(centers)), np.zeros(centers.shape)
        for part in blocks(len(self._reports)):
            labels = self._randomized(nearest(self._compared[part], centers), len(centers))
            _add(counts, sums, labels, self._reports[part])
        if not self._debias:
            return ClusterMoments(counts, sums)
        p, others = self._truth, (1 - self._truth) / len(centers)
        return ClusterMoments((counts - others * len(self._reports)) / p, (sums - others * self._total) / p)

    def _randomized(self, labels: NDArray[np.intp], n_clusters: int) -> NDArray[np.intp]:
        """Randomize labels; one random number decides whether to replace a label, and by which."""
        u = self._generator.random(len(labels), dtype=np.float32)
        lie = max(1 - self._truth, 2.0**-24)  # finer than u is
        any_cluster = ((u - self._truth) * (n_clusters / lie)).astype(np.intp)
        return np.where(u < self._truth, labels, np.minimum(any_cluster, n_clusters - 1))


def _add(counts: FloatArray, sums: FloatArray, labels: NDArray[np.intp], points: Points) -> None:
    """Add the points of a block to their clusters."""
    counts += np.bincount(labels, minlength=len(counts))
    for j in range(points.shape[1]):
        sums[:, j] += np.bincount(labels, points[:, j], len(counts))
