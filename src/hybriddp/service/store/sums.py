"""What contributions add to the sums of a study: entries of a tally for reports, one integer for what is trusted.

**Reports** are counted in a tally. An entry that is not negative counts reports, and every report adds to exactly one
of these. Entries below zero count what else there is to count in a report: bit $i$ of a unary one is entry $-1 - i$.

**What is trusted** is added up in one integer, whatever the study is about, so that there is one way to encrypt it. Of
a mean it is the sum of all units. Of categories it is a number with one digit of 40 bits for each: who has category $i$
adds $2^{40i}$, and a withdrawal subtracts it; the 256 bins of a distribution are counted in the same way. The integer
is always written with as many bytes as the study's own text makes it have, so that its length tells nothing. (Items
that nobody has listed are counted in `item_sums`, and points are kept as they are in `point_sums`.)
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from hybriddp.errors import DataError

__all__ = ["UNIT_SUMS", "AddingSums", "CategorySums", "StudySums", "UnitSums"]

_DIGIT = 5  # bytes: more people than there are


class StudySums(Protocol):
    """How the contributions of one study are added up."""

    @property
    def total_bytes(self) -> int:
        """How many bytes the trusted group's integer is written with."""

    @property
    def most_people(self) -> int | None:
        """How many trusted people there is room for; None if any number."""

    @property
    def full(self) -> str:
        """What is said if there is no room left."""

    def entries(self, code: int) -> tuple[int, ...]:
        """Return the entries of the tally that a report adds 1 to."""

    def change(self, total: int, integers: Iterable[int], sign: int) -> int:
        """Return a total after trusted contributions have been added or removed.

        They are removed if the sign is -1.
        """

    def merged(self, totals: Iterable[int]) -> int:
        """Return the total of all replicas, from each replica's total."""


class AddingSums(ABC):
    """Sums whose totals are added as they are."""

    __slots__ = ()
    most_people: ClassVar[int | None] = None
    full: ClassVar[str] = ""

    @abstractmethod
    def addend(self, integers: Iterable[int]) -> int:
        """Return the joint contribution of trusted users to the total."""

    def change(self, total: int, integers: Iterable[int], sign: int) -> int:
        """Return a total after trusted contributions have been added or removed.

        They are removed if the sign is -1.
        """
        return total + sign * self.addend(integers)

    def merged(self, totals: Iterable[int]) -> int:
        """Return the total of all replicas, from each replica's total."""
        return sum(totals)


@dataclass(frozen=True, slots=True)
class UnitSums(AddingSums):
    """The sums of a mean: how many reports have each code, and the sum of all units.

    Examples
    --------
    >>> UNIT_SUMS.entries(7), UNIT_SUMS.addend([3, 4])
    ((7,), 7)
    """

    total_bytes: ClassVar[int] = 16

    def entries(self, code: int) -> tuple[int, ...]:
        """Return the code itself."""
        return (code,)

    def addend(self, integers: Iterable[int]) -> int:
        """Return the sum of units."""
        return sum(integers)


UNIT_SUMS = UnitSums()


@dataclass(frozen=True, slots=True)
class CategorySums(AddingSums):
    """The sums of a study of categories: how many reports have each code or bit, and how many people each category.

    Parameters
    ----------
    n_categories : int
        How many categories there are, all others included.
    n_bits : int
        How many bits a report has, if they are counted one by one; 0 if codes are.

    Examples
    --------
    >>> sums = CategorySums(3, n_bits=3)
    >>> sums.entries(0b101)
    (0, -1, -3)
    >>> sums.counts(sums.addend([2, 0, 2]))
    (1, 0, 2)
    """

    n_categories: int
    n_bits: int = 0

    @property
    def total_bytes(self) -> int:
        """A digit for each category, and a byte for the sign."""
        return _DIGIT * self.n_categories + 1

    def entries(self, code: int) -> tuple[int, ...]:
        """Return the code, or the report and each of its bits that is set."""
        if not self.n_bits:
            return (code,)
        return (0, *(self.bit(i) for i in range(self.n_bits) if code >> i & 1))

    @staticmethod
    def bit(i: int) -> int:
        """Return the entry that counts bit *i*."""
        return -1 - i

    def addend(self, integers: Iterable[int]) -> int:
        """Categories, by their numbers, as digits of one integer."""
        digits = bytearray(_DIGIT * self.n_categories)
        for number, count in Counter(integers).items():
            digits[_DIGIT * number : _DIGIT * (number + 1)] = count.to_bytes(_DIGIT, "little")
        return int.from_bytes(digits, "little")

    def counts(self, total: int) -> tuple[int, ...]:
        """Count the people in each category, from the digits of a total."""
        if not 0 <= total < 1 << 8 * _DIGIT * self.n_categories:
            raise DataError("The counts of the trusted group are not those of this study. Nothing was released.")
        digits = total.to_bytes(_DIGIT * self.n_categories, "little")
        return tuple(int.from_bytes(digits[at : at + _DIGIT], "little") for at in range(0, len(digits), _DIGIT))
