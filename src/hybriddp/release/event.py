"""Events: what a ledger holds, something that cost some users privacy."""

import re
import unicodedata
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from hybriddp import _check as check
from hybriddp.errors import ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release.mechanism_record import MechanismRecord

_FILE_NAME = re.compile(r"[A-Za-z0-9_-]+\.json")
_MOST_BITS = 2000
_LONGEST_NAME, _SHORT_DIGEST = 60, 12  # characters in words
GROUPS = ("trusted", "local")
EVERYBODY = "everybody"
"""The users of both groups. Who may choose a group in every study pays for each of them, whatever they choose."""


def groups(who: str) -> tuple[str, ...]:
    """Return the groups of these users; another spelling would be another account."""
    if who == EVERYBODY:
        return GROUPS
    if who not in GROUPS:
        raise ParameterError("who", '"trusted", "local" or "everybody"', who)
    return (who,)


@dataclass(frozen=True, slots=True)
class Part:
    """Part of a group: the users whose public key is this one. Nobody has two keys.

    Attributes
    ----------
    by : str
        What the group is partitioned by, for example ``"country"``.
    key : str or int
        Which part, for example ``"DE"``.
    """

    by: str
    key: str | int

    def __post_init__(self) -> None:
        check.text("by", self.by, "what the users are grouped by")
        if not (type(self.key) is int or (check.is_readable(self.key) and str(self.key).strip() == self.key)):
            raise ParameterError("key", "an integer, or a readable text without spaces around it", self.key)
        if type(self.key) is int and self.key.bit_length() > _MOST_BITS:  # Python does not write longer ones as texts
            raise ParameterError("key", f"an integer of at most {_MOST_BITS:,} bits, or a text", "a longer one")

    @property
    def same_key(self) -> str:
        """Keys that are spelled almost alike are the same to a ledger: better to count too much than too little."""
        return _same_key(self.key)

    def __str__(self) -> str:
        return f"{self.by} = {self.key}"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that cost privacy.

    Attributes
    ----------
    what, when : str
        What was released or reported, and the time in UTC.
    who : str
        Which users it is about: ``"trusted"`` or ``"local"``; or ``"everybody"``, whichever group they choose.
    study : str
        The digest of the study.
    name : str or None
        The name of the study, for people.
    result : str or None
        The file of its result, beside the ledger (`hybriddp.release.results`).
    epsilon, delta : str
        What it cost each of these users, as decimals.
    part : Part or None
        Which of these users, if not all of them.
    mechanism : MechanismRecord or None
        The noise, if it is known: several releases together may then cost less than their sum.
    """

    what: str
    who: str
    study: str
    epsilon: str
    delta: str
    when: str
    part: Part | None = None
    mechanism: MechanismRecord | None = None
    name: str | None = None
    result: str | None = None

    def __post_init__(self) -> None:
        for name, text in (("name", self.name), ("result", self.result)):
            if not (text is None or isinstance(text, str)):
                raise ParameterError(name, "a text", type(text).__name__, shown_as="a")
        if self.result is not None and not _FILE_NAME.fullmatch(self.result):
            raise ParameterError("result", "the name of a file", self.result)
        groups(self.who)  # an error if there are no such users
        _privacy(epsilon=self.epsilon, delta=self.delta)  # an error if that is not a cost
        if self.mechanism is not None:
            _check(self.mechanism, self.epsilon, self.delta)

    @classmethod
    def now(
        cls,
        what: str,
        *,
        who: str,
        study: str,
        privacy: Privacy,
        part: Part | None = None,
        mechanism: MechanismRecord | None = None,
        name: str | None = None,
    ) -> "Event":
        """Make an event that happens now."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(what, who, study, privacy.epsilon, privacy.delta, when, part, mechanism, name)

    @classmethod
    def of(cls, fields: dict[str, Any]) -> "Event":
        """Read the plain values that `fields` gives; an error if the cost is not one."""
        read = dict(fields)
        if read.get("part") is not None:
            read["part"] = _part(**read["part"])
        if read.get("mechanism") is not None:
            read["mechanism"] = _mechanism(**read["mechanism"])
        return cls(**read)

    def fields(self) -> dict[str, Any]:
        """Return plain values, without what is None."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def users(self) -> str:
        """Which users it is about, in words."""
        who = self.who if self.who == EVERYBODY else f"{self.who} users"
        return who if self.part is None else f"{who} with {self.part}"

    @property
    def title(self) -> str:
        """What happened in which study, in words."""
        digest = self.study if len(self.study) <= _SHORT_DIGEST else f"{self.study[:_SHORT_DIGEST]}…"
        study = digest if self.name is None else f"{_shorten(check.shown(self.name))!r} ({digest})"
        return f"{self.what}, study {study}"

    @property
    def privacy(self) -> Privacy:
        """The cost."""
        return _privacy(epsilon=self.epsilon, delta=self.delta)


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


# A ledger has many events, few different costs and not many parts: each is read and checked once.


@lru_cache(maxsize=65536, typed=True)
def _same_key(key: str | int) -> str:
    text = unicodedata.normalize("NFKC", str(key)).strip().casefold()
    if not text.removeprefix("-").isdecimal():
        return text
    # A number, in the digits of any script and of any length, which int() has not.
    digits = "".join(str(unicodedata.decimal(digit)) for digit in text.removeprefix("-")).lstrip("0") or "0"
    return f"-{digits}" if text.startswith("-") and digits != "0" else digits


@lru_cache(maxsize=4096, typed=True)
def _check(mechanism: MechanismRecord, epsilon: str, delta: str) -> None:
    mechanism.check(_privacy(epsilon=epsilon, delta=delta))


_part = lru_cache(maxsize=65536, typed=True)(Part)
_privacy = lru_cache(maxsize=4096, typed=True)(Privacy.total)
_mechanism = lru_cache(maxsize=4096, typed=True)(MechanismRecord)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a user has spent, or has left, as exact numbers."""

    epsilon: Fraction
    delta: Fraction

    @classmethod
    def of(cls, privacy: Privacy) -> "Spent":
        """Take all of (ε, δ)."""
        return cls(privacy.exact_epsilon, privacy.exact_delta)

    def within(self, limit: "Spent") -> bool:
        """Whether neither is above a limit."""
        return self.epsilon <= limit.epsilon and self.delta <= limit.delta

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.epsilon - other.epsilon, self.delta - other.delta)

    def at_least(self, other: "Spent") -> "Spent":
        """Return the larger of both, of ε and of δ."""
        return Spent(max(self.epsilon, other.epsilon), max(self.delta, other.delta))

    def __str__(self) -> str:
        return f"ε = {float(self.epsilon):g}, δ = {float(self.delta):g}"


NOTHING = Spent(Fraction(0), Fraction(0))
