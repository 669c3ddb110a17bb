"""What every kind of study can do, what the server has gathered for one, and whether that is enough."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from hybriddp.errors import DataError
from hybriddp.privacy import Privacy
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.reporting.wording import counted
from hybriddp.service.store.sums import StudySums
from hybriddp.study.users import StudyParts

NO_WAY_BACK = "A closed study cannot be opened again: withdraw it."


@dataclass(frozen=True, slots=True, repr=False)
class Gathered:
    """What a study has gathered: the exact sums of both groups. Not private."""

    n_trusted: int
    total: int
    tally: dict[int, int]

    @property
    def n_local(self) -> int:
        """How many reports there are: each is in one entry that is not negative."""
        return sum(count for entry, count in self.tally.items() if entry >= 0)


@dataclass(frozen=True, slots=True)
class Released:
    """What comes out of a step: for everybody, as plain values and as a page, and the curator's own report of it."""

    result: dict[str, Any]
    page: str
    curator_page: str


class StudyKind(ABC):
    """A study of some kind."""

    name: ClassVar[str]
    steps: ClassVar[tuple[str, ...]] = ("release",)
    study: Any  # each kind has its own
    parts: StudyParts | None = None  # of the users, where there is an answer for each

    @property
    def title(self) -> str:
        """What the study is about."""
        title: str = self.study.title
        return title

    @property
    def digest(self) -> str:
        """SHA-256 of the text that devices get."""
        digest: str = self.study.digest
        return digest

    @property
    def device_text(self) -> str:
        """The text that devices get."""
        return self.text

    @cached_property
    def text(self) -> str:
        """The whole text."""
        text: str = self.study.to_json()
        return text

    @property
    def privacy(self) -> Privacy:
        """What every participant is promised."""
        promised: Privacy = self.study.privacy
        return promised

    @property
    def min_group_size(self) -> int:
        """The least number of users that a group needs."""
        size: int = self.study.min_group_size
        return size

    @property
    @abstractmethod
    def sums(self) -> StudySums:
        """How contributions are added up."""

    @abstractmethod
    def report(self, code: int) -> int:
        """Check a report and return it.

        Reports that no device can send are refused.
        """

    @abstractmethod
    def value(self, value: float | str | Sequence[float]) -> int:
        """Convert a trusted user's value into the integer that is added up.

        The value is a finite number, a text or a point.
        """

    def implausible(self, gathered: Gathered) -> int:  # noqa: ARG002
        """At least so many local reports did not come out of the study's channel; 0 where nobody can tell."""
        return 0

    @abstractmethod
    def release(
        self, gathered: Gathered, *, single_group: bool, ledger: Ledger | None, warning: str | None = None
    ) -> Released:
        """Charge the release to the ledger and return the result to publish.

        Without a ledger, the study was charged to everybody when it opened. A ``warning`` stands before the answer,
        wherever it is shown.
        """


def shortfall(*, n_trusted: int, n_local: int, min_trusted: int, min_local: int, single_group: bool) -> str:
    """Explain why a group is too small to release a closed study.

    The text is empty if the groups are large enough. With ``single_group``, one of them may be too small.

    Examples
    --------
    >>> shortfall(n_trusted=3, n_local=50, min_trusted=10, min_local=10, single_group=False)
    'The trusted group has 3 of the 10 contributions that the study asks for.'
    >>> shortfall(n_trusted=3, n_local=50, min_trusted=10, min_local=10, single_group=True)
    ''
    """
    groups = (("trusted", n_trusted, min_trusted), ("local", n_local, min_local))
    short = [group for group in groups if group[1] < group[2]]
    if not short or (single_group and len(short) == 1):
        return ""
    name, size, least = short[0]
    return f"The {name} group has {size:,} of the {least:,} contributions that the study asks for."


@dataclass(frozen=True, slots=True)
class Usable:
    """What a study is released from, and a warning if somebody is not in it."""

    gathered: Gathered
    warning: str = ""


def usable(gathered: Gathered, *, min_trusted: int, min_local: int, single_group: bool) -> Usable:
    """Return the contributions without a group that is too small.

    The group counts as empty if the other one is large enough. Otherwise one trusted participant could stop a study
    that the local group answers alone, and one local participant could stop a study that the trusted group answers
    alone. The sizes of the groups are public.
    """
    groups = (("trusted", gathered.n_trusted, min_trusted), ("local", gathered.n_local, min_local))
    few = [group for group in groups if 0 < group[1] < group[2]]
    if not single_group or len(few) != 1:
        return Usable(gathered)
    name, size, least = few[0]
    left = replace(gathered, n_trusted=0, total=0) if name == "trusted" else replace(gathered, tally={})
    them = counted(size, "contribution", "was", "were")
    return Usable(left, f"The {name} group's {them} left out: the study asks for {least:,} at least.")


def require_sizes(gathered: Gathered, *, min_trusted: int, min_local: int, single_group: bool) -> None:
    """Raise `DataError` if there is a `shortfall`."""
    missing = shortfall(
        n_trusted=gathered.n_trusted,
        n_local=gathered.n_local,
        min_trusted=min_trusted,
        min_local=min_local,
        single_group=single_group,
    )
    if missing:
        raise DataError(f"{missing} Nothing was released. {NO_WAY_BACK}")
