"""The one query that counts everything, in the words of narwhals, and the tally of what it found.

Every engine runs it in one pass. Only a handful of integers comes back, at most one row per group and code; they add up
over the frames of a table and become summaries. A value becomes units by `Grid.to_units`, the same floating-point
operations in every engine, so the integers are the same to the last bit.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.errors import DataError
from hybriddp.mean.study import MeanStudy
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.tables import frames
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.frames import nw
from hybriddp.tables.mean.report_files import DIGEST_COLUMN, Origin, digest_matches, refuse_foreign
from hybriddp.tables.mean.trust import Trust
from hybriddp.tables.text import Wanted
from hybriddp.wording import counted

Key = str | int
"""What names a group: a public text or a public whole number."""

NO_REPORT, NO_CODE = -2, -1
"""What stands in the place of a code where there is no report, and where the report is no code."""

SUMS = ("count", "total", "clamped", "upper", "lower", "tied", "foreign", "seeded", "trusting", "unclear", "raw")
"""The columns that a query adds up."""

REPORT_WORD = 1 << 24
"""Reports with Laplace noise are added up as ``upper`` words of this size and a ``lower`` rest."""


@dataclass(frozen=True)
class Query:
    """What to count: which columns mean what, for which study, in which groups."""

    study: MeanStudy
    value: str | None
    report: str | None
    group: str | None = None
    keys: Sequence[Key] = ()
    trust: Trust | None = None
    user: str | None = None

    @property
    def numbers(self) -> list[str]:
        """The columns that must hold numbers."""
        return [name for name in (self.value, self.report) if name is not None]

    @property
    def columns(self) -> list[str]:
        """All columns that must be there."""
        more = (self.group, self.trust.column if self.trust else None, self.user)
        return [*self.numbers, *(name for name in more if name is not None)]

    def wanted(self, csv: CsvFormat | None) -> Wanted:
        """The columns for a reader of files: those that are compared with words are texts, whatever they look like."""
        others = [self.group] if self.group is not None and not isinstance(self.keys[0], str) else []
        return Wanted(
            numbers=self.numbers,
            texts=[name for name in self.columns if name not in (*self.numbers, *others)],
            others=others,
            optional=[DIGEST_COLUMN] if self.report is not None else [],
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
            cells |= _report(schema[self.report], self.report, self.study)
            code = cells["code"]
            cells |= self._ties(schema, code, key, origin or Origin())
        if self.value is not None:
            cells |= _value(schema[self.value], self.value, self.study, trusts, code)
        if self.user is not None:
            dtype = schema[self.user]
            if not (dtype.is_integer() or frames.is_text(dtype)):
                raise DataError(f"Column {self.user!r} must name users with texts or integers, but holds {dtype}.")
            cells["user"] = nw.col(self.user).cast(nw.String)
        return frame.select(**cells)

    def count(self, cells: Any, tallies: dict[Key | None, "Tally"]) -> None:  # noqa: ANN401
        """Count `cells` and add what they have to the tally of every key; None is for other rows."""
        known = cells.collect_schema().names()
        by = [name for name in ("code", "key") if name in known]
        sums = {name: nw.col(name).sum() for name in SUMS if name in known}
        counted = cells.group_by(*by).agg(rows=nw.len(), **sums) if by else cells.select(rows=nw.len(), **sums)
        texts = bool(self.keys) and isinstance(self.keys[0], str)
        for row in frames.collect(counted):
            key = str(row["key"]) if texts else row.get("key")  # the text "7" may name the integer 7
            tallies[key if key in tallies else None].add(row)

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


def _value(dtype: Any, column: str, study: MeanStudy, trusts: Any, code: Any) -> dict[str, Any]:  # noqa: ANN401
    """How many values each row has, their units, and whether they were clamped.

    The value of somebody who does not trust is not looked at, but for noticing that it is there.
    """
    lower, upper = study.bounds
    x = frames.as_float(dtype, column)
    finite, cells = frames.is_finite(x), {}
    if trusts is not None:
        raw = finite & ~trusts
        cells["raw"] = frames.indicator(raw if code is None else raw & (code == NO_REPORT))
        finite = finite & trusts
    safe = nw.when(finite).then(x).otherwise(nw.lit(lower))  # the lower bound is 0 units, so it adds nothing
    units = study.grid.to_units(safe, floor=frames.floor_to_integer)
    clamped = frames.indicator((safe < lower) | (safe > upper))
    return cells | {"count": frames.indicator(finite), "total": units, "clamped": clamped}


def _report(dtype: Any, column: str, study: MeanStudy) -> dict[str, Any]:  # noqa: ANN401
    """The code of each row; reports that are none are one and the same, so that there are never many groups.

    Reports with Laplace noise are all code 0, and are summed: in two words, since engines add 64 bits only.
    """
    missing = nw.col(column).is_null()
    x, good, kind = frames.whole_number(dtype, column, *study.reports_between)
    if kind is float:
        missing = missing | x.is_nan()  # tables of floats have no other way to say it

    def chosen(code: Any, missing_code: int, bad: int) -> Any:  # noqa: ANN401
        """One number for good reports, others for those that are missing or no codes."""
        other = nw.when(missing).then(nw.lit(kind(missing_code))).otherwise(nw.lit(kind(bad)))
        return nw.when(good).then(code).otherwise(other).cast(nw.Int64)

    if not isinstance(study.channel, DiscreteLaplace):
        return {"code": chosen(x, NO_REPORT, NO_CODE)}
    whole = chosen(x, 0, 0)
    upper = whole // REPORT_WORD
    return {
        "code": chosen(nw.lit(kind(0)), NO_REPORT, NO_CODE),
        "upper": upper,
        "lower": whole - upper * REPORT_WORD,
    }


# What was counted


class Summaries(NamedTuple):
    """What a table says of trusted and of local users; None for those whose column was not named."""

    trusted: TrustedSummary | None
    local: LocalSummary | LaplaceSummary | None


@dataclass(frozen=True)
class GroupedSummaries(Mapping[Key, Summaries]):
    """Summaries of every group that was asked for. Holds exact totals and a row count: not private.

    Attributes
    ----------
    by : str
        The column that says which group a row belongs to.
    parts : dict
        The summaries of every group, in the order in which the keys were given. Those of a key belong to the study
        ``study.part(by, key)``.
    other : int
        How many rows have none of the keys: they are in nobody's mean.
    """

    by: str
    parts: dict[Key, Summaries]
    other: int

    def __getitem__(self, key: Key) -> Summaries:
        return self.parts[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


@dataclass(slots=True)
class Tally:
    """The rows of one group."""

    rows: int = 0
    neither: int = 0  # rows with neither a value nor a report
    both: int = 0  # rows with both, or that trust and have a report
    count: int = 0  # finite values of users who trust
    total: int = field(default=0, repr=False)  # the sum of their units: exact, not for logs
    clamped: int = 0  # those outside of the bounds
    reported: int = 0  # the sum of the reports, if they carry Laplace noise
    tied: int = 0  # codes that carry the digest of the study
    foreign: int = 0  # reports that carry the digest of another study
    seeded: int = 0  # reports that were drawn with a seed
    unclear: int = 0  # rows that say neither that they trust nor that they do not
    raw: int = 0  # values of users who do not trust, and have no report
    codes: Counter[int] = field(default_factory=Counter)  # reports of every code, and of `NO_CODE`

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of a query's result; the sum of an empty column is nothing in some engines and 0 in others."""
        n = {name: int(row.get(name) or 0) for name in ("rows", *SUMS)}
        for name in ("rows", "count", "total", "clamped", "tied", "foreign", "seeded", "unclear", "raw"):
            setattr(self, name, getattr(self, name) + n[name])
        self.reported += n["upper"] * REPORT_WORD + n["lower"]
        code = int(row.get("code", NO_REPORT))
        if code == NO_REPORT:
            self.neither += n["rows"] - n["count"] - n["raw"]
        else:
            self.codes[code] += n["rows"]
            self.both += max(n["count"], n["trusting"])  # whoever trusts and has a value is in both, too

    def summaries(self, study: MeanStudy, *, trusted: bool, local: bool) -> Summaries:
        """The tally as summaries of a study."""
        mine = TrustedSummary(study.digest, self.count, self.total, self.neither, self.clamped) if trusted else None
        return Summaries(trusted=mine, local=self._local(study) if local else None)

    def _local(self, study: MeanStudy) -> LocalSummary | LaplaceSummary:
        bad = self.codes[NO_CODE]
        good = self.codes.total() - bad
        tied = 0 < good == self.tied
        if isinstance(study.channel, DiscreteLaplace):
            return LaplaceSummary(study.digest, good, self.reported, bad, tied, self.seeded > 0)
        counts = tuple(self.codes[code] for code in range(study.channel.n_codes))
        return LocalSummary(study.digest, counts, bad, tied, self.seeded > 0)


def check(
    tallies: list[Tally], study: MeanStudy, table: str, trust_column: str | None, *, simulated: bool = False
) -> None:
    """Raise if the columns of a table, all groups together, cannot be what they are said to be."""
    both, raw, unclear, foreign = (
        sum(getattr(tally, name) for tally in tallies) for name in ("both", "raw", "unclear", "foreign")
    )
    if trust_column is not None and unclear:
        raise DataError(
            f"Column {trust_column!r} says neither yes nor no in {counted(unclear, 'row')}. Say which word means that "
            f'somebody trusts, with --trusted-if {trust_column}=WORD (in Python: trusted_if="{trust_column}=WORD").'
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
    bad = sum(tally.codes[NO_CODE] for tally in tallies)
    study.refuse_bad_reports(bad, reports)
