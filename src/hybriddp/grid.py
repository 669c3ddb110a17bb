r"""Bounds and units: a value becomes a whole number from 0 to $2^{24}$, once, at the door.

After that nothing is a floating-point number any more: a sum of units is exact, does not depend on the order of its
terms or on the engine that adds them, and one user can change it by at most $2^{24}$.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError, raise_unchained

UNITS = 1 << 24
"""Units between the lower and the upper bound."""

_KINDS = {"U": "text", "S": "bytes", "b": "booleans", "c": "complex numbers", "M": "dates", "m": "durations"}


@dataclass(frozen=True, slots=True)
class GridValues:
    """Values on the grid.

    Attributes
    ----------
    units : ndarray of int32
        The accepted values, in their order.
    accepted, rejected : ndarray of bool, int
        Which values were accepted, and how many were missing, NaN or infinite: these are left out, never replaced.
    """

    units: NDArray[np.int32]
    accepted: NDArray[np.bool_]
    rejected: int

    def __repr__(self) -> str:
        return f"<GridValues: {len(self.units):,} values, {self.rejected:,} rejected>"  # raw values are not for logs


@dataclass(frozen=True, slots=True)
class Grid:
    r"""The grid of a study: value $x$ is $\lfloor (x - \text{lower})\cdot 2^{24}/\text{width} + 1/2 \rfloor$ units.

    Values outside of the bounds are moved to the nearer bound first. The same floating-point operations in the same
    order give the same units in every engine and language.

    Parameters
    ----------
    lower, upper : float
        The bounds: public, finite, and chosen without looking at the data.

    Examples
    --------
    >>> grid = Grid(0, 240)
    >>> placed = grid.place([0, 30, 999, float("nan")])
    >>> placed.units.tolist(), placed.rejected
    ([0, 2097152, 16777216], 1)
    >>> grid.values([2097152]).tolist()
    [30.0]
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        lower = _check.number("bounds[0]", self.lower)
        upper = _check.number("bounds[1]", self.upper)
        if not lower < upper:
            raise ParameterError("bounds", "a pair (lower, upper) with lower below upper", (self.lower, self.upper))
        with np.errstate(over="ignore"):
            scale = np.float64(UNITS) / np.float64(upper - lower)
        if not (np.isfinite(upper - lower) and np.isfinite(scale) and 1e-140 < upper - lower < 1e140):
            raise ParameterError(
                "bounds", "a pair whose difference floating point can divide and square", (lower, upper)
            )
        object.__setattr__(self, "lower", lower + 0.0)  # no minus zero: equal bounds have equal texts
        object.__setattr__(self, "upper", upper + 0.0)

    @classmethod
    def of(cls, bounds: tuple[float, float]) -> "Grid":
        """Create the grid between two bounds given as a pair."""
        try:
            lower, upper = bounds
        except (TypeError, ValueError):
            raise ParameterError("bounds", "a pair (lower, upper)", bounds) from None
        return cls(lower, upper)

    @property
    def width(self) -> float:
        """Upper bound minus lower bound."""
        return self.upper - self.lower

    def place(self, values: ArrayLike) -> GridValues:
        """Values of any numeric type on the grid; what is missing or not finite is left out and counted."""
        x = as_floats(values)
        accepted = np.isfinite(x)
        rejected = int(x.size - np.count_nonzero(accepted))
        return GridValues(units=self.units(x[accepted] if rejected else x), accepted=accepted, rejected=rejected)

    def refuse_missing(self, values: NDArray[Any], *, chunk: int) -> None:
        """Raise `DataError` if any value is missing, NaN or infinite; looks at ``chunk`` values at a time."""
        starts = range(0, len(values), chunk)
        missing = sum(int(np.count_nonzero(~np.isfinite(as_floats(values[i : i + chunk])))) for i in starts)
        if missing:
            raise DataError(
                f"values must be finite numbers, but {missing:,} of {len(values):,} are missing, NaN or infinite. "
                "Leave them out: there is no report for a value that is not there."
            )

    def units(self, x: FloatArray, *, scratch: FloatArray | None = None) -> NDArray[np.int32]:
        """Convert finite floats to units.

        ``scratch`` is a work buffer that is at least as long as ``x``.
        """
        out = None if scratch is None else scratch[: len(x)]
        units: NDArray[np.int32] = self.to_units(x, floor=lambda y: y.astype(np.int32), out=out)  # never negative
        return units

    def to_units(self, x: Any, *, floor: Callable[[Any], Any], out: FloatArray | None = None) -> Any:  # noqa: ANN401
        """Clamp, scale, add a half, floor: for arrays, and for the expressions of a table's engine.

        Rounding functions differ between engines, floor does not; ``floor`` also makes integers of the floats.
        """
        y = clamp_and_scale(x, self.lower, self.upper, UNITS / self.width, out=out)
        y += 0.5
        return floor(y)

    def values(self, units: ArrayLike) -> FloatArray:
        """Return the values in the middle of units.

        This is the inverse of `place` wherever floats can distinguish units.
        """
        u = np.asarray(as_array(units, "units"))
        if np.ma.is_masked(units) or u.dtype.kind not in "iu" or np.any((u < 0) | (u > UNITS)):
            raise ParameterError("units", f"integers from 0 to {UNITS}", type_words(u), shown_as="units of type")
        return np.where(u == UNITS, self.upper, self.lower + u * (self.width / UNITS))


