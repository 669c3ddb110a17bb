"""The items of users in an open domain: one text per user.

What no study could show, an empty text or one with control characters or of more than 1,000 characters, counts as
other. What is missing (None, NaN) is left out and counted. Devices and servers handle an item as an integer, too.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybriddp.errors import DataError
from hybriddp.shares.categories import OTHER, is_missing, is_shown, item_array
from hybriddp.study.reports import refuse_reports

LONGEST_ITEM = 64
"""Bytes of an item in UTF-8 that a server keeps; longer ones count as other."""
_SEVERAL = (list, set, frozenset, tuple, np.ndarray)


@dataclass(frozen=True, slots=True, repr=False)
class UserItems:
    """The item of each user, and how many users were left out."""

    items: list[str]
    missing: int

    def __repr__(self) -> str:  # raw items are not for logs
        return f"<UserItems of {len(self.items):,} users, {self.missing:,} missing>"

    def counts(self) -> Counter[str]:
        """Count the users who have each item."""
        found = Counter(self.items)
        del found[OTHER]
        return found


def items_of(users: object) -> UserItems:
    """Read the item of each user: a list or an array with one text per user."""
    listed = _listed(users)
    present = [item for item in listed if not is_missing(item)] if _may_miss(listed) else listed
    texts = {item: shown_item(item) for item in _distinct(present)}
    return UserItems([texts[item] for item in present], len(listed) - len(present))


def shown_item(item: object) -> str:
    """Text of an item, or `OTHER` if no study could show it."""
    if not isinstance(item, str):
        several = " Every user has one item: draw one of several, or make one text of them."
        hint = several if isinstance(item, _SEVERAL) else ""
        raise DataError(f"items must be texts, got one of type {type(item).__name__}.{hint}")
    return str(item) if is_shown(item) else OTHER


def _listed(users: object) -> Sequence[Any]:
    refuse_reports(users)
    if isinstance(users, list | tuple):
        return users
    if isinstance(users, str | bytes | dict | set | frozenset) or users is None:
        raise DataError(f"items must be a list or an array with one entry per user, got {type(users).__name__}.")
    array, masked = item_array(users)
    listed: list[Any] = array.tolist()
    if masked is None:
        return listed
    return [None if hidden else item for item, hidden in zip(listed, masked.tolist(), strict=True)]


def _distinct(items: Sequence[Any]) -> set[Any]:
    try:
        return set(items)
    except TypeError:
        for item in items:  # the first one that is no text says what is wrong
            shown_item(item)
        raise


def _may_miss(items: Sequence[Any]) -> bool:
    return bool({kind for kind in set(map(type, items)) if not issubclass(kind, str | tuple)})


def integer_of(item: str) -> int:
    """Return the integer of a text, whose bytes are 1 and the item in UTF-8: what a commitment to it is made from.

    Examples
    --------
    >>> integer_of("a")
    353
    >>> text_of(353)
    'a'
    """
    return int.from_bytes(b"\1" + item.encode())


def text_of(integer: int) -> str:
    """Return the text of an integer."""
    return integer.to_bytes((integer.bit_length() + 7) // 8)[1:].decode()


def kept_item(item: str) -> str:
    """Return a trusted user's item as a server keeps it: `OTHER` if no study could show it, or if it is too long."""
    shown = shown_item(item)
    return shown if len(shown.encode()) <= LONGEST_ITEM else OTHER
