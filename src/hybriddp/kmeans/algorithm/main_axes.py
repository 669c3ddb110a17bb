r"""The main directions of the points: coordinates of which the first few say nearly everything about clusters.

They are the eigenvectors of the covariance, by falling variance $\lambda_j$, about the mean. A center that is known
only in the first $m$ coordinates is at 0 in the others, and the nearest of such centers is the same in $m$ dimensions
as in all.

**How many of them to ask for.** A report of a residual in $m$ dimensions is clipped to a length that grows like
$\sqrt m$, and so does its noise: in each coordinate, a variance of $v_m$ for a shift. Of the variance between clusters,
$\beta_j = .7 \lambda_j$ a priori, the best linear estimate explains $\beta_j^2 / (\beta_j + v_m)$. So $m$ is where

$$
\sum_{j \le m} \frac{\beta_j^2}{\beta_j + v_m}
$$

is largest: all dimensions where there is little noise, fewer where ε is small, or clusters and dimensions are many.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.cluster_estimate import ClusterEstimate
from hybriddp.kmeans.algorithm.problem import Effort, Problem
from hybriddp.kmeans.algorithm.rounds import shift_noise
from hybriddp.kmeans.reports.base import Projection

_LEAST_COORDINATE = 1e-50  # of a direction; below, it is set to 0: devices refuse tiny numbers other than 0


@dataclass(frozen=True, slots=True)
class MainAxes:
    """All eigenvectors of the covariance, and the variance of the points along each; the largest first."""

    projection: Projection
    variances: FloatArray  # shape (d,), positive

    @classmethod
    def of(cls, mean: FloatArray, covariance: FloatArray, square: float) -> "MainAxes":
        """The axes of a covariance that noise may have made indefinite; ``square`` is the box's mean squared width."""
        d = len(mean)
        average = float(np.clip(np.trace(covariance) / d, tuning.LEAST_TOTAL * square, tuning.MOST_TOTAL * square))
        values, vectors = np.linalg.eigh(covariance)
        variances = np.clip(values[::-1], tuning.LEAST_REST * average, d * average)
        return cls(Projection(mean, _oriented(vectors[:, ::-1].T)), variances)

    @property
    def average(self) -> float:
        """The variance along an average axis."""
        return float(self.variances.mean())

    def worthwhile(self, problem: Problem, k: int, efforts: Sequence[Effort], at_least: int) -> int:
        """Along how many axes these efforts measure the means of ``k`` clusters best."""
        users = sum((effort.user_fraction for effort in efforts), Fraction(0))
        effort = Effort(users, sum((effort.epsilon_fraction for effort in efforts), Fraction(0)))
        between = tuning.BETWEEN * self.variances

        def explained(m: int) -> float:
            within = (1 - tuning.BETWEEN) * float(self.variances[:m].mean())
            noise = shift_noise(problem, k, m, effort) * within
            return float(np.sum(between[:m] ** 2 / (between[:m] + noise)))

        return max(range(at_least, len(self.variances) + 1), key=explained)

    def prior(self, n: int, m: int, variance: float) -> FloatArray:
        """Variances of ``n`` centers: this one along the first ``m`` axes, along the others that between clusters."""
        known = np.full((n, m), variance)
        return np.hstack([known, np.tile(tuning.BETWEEN * self.variances[m:], (n, 1))])

    def in_box(self, known: ClusterEstimate, widths: FloatArray) -> ClusterEstimate:
        """The same in the coordinates of the box, which no center leaves."""
        axes = self.projection.axes
        centers = np.clip(self.projection.origin + known.centers @ axes, 0.0, widths)
        return replace(known, centers=centers, variance=known.variance @ axes**2)


def _oriented(axes: FloatArray) -> FloatArray:
    """Directions whose largest coordinate is positive: of the two that are the same, every machine takes this one."""
    largest = np.argmax(np.abs(axes), axis=1)
    oriented: FloatArray = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    oriented[np.abs(oriented) < _LEAST_COORDINATE] = 0.0
    return oriented


def first_axes(known: ClusterEstimate, m: int) -> ClusterEstimate:
    """What is known along the first ``m`` axes."""
    return replace(known, centers=known.centers[:, :m], variance=known.variance[:, :m])


def with_first_axes(known: ClusterEstimate, part: ClusterEstimate) -> ClusterEstimate:
    """What is known after ``part`` has been found along the first axes."""
    m = part.centers.shape[1]
    return replace(
        part,
        centers=np.hstack([part.centers, known.centers[:, m:]]),
        variance=np.hstack([part.variance, known.variance[:, m:]]),
    )
