"""Studies of the frequent items of an open domain, on the server: in two steps.

While such a study is open, trusted users hand over their items. Then the list is released, once, and the trusted
group's items are forgotten; from then on the study asks the local group, with a public question about the list. In the
end comes the release of the shares.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from hybriddp.errors import DataError, ProtocolError
from hybriddp.items.counts import ItemCounts
from hybriddp.items.open_release import PrivateItems
from hybriddp.items.records import integer_of, kept_item
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service.kinds.frequency import FrequencyKind
from hybriddp.service.kinds.kind import Gathered, Released, StudyKind
from hybriddp.service.pages.items import curator_items_page, items_page
from hybriddp.service.problems import Refusal
from hybriddp.service.store.item_sums import ItemSums
from hybriddp.shares.categories import OTHER

NOT_YET = "The study takes no reports yet: they are about the list, which has not been released."


@dataclass(frozen=True)
class HeavyHitterKind(StudyKind):
    """A study of heavy hitters by a list: trusted users' items, a list, local users' codes about it, and shares.

    The integer of a trusted contribution is the number whose bytes are 1 and the item in UTF-8.
    """

    study: HeavyHitterStudy
    name: ClassVar[str] = "heavy-hitters"
    steps: ClassVar[tuple[str, ...]] = ("list", "release")

    def __post_init__(self) -> None:
        if self.study.domain is not None:
            raise ProtocolError("A public dictionary needs no list: create the study's dictionary, a FrequencyStudy.")

    @property
    def title(self) -> str:
        """What the study is about."""
        return self.study.name

    @property
    def sums(self) -> ItemSums:
        """Counts of items."""
        return ItemSums()

    def report(self, code: int) -> int:  # noqa: ARG002
        """Nothing: codes are about the question."""
        raise Refusal("closed", NOT_YET)

    def value(self, value: float | str | Sequence[float]) -> int:
        """Return the integer of an item.

        Items that no study could show, and items that are too long to keep, count as other.
        """
        if not isinstance(value, str):
            raise Refusal("malformed", "value must be a text: this is a study of items.")
        return integer_of(kept_item(value))

    def question(self, items: PrivateItems) -> FrequencyKind:
        """Return the question about a list, or raise `DataError` if the list is empty."""
        return FrequencyKind(self.study.question(items), local_only=True)

    def release_list(self, gathered: Gathered, ledger: Ledger | None) -> PrivateItems:
        """Charge the list to the ledger and release it.

        Without a ledger, the study was charged to everybody when it opened.
        """
        counts = self.sums.counts(gathered.total)
        if sum(counts.values()) != gathered.n_trusted:
            raise DataError("The counts of the trusted group do not add up to its size. Nothing was released.")
        # An item may have been kept by a release, or with a version of Unicode, that shows more than this one.
        counts = {item: count for item, count in counts.items() if kept_item(item) != OTHER}
        items = self.study.release(ItemCounts(self.digest, gathered.n_trusted, counts), ledger=ledger)
        return items if ledger is not None else replace(items, counted=True)

    def release(
        self, gathered: Gathered, *, single_group: bool, ledger: Ledger | None, warning: str | None = None
    ) -> Released:
        """List and shares together, where no local user was asked."""
        items = self.release_list(gathered, ledger)
        return self.release_shares(items, gathered, single_group=single_group, warning=warning)

    def release_shares(
        self, items: PrivateItems, gathered: Gathered, *, single_group: bool, warning: str | None = None
    ) -> Released:
        """Release the shares of the listed items, which have been charged already."""
        local = self.question(items).local_counts(gathered) if items.items else None
        found = self.study.estimate(trusted=items, local=local, single_group=single_group)
        published = found.to_dict()
        if warning is not None:
            published["warnings"] = [warning, *published["warnings"]]
        warnings = published["warnings"]
        return Released(
            {"estimate": published, "answer": str(found)},
            items_page(found, warnings=warnings),
            curator_items_page(found, warnings=warnings),
        )
