"""What comes out of a table: summaries of one study, or of one per group."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary

Key = str | int
"""What names a group: a public text or a public whole number."""


class Summaries(NamedTuple):
    """What a table says of trusted and of local users; None for those whose column was not named."""

    trusted: TrustedSummary | None
    local: LocalSummary | LaplaceSummary | None


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
        How many rows have none of the keys: they are in nobody's mean.
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
