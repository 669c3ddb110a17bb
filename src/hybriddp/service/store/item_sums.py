"""Counts of texts that nobody has listed beforehand, as one integer of a fixed length.

An item is an integer, too (`hybriddp.items.records`). The counts of all items are packed into bytes, which
are an integer again, so that they are encrypted and stored as every other total is.

There is room for so many *people*, whatever their items are. If new items were refused where the room for items is
full, and those that are there were not, then whoever has tokens could fill it and ask whether somebody has an item.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from msgspec import msgpack

from hybriddp.errors import DataError
from hybriddp.items.records import text_of

__all__ = ["ItemSums"]

MOST_PEOPLE = 10_000
"""Trusted people in one study, whatever they have."""
ROOM = 1 << 20
"""Bytes for all items with their counts: a third more than so many people need if all have different ones. Replicas
that add at the same time do not see each other, so a few more people than that may come."""
FULL = f"The study has {MOST_PEOPLE:,} trusted people, as many as it has room for. Release the list to go on."


@dataclass(frozen=True, slots=True)
class ItemSums:
    """The sums of an open domain: how many people have each item. Reports are counted by the question's own sums.

    Examples
    --------
    >>> from hybriddp.items.records import integer_of
    >>> sums = ItemSums()
    >>> total = sums.change(0, map(integer_of, ["fig", "pear", "fig"]), 1)
    >>> sorted(sums.counts(total).items())
    [('fig', 2), ('pear', 1)]
    """

    total_bytes: ClassVar[int] = ROOM
    most_people: ClassVar[int] = MOST_PEOPLE
    full: ClassVar[str] = FULL

    def entries(self, code: int) -> tuple[int, ...]:
        """Return the code itself."""
        return (code,)

    def change(self, total: int, integers: Iterable[int], sign: int) -> int:
        """Return a total after items have been added or removed."""
        counts = self.counts(total)
        for integer, times in Counter(integers).items():
            item = text_of(integer)
            counts[item] = counts.get(item, 0) + sign * times
            if not counts[item]:
                del counts[item]
        return self._packed(counts)

    def merged(self, totals: Iterable[int]) -> int:
        """Return the total of all replicas."""
        counts: Counter[str] = Counter()
        for total in totals:
            counts.update(self.counts(total))
        return self._packed(counts)

    def counts(self, total: int) -> dict[str, int]:
        """Count the people with each item."""
        packed = total.to_bytes((total.bit_length() + 7) // 8)[1:]
        return msgpack.decode(packed, type=dict[str, int]) if packed else {}

    def _packed(self, counts: dict[str, int]) -> int:
        if not counts:
            return 0
        packed = b"\1" + msgpack.encode(counts)
        if len(packed) >= self.total_bytes:  # a byte is for the sign; see `ROOM`
            raise DataError(FULL)
        return int.from_bytes(packed)
