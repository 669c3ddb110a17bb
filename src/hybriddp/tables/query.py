"""The one query that counts a table, in the words of narwhals.

Every engine runs it in one pass. Only counts come back, at most one row per group, code and item. They add up over the
frames of a table (`hybriddp.tables.tally`). Each kind of study says in a file of its own what a value and a report are,
and which summaries their counts make. Who is in which group, and which study reports belong to, is the same for all.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import DataError
from hybriddp.study.reports import Reports
from hybriddp.study.summary import LocalSummary
from hybriddp.tables import frames
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.frames import Cells, Converter, DataType, Frame, Schema, nw
from hybriddp.tables.report_files import DIGEST_COLUMN, Origin, digest_matches
from hybriddp.tables.tally import NO_CODE, NO_REPORT, Key, Tally
from hybriddp.tables.text import Wanted
from hybriddp.tables.trust import Trust

if TYPE_CHECKING:
    import pyarrow as pa

Answers = tuple[Any, NDArray[np.bool_]]
"""Values of which devices send reports, and which rows they are in."""


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

    no_item: ClassVar[str | int] = ""
    """What stands in the column of items, if there is one, in a row that has none."""

    # What a kind of study says

    @property
    def question(self) -> Any:  # noqa: ANN401
        """What reports answer."""
        return self.study

    @property
    @abstractmethod
    def numbers(self) -> list[str]:
        """The columns that must hold numbers."""

    @abstractmethod
    def raw_cells(self, dtype: DataType) -> tuple[Cells, Cells]:
        """Return the raw values, and which of them are there."""

    @abstractmethod
    def value_cells(self, dtype: DataType, trusts: Cells, code: Cells) -> dict[str, Cells]:
        """Count the values of each row, and return what is added up of them.

        The value of somebody who does not trust is not looked at, but for noticing that it is there.
        """

    def report_cells(self, dtype: DataType) -> dict[str, Cells]:
        """Return the ``code`` of each row, `NO_REPORT` or `NO_CODE`, and what is added up of it."""
        return {"code": self.code(dtype, lambda x, _: x)}

    @abstractmethod
    def answers(self, column: "pa.Array") -> Answers:
        """Find the raw values that devices would send reports of."""

    @abstractmethod
    def trusted_summary(self, study: Any, tally: Tally) -> Any:  # noqa: ANN401
        """Summarize the trusted users, for the study or for its part."""

    def local_summary(self, study: Any, tally: Tally) -> Any:  # noqa: ANN401
        """Summarize the local users, for the study or for its part."""
        counts = tuple(self.report_count(tally, number) for number in range(study.n_counts))
        return LocalSummary(study.digest, tally.good, counts, tally.bad, **tally.flags)

    def report_count(self, tally: Tally, number: int) -> int:
        """Return how many reports have a code, as a summary of them has it."""
        return tally.codes[number]

    # What all have

    @property
    def columns(self) -> list[str]:
        """All columns that must be there."""
        names = (self.value, self.report, self.group, self.trust.column if self.trust else None, self.user)
        return [name for name in names if name is not None]

    @property
    def converters(self) -> dict[str, Converter]:
        """How columns that pandas holds as objects become ones that narwhals knows."""
        answers = {} if self.trust is None else {self.trust.column: frames.flags}
        return answers | dict.fromkeys(self.numbers, frames.floats)

    def wanted(self, csv: CsvFormat | None) -> Wanted:
        """List the columns for a reader of files: those that are compared with words are texts."""
        others = [self.group] if self.group is not None and not isinstance(self.keys[0], str) else []
        return Wanted(
            numbers=self.numbers,
            texts=[name for name in self.columns if name not in (*self.numbers, *others)],
            others=others,
            optional=[DIGEST_COLUMN] if self.report is not None else [],
            items=[] if self.value is None or self.value in self.numbers else [self.value],
            csv=csv or CsvFormat(),
        )

    @property
    def label(self) -> str:
        """The question by its digest and name, for errors."""
        return f"{self.question.digest[:12]}… ({self.question.title!r})"

    @property
    def text(self) -> str:
        """Text that devices get."""
        return str(self.question.device_json())

    @property
    def whole_digests(self) -> set[str]:
        """Digests that every report may carry."""
        return {self.question.digest, self.question.whole_digest}

    @cached_property
    def part_digests(self) -> dict[Key, str]:
        """Digests that reports of a group may carry."""
        return {} if self.group is None else {key: self.study.part(self.group, key).digest for key in self.keys}

    def device_codes(self, column: "pa.Array", rng: np.random.Generator | None) -> Answers:
        """Draw the codes that devices would send for a column of raw values; those of other rows are 0."""
        values, there = self.answers(column)
        codes = np.zeros(len(there), np.int64)
        codes[there] = self.question.randomize(values, random_state=rng).codes
        return codes, there

    def summarize_reports(self, reports: Reports, key: Key | None) -> Any:  # noqa: ANN401
        """Summarize reports of all local users, or of those with a key."""
        study = self.question if key is None else self.study.part(self.group, key)
        return study.summarize_local(reports)

    def cells(self, frame: Frame, origin: Origin | None = None) -> Frame:
        """Return a lazy frame of narwhals as the columns that are counted, one row for each of its rows.

        ``origin`` is what is known about its reports beside its columns.
        """
        schema = frame.collect_schema()
        self.check_columns(schema)
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

    def count(self, cells: Frame, tallies: Mapping[Key | None, Tally]) -> None:
        """Count `cells` and add what they have to the tally of every key; None is for other rows."""
        known = cells.collect_schema().names()
        by = [name for name in ("code", "key", "item") if name in known]
        sums = {name: nw.col(name).sum() for name in known if name not in (*by, "user")}
        counted = cells.group_by(*by).agg(rows=nw.len(), **sums) if by else cells.select(rows=nw.len(), **sums)
        texts = bool(self.keys) and isinstance(self.keys[0], str)
        for row in frames.collect(counted):
            key = str(row["key"]) if texts else row.get("key")  # the text "7" may name the integer 7
            tallies[key if key in tallies else None].add(row)

    def counted_values(self, present: Cells, trusts: Cells, code: Cells) -> tuple[Cells, dict[str, Cells]]:
        """Find which of the values that are ``present`` count, and which rows have one that must not be there."""
        if trusts is None:
            return present, {"count": frames.indicator(present)}
        raw = present & ~trusts
        raw = frames.indicator(raw if code is None else raw & (code == NO_REPORT))
        return present & trusts, {"count": frames.indicator(present & trusts), "raw": raw}

    def code(
        self,
        dtype: DataType,
        good: Callable[[Cells, type], Cells],
        others: tuple[int, int] = (NO_REPORT, NO_CODE),
    ) -> Cells:
        """Return one number for good reports, others for those that are missing or no codes: never many groups."""
        column, (least, most) = str(self.report), self.reports_between
        missing = nw.col(column).is_null()
        x, fine, kind = frames.whole_number(dtype, column, least, most)
        if kind is float:
            missing = missing | x.is_nan()  # tables of floats have no other way to say it
        other = nw.when(missing).then(nw.lit(kind(others[0]))).otherwise(nw.lit(kind(others[1])))
        return nw.when(fine).then(good(x, kind)).otherwise(other).cast(nw.Int64)

    def summed_report(self, dtype: DataType) -> tuple[Cells, Cells]:
        """Return a report that is added up rather than grouped by: the code 0 if it is one, and its integer."""
        return self.code(dtype, lambda _, kind: nw.lit(kind(0))), self.code(dtype, lambda x, _: x, (0, 0))

    @property
    def reports_between(self) -> tuple[int, int]:
        """The smallest and the largest report that a device can send."""
        least, most = self.question.reports_between
        return int(least), int(most)

    def _ties(self, schema: Schema, code: Cells, key: Cells, origin: Origin) -> dict[str, Cells]:
        """Return whether a report is one of this study, whether it is one of another, and whether it had a seed."""
        present = code != NO_REPORT
        known = {"tied": frames.indicator(code >= 0)} if origin.tied else {}
        known |= {"seeded": frames.indicator(present)} if origin.seeded else {}
        whole_keys = self.group is not None and schema[self.group].is_integer()
        parts = {int(name) if whole_keys else name: digest for name, digest in self.part_digests.items()}
        matches = digest_matches(schema, key, self.whole_digests, parts)
        if matches is None:
            return known
        right, foreign, seeded = matches
        return {
            "tied": frames.indicator(right & (code >= 0)),
            "foreign": frames.indicator(foreign & present),
            "seeded": frames.indicator(seeded & present),
        } | known

    def _key(self, dtype: DataType) -> Cells:
        """Return the group of a row, or a key that was not asked for: no nulls, which engines treat differently."""
        if not dtype.is_integer():
            x, text = nw.col(self.group).cast(nw.String), "other"
            while text in self.keys:
                text += "_"
            return nw.when(x.is_in(list(self.keys))).then(x).otherwise(nw.lit(text))
        x, keys = nw.col(self.group).cast(nw.Int64), [int(key) for key in self.keys]
        other = next(number for number in itertools.count() if number not in keys)
        return nw.when(x.is_in(keys)).then(x).otherwise(nw.lit(other, nw.Int64))

    def check_columns(self, schema: Schema) -> None:
        """Raise `DataError` if a column is missing, or of a type that does not fit."""
        frames.require_columns(schema, self.columns, self.numbers)
        if self.group is not None:
            texts = isinstance(self.keys[0], str)
            whole = all(str(key).lstrip("-").isdecimal() and str(int(key)) == str(key) for key in self.keys)
            dtype = schema[self.group]
            wide = dtype in (nw.UInt64, nw.Int128, nw.UInt128)
            if not (texts and frames.is_text(dtype)) and not (whole and dtype.is_integer() and not wide):
                kind = "texts" if texts else "integers that fit into Int64"
                raise DataError(f"Column {self.group!r} must hold {kind}, as the keys are, but holds {dtype}.")


class NumberQuery(Query):
    """What to count for a column of numbers: their units, by `Grid.to_units`.

    These are the same floating-point operations in every engine, so the integers are the same to the last bit.
    """

    units: ClassVar[str]  # the name of the column of units

    @property
    def numbers(self) -> list[str]:
        """Columns of values and of reports."""
        return [name for name in (self.value, self.report) if name is not None]

    def value_cells(self, dtype: DataType, trusts: Cells, code: Cells) -> dict[str, Cells]:
        """Count the values of each row, their units, and whether they were clamped."""
        lower, upper = self.study.bounds
        x, present = self.raw_cells(dtype)
        finite, cells = self.counted_values(present, trusts, code)
        safe = nw.when(finite).then(x).otherwise(nw.lit(lower))  # the lower bound is 0 units, so it adds nothing
        units = self.study.grid.to_units(safe, floor=frames.floor_to_integer)
        return cells | {self.units: units, "clamped": frames.indicator((safe < lower) | (safe > upper))}

    def raw_cells(self, dtype: DataType) -> tuple[Cells, Cells]:
        """Return the values as floats, and which of them are finite."""
        x = frames.as_float(dtype, str(self.value))
        return x, frames.is_finite(x)

    def answers(self, column: "pa.Array") -> Answers:
        """Find the finite values."""
        import pyarrow as pa

        x = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # nulls become NaN
        return x[np.isfinite(x)], np.isfinite(x)


class ItemsQuery(Query):
    """What to count for a column of items."""

    unfit: ClassVar[str]  # why a cell must not hold something else

    def items(self, dtype: DataType) -> tuple[Cells, Cells, Cells]:
        """Return a column of texts, which of them are there, and which cells hold something else."""
        column, never = nw.col(self.value), nw.lit(value=False)
        there = ~column.is_null()
        if frames.is_text(dtype):
            return column.cast(nw.String), there, never
        if dtype.is_float():  # a column without any text may be one of missing numbers
            return nw.lit("", nw.String), never, there & ~column.is_nan()
        if dtype == nw.Unknown:
            return nw.lit("", nw.String), never, there
        raise DataError(f"Column {self.value!r} must hold texts, {self.unfit}, but holds {dtype}.")

    def known(self, items: Cells) -> Cells:  # noqa: ARG002
        """Return which items are counted one by one."""
        return nw.lit(value=True)

    def raw_cells(self, dtype: DataType) -> tuple[Cells, Cells]:
        """Return the items, and which of them are there."""
        x, present, _ = self.items(dtype)
        return x, present

    def value_cells(self, dtype: DataType, trusts: Cells, code: Cells) -> dict[str, Cells]:
        """Count the items of each row, and return which one it is."""
        x, present, unfit = self.items(dtype)
        counts, cells = self.counted_values(present, trusts, code)
        nothing = nw.lit(self.no_item, nw.String if isinstance(self.no_item, str) else nw.Int64)
        item = nw.when(counts & self.known(x)).then(x).otherwise(nothing)
        return cells | {"item": item, "unfit": frames.indicator(unfit)}

    def refuse_unfit(self, tally: Tally, words: str) -> None:
        """Raise `DataError` if some items are of another type."""
        if tally.sums["unfit"]:
            raise DataError(f"Column {self.value!r} must hold {words}, but some cells hold something else.")
