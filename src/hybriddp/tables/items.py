"""What is counted for heavy hitters: every different item that trusted users have, and codes of local discovery.

The engine groups by item, so one count per different item comes back, whoever has it. What no study could show counts
as other, as in `HeavyHitterStudy.summarize_trusted`. Reports on a list, or on a dictionary, are those of a
`FrequencyStudy`.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any

from hybriddp.items.counts import ItemCounts
from hybriddp.items.discovery import DiscoveryQuestion
from hybriddp.items.records import shown_item
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.shares.categories import OTHER, is_missing
from hybriddp.tables.frames import Converter, nw
from hybriddp.tables.query import Answers, ItemsQuery
from hybriddp.tables.tally import Tally

if TYPE_CHECKING:
    import pyarrow as pa


class ItemQuery(ItemsQuery):
    """What to count for the heavy hitters in a column."""

    study: HeavyHitterStudy
    unfit = "as items are"

    @property
    def question(self) -> DiscoveryQuestion:
        """What reports answer."""
        return self.study.discovery

    @property
    def numbers(self) -> list[str]:
        """Reports."""
        return [] if self.report is None else [self.report]

    @property
    def converters(self) -> dict[str, Converter]:
        """Objects as items."""
        return super().converters | ({} if self.value is None else {self.value: _plain})

    def answers(self, column: "pa.Array") -> Answers:
        """Find the items that are there."""
        there = ~column.is_null().to_numpy(zero_copy_only=False)
        return [shown_item(item) for item in column.to_pylist() if item is not None], there

    def trusted_summary(self, study: HeavyHitterStudy, tally: Tally) -> ItemCounts:
        """Return how many users have each item."""
        self.refuse_unfit(tally, "texts")
        counts = Counter[str]()
        for item, count in tally.items.items():
            counts[shown_item(item)] += count
        del counts[OTHER]
        return ItemCounts(study.digest, tally.sums["count"], counts, tally.sums["neither"])

    def local_summary(self, study: HeavyHitterStudy, tally: Tally) -> Any:  # noqa: ANN401
        """Summarize the local users, who answer the question of local discovery."""
        return super().local_summary(study.discovery, tally)


def _plain(objects: list[Any]) -> tuple[list[Any], Any]:
    texts = [None if is_missing(item) else item for item in objects]
    for item in {type(item): item for item in texts if not isinstance(item, str) and item is not None}.values():
        shown_item(item)  # an error: it is no text
    return texts, nw.String
