"""Channels whose input is a number between two bounds."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp.channels.channel import CHUNK, Channel, integer_inputs
from hybriddp.errors import DataError
from hybriddp.grid import UNITS, Grid, as_array, as_floats
from hybriddp.randomness import byte_source


class NumberChannel(Channel):
    """A channel that takes units of a grid, and so any number between bounds."""

    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        """Inputs are units of the grid."""
        return integer_inputs(inputs, UNITS, "units")

    def randomize(
        self,
        values: ArrayLike,
        *,
        bounds: tuple[float, float],
        random_state: int | np.random.Generator | None = None,
    ) -> NDArray[Any]:
        """One report per value, as the users' own devices would make it.

        Parameters
        ----------
        values : array_like
            A number or a one-dimensional array of any numeric type. A missing or infinite value is an error.
        bounds : (float, float)
            The public range; values outside are moved to the nearer bound.
        random_state : int or numpy.random.Generator, optional
            For simulation only: with it the codes can be repeated, and are **not private**.
        """
        grid = Grid.of(bounds)
        array = as_array(values)
        if array.ndim > 1:
            raise DataError(f"values must be a scalar or one-dimensional, got shape {array.shape}.")
        flat = np.atleast_1d(array)
        grid.refuse_missing(flat, chunk=CHUNK)
        codes = self.draw(len(flat), lambda part: grid.units(as_floats(flat[part])), byte_source(random_state))
        return codes if array.ndim else codes[0]
