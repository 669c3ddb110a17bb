"""The cube that the paper's K-means works in: one scale for all dimensions, so that distances stay in proportion."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Cube:
    """The unit cube around public bounds; the widest dimension fills it.

    Attributes
    ----------
    lower : ndarray, shape (d,)
        The lower bounds, in the data's units.
    scale : float
        The largest width, in the data's units: the paper's $m$.
    widths : ndarray, shape (d,)
        How far the data reach along each dimension, at most 1.
    """

    lower: FloatArray
    scale: float
    widths: FloatArray

    @classmethod
    def around(cls, bounds: Sequence[tuple[float, float]]) -> "Cube":
        """The cube of a (lower, upper) pair per dimension.

        Examples
        --------
        >>> Cube.around([(0, 10), (5, 10)]).widths
        array([1. , 0.5])
        """
        pairs = _check.numbers("bounds", bounds)
        if pairs.shape != (len(np.atleast_1d(pairs)), 2) or not len(pairs) or not np.all(pairs[:, 0] < pairs[:, 1]):
            raise ParameterError("bounds", "a (lower, upper) pair per dimension, the lower below the upper", bounds)
        widths = pairs[:, 1] - pairs[:, 0]
        return cls(pairs[:, 0], float(widths.max()), widths / widths.max())

    @property
    def n_dimensions(self) -> int:
        """How many numbers a point has."""
        return len(self.widths)

    def place(self, name: str, points: ArrayLike) -> FloatArray:
        """The points in the cube; nobody is an empty list, and what is out of bounds goes to the nearest wall."""
        array = np.asarray(_check.numbers(name, points)) if np.size(points) else np.empty((0, self.n_dimensions))
        if array.shape != (len(np.atleast_1d(array)), self.n_dimensions):
            raise ParameterError(name, f"an array of shape (n, {self.n_dimensions})", array.shape, shown_as="its shape")
        return self.clip((array - self.lower) / self.scale)

    def clip(self, points: FloatArray) -> FloatArray:
        """The points, those out of bounds at the nearest wall."""
        return np.clip(points, 0.0, self.widths)

    def restore(self, points: FloatArray) -> FloatArray:
        """The points in the data's units."""
        return self.lower + self.scale * points
