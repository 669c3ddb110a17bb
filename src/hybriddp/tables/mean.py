"""What is counted for a mean: units of values, and codes, or words of reports with Laplace noise."""

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.mean.study import MeanStudy
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.tables.frames import Cells, DataType
from hybriddp.tables.query import NumberQuery
from hybriddp.tables.tally import Tally

REPORT_WORD = 1 << 24
"""Reports with Laplace noise are added up as ``upper`` words of this size and a ``lower`` rest."""


class MeanQuery(NumberQuery):
    """What to count for the mean of a column."""

    study: MeanStudy
    units = "total"

    def report_cells(self, dtype: DataType) -> dict[str, Cells]:
        """Return the code of each row.

        Reports with Laplace noise are all code 0, and are summed: in two words, since engines add 64 bits only.
        """
        if not isinstance(self.study.channel, DiscreteLaplace):
            return super().report_cells(dtype)
        code, whole = self.summed_report(dtype)
        upper = whole // REPORT_WORD
        return {"code": code, "upper": upper, "lower": whole - upper * REPORT_WORD}

    def trusted_summary(self, study: MeanStudy, tally: Tally) -> TrustedSummary:
        """Return count and total of the values."""
        sums = tally.sums
        return TrustedSummary(study.digest, sums["count"], sums["total"], sums["neither"], sums["clamped"])

    def local_summary(self, study: MeanStudy, tally: Tally) -> LocalSummary | LaplaceSummary:
        """Return one count per code, or the sum of reports with Laplace noise."""
        if isinstance(study.channel, DiscreteLaplace):
            total = tally.sums["upper"] * REPORT_WORD + tally.sums["lower"]
            return LaplaceSummary(study.digest, tally.good, total, tally.bad, **tally.flags)
        counts = tuple(tally.codes[code] for code in range(study.channel.n_codes))
        return LocalSummary(study.digest, counts, tally.bad, **tally.flags)
