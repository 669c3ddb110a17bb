"""The public categories of a study, and where the items of users are among them.

Items are texts or integers, as the categories are. An item of another type is an error. What is missing (None, NaN) is
left out and counted. An item that is none of the categories counts as `OTHER`, if the study has that, and is left out
and counted if not. Nothing is ever dropped silently, and no item is ever shown.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp._check import IntArray
from hybriddp.errors import DataError, ParameterError, raise_unchained
from hybriddp.grid import type_words
from hybriddp.study.reports import refuse_reports

OTHER = "(other)"
"""What a result calls the items that are none of the categories."""
MOST_CATEGORIES = 1 << 20
LONGEST_CATEGORY = 1000  # characters
LARGEST_INTEGER = (1 << 53) - 1  # which every language has
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # Unicode's categories of what nobody can see
# Letters, marks and a symbol that are blank all the same: those that Unicode lets every font ignore, and empty Braille.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
_PRESENTATION = re.compile(
    "(.?)[\ufe0e\ufe0f]", re.DOTALL
)  # turns a symbol into a picture, and does nothing to letters
MISSING, OUTSIDE = -1, -2
"""What stands in the place of a category's number where an item is missing, and where it is none of them."""
_MISSING_TYPES = ("NAType", "NaTType")  # what pandas writes

Item = str | int


@dataclass(frozen=True, slots=True, repr=False)
class PlacedItems:
    """Items as the numbers of their categories."""

    categories: IntArray
    """Of the items that have one, in their order."""
    missing: int
    """How many were None or NaN."""
    outside: int
    """How many were none of the categories and are left out."""

    def __repr__(self) -> str:  # raw items are not for logs
        return f"<PlacedItems: {len(self.categories):,} items, {self.missing:,} missing, {self.outside:,} outside>"


@dataclass(frozen=True)
class Categories:
    """Different texts, or different integers, in a fixed order; and maybe all others together as one more."""

    items: tuple[Item, ...]
    other: bool

    @classmethod
    def of(cls, categories: object, *, other: bool | None = None) -> "Categories":
        """Check categories of a list, a tuple or an array; three or more have other items, unless asked not to."""
        if other is not None and not isinstance(other, bool):
            raise ParameterError("other", "True, False or None", other)
        if isinstance(categories, str | bytes) or not isinstance(categories, Sequence | np.ndarray):
            expected = "a list of texts or of integers, in the order that results have"
            raise ParameterError("categories", expected, categories)
        items = _plain(categories)
        if other is None:
            other = len(items) > 2
        if len(items) + other < 2:
            remedy = "To ask who has one item, give both answers, or add other=True."
            raise ParameterError("categories", "at least 2, other items included", list(items), remedy=remedy)
        if len(items) > MOST_CATEGORIES:
            remedy = "For an open domain there are heavy hitters."
            expected = f"at most {MOST_CATEGORIES:,}"
            raise ParameterError("categories", expected, len(items), shown_as="their number", remedy=remedy)
        if len(set(items)) != len(items):
            twice = [item for item, times in Counter(items).items() if times > 1]
            raise ParameterError("categories", "different from each other", twice, shown_as="repeated ones")
        if other and OTHER in items:
            raise ParameterError(
                "categories", f"other than {OTHER!r}, as all other items are called unless other=False", OTHER
            )
        return cls(items, other)

    def __len__(self) -> int:
        """Return the number of categories, including the one for all other items."""
        return len(self.items) + self.other

    @property
    def names(self) -> tuple[Item, ...]:
        """All of them, as results name them."""
        return (*self.items, OTHER) if self.other else self.items

    @property
    def are_texts(self) -> bool:
        """Whether they are texts; integers if not."""
        return isinstance(self.items[0], str)

    @cached_property
    def numbers(self) -> dict[Item, int]:
        """The number of each name."""
        return {name: number for number, name in enumerate(self.names)}

    def place(self, items: object) -> PlacedItems:
        """Place every item in its category.

        The items are a list, a tuple, an array, a column of a table or a single item.
        """
        found = self.find(items)
        missing = int(np.count_nonzero(found == MISSING))
        outside = int(np.count_nonzero(found == OUTSIDE))
        if self.other:
            found[found == OUTSIDE] = len(self.items)
            outside = 0
        return PlacedItems(found[found >= 0] if missing or outside else found, missing, outside)

    def find(self, items: object) -> IntArray:
        """Return the number of each item's category, `MISSING` or `OUTSIDE`."""
        refuse_reports(items)
        if isinstance(items, str | int | np.str_ | np.integer) or items is None:
            return self._look_up([items])
        if isinstance(items, list | tuple):
            return self._look_up(items)
        array, masked = item_array(items)
        found = self._find_in(array)
        if masked is not None:
            found[masked] = MISSING
        return found

    def _find_in(self, array: NDArray[Any]) -> IntArray:
        kind = array.dtype.kind
        if array.size == 0:
            return np.empty(0, np.int64)
        if kind in "OUT":
            return self._look_up(array.tolist())
        if kind == "f" and (not self.are_texts or np.isnan(array).all()):  # integers of which some are missing
            missing = np.isnan(array)
            _require_whole(array[~missing])
            within = ~missing & (np.abs(array) <= LARGEST_INTEGER)
            found = self._find_integers(np.where(within, array, 0.0).astype(np.int64))
            return np.where(missing, MISSING, np.where(within, found, OUTSIDE))
        if kind in "iu" and not self.are_texts:
            within = (array <= LARGEST_INTEGER) & (array >= -LARGEST_INTEGER if kind == "i" else True)
            return np.where(within, self._find_integers(np.where(within, array, 0).astype(np.int64)), OUTSIDE)
        raise DataError(f"items must be {self.words}, as the categories are, got {type_words(array)}.")

    @property
    def words(self) -> str:
        """What items are."""
        return "texts" if self.are_texts else "integers"

    def _find_integers(self, array: IntArray) -> IntArray:
        if self.are_texts:
            return np.full(len(array), OUTSIDE)
        ordered, numbers = self._ordered
        if ordered[-1] - ordered[0] == len(ordered) - 1:  # without gaps, so the place follows from the difference
            place = np.clip(array - ordered[0], 0, len(ordered) - 1)
        else:
            place = np.minimum(np.searchsorted(ordered, array), len(ordered) - 1)
        return np.where(ordered[place] == array, numbers[place], OUTSIDE)

    @cached_property
    def _ordered(self) -> tuple[IntArray, IntArray]:
        """Integers in ascending order, and the numbers of their categories."""
        values = np.array(self.items, np.int64)
        numbers = np.argsort(values)
        return values[numbers], numbers

    def _look_up(self, items: Sequence[Any]) -> IntArray:
        missing = self.missing_places(items)
        found = np.fromiter(map(self.numbers.get, items, repeat(OUTSIDE)), np.int64, len(items))
        found[missing] = MISSING
        return found

    def missing_places(self, items: Sequence[Any]) -> list[int]:
        """Return the places of missing items.

        Raises `DataError` if an item is of another type than the categories.
        """
        right = (str,) if self.are_texts else (int, np.integer)
        doubtful = {kind for kind in set(map(type, items)) if kind is bool or not issubclass(kind, right)}
        missing = []
        if doubtful:  # item by item: they may be missing, or whole numbers that a table has made floats
            for place, item in enumerate(items):
                if type(item) in doubtful:
                    if is_missing(item):
                        missing.append(place)
                    elif self.are_texts or not _is_whole_float(item):
                        raise DataError(
                            f"items must be {self.words}, as the categories are, got one of type {type(item).__name__}."
                        )
        return missing


