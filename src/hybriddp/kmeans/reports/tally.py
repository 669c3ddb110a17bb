"""A question to local users, and the tally of their answers."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.errors import ProtocolError
from hybriddp.kmeans.reports.questions import Question
from hybriddp.kmeans.reports.symbols import SymbolChannel, symbol_counts


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to some of the local users, each of whom answers once and is not asked again.

    Attributes
    ----------
    question : Question
        What.
    channel : SymbolChannel
        How it is answered: with all of ε.
    user_fraction : Fraction
        How many of the local users are asked.
    """

    question: Question
    channel: SymbolChannel
    user_fraction: Fraction


@dataclass(frozen=True, slots=True)
class ReportTally:
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

    def __add__(self, other: "ReportTally") -> "ReportTally":
        if self.supports.shape != other.supports.shape or self.users.shape != other.users.shape:
            raise ProtocolError(
                f"Answers to different questions do not add up: {self.supports.shape} and {other.supports.shape}."
            )
        return ReportTally(self.supports + other.supports, self.users + other.users)

    def checked(self, n_variants: int, n_symbols: int) -> "ReportTally":
        """The same as 64-bit integers; `ProtocolError` if they cannot be answers to so many variants and symbols."""
        supports, users = np.asarray(self.supports), np.asarray(self.users)
        shapes = supports.shape == (n_variants, n_symbols) and users.shape == (n_variants,)
        whole = supports.dtype.kind in "iu" and users.dtype.kind in "iu"
        if not (shapes and whole and (supports >= 0).all() and (supports <= users[:, None]).all() and _few(users)):
            raise ProtocolError(
                f"Answers must be counts of shape {(n_variants, n_symbols)}, none above the number of users of its "
                f"variant, got shape {supports.shape}."
            )
        return ReportTally(supports.astype(np.int64), users.astype(np.int64))

    def counts(self, channel: SymbolChannel) -> FloatArray:
        """Unbiased counts of the symbols."""
        return symbol_counts(channel, self.supports, self.users)


def _few(users: IntArray) -> bool:
    """Whether there are fewer users than sums of 64 bits can hold."""
    return bool((users < 1 << 40).all())
