"""What is counted for a mean: units of values, and codes, or words of reports with Laplace noise."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.mean.study import MeanStudy
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.tables.query import NumberQuery, Query, chosen_code, summed_report
from hybriddp.tables.tally import Tally

REPORT_WORD = 1 << 24
"""Reports with Laplace noise are added up as ``upper`` words of this size and a ``lower`` rest."""


@dataclass(frozen=True)
class MeanQuery(NumberQuery):
    """What to count for the mean of a column."""

    study: MeanStudy

    kind = MeanStudy
    units = "total"
    sums: ClassVar[tuple[str, ...]] = (*Query.sums, "total", "clamped", "upper", "lower")

    def report_cells(self, dtype: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the code of each row.

        Reports with Laplace noise are all code 0, and are summed: in two words, since engines add 64 bits only.
        """
        column, (least, most) = str(self.report), self.study.reports_between
        if not isinstance(self.study.channel, DiscreteLaplace):
            return {"code": chosen_code(dtype, column, most)}
        code, whole = summed_report(dtype, column, least, most)
        upper = whole // REPORT_WORD
        return {"code": code, "upper": upper, "lower": whole - upper * REPORT_WORD}

    def tally(self) -> "MeanTally":
        """Return an empty tally."""
        return MeanTally()


@dataclass
class MeanTally(Tally[TrustedSummary, LocalSummary | LaplaceSummary]):
    """Counts of the rows of one group, for a mean."""

    total: int = field(default=0, repr=False)  # the sum of the values' units: exact, not for logs
    clamped: int = 0  # values outside of the bounds
    reported: int = 0  # the sum of the reports, if they carry Laplace noise

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of a query's result."""
        super().add(row)
        n = {name: int(row.get(name) or 0) for name in ("total", "clamped", "upper", "lower")}
        self.total += n["total"]
        self.clamped += n["clamped"]
        self.reported += n["upper"] * REPORT_WORD + n["lower"]

    def trusted_summary(self, study: MeanStudy) -> TrustedSummary:
        """Return count and total of the values."""
        return TrustedSummary(study.digest, self.count, self.total, self.neither, self.clamped)

    def local_summary(self, study: MeanStudy) -> LocalSummary | LaplaceSummary:
        """Return one count per code, or the sum of reports with Laplace noise."""
        bad, seeded = self.bad, self.seeded > 0
        if isinstance(study.channel, DiscreteLaplace):
            return LaplaceSummary(study.digest, self.good, self.reported, bad, self.all_tied, seeded)
        counts = tuple(self.codes[code] for code in range(study.channel.n_codes))
        return LocalSummary(study.digest, counts, bad, self.all_tied, seeded)
