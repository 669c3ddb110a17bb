"""Counts of texts that nobody has listed beforehand, as one integer of a fixed length.

An item is an integer, too: 1 and then its bytes in UTF-8. The counts of all items are packed into bytes, which are an
integer again, so that they are encrypted and stored as every other total is. There is room for a fixed number of bytes;
when it is full, items that are new are refused, and those that are there are counted on.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from msgspec import msgpack

from hybriddp.errors import DataError

__all__ = ["ItemSums", "integer_of", "text_of"]

ROOM = 1 << 19
"""Bytes for all different items with their counts: 20,000 of them, if they have 20 letters."""
FULL = "The study has no room for more different items. Those that it has are still counted; release the list to go on."


def integer_of(item: str) -> int:
    """The integer of a text.

    Examples
    --------
    >>> integer_of("a")
    353
    >>> text_of(353)
    'a'
    """
    return int.from_bytes(b"\1" + item.encode())


def text_of(integer: int) -> str:
    """The text of an integer."""
    return integer.to_bytes((integer.bit_length() + 7) // 8)[1:].decode()


@dataclass(frozen=True, slots=True)
class ItemSums:
    """The sums of an open domain: how many people have each item. Reports are counted by the question's own sums.

    Examples
    --------
    >>> sums = ItemSums()
    >>> total = sums.change(0, map(integer_of, ["fig", "pear", "fig"]), 1)
    >>> sorted(sums.counts(total).items())
    [('fig', 2), ('pear', 1)]
    """

    total_bytes: ClassVar[int] = ROOM

    def entries(self, code: int) -> tuple[int, ...]:
        """The code itself."""
        return (code,)

    def change(self, total: int, integers: Iterable[int], sign: int) -> int:
        """A total after people have come, or gone."""
        counts = self.counts(total)
        for integer, times in Counter(integers).items():
            item = text_of(integer)
            counts[item] = counts.get(item, 0) + sign * times
            if not counts[item]:
                del counts[item]
        return self._packed(counts)

    def merged(self, totals: Iterable[int]) -> int:
        """The total of all replicas."""
        counts: Counter[str] = Counter()
        for total in totals:
            counts.update(self.counts(total))
        return self._packed(counts)

    def counts(self, total: int) -> dict[str, int]:
        """How many people have each item."""
        packed = total.to_bytes((total.bit_length() + 7) // 8)[1:]
        return msgpack.decode(packed, type=dict[str, int]) if packed else {}

    def _packed(self, counts: dict[str, int]) -> int:
        if not counts:
            return 0
        packed = b"\1" + msgpack.encode(counts)
        if len(packed) >= self.total_bytes:  # a byte is for the sign
            raise DataError(FULL)
        return int.from_bytes(packed)
