"""What devices are asked: a public text with a name and a promise, and reports as its answers."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import IntArray
from hybriddp.channels.channel import Channel
from hybriddp.errors import DataError, ProtocolError
from hybriddp.privacy import Privacy
from hybriddp.release.event import Part
from hybriddp.release.release import ReleaseCost, Seed
from hybriddp.study.document import Document
from hybriddp.study.groups import Forged, check_summary, refuse_forged
from hybriddp.study.reports import Received, Reports, receive, refuse_bad_reports
from hybriddp.study.summary import LocalSummary


class StudyText(Document):
    """A public text about a study: its digest is how reports, summaries and ledgers know it."""

    name: str
    privacy: Privacy
    users: Part | None = None

    def _fill(self, **values: Any) -> None:  # noqa: ANN401  (of the fields of a kind)
        """Check the name, and set the fields."""
        _check.text("name", values["name"], "what is asked")
        for name in self._names():
            object.__setattr__(self, name, values[name])

    @classmethod
    def _names(cls) -> list[str]:
        """Return the names of the fields; each kind is a dataclass."""
        return [field.name for field in fields(cls)]  # type: ignore[arg-type]

    @property
    def title(self) -> str:
        """The name, and whom it is about if not everybody."""
        return self.name if self.users is None else f"{self.name} [{self.users}]"

    @property
    def short_title(self) -> str:
        """The title, cut off where it is too long for a line."""
        return self.title if len(self.title) <= 60 else f"{self.title[:59]}…"

    @property
    def whole_digest(self) -> str:
        """The digest of the study of everybody, in which users pay once."""
        return self.digest

    @property
    def cost(self) -> ReleaseCost:
        """What a release, or an estimate from reports alone, costs each user."""
        return ReleaseCost(self.whole_digest, self.name, self.privacy, self.privacy, self.users)

    def device_json(self) -> str:
        """Write the text that devices get and need."""
        return self.to_json()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text that devices get, by which reports, summaries and ledgers know the study."""
        return hashlib.sha256(self.device_json().encode()).hexdigest()

    def check_digest(self, digest: str, what: str) -> None:
        """Raise `ProtocolError` unless what "belongs", such as "reports belong", has this study's digest.

        A part of the users takes what was made for the study of everybody: the devices did the same.
        """
        if digest not in (self.digest, self.whole_digest):
            mine = f"{self.digest[:12]}… ({self.title!r})"
            raise ProtocolError(f"The {what} to study {digest[:12]}…, not to {mine}.")


class DeviceQuestion(StudyText, ABC):
    """A question that devices answer with one report each, through a channel."""

    channel: Channel

    @property
    def n_codes(self) -> int:
        """Number of different reports."""
        return self.channel.n_codes

    @property
    def n_counts(self) -> int:
        """Number of counts that summarize all reports."""
        return self.n_codes

    @property
    def reports_are_bits(self) -> bool:
        """Whether a report is counted bit by bit, so that it adds to several counts or to none."""
        return False

    @property
    def reports_between(self) -> tuple[int, int]:
        """The smallest and the largest report that a device can send."""
        return 0, self.n_codes - 1

    @abstractmethod
    def draw_codes(self, values: Any, random_state: Seed) -> NDArray[Any]:  # noqa: ANN401
        """Draw one code for each value."""

    def randomize(self, values: ArrayLike, *, random_state: Seed = None) -> Reports:
        """Randomize values as users' devices do: one report each, with the study's digest.

        Values that are missing are refused: there is no report for what is not there. With a ``random_state`` it is a
        simulation, and not private.
        """
        return Reports(self.draw_codes(values, random_state), self.digest, seeded=random_state is not None)

    def receive(self, reports: Reports | ArrayLike) -> Received:
        """Return the reports that can have been made for this study; those of another one are refused."""
        if isinstance(reports, Reports):
            self.check_digest(reports.study, "reports belong")
        return receive(reports, between=self.reports_between)

    def refuse_bad_reports(self, rejected: int, count: int) -> None:
        """Raise `DataError` if more than one in a hundred reports is invalid."""
        refuse_bad_reports(rejected, count, between=self.reports_between)

    def tally(self, codes: NDArray[Any]) -> IntArray:
        """Count valid reports, so that the counts of shards add up: how many have each code."""
        return np.bincount(codes.astype(np.int64, copy=False), minlength=self.n_counts).astype(np.int64)

    def summarize_local(self, reports: Reports | ArrayLike) -> LocalSummary:
        """Summarize the local group's reports as one count per code; what is no code is left out and counted.

        `Reports` of another study are refused. Plain integers are taken at their word: nothing ties them to the study,
        and the summary says so (``tied`` is False).
        """
        got = self.receive(reports)
        counts = tuple(self.tally(got.codes).tolist())
        return LocalSummary(self.digest, len(got.codes), counts, got.rejected, got.tied, got.seeded)

    def summary(self, local: LocalSummary | Reports | ArrayLike) -> LocalSummary:
        """Summarize the local group's reports, unless they are; refuse the summary of another question."""
        if not isinstance(local, LocalSummary):
            return self.summarize_local(local)
        check_summary(self, "local", local, self.n_counts)
        if not self.reports_are_bits and sum(local.counts) != local.count:
            raise DataError("The local summary is impossible: its counts do not add up to the number of reports.")
        return local

    @abstractmethod
    def forged(self, local: LocalSummary) -> Forged:
        """Test whether reports, of which there are some, can have come out of the study's channel."""

    def implausible(self, local: LocalSummary) -> int:
        """Return a lower bound on the number of forged reports; `DataError` if nothing ties them to the study."""
        return refuse_forged(self.forged(local), local) if local.count else 0
