"""What is counted for a mean: units of values, and codes."""

from hybriddp.mean.study import MeanStudy
from hybriddp.study.summary import TrustedSummary
from hybriddp.tables.query import NumberQuery
from hybriddp.tables.tally import Tally


class MeanQuery(NumberQuery):
    """What to count for the mean of a column."""

    study: MeanStudy
    units = "total"

    def trusted_summary(self, study: MeanStudy, tally: Tally) -> TrustedSummary:
        """Return count and total of the values."""
        n = tally.sums
        return TrustedSummary(study.digest, n["count"], (n["total"],), n["neither"], clamped=n["clamped"])
