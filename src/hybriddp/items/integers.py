"""Items as integers: what a commitment to an item of an open domain is made from, on devices and at the curator.

The integer of an item is the number whose bytes are 1 and the item in UTF-8.
"""

from hybriddp.items.records import shown_item
from hybriddp.shares.categories import OTHER

__all__ = ["LONGEST_ITEM", "integer_of", "kept_item", "text_of"]

LONGEST_ITEM = 64
"""Bytes of an item in UTF-8 that a server keeps; longer ones count as other."""


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


def kept_item(item: str) -> str:
    """A trusted user's item as a server keeps it: `OTHER` if no study could show it, or if it is too long."""
    shown = shown_item(item)
    return shown if len(shown.encode()) <= LONGEST_ITEM else OTHER
