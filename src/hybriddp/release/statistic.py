"""Statistics of the trusted group: exact integers, and how far one user can move them. Not private.

A `Statistic` is what the door (`hybriddp.release.release`) is given and never what it returns. Its ``repr`` does not
show the numbers, so that a log or a notebook does not give them away.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Statistic:
    """Exact integers about the trusted group.

    Attributes
    ----------
    label : str
        What they are, as the ledger and its auditor read it: ``"total of the trusted group"``.
    values : ndarray of int
        The numbers, without noise.
    sensitivity : int
        How much the numbers change at most if one user's value is replaced, all changes added up ($L_1$).
    count : int
        Number of trusted users, which is public.
    """

    label: str
    values: NDArray[np.int64]
    sensitivity: int
    count: int

    def __post_init__(self) -> None:
        whole = isinstance(self.values, np.ndarray) and self.values.dtype == np.int64
        if not whole or self.values.ndim != 1 or not len(self.values):
            raise ParameterError("values", "a one-dimensional array of 64-bit integers", type(self.values).__name__)
        if type(self.sensitivity) is not int or self.sensitivity < 1:
            raise ParameterError("sensitivity", "a positive integer", self.sensitivity)

    def __repr__(self) -> str:
        return f"Statistic({self.label!r}, {len(self.values):,} numbers of {self.count:,} users: not private)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpenStatistic:
    """How many trusted users have each item of an open domain, whose items nobody knows beforehand.

    Each user adds 1 to at most one count, so a replaced item changes two counts by 1.

    Attributes
    ----------
    label : str
        What they are, as the ledger reads it.
    counts : mapping of str to int
        Exact counts.
    count : int
        Number of trusted users, which is public.
    candidates : tuple of str
        Public items that are released without a threshold, whether anybody has them or not.
    """

    label: str
    counts: Mapping[str, int]
    count: int
    candidates: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"OpenStatistic({self.label!r}, of {self.count:,} users: not private)"
