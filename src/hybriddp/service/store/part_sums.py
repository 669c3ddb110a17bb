"""The sums of a mean for each part of the users, in the same two places as the sums of everybody.

What one person adds is an integer that says their part, too: `in_part`. **Reports** are counted in the tally, where
part $p$ has the entries from $p n$ to $(p + 1) n - 1$, $n$ the number of codes; entry $-1 - p$ counts the trusted
people of the part. **What is trusted** is one integer with a digit of 72 bits for each part, the sum of its units:
encrypted as every other total is, and of a length that the number of parts alone decides.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hybriddp.errors import DataError
from hybriddp.grid import UNITS
from hybriddp.service.store.sums import AddingSums

__all__ = ["PartSums", "SumsOfPart", "in_part", "trusted_entry"]

_SPAN = 2 * UNITS  # above every code and every number of units
_DIGIT = 9  # bytes: the units of more people than there are


def in_part(integer: int, part: int) -> int:
    """Combine a contribution, a code or units, with the number of its part."""
    return part * _SPAN + integer


def trusted_entry(part: int) -> int:
    """Return the entry of the tally that counts the trusted people of a part."""
    return -1 - part


@dataclass(frozen=True, slots=True)
class SumsOfPart:
    """What the people of one part have added. Not private."""

    n_trusted: int
    total: int
    tally: dict[int, int]


@dataclass(frozen=True, slots=True)
class PartSums(AddingSums):
    """The sums of a mean in so many parts, whose reports have so many codes.

    Examples
    --------
    >>> sums = PartSums(2, n_codes=256)
    >>> sums.entries(in_part(7, 1))
    (263,)
    >>> total = sums.addend([in_part(5, 0), in_part(3, 1), in_part(4, 1)])
    >>> [part.total for part in sums.split(total, {263: 1, trusted_entry(0): 1, trusted_entry(1): 2})]
    [5, 7]
    """

    n_parts: int
    n_codes: int

    @property
    def total_bytes(self) -> int:
        """A digit for each part, and a byte for the sign."""
        return _DIGIT * self.n_parts + 1

    def entries(self, code: int) -> tuple[int, ...]:
        """Return the entry of the code among the codes of its part."""
        part, own = divmod(code, _SPAN)
        return (part * self.n_codes + own,)

    def addend(self, integers: Iterable[int]) -> int:
        """Return the sums of units, as digits of one integer."""
        sums = [0] * self.n_parts
        for integer in integers:
            part, units = divmod(integer, _SPAN)
            sums[part] += units
        return int.from_bytes(b"".join(units.to_bytes(_DIGIT, "little") for units in sums), "little")

    def split(self, total: int, tally: Mapping[int, int]) -> list[SumsOfPart]:
        """Split a total and a tally into the sums of each part.

        Raise `DataError` if the total does not fit the number of parts.
        """
        tallies: list[dict[int, int]] = [{} for _ in range(self.n_parts)]
        for entry, count in tally.items():
            if 0 <= entry < self.n_parts * self.n_codes:
                tallies[entry // self.n_codes][entry % self.n_codes] = count
        counts = [tally.get(trusted_entry(part), 0) for part in range(self.n_parts)]
        if not 0 <= total < 1 << 8 * _DIGIT * self.n_parts:
            raise DataError(_WRONG)
        digits = total.to_bytes(_DIGIT * self.n_parts, "little")
        sums = [int.from_bytes(digits[at : at + _DIGIT], "little") for at in range(0, len(digits), _DIGIT)]
        if not all(0 <= units <= n * UNITS for units, n in zip(sums, counts, strict=True)):
            raise DataError(_WRONG)
        return [SumsOfPart(*of_part) for of_part in zip(counts, sums, tallies, strict=True)]


_WRONG = "The sums of the trusted group do not fit the sizes of its parts. Nothing was released."
