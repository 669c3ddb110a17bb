"""What the algorithm wants to know next: from local users through a channel, from the trusted group through noise.

The algorithm itself never sees a point. It is a generator that hands out requests and is given what was published in
return, so that everything it computes is post-processing, by construction.
"""

from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.errors import ProtocolError
from hybriddp.kmeans.questions import Question
from hybriddp.kmeans.statistics import Statistic
from hybriddp.kmeans.symbols import SymbolChannel, symbol_counts


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to some of the local users, each of whom answers once and is not asked again.

    Attributes
    ----------
    question : Question
        What.
    channel : SymbolChannel
        How it is answered: with all of ε.
    share : Fraction
        How many of the local users are asked.
    """

    question: Question
    channel: SymbolChannel
    share: Fraction


@dataclass(frozen=True, slots=True)
class Release:
    """A statistic of the trusted group.

    Attributes
    ----------
    statistic : Statistic
        What.
    share : Fraction
        Which part of ε it costs.
    """

    statistic: Statistic
    share: Fraction


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
class Answers:
    """What local users answered, as counts.

    Attributes
    ----------
    supports : ndarray, shape (n_variants, n_symbols)
        How many reports support each symbol, in each variant.
    users : ndarray, shape (n_variants,)
        How many users answered each variant.
    """

    supports: IntArray
    users: IntArray

    def __add__(self, other: "Answers") -> "Answers":
        if self.supports.shape != other.supports.shape or self.users.shape != other.users.shape:
            raise ProtocolError(
                f"Answers to different questions do not add up: {self.supports.shape} and {other.supports.shape}."
            )
        return Answers(self.supports + other.supports, self.users + other.users)

    def checked(self, n_variants: int, n_symbols: int) -> "Answers":
        """The same as 64-bit integers; `ProtocolError` if they cannot be answers to so many variants and symbols."""
        supports, users = np.asarray(self.supports), np.asarray(self.users)
        shapes = supports.shape == (n_variants, n_symbols) and users.shape == (n_variants,)
        whole = supports.dtype.kind in "iu" and users.dtype.kind in "iu"
        if not (shapes and whole and (supports >= 0).all() and (supports <= users[:, None]).all() and _few(users)):
            raise ProtocolError(
                f"Answers must be counts of shape {(n_variants, n_symbols)}, none above the number of users of its "
                f"variant, got shape {supports.shape}."
            )
        return Answers(supports.astype(np.int64), users.astype(np.int64))

    def counts(self, channel: SymbolChannel) -> FloatArray:
        """Unbiased counts of the symbols."""
        return symbol_counts(channel, self.supports, self.users)


def _few(users: IntArray) -> bool:
    """Whether there are fewer users than sums of 64 bits can hold."""
    return bool((users < 1 << 40).all())


@dataclass(frozen=True, slots=True)
class Published:
    """The numbers of a release, and the variance of the noise on each."""

    values: IntArray
    variance: float


@dataclass(frozen=True, slots=True)
class Heard:
    """What came back."""

    answers: tuple[Answers, ...] = ()
    published: Published | None = None


@dataclass(frozen=True, slots=True)
class Centres:
    """What the algorithm ends with, in the unit box.

    Attributes
    ----------
    centres : ndarray, shape (K, d)
        The centres.
    variance : ndarray, shape (K, d)
        The variance of each coordinate that noise and sampling leave, as far as is known.
    sizes : ndarray, shape (K,)
        The share of users in each cluster.
    trusted_weight : ndarray, shape (K,)
        How much of each centre the trusted group decided.
    """

    centres: FloatArray
    variance: FloatArray
    sizes: FloatArray
    trusted_weight: FloatArray


Talk = Generator[Step, Heard, Centres]
"""The algorithm."""
