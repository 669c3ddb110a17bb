"""What has been counted so far: plain integers, which add up over the frames of a table and become summaries."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.errors import DataError
from hybriddp.mean.study import MeanStudy
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.tables.mean.report_files import refuse_foreign
from hybriddp.wording import counted

Key = str | int
"""What names a group: a public text or a public whole number."""

NO_REPORT, NO_CODE = -2, -1
"""What stands in the place of a code where there is no report, and where the report is no code."""

SUMS = ("count", "total", "clamped", "upper", "lower", "tied", "foreign", "seeded", "trusting", "unclear", "raw")
"""The columns that a query adds up."""

REPORT_WORD = 1 << 24
"""Reports with Laplace noise are added up as ``upper`` words of this size and a ``lower`` rest."""


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


@dataclass(slots=True)
class Tally:
    """The rows of one group."""

    rows: int = 0
    neither: int = 0  # rows with neither a value nor a report
    both: int = 0  # rows with both, or that trust and have a report
    count: int = 0  # finite values of users who trust
    total: int = field(default=0, repr=False)  # the sum of their units: exact, not for logs
    clamped: int = 0  # those outside of the bounds
    reported: int = 0  # the sum of the reports, if they carry Laplace noise
    tied: int = 0  # codes that carry the digest of the study
    foreign: int = 0  # reports that carry the digest of another study
    seeded: int = 0  # reports that were drawn with a seed
    unclear: int = 0  # rows that say neither that they trust nor that they do not
    raw: int = 0  # values of users who do not trust, and have no report
    codes: Counter[int] = field(default_factory=Counter)  # reports of every code, and of `NO_CODE`

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of a query's result; the sum of an empty column is nothing in some engines and 0 in others."""
        n = {name: int(row.get(name) or 0) for name in ("rows", *SUMS)}
        for name in ("rows", "count", "total", "clamped", "tied", "foreign", "seeded", "unclear", "raw"):
            setattr(self, name, getattr(self, name) + n[name])
        self.reported += n["upper"] * REPORT_WORD + n["lower"]
        code = int(row.get("code", NO_REPORT))
        if code == NO_REPORT:
            self.neither += n["rows"] - n["count"] - n["raw"]
        else:
            self.codes[code] += n["rows"]
            self.both += max(n["count"], n["trusting"])  # whoever trusts and has a value is in both, too

    def summaries(self, study: MeanStudy, *, trusted: bool, local: bool) -> Summaries:
        """The tally as summaries of a study."""
        mine = TrustedSummary(study.digest, self.count, self.total, self.neither, self.clamped) if trusted else None
        return Summaries(trusted=mine, local=self._local(study) if local else None)

    def _local(self, study: MeanStudy) -> LocalSummary | LaplaceSummary:
        bad = self.codes[NO_CODE]
        good = self.codes.total() - bad
        tied = 0 < good == self.tied
        if isinstance(study.channel, DiscreteLaplace):
            return LaplaceSummary(study.digest, good, self.reported, bad, tied, self.seeded > 0)
        counts = tuple(self.codes[code] for code in range(study.channel.n_codes))
        return LocalSummary(study.digest, counts, bad, tied, self.seeded > 0)


def check(
    tallies: list[Tally], study: MeanStudy, table: str, trust_column: str | None, *, simulated: bool = False
) -> None:
    """Raise if the columns of a table, all groups together, cannot be what they are said to be."""
    both, raw, unclear, foreign = (
        sum(getattr(tally, name) for tally in tallies) for name in ("both", "raw", "unclear", "foreign")
    )
    if trust_column is not None and unclear:
        raise DataError(
            f"Column {trust_column!r} says neither yes nor no in {counted(unclear, 'row')}. Say which word means that "
            f'somebody trusts, with --trusted-if {trust_column}=WORD (in Python: trusted_if="{trust_column}=WORD").'
        )
    if both:
        said = counted(both, "row", "has both a value and a report", "have both a value and a report")
        if trust_column is not None:
            said = counted(both, "row", "trusts and has a report", "trust and have a report")
        raise DataError(f"{said}: nobody is in both groups.")
    if raw and not simulated:
        raise DataError(
            f"{counted(raw, 'row', 'does not trust but has', 'do not trust but have')} a value and no report: "
            "a raw value of theirs must not be used. Name the column of reports with --report, or try the study "
            "out with --simulate-local."
        )
    refuse_foreign(foreign, table, study)
    reports = sum(tally.codes.total() for tally in tallies)
    bad = sum(tally.codes[NO_CODE] for tally in tallies)
    study.refuse_bad_reports(bad, reports)
