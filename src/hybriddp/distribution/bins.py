r"""The 256 ordered bins of a distribution study: public edges, and where they lie in units.

There are 255 edges $e_0 < \dots < e_{254}$; $e_0$ and $e_{254}$ are the bounds. Bin 0 is the lower bound itself and bin
255 the upper bound itself, since zeros and clamped values pile up there. Bin $i$ between them holds the values from
$e_{i-1}$ to $e_i$. So the CDF at $e_i$ is the mass of the bins $0, \dots, i$; at the upper bound that is the mass below
it.

What decides is whole numbers: *cut* $i$ is the first unit (`Grid`) above $e_i$, and the bin of a value is the number of
cuts that are not above its units. Cuts travel in the study's text, so every engine and every device agrees on them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, localcontext
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.masked import N_BINS
from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS, Grid, read_only

N_EDGES = N_BINS - 1
KAPPA = 1000.0
"""How much denser the bins of a log scale are at the lower than at the upper bound, unless it is given."""
_KAPPA_RANGE = _check.Range("a finite number of at least 1e-06", lower=1e-6)  # at 1e-6 the bins are nearly equal
_INNER = N_BINS - 2  # bins between the bounds
_CELL_BITS = 8  # units are looked up in cells of 256
_DIGITS = 50  # of the arithmetic that log edges are computed in, so that they are the same on every machine
_SCALES = '"equal", "log" or 255 edges'


@dataclass(frozen=True, init=False)
class Bins:
    r"""The bins between two bounds.

    Parameters
    ----------
    grid : Grid
        The bounds and their units.
    scale : {"equal", "log"} or sequence of float
        ``"equal"``: all of one width. ``"log"``: narrow at the lower bound and wide at the upper one,
        $e_i = \text{lower} + \text{width}\,((1 + \kappa)^{i/254} - 1)/\kappa$. Or the 255 edges themselves, the bounds
        among them, chosen without looking at the data.
    kappa : float, optional
        $\kappa$ of the log scale, 1,000 if not given: from $10^{-6}$, nearly ``"equal"``, to a million or so.

    Examples
    --------
    >>> bins = Bins(Grid(0, 10_000), "log")
    >>> [round(edge, 2) for edge in bins.edges[[0, 1, 2, 127, 253, 254]].tolist()]
    [0.0, 0.28, 0.56, 306.39, 9731.4, 10000.0]
    >>> bins.of_units(np.array([0, 1, 1 << 23, (1 << 24) - 1, 1 << 24])).tolist()
    [0, 1, 229, 254, 255]
    >>> bins.of_value(480), bins.of_value(-3), bins.of_value(1e9)
    (144, 0, 255)
    """

    grid: Grid
    scale: str
    kappa: float | None
    given: tuple[float, ...] | None

    def __init__(self, grid: Grid, scale: str | Sequence[float] = "equal", kappa: float | None = None) -> None:
        given = None if isinstance(scale, str) else _given_edges(grid, scale)
        if given is not None:
            scale = "edges"
        elif scale not in ("equal", "log"):
            raise ParameterError("scale", _SCALES, scale)
        if kappa is not None and scale != "log":
            raise ParameterError("kappa", 'left out unless scale is "log"', kappa)
        if scale == "log":
            kappa = _check.number("kappa", KAPPA if kappa is None else kappa, _KAPPA_RANGE)
        for field, value in zip(fields(self), (grid, scale, kappa, given), strict=True):
            object.__setattr__(self, field.name, value)
        if np.any(np.diff(self.cuts) < 1):
            words = "edges that are at least a unit apart, 2^-24 of the range"
            if scale == "log":
                raise ParameterError("kappa", f"small enough for {words}", kappa)
            raise ParameterError("scale", words, "edges", shown_as="closer")

    @cached_property
    def edges(self) -> FloatArray:
        """The 255 edges as values."""
        lower, upper, width = self.grid.lower, self.grid.upper, self.grid.width
        if self.given is not None:
            inner = list(self.given[1:-1])
        elif self.scale == "log":
            inner = [lower + width * t for t in _log_positions(self.kappa or KAPPA)]
        else:
            inner = [lower + width * i / _INNER for i in range(1, _INNER)]
        return read_only(np.array([lower, *inner, upper]))

    @cached_property
    def cuts(self) -> IntArray:
        """For each edge the first unit above it: where the next bin begins."""
        if self.scale == "equal":  # bin = 1 + (units - 1) * 254 // (2^24 - 1) between the bounds
            cuts = [1 - (-i * (UNITS - 1) // _INNER) for i in range(N_EDGES)]
            return read_only(np.array(cuts, np.int64))
        units = self.grid.units(self.edges).astype(np.int64) + 1
        units[0], units[-1] = 1, UNITS
        return read_only(units)

    def of_units(self, units: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the bin of each number of units."""
        first, cut = self._cells
        if first is None:
            return np.searchsorted(self.cuts, units, side="right").astype(np.uint8)
        cell = (units >> _CELL_BITS).astype(np.intp)
        bins = np.take(first, cell, mode="clip")  # never clips; faster than indexing
        bins += units >= np.take(cut, cell, mode="clip")
        return bins

    def of_value(self, value: float) -> int:
        """Return the bin of one finite value.

        A value beyond the bounds is in the bin of the nearer bound.
        """
        return int(self.of_units(self.grid.units(np.array([value], np.float64)))[0])

    def value_in(self, number: int) -> float:
        """Return a value in the middle of a bin, to represent all of its values."""
        cuts = self.cuts
        first = int(cuts[number - 1]) if number else 0
        last = int(cuts[number]) - 1 if number < N_EDGES else UNITS
        return float(self.grid.values([(first + last) // 2])[0])

    @cached_property
    def _cells(self) -> tuple[NDArray[np.uint8] | None, NDArray[np.int32]]:
        """For each cell of units the bin of its first one, and the cut in it if there is one.

        None if some cell has more than one cut: edges that are given may be that close.
        """
        starts = np.arange(0, UNITS + 1, 1 << _CELL_BITS)
        first = np.searchsorted(self.cuts, starts, side="right")
        after = np.append(self.cuts, 2 * UNITS)[first]
        beyond = np.append(self.cuts, [2 * UNITS, 2 * UNITS])[first + 1]
        if np.any(beyond < starts + (1 << _CELL_BITS)):
            return None, np.empty(0, np.int32)
        return read_only(first.astype(np.uint8)), read_only(after.astype(np.int32))

    @property
    def middles(self) -> FloatArray:
        """The middle of each bin; of the first and the last one it is the bound."""
        edges = self.edges
        return np.concatenate([edges[:1], (edges[:-1] + edges[1:]) / 2, edges[-1:]])

    @property
    def widths(self) -> FloatArray:
        """How wide each bin is; the first and the last one have no width."""
        return np.concatenate([[0.0], np.diff(self.edges), [0.0]])

    def text_fields(self) -> dict[str, Any]:
        """Return the fields of a study's text about the bins.

        These are the scale and the cuts. A device needs nothing else.
        """
        scale: Any = self.scale
        if self.scale == "log":
            scale = {"log": self.kappa}
        elif self.given is not None:
            scale = {"edges": list(self.given)}
        return {"scale": scale, "cuts": self.cuts.tolist()}

    @staticmethod
    def read_scale(scale: Any) -> dict[str, Any]:  # noqa: ANN401  (whatever a text may hold)
        """Return the arguments ``scale`` and ``kappa`` that a study's text has as its scale."""
        if isinstance(scale, str):
            return {"scale": scale}
        ((kind, value),) = scale.items()
        return {"scale": "log", "kappa": value} if kind == "log" else {"scale": {"edges": value}[kind]}

    def __repr__(self) -> str:
        kappa = "" if self.kappa in (None, KAPPA) else f", kappa={self.kappa:g}"
        return f"Bins({self.grid.lower:g} to {self.grid.upper:g}, scale={json.dumps(self.scale)}{kappa})"


def _log_positions(kappa: float) -> list[float]:
    """Return the positions of the inner edges of a log scale on the unit range.

    Each position is rounded to the nearest float.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        exact = Decimal(kappa)
        ratio = (1 + exact).ln() / _INNER
        return [float(((ratio * i).exp() - 1) / exact) for i in range(1, _INNER)]


def _given_edges(grid: Grid, edges: Sequence[float]) -> tuple[float, ...]:
    """Edges that somebody chose, checked; they are public, but only what is wrong with them is shown."""
    given = np.atleast_1d(_check.numbers("scale", edges))
    if given.shape != (N_EDGES,):
        raise ParameterError("scale", _SCALES, given.shape, shown_as="edges of shape")
    found = tuple(float(edge) + 0.0 for edge in given)
    bad = next((i for i in range(1, N_EDGES) if not found[i - 1] < found[i]), None)
    if bad is not None:
        words = "edges that increase strictly"
        raise ParameterError("scale", words, found[bad - 1 : bad + 1], shown_as=f"edges[{bad - 1}:{bad + 1}]")
    if (found[0], found[-1]) != (grid.lower, grid.upper):
        words = f"edges that begin and end with the bounds {(grid.lower, grid.upper)}"
        raise ParameterError("scale", words, (found[0], found[-1]), shown_as="ends")
    return found
