"""Tallies: what a query counted for each group of rows, checked before it becomes summaries."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from hybriddp.errors import DataError
from hybriddp.reporting.wording import counted
from hybriddp.study.summary import LocalSummary
from hybriddp.tables.report_files import ReportStudy, refuse_foreign

Key = str | int
"""Name of a group: a public text or a public whole number."""

NO_REPORT, NO_CODE = -2, -1
"""Stand in the place of a code where there is no report, and where the report is no code."""

T = TypeVar("T")
L = TypeVar("L")
TrustedT_co = TypeVar("TrustedT_co", covariant=True)
LocalT_co = TypeVar("LocalT_co", covariant=True)


class TableStudy(ReportStudy, Protocol[TrustedT_co, LocalT_co]):
    """A study that a table can be counted for, and the kinds of its two summaries."""

    @property
    def whole_digest(self) -> str:
        """Digest of the study of all users."""

    def to_json(self) -> str:
        """Write the study as text."""

    def part(self, by: str, key: Key, /) -> "TableStudy[TrustedT_co, LocalT_co]":
        """Return the study of the users who have this key."""

    def summarize_trusted(self, values: Any, /) -> TrustedT_co:  # noqa: ANN401
        """Summarize raw values."""

    def summarize_local(self, reports: Any, /) -> LocalT_co:  # noqa: ANN401
        """Summarize reports."""

    def refuse_bad_reports(self, rejected: int, count: int, /) -> None:
        """Raise `DataError` if too many reports are invalid."""


class Summaries(NamedTuple, Generic[T, L]):
    """What a table says of trusted and of local users; None for those whose column was not named.

    Those of shards add up, group by group, if nobody is in two of them.
    """

    trusted: T | None
    local: L | None

    def __add__(self, other: object) -> "Summaries[T, L]":  # not as tuples are
        if not isinstance(other, Summaries):
            raise TypeError(f"Summaries can be added to Summaries, not to {type(other).__name__}.")
        return Summaries(_both(self.trusted, other.trusted), _both(self.local, other.local))

    def __radd__(self, other: object) -> "Summaries[T, L]":
        if other != 0:  # where sum() starts
            raise TypeError(f"Summaries can be added to Summaries, not to {type(other).__name__}.")
        return self


def _both(one: Any, other: Any) -> Any:  # noqa: ANN401
    """Add the summaries of two tables, or return the one that is there."""
    return one + other if one is not None and other is not None else one if other is None else other


@dataclass(frozen=True)
class GroupedSummaries(Mapping[Key, Summaries[T, L]]):
    """Summaries of every group that was asked for. Holds exact totals and a row count: not private.

    Attributes
    ----------
    by : str
        The column that says which group a row belongs to.
    parts : dict
        The summaries of every group, in the order in which the keys were given. Those of a key belong to the study
        ``study.part(by, key)``.
    other : int
        How many rows have none of the keys: they are in nobody's answer.
    """

    by: str
    parts: dict[Key, Summaries[T, L]]
    other: int

    def __getitem__(self, key: Key) -> Summaries[T, L]:
        return self.parts[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


@dataclass
class Tally(ABC, Generic[T, L]):
    """Counts of the rows of one group."""

    rows: int = 0
    neither: int = 0  # rows with neither a value nor a report
    both: int = 0  # rows with both, or that trust and have a report
    count: int = 0  # values of users who trust
    tied: int = 0  # codes that carry the digest of the study
    foreign: int = 0  # reports that carry the digest of another study
    seeded: int = 0  # reports that were drawn with a seed
    unclear: int = 0  # rows that say neither that they trust nor that they do not
    raw: int = 0  # values of users who do not trust, and have no report
    codes: Counter[int] = field(default_factory=Counter)  # reports of every code, and of `NO_CODE`

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of a query's result; the sum of an empty column is nothing in some engines and 0 in others."""
        for name in ("rows", "count", "tied", "foreign", "seeded", "unclear", "raw"):
            setattr(self, name, getattr(self, name) + int(row.get(name) or 0))
        n = {name: int(row.get(name) or 0) for name in ("rows", "count", "raw", "trusting")}
        code = int(row.get("code", NO_REPORT))
        if code == NO_REPORT:
            self.neither += n["rows"] - n["count"] - n["raw"]
        else:
            self.codes[code] += n["rows"]
            self.both += max(n["count"], n["trusting"])  # whoever trusts and has a value is in both, too

    @property
    def bad(self) -> int:
        """Number of reports that are no codes."""
        return self.codes[NO_CODE]

    @property
    def good(self) -> int:
        """Number of reports that are codes."""
        return self.codes.total() - self.bad

    @property
    def all_tied(self) -> bool:
        """Whether there are codes, and all carry the digest of the study."""
        return 0 < self.good == self.tied

    @abstractmethod
    def trusted_summary(self, study: Any) -> T:  # noqa: ANN401
        """Summarize the trusted users."""

    def report_counts(self, study: Any) -> Counter[int]:  # noqa: ANN401, ARG002
        """Return the number of reports with each code, which a summary of them has."""
        return self.codes

    def local_summary(self, study: Any) -> L:  # noqa: ANN401
        """Summarize the local users."""
        found = self.report_counts(study)
        counts = tuple(found[code] for code in range(study.n_counts))
        summary: Any = LocalSummary(study.digest, self.good, counts, self.bad, self.all_tied, self.seeded > 0)
        return summary  # type: ignore[no-any-return]

    def summaries(self, study: Any, *, trusted: bool, local: bool) -> Summaries[T, L]:  # noqa: ANN401
        """Summarize the groups whose columns were named."""
        mine = self.trusted_summary(study) if trusted else None
        return Summaries(trusted=mine, local=self.local_summary(study) if local else None)


@dataclass
class CountedItems(Tally[T, L]):
    """Counts of the rows of one group, and of every item."""

    column: str | None = None  # of items
    items: Counter[Any] = field(default_factory=Counter, repr=False)  # exact counts: not for logs
    unfit: int = 0  # items of another type

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of a query's result."""
        super().add(row)
        self.unfit += int(row.get("unfit") or 0)
        if row.get("count"):
            self.items[row["item"]] += int(row["count"])


def check(
    tallies: "Sequence[Tally[Any, Any]]",
    study: TableStudy[Any, Any],
    table: str,
    trust_column: str | None,
    *,
    simulated: bool = False,
) -> None:
    """Validate the counts of all groups; raise `DataError` if the columns contradict each other."""
    both, raw, unclear, foreign = (
        sum(getattr(tally, name) for tally in tallies) for name in ("both", "raw", "unclear", "foreign")
    )
    if trust_column is not None and unclear:
        raise DataError(
            f"Column {trust_column!r} says neither yes nor no in {counted(unclear, 'row')}. Say which word means that "
            f'somebody trusts: trusted_if="{trust_column}=WORD".'
        )
    if both:
        said = counted(both, "row", "has both a value and a report", "have both a value and a report")
        if trust_column is not None:
            said = counted(both, "row", "trusts and has a report", "trust and have a report")
        raise DataError(f"{said}: nobody is in both groups.")
    if raw and not simulated:
        raise DataError(
            f"{counted(raw, 'row', 'does not trust but has', 'do not trust but have')} a value and no report: "
            "a raw value of theirs must not be used. Name the column of reports with --report, or try the study "
            "out with --simulate-local."
        )
    refuse_foreign(foreign, table, study)
    reports = sum(tally.codes.total() for tally in tallies)
    study.refuse_bad_reports(sum(tally.bad for tally in tallies), reports)