def item_array(items: object) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Read items as an array of one dimension, and which of them are masked, if any can be."""
    try:
        masked = np.ma.getmaskarray(items) if isinstance(items, np.ma.MaskedArray) else None
        array = np.asarray(items)
    except Exception:
        raise_unchained(DataError(f"items must be a list or an array, got {type(items).__name__} that is none."))
    if array.ndim != 1:
        what = f"shape {array.shape}" if array.ndim else type(items).__name__
        raise DataError(f"items must be one-dimensional, got {what}.")
    return array, masked


def is_missing(item: object) -> bool:
    """Whether there is no item: None, NaN, or what pandas writes instead."""
    if isinstance(item, float | np.floating):
        return bool(np.isnan(item))
    return item is None or type(item).__name__ in _MISSING_TYPES


def is_shown(item: object) -> bool:
    """Whether a result can show an item of an open domain; what it cannot show counts as `OTHER`.

    Two items that look the same must be the same, as far as a character can tell: what is invisible (zero-width
    characters, marks of direction, controls, line and paragraph separators, blank letters, selectors of variants) or
    has no meaning of its own (private use, not assigned) is not shown. Letters of different scripts that look alike
    are, and so are symbols as text and as emoji.
    """
    if not isinstance(item, str) or len(item) > LONGEST_CATEGORY or item == OTHER or not _check.is_readable(item):
        return False
    if _BLANK.search(item) is not None:
        return False
    if any(before < "\u2000" or category(before) != "So" for before in _PRESENTATION.findall(item)):
        return False
    return item.isprintable() or not any(category(character) in _UNSEEN for character in item)


def _plain(categories: Sequence[Any] | NDArray[Any]) -> tuple[Item, ...]:
    """Categories as plain texts or plain integers, all of one type."""
    items = categories.tolist() if isinstance(categories, np.ndarray) else list(categories)
    items = [item.item() if isinstance(item, np.generic) else item for item in items]
    if all(isinstance(item, str) for item in items):
        if not all(_check.is_readable(item) and len(item) <= LONGEST_CATEGORY for item in items):
            expected = f"readable texts of 1 to {LONGEST_CATEGORY:,} characters, without control characters"
            raise ParameterError("categories", expected, items)
        return tuple(map(str, items))
    if not all(type(item) is int for item in items):
        raise ParameterError("categories", "all texts, or all integers", items)
    if any(abs(item) > LARGEST_INTEGER for item in items):
        raise ParameterError("categories", "integers between -2^53 and 2^53", items)
    return tuple(items)


def _is_whole_float(item: object) -> bool:
    return isinstance(item, float | np.floating) and float(item).is_integer()


def _require_whole(array: NDArray[Any]) -> None:
    if not np.all(np.isfinite(array) & (array == np.floor(array))):
        raise DataError("items must be integers, got numbers that are not whole.")
