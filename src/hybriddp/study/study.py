"""`Study`: what a mean, frequencies and a distribution have in common.

A study is public and frozen: a name, a promise, whom it is about, and a text. Its digest is how reports, summaries and
ledgers know it.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Self

from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.privacy import Privacy
from hybriddp.release.event import Part
from hybriddp.release.release import ReleaseCost
from hybriddp.study.reports import Received, Reports, receive, refuse_bad_reports

EMPTY = "Both groups are empty."
"""What is said of a study, or of a part of the users, that nobody took part in."""


class Study(ABC):
    """What every study can do, whatever it is about."""

    name: str
    privacy: Privacy
    min_group_size: int
    users: Part | None

    @property
    def title(self) -> str:
        """The name, and whom it is about if not everybody."""
        return self.name if self.users is None else f"{self.name} [{self.users}]"

    @property
    def short_title(self) -> str:
        """The title, cut off where it is too long for a line."""
        return self.title if len(self.title) <= 60 else f"{self.title[:59]}…"

    # Whom it is about

    def part(self, by: str, key: str | int) -> Self:
        """The same study of only those users whose public key is this one, for example ``part("country", "DE")``.

        Nobody has two keys, so a user who is in one part pays for that part only. Who has which key is public.
        """
        if self.users is not None:
            raise ParameterError("by", f"used on the study of everybody, not on that of {self.users}", by)
        return self.with_users(Part(by, key))

    @abstractmethod
    def with_users(self, users: Part | None) -> Self:
        """The same study of other users."""

    @cached_property
    def whole_digest(self) -> str:
        """The digest of the study of everybody: users pay once for it, in whichever part they are."""
        return self.digest if self.users is None else self.with_users(None).digest

    @property
    def cost(self) -> ReleaseCost:
        """What a release, or an estimate from reports alone, costs each user."""
        return ReleaseCost(self.whole_digest, self.name, self.privacy, self.privacy, self.users)

    # As text

    @abstractmethod
    def to_json(self) -> str:
        """The study as text, the channel included."""

    def device_json(self) -> str:
        """The text that devices get and need."""
        return self.to_json()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text that devices get, by which reports, summaries and ledgers know the study."""
        return hashlib.sha256(self.device_json().encode()).hexdigest()

    def check_digest(self, digest: str, what: str) -> None:
        """Raise `ProtocolError` unless reports or files with this digest were made for this study.

        A part of the users takes what was made for the study of everybody: the devices did the same.
        """
        if digest not in (self.digest, self.whole_digest):
            mine = f"{self.digest[:12]}… ({self.title!r})"
            raise ProtocolError(f"The {what} belong to study {digest[:12]}…, not to {mine}.")

    # Reports

    @property
    @abstractmethod
    def reports_between(self) -> tuple[int, int]:
        """The smallest and the largest report that a device can send."""

    def receive(self, reports: Reports | ArrayLike) -> Received:
        """The reports that can have been made for this study; those of another one are refused."""
        between = self.reports_between
        return receive(reports, between=between, check_digest=lambda digest: self.check_digest(digest, "reports"))

    def refuse_bad_reports(self, rejected: int, count: int) -> None:
        """Raise `DataError` if more than one in a hundred reports is invalid."""
        refuse_bad_reports(rejected, count, between=self.reports_between)


def check_study(name: str, what: str, min_group_size: int, users: Part | None) -> None:
    """Raise `ParameterError` if what all studies are given is not in order."""
    _check.text("name", name, what)
    _check.integer("min_group_size", min_group_size, at_least=1)
    if users is not None and not isinstance(users, Part):
        raise ParameterError("users", "None or a Part", users)


def refused_parts(problems: Sequence[str], n_parts: int) -> DataError:
    """The error that some parts of the users cannot be estimated, so that none is; a sentence per part, up to five."""
    empty = any(problem.endswith(EMPTY) for problem in problems)
    remedy = " Leave keys that nobody has out, or check their spelling." if empty else ""
    return DataError(f"{len(problems)} of {n_parts} parts cannot be estimated. {' '.join(problems[:5])}{remedy}")


def require_same_text(study: Study, text: str) -> None:
    """Raise `ProtocolError` unless a text is what its study would be written as: one study has one digest."""
    if study.to_json() != text:
        raise ProtocolError("The text is not in the form that studies are written in. Write it anew with to_json.")
