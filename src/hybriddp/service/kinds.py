"""Kinds of studies: what the server has to know of one, whatever it is about.

A kind reads its text, says which steps its life has, turns a contribution into an integer that is added up, and makes a
release from the sums. Formulas are elsewhere: here they are called. So far there is one kind, the mean, with one step.
"""

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

from hybriddp.channels.window import WindowChannel
from hybriddp.errors import DataError, ProtocolError
from hybriddp.mean.study import MeanStudy
from hybriddp.mean.summary import LocalSummary, TrustedSummary
from hybriddp.privacy import Privacy
from hybriddp.release.ledger import Ledger
from hybriddp.service.pages.result import result_page
from hybriddp.service.problems import Refusal

NO_WAY_BACK = "A closed study cannot be opened again: withdraw it."


@dataclass(frozen=True, slots=True, repr=False)
class Gathered:
    """What a study has gathered: the exact sums of both groups. Not private."""

    n_trusted: int
    total: int
    tally: dict[int, int]


@dataclass(frozen=True, slots=True)
class Released:
    """What comes out of a step: for everybody, as plain values and as a page, and the curator's own report of it."""

    result: dict[str, Any]
    page: str
    curator_page: str


class StudyKind(Protocol):
    """A study of some kind."""

    name: ClassVar[str]
    steps: ClassVar[tuple[str, ...]]

    @property
    def title(self) -> str:
        """What the study is about."""

    @property
    def digest(self) -> str:
        """SHA-256 of the text that devices get."""

    @property
    def device_text(self) -> str:
        """The text that devices get."""

    @property
    def text(self) -> str:
        """The whole text."""

    @property
    def privacy(self) -> Privacy:
        """What every participant is promised."""

    @property
    def min_group_size(self) -> int:
        """The least number of users that a group needs."""

    def report(self, code: int) -> int:
        """A report, if a device can have sent it."""

    def value(self, value: float) -> int:
        """A finite value as the integer that is added up."""

    def release(
        self, gathered: Gathered, *, single_group: bool, ledger: Ledger | None, warning: str | None = None
    ) -> Released:
        """What is published, paid for first. Without a ledger, everybody paid when the study opened.

        A ``warning`` stands before the answer, wherever it is shown.
        """


@dataclass(frozen=True)
class MeanKind:
    """A study of a mean: contributions are codes and units, and there is one release."""

    study: MeanStudy
    name: ClassVar[str] = "mean"
    steps: ClassVar[tuple[str, ...]] = ("release",)

    def __post_init__(self) -> None:
        if not isinstance(self.study.channel, WindowChannel):
            raise ProtocolError('The server takes studies with channel="window": their reports are one byte each.')
        if self.study.users is not None:
            raise ProtocolError("The server takes studies of everybody, not of a part of the users.")

    @property
    def title(self) -> str:
        """What the study is about."""
        return self.study.title

    @property
    def digest(self) -> str:
        """SHA-256 of the text that devices get."""
        return self.study.digest

    @property
    def device_text(self) -> str:
        """The text that devices get."""
        return self.study.device_json()

    @property
    def text(self) -> str:
        """The whole text."""
        return self.study.to_json()

    @property
    def privacy(self) -> Privacy:
        """What every participant is promised."""
        return self.study.privacy

    @property
    def min_group_size(self) -> int:
        """The least number of users that a group needs."""
        return self.study.min_group_size

    @cached_property
    def _codes(self) -> tuple[int, int]:
        return self.study.reports_between

    def report(self, code: int) -> int:
        """The code, if a device can have sent it."""
        least, most = self._codes
        if not least <= code <= most:
            raise Refusal("out-of-range", f"code must be a whole number from {least} to {most}.")
        return code

    def value(self, value: float) -> int:
        """A finite value in units; beyond the bounds it counts as the nearer one."""
        return int(self.study.grid.place([value]).units[0])

    def release(
        self, gathered: Gathered, *, single_group: bool, ledger: Ledger | None, warning: str | None = None
    ) -> Released:
        """The mean, once. Without a ledger it was charged to everybody when the study opened."""
        channel, digest = self.study.channel, self.study.digest
        if not isinstance(channel, WindowChannel):  # see above
            raise ProtocolError("The study has no window channel.")
        counts = tuple(gathered.tally.get(code, 0) for code in range(channel.n_codes))
        estimate = self.study.estimate(
            trusted=TrustedSummary(digest, gathered.n_trusted, gathered.total),
            local=LocalSummary(digest, counts, tied=True),
            single_group=single_group,
            ledger=ledger,
        )
        if ledger is None:
            estimate = replace(estimate, privacy=replace(estimate.privacy, counted=True))
        published = estimate.to_dict()
        if warning is not None:
            published["warnings"] = [warning, *published["warnings"]]
        page = result_page(
            self.study.title,
            str(estimate).splitlines()[-1],  # behind the warnings
            warnings=published["warnings"],
            promise=str(estimate.privacy),
            n_trusted=estimate.n_trusted,
            n_local=estimate.n_local,
        )
        return Released({"estimate": published, "answer": str(estimate)}, page, estimate.to_html())


def study_kind(text: str) -> StudyKind:
    """The study that a text describes, verified; `ProtocolError` if there is no such kind."""
    try:
        kind = json.loads(text)["type"]
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ProtocolError("The text does not describe a study.") from None
    if kind != MeanKind.name:
        raise ProtocolError(f"type must be {MeanKind.name!r}: the server knows no other kind of study.")
    return MeanKind(MeanStudy.from_json(text))


def shortfall(*, n_trusted: int, n_local: int, min_trusted: int, min_local: int, single_group: bool) -> str:
    """Why a closed study cannot be released: a group that is too small. An empty one is fine with ``single_group``.

    Examples
    --------
    >>> shortfall(n_trusted=3, n_local=50, min_trusted=10, min_local=10, single_group=False)
    'The trusted group has 3 of the 10 contributions that the study asks for.'
    >>> shortfall(n_trusted=0, n_local=50, min_trusted=10, min_local=10, single_group=True)
    ''
    """
    for name, size, least in (("trusted", n_trusted, min_trusted), ("local", n_local, min_local)):
        if size < least and not (size == 0 and single_group):
            return f"The {name} group has {size:,} of the {least:,} contributions that the study asks for."
    return ""


def require_sizes(gathered: Gathered, *, min_trusted: int, min_local: int, single_group: bool) -> None:
    """Raise `DataError` if there is a `shortfall`."""
    missing = shortfall(
        n_trusted=gathered.n_trusted,
        n_local=sum(gathered.tally.values()),
        min_trusted=min_trusted,
        min_local=min_local,
        single_group=single_group,
    )
    if missing:
        raise DataError(f"{missing} Nothing was released. {NO_WAY_BACK}")
