"""Checks at the public edge: each takes a parameter's name and value and gives the value back, or raises.

Everything inside the package relies on them and does not check again.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp.errors import ParameterError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_USERS = 10**12
"""Far more than anybody has; with more of them floating point could not tell errors apart."""

# What acts on a terminal, a page or a picture instead of being shown: controls, halves of characters, what turns the
# direction of writing around, and two that no XML may hold.
_ACTS = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Range:
    """A range of real numbers, with the words that name it in an error."""

    words: str
    lower: float = -math.inf
    upper: float = math.inf
    lower_open: bool = False
    upper_open: bool = False

    def contains(self, x: FloatArray) -> NDArray[np.bool_]:
        """Whether each number is finite and in the range; NaN never is."""
        above = x > self.lower if self.lower_open else x >= self.lower
        below = x < self.upper if self.upper_open else x <= self.upper
        inside: NDArray[np.bool_] = above & below & np.isfinite(x)
        return inside


FINITE = Range("a finite number")
POSITIVE = Range("a finite number above 0", lower=0.0, lower_open=True)
NON_NEGATIVE = Range("a finite number of at least 0", lower=0.0)
FRACTION = Range("a number between 0 and 1, both excluded", lower=0.0, upper=1.0, lower_open=True, upper_open=True)
WEIGHT = Range("a number from 0 to 1", lower=0.0, upper=1.0)
DELTA = Range("a number from 0 and below 1", lower=0.0, upper=1.0, upper_open=True)
USERS = Range("a finite number of at least 2", lower=2.0)


def numbers(name: str, value: ArrayLike, allowed: Range = FINITE) -> FloatArray:
    """``value`` as float64, a scalar or an array, every element inside ``allowed``."""
    raw = _as_array(name, value, allowed)
    if raw.dtype.kind not in "iuf" or _holds_booleans(value) or np.ma.is_masked(value):
        raise ParameterError(name, f"{allowed.words}, or an array of them", value)
    array = raw.astype(np.float64)
    bad = ~allowed.contains(array)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        shown_as = f"{name}[{', '.join(map(str, at))}]" if at else name
        raise ParameterError(name, allowed.words, raw[at].item(), shown_as=shown_as)
    result: FloatArray = array[()]  # a zero-dimensional array becomes a scalar
    return result


def number(name: str, value: float, allowed: Range = FINITE) -> float:
    """``value`` as one float inside ``allowed``."""
    result = numbers(name, value, allowed)
    if np.ndim(result) != 0:
        raise ParameterError(name, f"{allowed.words} (one, not an array)", value)
    return float(result)


def integer(name: str, value: int, *, at_least: int, at_most: int | None = None) -> int:
    """``value`` as one int of at least ``at_least``, and at most ``at_most`` if that is given."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < at_least or (at_most is not None and value > at_most):
        words = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
        raise ParameterError(name, f"an integer {words}", value)
    return int(value)


def choice(name: str, value: str, options: tuple[str, ...]) -> str:
    """``value`` if it is one of ``options``."""
    if value not in options:
        raise ParameterError(name, f"one of {', '.join(map(repr, options))}", value)
    return value


def is_readable(value: object) -> bool:
    """Whether a value is a text that shows something, and is shown as it is wherever it goes."""
    return isinstance(value, str) and bool(value.strip()) and _ACTS.search(value) is None


def shown(value: str) -> str:
    """Replace what would act on a terminal or a page instead of being shown."""
    return _ACTS.sub("\N{REPLACEMENT CHARACTER}", value)


def text(name: str, value: str, says: str) -> str:
    """``value`` if it is a readable text."""
    if not is_readable(value):
        raise ParameterError(name, f"a text that says {says}, without control characters", value)
    return value


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dictionary.

    Raises `ValueError` if a name occurs twice, because readers would choose different values.
    """
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name occurs twice")
    return fields


def json_fields(text: str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises `ValueError` if the text is not a JSON object or repeats a name.
    """
    try:
        text.encode()  # which not every string can be
        fields = json.loads(text, object_pairs_hook=once_each)
    except (AttributeError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ValueError("not a JSON object")
    return fields


def compact(content: object, *, escaped: bool = False) -> str:
    """Write JSON without spaces, as texts with a digest are, with letters as they are unless they are ``escaped``."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=escaped)


def same_shape(**arrays: FloatArray) -> None:
    """Nothing, if the arrays broadcast against each other."""
    try:
        np.broadcast_shapes(*(np.shape(array) for array in arrays.values()))
    except ValueError:
        shapes = {name: np.shape(array) for name, array in arrays.items() if np.ndim(array)}
        raise ParameterError(" and ".join(shapes), "arrays whose shapes broadcast", shapes, shown_as="shapes") from None


def _as_array(name: str, value: ArrayLike, allowed: Range) -> NDArray[Any]:
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O" and all(type(item) is int for item in array.flat):
            array = array.astype(np.float64)  # integers that are larger than numpy's
        return array
    except (ValueError, TypeError, OverflowError):  # ragged nests, objects that refuse to become arrays
        raise ParameterError(name, f"{allowed.words}, or an array of them", value) from None


def _holds_booleans(value: ArrayLike) -> bool:
    """Whether a list mixes booleans into numbers, which numpy would quietly turn into 0 and 1."""
    if isinstance(value, (list, tuple)):
        return any(_holds_booleans(item) for item in value)
    return isinstance(value, (bool, np.bool_))
