"""The points of trusted people as one integer of a fixed length.

K-means asks the trusted group several times, so a sum is not enough: the points themselves are kept, all together in
one encrypted row, until the study ends. A point is a record of four bytes for each dimension, the units of its
coordinate with the most significant byte first. The integer's bytes are 1 and then all records, sorted: neither whose
a point is nor the order in which they came can be told from it.
"""

import bisect
from collections.abc import Iterable
from dataclasses import dataclass

from hybriddp.errors import DataError
from hybriddp.kmeans.study import COORDINATE_BYTES

__all__ = ["MOST_PEOPLE", "ROOM", "PointSums"]

MOST_PEOPLE = 20_000
"""Trusted people in one study, whatever their points are; fewer where a point has many dimensions."""
ROOM = 1 << 20
"""Bytes for all points, at most: they are written anew with every transaction."""


@dataclass(frozen=True, slots=True)
class PointSums:
    """The points of a study with so many dimensions; of local people, only how many there are.

    Examples
    --------
    >>> from hybriddp.kmeans.study import integer_of_units
    >>> one, other = integer_of_units([7, 0]), integer_of_units([3, 16777216])
    >>> sums = PointSums(2)
    >>> total = sums.change(0, [one, other], 1)
    >>> sums.units(total)
    [(3, 16777216), (7, 0)]
    >>> sums.units(sums.change(total, [one], -1))
    [(3, 16777216)]
    """

    n_dimensions: int

    @property
    def most_people(self) -> int:
        """How many trusted people there is room for."""
        return min(MOST_PEOPLE, ROOM // self._record)

    @property
    def full(self) -> str:
        """What is said if there is no room left."""
        return f"The study has {self.most_people:,} trusted people, as many as it has room for."

    @property
    def total_bytes(self) -> int:
        """A record for each person, the first byte, and one for the sign; room for a group commit of replicas too."""
        return 2 + self._record * (self.most_people + 5_000)

    @property
    def _record(self) -> int:
        return COORDINATE_BYTES * self.n_dimensions

    def entries(self, code: int) -> tuple[int, ...]:
        """Return the code itself, which is 0 for a participant who has enrolled."""
        return (code,)

    def change(self, total: int, integers: Iterable[int], sign: int) -> int:
        """Return a total after points have been added or removed."""
        records = self._records(total)
        for integer in integers:
            record = integer.to_bytes(1 + self._record)[1:]
            at = bisect.bisect_left(records, record)
            if sign > 0:
                records.insert(at, record)
            elif at < len(records) and records[at] == record:
                del records[at]
            else:
                raise DataError("A point is to be taken away that is not there. Nothing was changed.")
        return self._packed(records)

    def merged(self, totals: Iterable[int]) -> int:
        """Return the total of all replicas."""
        return self._packed(sorted(record for total in totals for record in self._records(total)))

    def units(self, total: int) -> list[tuple[int, ...]]:
        """All points in units, sorted; `DataError` if they are not those of this study."""
        places = range(0, self._record, COORDINATE_BYTES)
        return [
            tuple(int.from_bytes(record[at : at + COORDINATE_BYTES]) for at in places)
            for record in self._records(total)
        ]

    def _records(self, total: int) -> list[bytes]:
        if not total:
            return []
        packed = total.to_bytes((total.bit_length() + 7) // 8)[1:]
        if len(packed) % self._record:
            raise DataError("The points of the trusted group are not those of this study. Nothing was released.")
        return [packed[at : at + self._record] for at in range(0, len(packed), self._record)]

    def _packed(self, records: list[bytes]) -> int:
        if not records:
            return 0
        packed = b"\1" + b"".join(records)
        if len(packed) >= self.total_bytes:  # a byte is for the sign
            raise DataError(self.full)
        return int.from_bytes(packed)
