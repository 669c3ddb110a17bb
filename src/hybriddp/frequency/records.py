"""The records of users in an open domain: texts, or pairs of texts such as (query, URL); one or several per user.

A user's repeated record counts once. Where users may have several different ones, there are two ways to count them:

- ``"sample"``: one of a user's records is drawn, each as likely as the others. An item's share is the fraction of users
  whose drawn record it is; the shares of all items add up to 1. It costs no more noise than a single record.
- ``"all"``: all of a trusted user's records count, up to *m* of them (drawn, if there are more). A local user's device
  draws one of *m* places, which the records fill in part or in whole. An item's share is the fraction of users who have
  it; all shares together are at most *m*. Noise grows with *m*.

Which record is drawn rests on no secret: the guarantee holds for whichever one it is.

What no study could show, an empty text or one with control characters or of more than 1,000 characters, counts as
other. What is missing (None, NaN) is left out and counted.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybriddp import _check
from hybriddp.errors import DataError, ParameterError, raise_unchained
from hybriddp.frequency.categories import OTHER, is_shown
from hybriddp.frequency.open_release import MOST_RECORDS
from hybriddp.randomness import simulation_generator
from hybriddp.reports import refuse_reports

Record = str | tuple[str, str]
"""A text, or a pair of texts."""

_SEVERAL = (list, set, frozenset, tuple, np.ndarray)


@dataclass(frozen=True, slots=True, repr=False)
class DrawnItems:
    """The texts of users' records, and how many users were left out."""

    items: list[str]
    n_users: int
    missing: int

    def __repr__(self) -> str:  # raw items are not for logs
        return f"<DrawnItems of {self.n_users:,} users, {self.missing:,} missing>"


@dataclass(frozen=True, slots=True)
class RecordForm:
    """What a user's records look like, and how several of them count.

    Attributes
    ----------
    levels : int
        1 for texts, 2 for pairs of texts.
    max_records : int
        *m*: how many different records of a user count.
    records : str
        ``"sample"`` or ``"all"``; the same if *m* is 1.
    """

    levels: int = 1
    max_records: int = 1
    records: str = "sample"

    def __post_init__(self) -> None:
        for name, most in (("levels", 2), ("max_records", MOST_RECORDS)):
            plain = _check.integer(name, getattr(self, name), at_least=1, at_most=most)
            object.__setattr__(self, name, plain)  # NumPy's integers have no JSON
        _check.choice("records", self.records, ("sample", "all"))
        if self.max_records == 1 and self.records == "all":
            raise ParameterError("records", '"sample" if max_records is 1', self.records)

    @property
    def counted(self) -> int:
        """How many records of a trusted user are counted at most."""
        return self.max_records if self.records == "all" else 1

    # Records and texts

    def text(self, record: object) -> str:
        """The text of a record; `OTHER` if no study could show it."""
        if self.levels == 1:
            if not isinstance(record, str):
                raise DataError(f"items must be texts, got one of type {type(record).__name__}.{self._hint(record)}")
            return _shown_text(record)
        pair = isinstance(record, tuple) and len(record) == 2 and all(isinstance(part, str) for part in record)
        if not pair or not isinstance(record, tuple):
            raise DataError(f"items must be pairs of texts, got one of type {type(record).__name__}.")
        if OTHER in map(_shown_text, record):
            return OTHER
        return _shown_text(json.dumps(list(map(str, record)), ensure_ascii=False, separators=(",", ":")))

    def record(self, text: str) -> Record:
        """The record of a text."""
        if self.levels == 1 or text == OTHER:
            return text
        first, second = json.loads(text)
        return first, second

    def _hint(self, record: object) -> str:
        several = isinstance(record, _SEVERAL) and self.max_records == 1
        return " For several items per user there is max_records." if several else ""

    # Users

    def count(
        self, users: object, random_state: int | np.random.Generator | None = None
    ) -> tuple[Counter[str], DrawnItems]:
        """How many trusted users have each item, each adding 1 to at most ``counted`` of them; and who they are."""
        if self.records == "all":
            drawn = self._each(users, self._some_of, _generator(random_state))
        else:
            drawn = self.draw(users, random_state)
        counts = Counter(drawn.items)
        del counts[OTHER]
        return counts, drawn

    def draw(self, users: object, random_state: int | np.random.Generator | None = None) -> DrawnItems:
        """One item for each user: their only one, a drawn one, or `OTHER` from a place that no record fills."""
        if self.max_records == 1:
            listed = _listed(users)
            present = [item for item in listed if not is_missing(item)] if _may_miss(listed) else listed
            texts = {item: self.text(item) for item in _distinct(present, self.text)}
            return DrawnItems([texts[item] for item in present], len(present), len(listed) - len(present))
        return self._each(users, self._one_of, _generator(random_state))

    def _each(self, users: object, choose: Any, rng: np.random.Generator) -> DrawnItems:  # noqa: ANN401
        listed = _listed(users)
        draws = rng.random((len(listed), self.max_records))
        items: list[str] = []
        missing = 0
        for user, u in zip(listed, draws, strict=True):
            if is_missing(user):
                missing += 1
            else:
                items += choose(self._texts(user), u)
        return DrawnItems(items, len(listed) - missing, missing)

    def _texts(self, user: object) -> list[str]:
        """A user's different records, as texts."""
        alone = isinstance(user, str) or (self.levels == 2 and isinstance(user, tuple))
        if not alone and not isinstance(user, _SEVERAL):
            raise DataError(f"a user's items must be a list or a set of them, got {type(user).__name__}.")
        records: Iterable[Any] = [user] if alone else user  # type: ignore[assignment]
        return list(dict.fromkeys(self.text(record) for record in records))

    def _one_of(self, texts: list[str], u: Any) -> list[str]:  # noqa: ANN401
        places = max(len(texts), self.max_records if self.records == "all" else 1)
        place = int(u[0] * places)
        return [texts[place] if place < len(texts) else OTHER]

    def _some_of(self, texts: list[str], u: Any) -> list[str]:  # noqa: ANN401
        if len(texts) <= self.max_records:
            return texts
        left = list(texts)
        return [left.pop(int(x * len(left))) for x in u]


def _shown_text(text: str) -> str:
    return str(text) if is_shown(text) else OTHER


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


def _distinct(items: Sequence[Any], text: Any) -> set[Any]:  # noqa: ANN401
    try:
        return set(items)
    except TypeError:
        for item in items:  # the first one that is no text says what is wrong
            text(item)
        raise


def _may_miss(items: Sequence[Any]) -> bool:
    return bool({kind for kind in set(map(type, items)) if not issubclass(kind, str | tuple)})


def is_missing(item: object) -> bool:
    """Whether there is no item: None, NaN, or what pandas writes instead."""
    if isinstance(item, float | np.floating):
        return bool(np.isnan(item))
    return item is None or type(item).__name__ in ("NAType", "NaTType")


def _generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    return np.random.default_rng() if random_state is None else simulation_generator(random_state, "records")
