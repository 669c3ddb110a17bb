"""The items of users in an open domain: one text per user.

What no study could show, an empty text or one with control characters or of more than 1,000 characters, counts as
other. What is missing (None, NaN) is left out and counted.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybriddp.errors import DataError, raise_unchained
from hybriddp.shares.categories import OTHER, is_shown
from hybriddp.study.reports import refuse_reports

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
    try:
        array = np.asarray(users)
        missing = np.ma.getmaskarray(np.ma.asarray(users)) if np.ma.is_masked(users) else None
    except Exception:
        raise_unchained(DataError(f"items must be a list or an array, got {type(users).__name__} that is none."))
    if array.ndim != 1:
        raise DataError(f"items must be one-dimensional, got shape {array.shape}.")
    listed = array.tolist()
    if missing is not None:
        return [None if hidden else item for item, hidden in zip(listed, missing.tolist(), strict=True)]
    return list(listed)


def _distinct(items: Sequence[Any]) -> set[Any]:
    try:
        return set(items)
    except TypeError:
        for item in items:  # the first one that is no text says what is wrong
            shown_item(item)
        raise


def _may_miss(items: Sequence[Any]) -> bool:
    return bool({kind for kind in set(map(type, items)) if not issubclass(kind, str | tuple)})


def is_missing(item: object) -> bool:
    """Whether there is no item: None, NaN, or what pandas writes instead."""
    if isinstance(item, float | np.floating):
        return bool(np.isnan(item))
    return item is None or type(item).__name__ in ("NAType", "NaTType")
