"""The one query that counts a table, in the words of narwhals.

Every engine runs it in one pass. Only counts come back, at most one row per group, code and item. They add up over the
frames of a table (`hybriddp.tables.tally`). Each kind of study says in a file of its own what a value and a report are.
Who is in which group, and which study reports belong to, is the same for all.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import DataError
from hybriddp.tables import frames
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.frames import Converter, nw
from hybriddp.tables.report_files import DIGEST_COLUMN, Origin, digest_matches
from hybriddp.tables.tally import NO_CODE, NO_REPORT, Key, Tally
from hybriddp.tables.text import Wanted
from hybriddp.tables.trust import Trust

if TYPE_CHECKING:
    import pyarrow as pa

DeviceCodes = Callable[["pa.Array", np.random.Generator | None], tuple[NDArray[np.int64], NDArray[np.bool_]]]
"""From a column of raw values to the codes that devices would send, and which rows send one."""


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

    @classmethod
    @abstractmethod
    def device_codes(cls, text: str) -> DeviceCodes:
        """Simulate the devices of a study, given as its text."""

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


def choose(dtype: Any, column: str, least: int, most: int, code: Any, missing_code: int, bad: int) -> Any:  # noqa: ANN401
    """One number for good reports, ``code`` of them, others for those that are missing or no codes."""
    missing = nw.col(column).is_null()
    x, good, kind = frames.whole_number(dtype, column, least, most)
    if kind is float:
        missing = missing | x.is_nan()  # tables of floats have no other way to say it
    other = nw.when(missing).then(nw.lit(kind(missing_code))).otherwise(nw.lit(kind(bad)))
    return nw.when(good).then(code(x, kind)).otherwise(other).cast(nw.Int64)


@dataclass(frozen=True)
class NumberQuery(Query):
    """What to count for a column of numbers: their units, by `Grid.to_units`.

    These are the same floating-point operations in every engine, so the integers are the same to the last bit.
    """

    kind: ClassVar[Any]  # of the studies
    units: ClassVar[str]  # the name of the column of units

    @property
    def numbers(self) -> list[str]:
        """Columns of values and of reports."""
        return [name for name in (self.value, self.report) if name is not None]

    def value_cells(self, dtype: Any, trusts: Any, code: Any) -> dict[str, Any]:  # noqa: ANN401
        """Count the values of each row, their units, and whether they were clamped."""
        lower, upper = self.study.bounds
        x, present = self.raw_cells(dtype)
        finite, cells = self.raw_value(present, trusts, code)
        safe = nw.when(finite).then(x).otherwise(nw.lit(lower))  # the lower bound is 0 units, so it adds nothing
        units = self.study.grid.to_units(safe, floor=frames.floor_to_integer)
        clamped = frames.indicator((safe < lower) | (safe > upper))
        return cells | {"count": frames.indicator(finite), self.units: units, "clamped": clamped}

    def raw_cells(self, dtype: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """Return the values as floats, and which of them are finite."""
        x = frames.as_float(dtype, str(self.value))
        return x, frames.is_finite(x)

    @classmethod
    def device_codes(cls, text: str) -> DeviceCodes:
        """Simulate devices, which send nothing for a value that is not finite."""
        study = cls.kind.from_json(text)

        def codes(column: "pa.Array", rng: np.random.Generator | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
            import pyarrow as pa

            x = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # nulls become NaN
            finite = np.isfinite(x)
            drawn = np.zeros(len(x), np.int64)
            drawn[finite] = study.randomize(x[finite], random_state=rng)
            return drawn, finite

        return codes


def chosen_code(dtype: Any, column: str, most: int) -> Any:  # noqa: ANN401
    """Return the code of each row, from 0 to ``most``, `NO_REPORT` or `NO_CODE`: never many groups."""
    return choose(dtype, column, 0, most, lambda x, _: x, NO_REPORT, NO_CODE)


def summed_report(dtype: Any, column: str, least: int, most: int) -> tuple[Any, Any]:  # noqa: ANN401
    """Return a report that is added up rather than grouped by: the code 0 if it is one, and its integer."""
    code = choose(dtype, column, least, most, lambda _, kind: nw.lit(kind(0)), NO_REPORT, NO_CODE)
    return code, choose(dtype, column, least, most, lambda x, _: x, 0, 0)
