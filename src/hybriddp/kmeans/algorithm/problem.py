r"""What the algorithm is given, what it asks for and is sent, and what it knows of the clusters: never a point.

The algorithm is a generator: it yields steps and is sent what was published in return, so that everything it computes
is post-processing, by construction.

A center $c$ with variance $v$ and a measured shift $s$ with variance $v'$ become

$$
c + \frac{v}{v + v'} s, \qquad \frac{v v'}{v + v'}.
$$

If the shift is longer than both variances can explain (a chi-square test for all clusters together), then $v$ was too
small, and is raised to what the shift says.

**Doubt.** The mean squared error $v_k$ of a center, over all coordinates, is known, and so is the mean squared distance
of a user to their center, $W$. What an unlucky start costs is not known. But it is the same noise that chooses a start
and that moves centers: where $\max_k v_k / W$ is small, everything was seen well, the least certain cluster too. From a
limit on the cost may well be more than 1.2 times the best one. That limit is measured (`tuning.DOUBTFUL`): it is
lower up to three dimensions, where the rounds have less noise than the grid that the start was chosen on.

Two more things are seen in the centers themselves, above all where the bounds are too wide. A center whose size is not
clearly above 0 may stand on noise, and is missing elsewhere. And two centers that are less than a step of the grid
apart were not told apart by it: what is one cluster and what are two was a guess (`Doubts`).
"""

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.errors import ProtocolError
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.reports.base import Ask, ReportTally
from hybriddp.kmeans.reports.means import ResidualSums
from hybriddp.kmeans.reports.moments import chi_square_limit
from hybriddp.kmeans.statistics import PointStatistic


@dataclass(frozen=True, slots=True)
class StartDoubt:
    """How sure a start is: its cost against that of the best other one, both right on average.

    Costs are mean squared distances in the unit box.
    """

    cost: float
    rival_cost: float
    difference_sd: float  # the standard deviation of the difference, through noise and sampling
    n_vertices: int  # of the grid that they were found on

    @property
    def has_rival(self) -> bool:
        """Whether the other start is as good, or better, as far as noise lets see: to one standard deviation."""
        return self.rival_cost < self.cost + self.difference_sd

    @property
    def is_contested(self) -> bool:
        """Whether the other start was even cheaper, on a grid on which close clusters can be taken for one."""
        return self.rival_cost < self.cost and self.n_vertices <= tuning.SEEN_VERTICES


@dataclass(frozen=True, slots=True)
class Doubts:
    """Why an answer is doubtful: one of these is enough. Centers are counted from 0."""

    empty: tuple[int, ...]  # centers that may have no users: their size is not clearly above 0
    close: tuple[int, ...]  # centers less than a step of the grid from another one, up to three dimensions
    noisy: tuple[int, ...]  # centers whose mean squared error is above the limit
    contested: bool  # whether other first centers looked even better, and there is some noise

    def __bool__(self) -> bool:
        return bool(self.empty or self.close or self.noisy or self.contested)


@dataclass(frozen=True, slots=True)
class ClusterEstimate:
    """Centers and sizes of the clusters, with their variances."""

    centers: FloatArray  # shape (K, d), in the unit box; or (K, q) in the coordinates of a projection
    variance: FloatArray  # of each coordinate: what noise and sampling leave, as far as is known
    sizes: FloatArray  # the fraction of users in each cluster, shape (K,)
    size_variance: FloatArray
    trusted_weight: FloatArray  # how much of each center the trusted group decided
    start: StartDoubt | None = None  # how sure the first centers were; None if there was no rival
    cost: float = math.inf  # the mean squared distance of a user to their center, as far as is known
    step: FloatArray | None = None  # of the grid on the box that the first centers were found on, in each dimension

    @property
    def doubt(self) -> float:
        """Mean squared error of the least certain center, over the mean squared distance of a user to theirs."""
        return float(self.variance.sum(axis=1).max()) / self.cost

    @property
    def doubts(self) -> Doubts:
        """Reasons why the cost may well be more than 1.2 times the best one, if it may."""
        limit = tuning.DOUBTFUL[self.centers.shape[1] > tuning.MAX_LOW_DIM]
        contested = self.start is not None and self.start.is_contested
        return Doubts(
            empty=_where(self.sizes < tuning.EMPTY * np.sqrt(self.size_variance)),
            close=_where(_steps_apart(self.centers, self.step) < tuning.CLOSE_STEPS),
            noisy=_where(self.variance.sum(axis=1) > limit * self.cost),
            contested=contested and self.doubt > tuning.DOUBTFUL_IF_CONTESTED,
        )

    @property
    def is_doubtful(self) -> bool:
        """Whether the cost may well be more than 1.2 times the best one."""
        return bool(self.doubts)

    def update(
        self,
        local: ResidualSums | None,
        trusted: ResidualSums | None,
        *,
        max_shift: FloatArray,
        widths: FloatArray | None,
    ) -> "ClusterEstimate":
        """Update the estimate by how far both groups say that the mean of each cluster is from its center.

        Everything is weighted by its precision. A mean is a ratio of sums to sizes; no center shifts by more than
        ``max_shift``, shape (K,), in a coordinate, and none leaves the box, where its ``widths`` are given.
        """
        measured = [sums for sums in (local, trusted) if sums is not None]
        if not measured:
            return self
        size_precision = 1 / self.size_variance + sum(1 / (s.size_variance + 1e-12) for s in measured)
        said = sum(s.sizes / (s.size_variance + 1e-12) for s in measured)
        sizes = (self.sizes / self.size_variance + said) / size_precision
        safe = np.maximum(sizes, tuning.LEAST_SIZE / len(sizes))[:, None]
        precision = sum(1 / s.variance for s in measured)
        total = sum(s.sums / s.variance for s in measured) / precision
        shift = np.clip(total / safe, -max_shift[:, None], max_shift[:, None])
        shift_variance = 1 / precision / safe**2
        trusted_weight = 0.0 if trusted is None else np.mean(1 / trusted.variance / precision, axis=1)

        variance = _guarded(self.variance, shift, shift_variance)
        gain = variance / (variance + shift_variance)
        mean_gain = gain.mean(axis=1)
        centers = self.centers + gain * shift
        return ClusterEstimate(
            centers=centers if widths is None else np.clip(centers, 0.0, widths),
            variance=(1 - gain) * variance,
            sizes=np.maximum(sizes, 0),
            size_variance=1 / size_precision,
            trusted_weight=(1 - mean_gain) * self.trusted_weight + mean_gain * trusted_weight,
            start=self.start,
            cost=self.cost,
            step=self.step,
        )


