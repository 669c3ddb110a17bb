"""What the algorithm is given, what it asks for, and what it is told: never a point.

The algorithm is a generator: it yields steps and is sent what was published in return, so that everything it computes
is post-processing, by construction.
"""

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.errors import ProtocolError
from hybriddp.kmeans.algorithm.cluster_estimate import ClusterEstimate
from hybriddp.kmeans.reports.base import Ask, ReportTally
from hybriddp.kmeans.statistics import PointStatistic


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
        """The number of dimensions of the box, $d$."""
        return len(self.widths)

    @property
    def mean_squared_width(self) -> float:
        """What variances are relative to."""
        return float(np.mean(self.widths**2))

    def release(self, statistic: PointStatistic, effort: "Effort") -> "Release | None":
        """The release of a statistic at this effort; None if there is no trusted group, or it is not to spend."""
        fraction = effort.epsilon_fraction
        return Release(statistic, fraction) if self.n_trusted and fraction else None

    def rng(self) -> np.random.Generator:
        """For post-processing: always the same, so that whoever has what was published gets what we got."""
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
        """The vector of a release that was wanted; `ProtocolError` if it is missing."""
        if self.release is None:
            raise ProtocolError("A release was wanted, but nothing was published.")
        return self.release


Algorithm = Generator[Step, StepResult, ClusterEstimate]
"""Yields what it wants to know, is sent what was published, returns the centers."""
