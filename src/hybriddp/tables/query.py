"""The one query that counts a table, in the words of narwhals, and the tally of what it found.

Every engine runs it in one pass. Only counts come back, at most one row per group, code and item; they add up over the
frames of a table and become summaries. What a value and a report are, the room of each kind of study says
(`hybriddp.tables.mean`, `hybriddp.tables.frequency`); who is in which group, and which study reports belong to, is the
same for all.
"""

import itertools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import DataError
from hybriddp.reporting.wording import counted
from hybriddp.tables import frames
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.frames import Converter, nw
from hybriddp.tables.report_files import DIGEST_COLUMN, Origin, ReportStudy, digest_matches, refuse_foreign
from hybriddp.tables.text import Wanted
from hybriddp.tables.trust import Trust

if TYPE_CHECKING:
    import pyarrow as pa

Key = str | int
"""What names a group: a public text or a public whole number."""

NO_REPORT, NO_CODE = -2, -1
"""What stands in the place of a code where there is no report, and where the report is no code."""

DeviceCodes = Callable[["pa.Array", np.random.Generator | None], tuple[NDArray[np.int64], NDArray[np.bool_]]]
"""From a column of raw values to the codes that devices would send, and which rows send one."""

T = TypeVar("T")
L = TypeVar("L")
TrustedT_co = TypeVar("TrustedT_co", covariant=True)
LocalT_co = TypeVar("LocalT_co", covariant=True)


class TableStudy(ReportStudy, Protocol[TrustedT_co, LocalT_co]):
    """A study that a table can be counted for, and the kinds of its two summaries."""

    @property
    def whole_digest(self) -> str:
        """The digest of the study of everybody."""

    def to_json(self) -> str:
        """The study as text."""

    def part(self, by: str, key: Key, /) -> "TableStudy[TrustedT_co, LocalT_co]":
        """The study of the users who have this key."""

    def summarize_trusted(self, values: Any, /) -> TrustedT_co:  # noqa: ANN401
        """The summary of raw values."""

    def summarize_local(self, reports: Any, /) -> LocalT_co:  # noqa: ANN401
        """The summary of reports."""

    def refuse_bad_reports(self, rejected: int, count: int, /) -> None:
        """Raise `DataError` if too many reports are invalid."""


