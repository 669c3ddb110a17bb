"""The trusted group's points: what the server may compute from them, whatever holds them."""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp._check import FloatArray
from hybriddp.kmeans.box import Box
from hybriddp.kmeans.clustering import blocks
from hybriddp.kmeans.statistics import Statistic

BLOCK = 1 << 16


@runtime_checkable
class TrustedPoints(Protocol):
    """Raw points. What a server makes of them leaves through a release, or through the channel of local users."""

    @property
    def box(self) -> Box:
        """The bounds that they were made for."""

    @property
    def count(self) -> int:
        """How many users there are."""

    @property
    def clamped(self) -> int:
        """How many points lay outside of the bounds. Not private: for the curator's eyes."""

    def exact(self, statistic: Statistic) -> NDArray[np.int64]:
        """The statistic without noise."""

    def points_of(self, users: NDArray[np.int64]) -> Iterator[FloatArray]:
        """The points of some users in the unit box, block by block."""


class PointArray:
    """Points in memory.

    Parameters
    ----------
    box : Box
        The bounds.
    points : array_like, shape (n, d)
        The points, in the units of the data.
    what : str
        What they are called in an error.
    """

    def __init__(self, box: Box, points: ArrayLike, what: str) -> None:
        self.box = box
        self._points = box.check(points, what)
        self.clamped = sum(box.place_checked(self._points[part]).clamped for part in blocks(len(self._points), BLOCK))

    @property
    def count(self) -> int:
        """How many users there are."""
        return len(self._points)

    def exact(self, statistic: Statistic) -> NDArray[np.int64]:
        """The statistic without noise."""
        total = np.zeros(statistic.size, np.int64)
        for part in blocks(self.count, BLOCK):
            total += statistic.compute(self.box.place_checked(self._points[part]).points)
        return total

    def points_of(self, users: NDArray[np.int64]) -> Iterator[FloatArray]:
        """The points of some users in the unit box, block by block."""
        for part in blocks(len(users), BLOCK):
            yield self.box.place_checked(self._points[users[part]]).points
