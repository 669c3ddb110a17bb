"""What is counted for shares: how many users have each category, and each code, or each bit of a code.

The engine groups by item, so only one count per different item comes back. Where there are few categories, all items
that are none of them come back as one. What is missing, outside of the categories or of another type is treated as
`FrequencyStudy.summarize_trusted` does with the same items, so the summaries are the same.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import DataError
from hybriddp.shares.categories import LARGEST_INTEGER, OUTSIDE, Categories
from hybriddp.shares.oracle import UnaryOracle
from hybriddp.shares.study import FrequencyStudy
from hybriddp.shares.summary import LocalCounts, TrustedCounts
from hybriddp.tables import frames
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.frames import Converter, nw
from hybriddp.tables.query import DeviceCodes, Query, chosen_code, summed_report
from hybriddp.tables.tally import CountedItems
from hybriddp.tables.text import Wanted

if TYPE_CHECKING:
    import pyarrow as pa

MOST_COMPARED = 1000
"""Up to this many categories are compared on the engine; of more, all different items come back."""


@dataclass(frozen=True)
class FrequencyQuery(Query):
    """What to count for the shares of the categories in a column."""

    study: FrequencyStudy

    @property
    def _domain(self) -> Categories:
        return self.study.domain

    @property
    def numbers(self) -> list[str]:
        """Reports, and items that are integers."""
        names = (None if self._domain.are_texts else self.value, self.report)
        return [name for name in names if name is not None]

    def wanted(self, csv: CsvFormat | None) -> Wanted:
        """The columns for a reader of files."""
        numbers = [] if self.value is None or self._domain.are_texts else [self.value]
        return replace(super().wanted(csv), categories=numbers)

    @property
    def converters(self) -> dict[str, Converter]:
        """Objects as items."""
        return {} if self.value is None else {self.value: self._plain}

    def _plain(self, objects: list[Any]) -> tuple[list[Any], Any]:
        if not self._domain.are_texts:
            objects = [float(item) if isinstance(item, Decimal) else item for item in objects]
        missing = set(self._domain.missing_places(objects))
        if self._domain.are_texts:
            return [None if i in missing else str(item) for i, item in enumerate(objects)], nw.String
        most = LARGEST_INTEGER + 1  # what is beyond is outside of all categories; floats up to here are exact
        floats = [np.nan if i in missing else float(max(-most, min(item, most))) for i, item in enumerate(objects)]
        return floats, nw.Float64

    @property
    def no_item(self) -> str | int:
        """A text, or an integer, that no category is."""
        return "" if self._domain.are_texts else LARGEST_INTEGER + 1

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the columns that are added up."""
        return (*self.sums, "unfit", *self._bits)

    @property
    def _bits(self) -> list[str]:
        oracle = self.study.oracle
        return [f"bit{i}" for i in range(oracle.n_counts)] if isinstance(oracle, UnaryOracle) else []

    def value_cells(self, dtype: Any, trusts: Any, code: Any) -> dict[str, Any]:  # noqa: ANN401
        """How many items each row has, and which."""
        x, present, unfit = self._items(dtype)
        counts, cells = self.raw_value(present, trusts, code)
        known = counts
        if len(self._domain.items) <= MOST_COMPARED:
            known = known & x.is_in(list(self._domain.items))
        nothing = nw.lit(self.no_item, nw.String if self._domain.are_texts else nw.Int64)
        cells |= {"item": nw.when(known).then(x).otherwise(nothing), "count": frames.indicator(counts)}
        return cells | {"unfit": frames.indicator(unfit)}

    def _items(self, dtype: Any) -> tuple[Any, Any, Any]:  # noqa: ANN401
        """The items, which of them are there, and which are there but of another type."""
        column, never = nw.col(self.value), nw.lit(value=False)
        there = ~column.is_null()
        if self._domain.are_texts:
            return text_items(dtype, str(self.value), "as the categories are")
        far = nw.lit(self.no_item, nw.Int64)
        if dtype.is_integer() and dtype not in (nw.UInt64, nw.Int128, nw.UInt128):
            whole = column.cast(nw.Int64)
            within = whole.is_between(-LARGEST_INTEGER, LARGEST_INTEGER)
            return nw.when(within).then(whole).otherwise(far), there, never
        x = column.cast(nw.Float64)
        there = there & ~x.is_nan()
        within = x.is_between(float(-LARGEST_INTEGER), float(LARGEST_INTEGER)) & there
        safe = nw.when(within).then(x).otherwise(nw.lit(0.0))
        items = nw.when(within).then(safe.floor().cast(nw.Int64)).otherwise(far)
        return items, there, there & (~frames.is_finite(x) | (within & (safe.floor() != safe)))

    def report_cells(self, dtype: Any) -> dict[str, Any]:  # noqa: ANN401
        """The code of each row; the codes of unary encoding, which may be as many as users, are added up bit by bit."""
        column, most = str(self.report), self.study.oracle.n_codes - 1
        if not self._bits:
            return {"code": chosen_code(dtype, column, most)}
        code, whole = summed_report(dtype, column, 0, most)
        bits = {name: whole // (1 << i) - whole // (2 << i) * 2 for i, name in enumerate(self._bits)}
        return {"code": code, **bits}

    def _check_columns(self, schema: Any) -> None:  # noqa: ANN401
        held = schema[self.value] if self.value in schema.names() else None
        if held is not None and frames.is_text(held) and not self._domain.are_texts:
            raise DataError(
                f"Column {self.value!r} must hold integers, as the categories are, but holds {held}. Cast it, or make "
                "the categories texts."
            )
        super()._check_columns(schema)

    def tally(self) -> "FrequencyTally":
        """An empty tally."""
        return FrequencyTally(column=self.value)

    # Devices that are simulated

    def raw_cells(self, dtype: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """The items, and which of them are there."""
        x, present, _ = self._items(dtype)
        return x, present

    @classmethod
    def device_codes(cls, text: str) -> DeviceCodes:
        """What devices send for a column of items: nothing for those that are none of the categories."""
        study = FrequencyStudy.from_json(text)

        def codes(column: "pa.Array", rng: np.random.Generator | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
            found = study.domain.find(column.to_pylist())
            if study.other:
                found[found == OUTSIDE] = len(study.categories)
            answers = found >= 0
            drawn = np.zeros(len(found), np.int64)
            drawn[answers] = study.oracle.randomize(found[answers], rng)
            return drawn, answers

        return codes


def text_items(dtype: Any, name: str, why: str) -> tuple[Any, Any, Any]:  # noqa: ANN401
    """A column of texts, which of them are there, and which cells hold something else."""
    column, never = nw.col(name), nw.lit(value=False)
    there = ~column.is_null()
    if frames.is_text(dtype):
        return column.cast(nw.String), there, never
    if dtype.is_float():  # a column without any text may be one of missing numbers
        return nw.lit("", nw.String), never, there & ~column.is_nan()
    if dtype == nw.Unknown:
        return nw.lit("", nw.String), never, there
    raise DataError(f"Column {name!r} must hold texts, {why}, but holds {dtype}.")


@dataclass
class FrequencyTally(CountedItems[TrustedCounts, LocalCounts]):
    """Counts of the rows of one group, for shares."""

    bits: Counter[int] = field(default_factory=Counter)  # reports with each bit

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of a query's result."""
        super().add(row)
        for name, number in row.items():
            if name.startswith("bit"):
                self.bits[int(name[3:])] += int(number or 0)

    def trusted_summary(self, study: FrequencyStudy) -> TrustedCounts:
        """One count per category."""
        if self.unfit:
            raise DataError(
                f"Column {self.column!r} must hold {study.domain.words}, as the categories are, but some cells hold "
                "something else."
            )
        counts = [self.items.get(item, 0) for item in study.categories]
        outside = self.count - sum(counts)
        counts += [outside] if study.other else []
        return TrustedCounts(study.digest, tuple(counts), self.neither, 0 if study.other else outside)

    def local_summary(self, study: FrequencyStudy) -> LocalCounts:
        """One count per code, or per bit."""
        found = self.bits if isinstance(study.oracle, UnaryOracle) else self.codes
        counts = tuple(found[code] for code in range(study.oracle.n_counts))
        return LocalCounts(study.digest, self.good, counts, self.bad, self.all_tied, self.seeded > 0)
