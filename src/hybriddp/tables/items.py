"""What is counted for heavy hitters: every different item that trusted users have, and codes of local discovery.

The engine groups by item, so one count per different item comes back, whoever has it. What no study could show counts
as other, as in `HeavyHitterStudy.summarize_trusted`. Reports on a list, or on a dictionary, are those of a
`FrequencyStudy`.
"""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import DataError, ParameterError
from hybriddp.items.counts import ItemCounts
from hybriddp.items.discovery import DiscoveryQuestion
from hybriddp.items.records import is_missing, shown_item
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.shares.categories import OTHER
from hybriddp.study.summary import LocalSummary
from hybriddp.tables import frames
from hybriddp.tables.frames import Converter, nw
from hybriddp.tables.query import DeviceCodes, Query, chosen_code
from hybriddp.tables.shares import text_items
from hybriddp.tables.tally import CountedItems, Key

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ItemStudy:
    """A study of heavy hitters without a dictionary, as tables see it: reports in them are those of local discovery."""

    study: HeavyHitterStudy

    @property
    def question(self) -> DiscoveryQuestion:
        """What reports answer."""
        return self.study.discovery

    @property
    def digest(self) -> str:
        """That of the question, which reports carry."""
        return self.question.digest

    @property
    def whole_digest(self) -> str:
        """The same: there are no parts."""
        return self.digest

    @property
    def title(self) -> str:
        """Its name."""
        return self.study.name

    def to_json(self) -> str:
        """The text of the question."""
        return self.question.to_json()

    def device_json(self) -> str:
        """The text of the question, which devices get."""
        return self.to_json()

    def part(self, by: str, key: Key) -> "ItemStudy":
        """An error: heavy hitters are those of everybody."""
        raise ParameterError("group", "left out: heavy hitters are those of everybody", f"{by}: {key}")

    def summarize_trusted(self, items: object) -> ItemCounts:
        """The summary of raw items."""
        return self.study.summarize_trusted(items)

    def summarize_local(self, reports: Any) -> LocalSummary:  # noqa: ANN401
        """The summary of reports."""
        return self.question.summarize_local(reports)

    def refuse_bad_reports(self, rejected: int, count: int) -> None:
        """Raise `DataError` if too many reports are invalid."""
        self.question.refuse_bad_reports(rejected, count)


@dataclass(frozen=True)
class ItemQuery(Query):
    """What to count for the heavy hitters in a column."""

    study: ItemStudy

    @property
    def numbers(self) -> list[str]:
        """Reports."""
        return [] if self.report is None else [self.report]

    @property
    def converters(self) -> dict[str, Converter]:
        """Objects as items."""
        return {} if self.value is None else {self.value: _plain}

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the columns that are added up."""
        return (*self.sums, "unfit")

    def value_cells(self, dtype: Any, trusts: Any, code: Any) -> dict[str, Any]:  # noqa: ANN401
        """How many items each row has, and which."""
        x, present, unfit = text_items(dtype, str(self.value), "as items are")
        counts, cells = self.raw_value(present, trusts, code)
        item = nw.when(counts).then(x).otherwise(nw.lit("", nw.String))
        return cells | {"item": item, "count": frames.indicator(counts), "unfit": frames.indicator(unfit)}

    def report_cells(self, dtype: Any) -> dict[str, Any]:  # noqa: ANN401
        """The code of each row."""
        return {"code": chosen_code(dtype, str(self.report), self.study.question.n_codes - 1)}

    def tally(self) -> "ItemTally":
        """An empty tally."""
        return ItemTally(column=self.value)

    def raw_cells(self, dtype: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """The items, and which of them are there."""
        x, present, _ = text_items(dtype, str(self.value), "as items are")
        return x, present

    @classmethod
    def device_codes(cls, text: str) -> DeviceCodes:
        """What devices send for a column of items."""
        question = DiscoveryQuestion.from_json(text)

        def codes(column: "pa.Array", rng: np.random.Generator | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
            items = [OTHER if item is None else shown_item(item) for item in column.to_pylist()]
            drawn = question.randomize(items, random_state=rng).codes.astype(np.int64)
            return drawn, ~column.is_null().to_numpy(zero_copy_only=False)

        return codes


def _plain(objects: list[Any]) -> tuple[list[Any], Any]:
    texts = [None if is_missing(item) else item for item in objects]
    for item in {type(item): item for item in texts if not isinstance(item, str) and item is not None}.values():
        shown_item(item)  # an error: it is no text
    return texts, nw.String


@dataclass
class ItemTally(CountedItems[ItemCounts, LocalSummary]):
    """Counts of the rows of all users, for heavy hitters."""

    def trusted_summary(self, study: ItemStudy) -> ItemCounts:
        """How many users have each item."""
        if self.unfit:
            raise DataError(f"Column {self.column!r} must hold texts, but some cells hold something else.")
        counts = Counter[str]()
        for item, count in self.items.items():
            counts[shown_item(item)] += count
        del counts[OTHER]
        return ItemCounts(study.study.digest, self.count, counts, self.neither)

    def local_summary(self, study: ItemStudy) -> LocalSummary:
        """One count per code."""
        counts = [self.codes[code] for code in range(study.question.n_codes)]
        return LocalSummary.of_codes(study.digest, counts, self.bad, tied=self.all_tied, seeded=self.seeded > 0)
