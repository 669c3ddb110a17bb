"""What the algorithm wants to know next: from local users through a channel, from the trusted group through noise.

The algorithm itself never sees a point. It is a generator that yields requests and is given what was published in
return, so that everything it computes is post-processing, by construction.
"""

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

from hybriddp._check import FloatArray, IntArray
from hybriddp.kmeans.reports.base import Ask, ReportTally
from hybriddp.kmeans.statistics import Statistic


@dataclass(frozen=True, slots=True)
class Release:
    """A statistic of the trusted group.

    Attributes
    ----------
    statistic : Statistic
        What.
    epsilon_fraction : Fraction
        Which part of ε it costs.
    """

    statistic: Statistic
    epsilon_fraction: Fraction


@dataclass(frozen=True, slots=True)
class Step:
    """What is wanted at the same time.

    Attributes
    ----------
    what : str
        What for, in words.
    asks : tuple of Ask
        Of local users.
    release : Release or None
        Of the trusted group.
    """

    what: str
    asks: tuple[Ask, ...] = ()
    release: Release | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """The numbers of a release, and the variance of the noise on each."""

    values: IntArray
    variance: float


@dataclass(frozen=True, slots=True)
class StepResult:
    """What came back."""

    answers: tuple[ReportTally, ...] = ()
    published: Published | None = None


@dataclass(frozen=True, slots=True)
class Centers:
    """What the algorithm ends with, in the unit box.

    Attributes
    ----------
    centers : ndarray, shape (K, d)
        The centers.
    variance : ndarray, shape (K, d)
        The variance of each coordinate that noise and sampling leave, as far as is known.
    sizes : ndarray, shape (K,)
        The share of users in each cluster.
    trusted_weight : ndarray, shape (K,)
        How much of each center the trusted group decided.
    """

    centers: FloatArray
    variance: FloatArray
    sizes: FloatArray
    trusted_weight: FloatArray


Algorithm = Generator[Step, StepResult, Centers]
"""Yields what it wants to know, is sent what was published, returns the centers."""
