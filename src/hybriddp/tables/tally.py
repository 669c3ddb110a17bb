"""What has been counted so far: plain integers, which add up over the frames of a table and become summaries."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.errors import DataError
from hybriddp.mean.study import MeanStudy
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.tables.summaries import Summaries

NO_REPORT, NO_CODE = -2, -1
"""What stands in the place of a code where there is no report, and where the report is no code."""

SUMS = ("count", "total", "upper", "lower")
"""The columns that a query adds up."""

REPORT_WORD = 1 << 24
"""Reports with Laplace noise are added up as ``upper`` words of this size and a ``lower`` rest."""


@dataclass(slots=True)
class Tally:
    """The rows of one group.

    Attributes
    ----------
    rows : int
        How many there are.
    neither, both : int
        How many have neither a value nor a report, and how many have both.
    count, total : int
        How many finite values there are, and the sum of their units.
    reported : int
        The sum of the reports, if they carry Laplace noise.
    codes : Counter
        How many reports there are of every code, and of `NO_CODE`.
    """

    rows: int = 0
    neither: int = 0
    both: int = 0
    count: int = 0
    total: int = field(default=0, repr=False)  # exact: not for logs
    reported: int = 0
    codes: Counter[int] = field(default_factory=Counter)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of a query's result; the sum of an empty column is nothing in some engines and 0 in others."""
        rows, count, total, upper, lower = (int(row.get(name) or 0) for name in ("rows", *SUMS))
        code = int(row.get("code", NO_REPORT))
        self.rows += rows
        self.count += count
        self.total += total
        self.reported += upper * REPORT_WORD + lower
        if code == NO_REPORT:
            self.neither += rows - count
        else:
            self.codes[code] += rows
            self.both += count

    def summaries(self, study: MeanStudy, *, trusted: bool, local: bool) -> Summaries:
        """The tally as summaries of a study."""
        return Summaries(
            trusted=TrustedSummary(study.digest, self.count, self.total, self.neither) if trusted else None,
            local=self._local(study) if local else None,
        )

    def _local(self, study: MeanStudy) -> LocalSummary | LaplaceSummary:
        bad = self.codes[NO_CODE]
        if isinstance(study.channel, DiscreteLaplace):
            return LaplaceSummary(study.digest, self.codes[0], self.reported, bad)
        return LocalSummary(study.digest, tuple(self.codes[code] for code in range(study.channel.n_codes)), bad)


def check(tallies: list[Tally], study: MeanStudy) -> None:
    """Raise `DataError` if the columns of a table, all groups together, cannot be what they are said to be."""
    both = sum(tally.both for tally in tallies)
    if both:
        raise DataError(f"{both:,} rows have both a value and a report: nobody is in both groups.")
    reports = sum(tally.codes.total() for tally in tallies)
    bad = sum(tally.codes[NO_CODE] for tally in tallies)
    study.refuse_bad_reports(bad, reports)