def clamp_and_scale(x: Any, lower: Any, upper: Any, factor: Any, *, out: FloatArray | None = None) -> Any:  # noqa: ANN401
    """Clamp to the bounds, subtract the lower one, multiply: the same bits in numpy and in every engine of a table.

    ``x`` is an array, which is left alone, or an expression of narwhals: both know these operations. There is no
    division, since some engines multiply by the inverse instead.
    """
    y = x.clip(lower, upper) if out is None else x.clip(lower, upper, out=out)
    if np.any(lower):  # subtracting 0 changes nothing
        y -= lower
    y *= factor
    return y


def as_floats(values: ArrayLike) -> FloatArray:
    """Values as a float array of one dimension, where NaN stands for what is missing."""
    array: NDArray[Any] = np.atleast_1d(np.ma.filled(values, np.nan) if _masked_floats(values) else as_array(values))
    if array.ndim != 1:
        raise DataError(f"values must be a scalar or one-dimensional, got shape {array.shape}.")
    if array.dtype.kind == "O":
        return np.array([_as_float(value) for value in array], np.float64)
    if array.dtype.kind not in "iuf":
        raise DataError(
            f"values must be numbers, got {type_words(array)}. Convert them first, for example with .astype(float)."
        )
    with np.errstate(over="ignore"):  # a wider float beyond float64 becomes infinite, and is then rejected
        return array.astype(np.float64, copy=False)


def as_array(values: ArrayLike, what: str = "values") -> NDArray[Any]:
    """Data as an array, a masked one if it was; `DataError` instead of what numpy says about its content."""
    try:
        return np.asanyarray(values)
    except Exception:
        raise_unchained(DataError(f"{what} must be an array of numbers, got {type(values).__name__} that is none."))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only and return it.

    Results that are computed once are shared by all callers.
    """
    array.flags.writeable = False
    return array


def type_words(array: NDArray[Any]) -> str:
    """Describe the type of an array's elements for an error message.

    NumPy's own name of a string type includes the length of the longest string.
    """
    return _KINDS.get(array.dtype.kind, array.dtype.name)


def _masked_floats(values: object) -> bool:
    if not isinstance(values, np.ma.MaskedArray):
        return False
    if values.dtype.kind != "f":
        raise DataError("masked values must be floats. Convert them first with .astype(float).")
    return True


def _as_float(value: object) -> float:
    if value is None:
        return np.nan
    if isinstance(value, (bool, np.timedelta64)):
        raise DataError(f"values must be numbers, got one of type {type(value).__name__}.")
    if isinstance(value, (int, float, np.integer, np.floating, Decimal, Fraction)):
        try:
            return float(value)
        except OverflowError:  # an integer beyond all floats lies beyond every bound
            return sys.float_info.max if value > 0 else -sys.float_info.max
        except ValueError:  # a signaling NaN of the decimal module
            return np.nan
    if type(value).__name__ in ("NAType", "NaTType"):  # what pandas writes for missing values
        return np.nan
    raise DataError(f"values must be numbers, got one of type {type(value).__name__}.")
