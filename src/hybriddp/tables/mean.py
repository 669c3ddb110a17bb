"""What is counted for a mean: units of values, and codes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hybriddp.mean.study import MeanStudy
from hybriddp.study.summary import LocalSummary, TrustedSummary
from hybriddp.tables.query import NumberQuery, Query, chosen_code
from hybriddp.tables.tally import Tally


@dataclass(frozen=True)
class MeanQuery(NumberQuery):
    """What to count for the mean of a column."""

    study: MeanStudy

    kind = MeanStudy
    units = "total"
    sums: ClassVar[tuple[str, ...]] = (*Query.sums, "total", "clamped")

    def report_cells(self, dtype: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the code of each row."""
        return {"code": chosen_code(dtype, str(self.report), self.study.n_codes - 1)}

    def tally(self) -> "MeanTally":
        """Return an empty tally."""
        return MeanTally()


@dataclass
class MeanTally(Tally[TrustedSummary, LocalSummary]):
    """Counts of the rows of one group, for a mean."""

    total: int = field(default=0, repr=False)  # the sum of the values' units: exact, not for logs
    clamped: int = 0  # values outside of the bounds

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of a query's result."""
        super().add(row)
        self.total += int(row.get("total") or 0)
        self.clamped += int(row.get("clamped") or 0)

    def trusted_summary(self, study: MeanStudy) -> TrustedSummary:
        """Return count and total of the values."""
        return TrustedSummary(study.digest, self.count, (self.total,), self.neither, clamped=self.clamped)