def _where(flags: NDArray[np.bool_]) -> tuple[int, ...]:
    """List the numbers of the centers that have a flag."""
    return tuple(np.flatnonzero(flags).tolist())


def _steps_apart(centers: FloatArray, step: FloatArray | None) -> FloatArray:
    """Measure the distance of each center to the nearest other one, in steps of the grid; infinite without one."""
    if step is None or len(centers) == 1:
        return np.full(len(centers), np.inf)
    return 2 * half_distances(centers / step)


def _guarded(variance: FloatArray, shift: FloatArray, shift_variance: FloatArray) -> FloatArray:
    """Raise the variances of centers whose shift is too long for them."""
    k, d = shift.shape
    limit = chi_square_limit(d, tuning.GUARD_LEVEL / k) / d
    square = np.mean(shift**2, axis=1)
    long = square > limit * np.mean(variance + shift_variance, axis=1)
    implied = square - np.mean(shift_variance, axis=1)
    return np.where(long[:, None], np.maximum(variance, implied[:, None]), variance)


def half_distances(centers: FloatArray) -> FloatArray:
    """Compute half of the distance from each center to the nearest other one; 1/2 if there is none."""
    if len(centers) == 1:
        return np.array([0.5])
    nearest = [np.sum((np.delete(centers, k, axis=0) - center) ** 2, axis=1).min() for k, center in enumerate(centers)]
    return 0.5 * np.sqrt(nearest)


@dataclass(frozen=True, slots=True)
class Problem:
    """The public numbers that the algorithm starts from."""

    n_clusters: int  # K, how many centers are wanted
    widths: FloatArray  # of the box, shape (d,); the largest is 1
    epsilon: str  # what every user is promised, as a decimal
    n_trusted: int
    n_local: int

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions of the box, $d$."""
        return len(self.widths)

    @property
    def mean_squared_width(self) -> float:
        """Unit of variances."""
        return float(np.mean(self.widths**2))

    def release(self, statistic: PointStatistic, effort: "Effort") -> "Release | None":
        """Request a statistic at this effort; None if there is no trusted group, or it is not to spend."""
        fraction = effort.epsilon_fraction
        return Release(statistic, fraction) if self.n_trusted and fraction else None

    def rng(self) -> np.random.Generator:
        """Make a generator for post-processing: always the same, so that a transcript gives the same centers."""
        return np.random.default_rng([self.n_clusters, self.n_dimensions, self.n_trusted, self.n_local])


@dataclass(frozen=True, slots=True)
class Effort:
    """What a step may cost: a fraction of the local users, and of the ε of the trusted group."""

    user_fraction: Fraction
    epsilon_fraction: Fraction


@dataclass(frozen=True, slots=True)
class Release:
    """A statistic of the trusted group, and the fraction of ε that its release costs."""

    statistic: PointStatistic
    epsilon_fraction: Fraction


@dataclass(frozen=True, slots=True)
class Step:
    """What is wanted at the same time, of local users and of the trusted group, and what for."""

    purpose: str
    asks: tuple[Ask, ...] = ()
    release: Release | None = None


@dataclass(frozen=True, slots=True)
class PublishedVector:
    """The numbers of a release, and the variance of the noise on each."""

    values: IntArray
    variance: float


@dataclass(frozen=True, slots=True)
class StepResult:
    """What came back: a tally of reports for each ask, and the vector of the release."""

    answers: tuple[ReportTally, ...] = ()
    release: PublishedVector | None = None

    def require_release(self) -> PublishedVector:
        """Return the vector of a release that was wanted; `ProtocolError` if it is missing."""
        if self.release is None:
            raise ProtocolError("A release was wanted, but nothing was published.")
        return self.release


Algorithm = Generator[Step, StepResult, ClusterEstimate]
"""Yields what it wants to know, is sent what was published, returns the centers."""
