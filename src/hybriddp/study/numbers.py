"""`NumberStudy`: a study of numbers between public bounds, which become units of a grid."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.channel import CHUNK
from hybriddp.errors import DataError
from hybriddp.grid import Grid, as_array, as_floats
from hybriddp.randomness import byte_source
from hybriddp.release.release import Seed
from hybriddp.study.groups import EvidenceT, OptionsT
from hybriddp.study.reports import refuse_reports
from hybriddp.study.study import ResultT, Study
from hybriddp.study.summary import TrustedSummary

_CHUNK = 1 << 17  # values summed at a time: they stay in the cache


class NumberStudy(Study[EvidenceT, OptionsT, ResultT]):
    """A study of numbers. A kind says what its channel takes, and what is summed."""

    bounds: tuple[float, float]

    @property
    @abstractmethod
    def grid(self) -> Grid:
        """The grid between the bounds."""

    @property
    def width(self) -> float:
        """Upper bound minus lower bound."""
        return self.grid.width

    @abstractmethod
    def inputs(self, units: NDArray[np.int32]) -> NDArray[Any]:
        """Turn units into inputs of the channel."""

    @abstractmethod
    def count(self, units: NDArray[np.int32]) -> IntArray:
        """Sum up units as the release needs them."""

    def draw_codes(self, values: ArrayLike, random_state: Seed) -> NDArray[Any]:
        """Draw one code for each value."""
        array = _one_dimension(values)
        self.grid.refuse_missing(array, chunk=CHUNK)

        def inputs(part: slice) -> NDArray[Any]:
            return self.inputs(self.grid.units(as_floats(array[part])))

        return self.channel.draw(len(array), inputs, byte_source(random_state))

    def summarize_trusted(self, values: ArrayLike) -> TrustedSummary:
        """Summarize the trusted group's values as exact sums: not private.

        Missing, NaN and infinite values are left out and counted; values outside of the bounds are clamped and counted.
        """
        array = _one_dimension(values)
        sums, count, clamped = np.zeros(self.n_sums, np.int64), 0, 0
        scratch = np.empty(min(_CHUNK, len(array)))
        for start in range(0, len(array), _CHUNK):
            x = _finite(as_floats(array[start : start + _CHUNK]))
            count += len(x)
            clamped += int(np.count_nonzero(x < self.bounds[0])) + int(np.count_nonzero(x > self.bounds[1]))
            sums += self.count(self.grid.units(x, scratch=scratch))
        return TrustedSummary(self.digest, count, tuple(sums.tolist()), len(array) - count, clamped=clamped)


def _one_dimension(values: ArrayLike) -> NDArray[Any]:
    """Return values as an array; `DataError` if they are reports or have several dimensions."""
    refuse_reports(values)
    array = np.atleast_1d(as_array(values))
    if array.ndim != 1:
        raise DataError(f"values must be a scalar or one-dimensional, got shape {array.shape}.")
    return array


def _finite(x: FloatArray) -> FloatArray:
    """Return the finite ones, without a copy if all are."""
    finite = np.isfinite(x)
    return x if finite.all() else x[finite]
