"""Tallies: what a query counted for each group of rows, and summaries made of it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Key = str | int
"""Name of a group: a public text or a public whole number."""

NO_REPORT, NO_CODE = -2, -1
"""Stand in the place of a code where there is no report, and where the report is no code."""


class Summaries(NamedTuple):
    """What a table says of trusted and of local users; None for those whose column was not named.

    Those of shards add up, group by group, if nobody is in two of them.
    """

    trusted: Any
    local: Any

    def __add__(self, other: object) -> "Summaries":  # not as tuples are
        if not isinstance(other, Summaries):
            raise TypeError(f"Summaries can be added to Summaries, not to {type(other).__name__}.")
        pairs = zip(self, other, strict=True)
        return Summaries(*(one if two is None else two if one is None else one + two for one, two in pairs))

    def __radd__(self, other: object) -> "Summaries":
        return self if other == 0 else self + other  # sum() starts at 0


@dataclass(frozen=True)
class GroupedSummaries(Mapping[Key, Summaries]):
    """Summaries of every group that was asked for. Holds exact totals and a row count: not private.

    Attributes
    ----------
    by : str
        The column that says which group a row belongs to.
    parts : dict
        The summaries of every group, in the order in which the keys were given. Those of a key belong to the study
        ``study.part(by, key)``.
    other : int
        How many rows have none of the keys: they are in nobody's answer.
    """

    by: str
    parts: dict[Key, Summaries]
    other: int

    def __getitem__(self, key: Key) -> Summaries:
        return self.parts[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


@dataclass(repr=False)
class Tally:
    """Counts of the rows of one group: exact, and not for logs.

    Attributes
    ----------
    sums : Counter of str
        What a query adds up, by the names of its columns; and rows with neither a value nor a report (``neither``),
        and with both, or that trust and have a report (``both``).
    codes : Counter of int
        Reports of every code, and of `NO_CODE`.
    items : Counter
        Values of every item, or in every bin.
    """

    sums: Counter[str] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    items: Counter[Any] = field(default_factory=Counter)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of a query's result; the sum of an empty column is nothing in some engines and 0 in others."""
        n = Counter({name: int(cell or 0) for name, cell in row.items() if name not in ("key", "code", "item")})
        self.sums.update(n)
        if n["count"] and "item" in row:
            self.items[row["item"]] += n["count"]
        code = int(row.get("code", NO_REPORT))
        if code == NO_REPORT:
            self.sums["neither"] += n["rows"] - n["count"] - n["raw"]
        else:
            self.codes[code] += n["rows"]
            self.sums["both"] += max(n["count"], n["trusting"])  # whoever trusts and has a value is in both, too

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.sums + other.sums, self.codes + other.codes, self.items + other.items)

    @property
    def bad(self) -> int:
        """Number of reports that are no codes."""
        return self.codes[NO_CODE]

    @property
    def good(self) -> int:
        """Number of reports that are codes."""
        return self.codes.total() - self.bad

    @property
    def flags(self) -> dict[str, bool]:
        """Whether there are codes, all with the digest of the study, and whether any was drawn with a seed."""
        return {"tied": 0 < self.good == self.sums["tied"], "seeded": self.sums["seeded"] > 0}