@dataclass(frozen=True)
class Query(ABC):
    """What to count: which columns mean what, for which study, in which groups."""

    study: Any
    value: str | None
    report: str | None
    group: str | None = None
    keys: Sequence[Key] = ()
    trust: Trust | None = None
    user: str | None = None

    sums: ClassVar[tuple[str, ...]] = ("count", "tied", "foreign", "seeded", "trusting", "unclear", "raw")
    """The columns that are added up, and those of a kind of study."""

    # What a kind of study says

    @property
    @abstractmethod
    def numbers(self) -> list[str]:
        """The columns that must hold numbers."""

    @property
    def converters(self) -> dict[str, Converter]:
        """How columns that pandas holds as objects become ones that narwhals knows."""
        return {}

    @abstractmethod
    def value_cells(self, dtype: Any, trusts: Any, code: Any) -> dict[str, Any]:  # noqa: ANN401
        """How many values each row has, and what is counted of them.

        The value of somebody who does not trust is not looked at, but for noticing that it is there.
        """

    @abstractmethod
    def report_cells(self, dtype: Any) -> dict[str, Any]:  # noqa: ANN401
        """The ``code`` of each row, `NO_REPORT` or `NO_CODE`, and what is counted of it."""

    @abstractmethod
    def tally(self) -> "Tally[Any, Any]":
        """An empty tally."""

    @abstractmethod
    def raw_cells(self, dtype: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """The raw values, for devices that are simulated, and which of them are there."""

    @staticmethod
    @abstractmethod
    def device_codes(text: str) -> DeviceCodes:
        """What the devices of a study, given as its text, would send."""

    @property
    def no_item(self) -> str | int:
        """What stands in the column of items, if there is one, in a row that has none."""
        return ""

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the columns that are added up."""
        return self.sums

    # What all have

    @property
    def columns(self) -> list[str]:
        """All columns that must be there."""
        names = (self.value, self.report, self.group, self.trust.column if self.trust else None, self.user)
        return [name for name in names if name is not None]

    def wanted(self, csv: CsvFormat | None) -> Wanted:
        """The columns for a reader of files: those that are compared with words are texts, whatever they look like."""
        others = [self.group] if self.group is not None and not isinstance(self.keys[0], str) else []
        return Wanted(
            numbers=self.numbers,
            texts=[name for name in self.columns if name not in (*self.numbers, *others)],
            others=others,
            optional=[DIGEST_COLUMN] if self.report is not None else [],
            items=[] if self.value is None or self.value in self.numbers else [self.value],
            csv=csv or CsvFormat(),
        )

    @cached_property
    def digests(self) -> set[str]:
        """The digests that reports may carry: of the study, or of its parts."""
        return {self.study.digest, self.study.whole_digest, *self._part_digests.values()}

    @cached_property
    def _part_digests(self) -> dict[Key, str]:
        by = self.group
        return {} if by is None else {key: self.study.part(by, key).digest for key in self.keys}

    def cells(self, frame: Any, origin: Origin | None = None) -> Any:  # noqa: ANN401
        """A lazy frame of narwhals as the columns that are counted, one row for each of its rows.

        ``origin`` is what is known about its reports beside its columns.
        """
        schema = frame.collect_schema()
        self._check_columns(schema)
        cells: dict[str, Any] = {}
        trusts = key = code = None
        if self.trust is not None:
            trusts, unclear = self.trust.expressions(schema[self.trust.column])
            cells |= {"trusting": frames.indicator(trusts), "unclear": frames.indicator(unclear)}
        if self.group is not None:
            key = cells["key"] = self._key(schema[self.group])
        if self.report is not None:
            cells |= self.report_cells(schema[self.report])
            code = cells["code"]
            cells |= self._ties(schema, code, key, origin or Origin())
        if self.value is not None:
            cells |= self.value_cells(schema[self.value], trusts, code)
        if self.user is not None:
            dtype = schema[self.user]
            if not (dtype.is_integer() or frames.is_text(dtype)):
                raise DataError(f"Column {self.user!r} must name users with texts or integers, but holds {dtype}.")
            cells["user"] = nw.col(self.user).cast(nw.String)
        return frame.select(**cells)

    def count(self, cells: Any, tallies: "dict[Key | None, Tally[Any, Any]]") -> None:  # noqa: ANN401
        """Count `cells` and add what they have to the tally of every key; None is for other rows."""
        known = cells.collect_schema().names()
        by = [name for name in ("code", "key", "item") if name in known]
        sums = {name: nw.col(name).sum() for name in self.added if name in known}
        counted = cells.group_by(*by).agg(rows=nw.len(), **sums) if by else cells.select(rows=nw.len(), **sums)
        texts = bool(self.keys) and isinstance(self.keys[0], str)
        for row in frames.collect(counted):
            key = str(row["key"]) if texts else row.get("key")  # the text "7" may name the integer 7
            tallies[key if key in tallies else None].add(row)

    def raw_value(self, present: Any, trusts: Any, code: Any) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401
        """Which of the values that are ``present`` count, and which rows have one that must not be there."""
        if trusts is None:
            return present, {}
        raw = present & ~trusts
        return present & trusts, {"raw": frames.indicator(raw if code is None else raw & (code == NO_REPORT))}

    def _ties(self, schema: Any, code: Any, key: Any, origin: Origin) -> dict[str, Any]:  # noqa: ANN401
        """Whether a report is one of this study, whether it is one of another, and whether it had a seed."""
        present = code != NO_REPORT
        known = {"tied": frames.indicator(code >= 0)} if origin.tied else {}
        known |= {"seeded": frames.indicator(present)} if origin.seeded else {}
        whole_keys = self.group is not None and schema[self.group].is_integer()
        parts = {int(name) if whole_keys else name: digest for name, digest in self._part_digests.items()}
        found = digest_matches(schema, key, {self.study.whole_digest, self.study.digest}, parts)
        if found is None:
            return known
        right, foreign, seeded = found
        return {
            "tied": frames.indicator(right & (code >= 0)),
            "foreign": frames.indicator(foreign & present),
            "seeded": frames.indicator(seeded & present),
        } | known

    def _key(self, dtype: Any) -> Any:  # noqa: ANN401
        """The group of a row, or a key that was not asked for: no nulls, which engines treat differently."""
        if not dtype.is_integer():
            x, text = nw.col(self.group).cast(nw.String), "other"
            while text in self.keys:
                text += "_"
            return nw.when(x.is_in(list(self.keys))).then(x).otherwise(nw.lit(text))
        x, keys = nw.col(self.group).cast(nw.Int64), [int(key) for key in self.keys]
        other = next(number for number in itertools.count() if number not in keys)
        return nw.when(x.is_in(keys)).then(x).otherwise(nw.lit(other, nw.Int64))

    def _check_columns(self, schema: Any) -> None:  # noqa: ANN401
        frames.require_columns(schema, self.columns, self.numbers)
        if self.group is not None:
            texts = isinstance(self.keys[0], str)
            whole = all(str(key).lstrip("-").isdecimal() and str(int(key)) == str(key) for key in self.keys)
            dtype = schema[self.group]
            wide = dtype in (nw.UInt64, nw.Int128, nw.UInt128)
            if not (texts and frames.is_text(dtype)) and not (whole and dtype.is_integer() and not wide):
                kind = "texts" if texts else "integers that fit into Int64"
                raise DataError(f"Column {self.group!r} must hold {kind}, as the keys are, but holds {dtype}.")


def chosen_code(dtype: Any, column: str, least: int, most: int) -> Any:  # noqa: ANN401
    """The code of each row between these limits; reports that are none are all `NO_CODE`: never many groups."""
    return choose(dtype, column, least, most, lambda x, _: x, NO_REPORT, NO_CODE)


def choose(dtype: Any, column: str, least: int, most: int, code: Any, missing_code: int, bad: int) -> Any:  # noqa: ANN401
    """One number for good reports, ``code`` of them, others for those that are missing or no codes."""
    missing = nw.col(column).is_null()
    x, good, kind = frames.whole_number(dtype, column, least, most)
    if kind is float:
        missing = missing | x.is_nan()  # tables of floats have no other way to say it
    other = nw.when(missing).then(nw.lit(kind(missing_code))).otherwise(nw.lit(kind(bad)))
    return nw.when(good).then(code(x, kind)).otherwise(other).cast(nw.Int64)


# What was counted


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
    """What two tables say of a group, or the one that says something."""
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


@dataclass(slots=True)
class Tally(ABC, Generic[T, L]):
    """The rows of one group."""

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
        n = {name: int(row.get(name) or 0) for name in ("rows", *Query.sums)}
        for name in ("rows", "count", "tied", "foreign", "seeded", "unclear", "raw"):
            setattr(self, name, getattr(self, name) + n[name])
        code = int(row.get("code", NO_REPORT))
        if code == NO_REPORT:
            self.neither += n["rows"] - n["count"] - n["raw"]
        else:
            self.codes[code] += n["rows"]
            self.both += max(n["count"], n["trusting"])  # whoever trusts and has a value is in both, too

    @property
    def bad(self) -> int:
        """Reports that are no codes."""
        return self.codes[NO_CODE]

    @property
    def good(self) -> int:
        """Reports that are codes."""
        return self.codes.total() - self.bad

    @property
    def all_tied(self) -> bool:
        """Whether there are codes, and all carry the digest of the study."""
        return 0 < self.good == self.tied

    @abstractmethod
    def trusted_summary(self, study: Any) -> T:  # noqa: ANN401
        """What the tally says of trusted users."""

    @abstractmethod
    def local_summary(self, study: Any) -> L:  # noqa: ANN401
        """What the tally says of local users."""

    def summaries(self, study: Any, *, trusted: bool, local: bool) -> Summaries[T, L]:  # noqa: ANN401
        """The tally as summaries of a study."""
        mine = self.trusted_summary(study) if trusted else None
        return Summaries(trusted=mine, local=self.local_summary(study) if local else None)


def check(
    tallies: "Sequence[Tally[Any, Any]]",
    study: TableStudy[Any, Any],
    table: str,
    trust_column: str | None,
    *,
    simulated: bool = False,
) -> None:
    """Raise if the columns of a table, all groups together, cannot be what they are said to be."""
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
