"""What is counted for shares: how many users have each category, and each code, or each bit of a code.

The engine groups by item, so only one count per different item comes back. Where there are few categories, all items
that are none of them come back as one. What is missing, outside of the categories or of another type is treated as
`FrequencyStudy.summarize_trusted` does with the same items, so the summaries are the same.
"""

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp.errors import DataError
from hybriddp.shares.categories import LARGEST_INTEGER, OUTSIDE, Categories
from hybriddp.shares.study import FrequencyStudy
from hybriddp.study.summary import TrustedSummary
from hybriddp.tables import frames
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.frames import Cells, Converter, DataType, Schema, nw
from hybriddp.tables.query import Answers, ItemsQuery
from hybriddp.tables.tally import Tally
from hybriddp.tables.text import Wanted

if TYPE_CHECKING:
    import pyarrow as pa

MOST_COMPARED = 1000
"""Up to this many categories are compared on the engine; of more, all different items come back."""


class FrequencyQuery(ItemsQuery):
    """What to count for the shares of the categories in a column."""

    study: FrequencyStudy
    unfit = "as the categories are"

    @property
    def _domain(self) -> Categories:
        return self.study.domain

    @property
    def numbers(self) -> list[str]:
        """Reports, and items that are integers."""
        names = (None if self._domain.are_texts else self.value, self.report)
        return [name for name in names if name is not None]

    @property
    def no_item(self) -> str | int:  # type: ignore[override]
        """A text, or an integer, that no category is."""
        return "" if self._domain.are_texts else LARGEST_INTEGER + 1

    def wanted(self, csv: CsvFormat | None) -> Wanted:
        """List the columns for a reader of files."""
        numbers = [] if self.value is None or self._domain.are_texts else [self.value]
        return replace(super().wanted(csv), categories=numbers)

    @property
    def converters(self) -> dict[str, Converter]:
        """Objects as items."""
        return super().converters | ({} if self.value is None else {self.value: self._plain})

    def _plain(self, objects: list[Any]) -> tuple[list[Any], Any]:
        if not self._domain.are_texts:
            objects = [float(item) if isinstance(item, Decimal) else item for item in objects]
        missing = set(self._domain.missing_places(objects))
        if self._domain.are_texts:
            return [None if i in missing else str(item) for i, item in enumerate(objects)], nw.String
        most = LARGEST_INTEGER + 1  # what is beyond is outside of all categories; floats up to here are exact
        floats = [np.nan if i in missing else float(max(-most, min(item, most))) for i, item in enumerate(objects)]
        return floats, nw.Float64

    def check_columns(self, schema: Schema) -> None:
        """Raise `DataError` if a column is missing, or of a type that does not fit."""
        held = schema[self.value] if self.value in schema.names() else None
        if held is not None and frames.is_text(held) and not self._domain.are_texts:
            raise DataError(
                f"Column {self.value!r} must hold integers, as the categories are, but holds {held}. Cast it, or make "
                "the categories texts."
            )
        super().check_columns(schema)

    def items(self, dtype: DataType) -> tuple[Cells, Cells, Cells]:
        """Return the items, which of them are there, and which are there but of another type."""
        if self._domain.are_texts:
            return super().items(dtype)
        column, far = nw.col(self.value), nw.lit(self.no_item, nw.Int64)
        there = ~column.is_null()
        if dtype.is_integer() and dtype not in (nw.UInt64, nw.Int128, nw.UInt128):
            whole = column.cast(nw.Int64)
            within = whole.is_between(-LARGEST_INTEGER, LARGEST_INTEGER)
            return nw.when(within).then(whole).otherwise(far), there, nw.lit(value=False)
        x = column.cast(nw.Float64)
        there = there & ~x.is_nan()
        within = x.is_between(float(-LARGEST_INTEGER), float(LARGEST_INTEGER)) & there
        safe = nw.when(within).then(x).otherwise(nw.lit(0.0))
        items = nw.when(within).then(safe.floor().cast(nw.Int64)).otherwise(far)
        return items, there, there & (~frames.is_finite(x) | (within & (safe.floor() != safe)))

    def known(self, items: Cells) -> Cells:
        """Return which items are counted one by one: the categories, if there are few."""
        categories = self._domain.items
        return items.is_in(list(categories)) if len(categories) <= MOST_COMPARED else super().known(items)

    def report_cells(self, dtype: DataType) -> dict[str, Cells]:
        """Return the code of each row; codes of unary encoding, which are many, are added up bit by bit."""
        if not self.study.reports_are_bits:
            return super().report_cells(dtype)
        code, whole = self.summed_report(dtype)
        bits = {f"bit{i}": whole // (1 << i) - whole // (2 << i) * 2 for i in range(self.study.n_counts)}
        return {"code": code, **bits}

    def answers(self, column: "pa.Array") -> Answers:
        """Find the items that are categories, or others if the study has these."""
        items = column.to_pylist()
        categories = self._domain.find(items)
        there = (categories >= 0) | (self.study.other & (categories == OUTSIDE))
        return [item for item, answers in zip(items, there, strict=True) if answers], there

    def trusted_summary(self, study: FrequencyStudy, tally: Tally) -> TrustedSummary:
        """Return one count per category."""
        self.refuse_unfit(tally, f"{study.domain.words}, as the categories are")
        counts = [tally.items[item] for item in study.categories]
        outside = tally.sums["count"] - sum(counts)
        counts += [outside] if study.other else []
        left_out = 0 if study.other else outside
        return TrustedSummary(study.digest, sum(counts), tuple(counts), tally.sums["neither"], left_out)

    def report_count(self, tally: Tally, number: int) -> int:
        """Return how many reports have a code, or a bit."""
        return tally.sums[f"bit{number}"] if self.study.reports_are_bits else tally.codes[number]
