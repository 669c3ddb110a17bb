"""What is counted for a mean: units of values, and codes, or words of reports with Laplace noise.

A value becomes units by `Grid.to_units`, the same floating-point operations in every engine, so the integers are the
same to the last bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.mean.study import MeanStudy
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.tables import frames
from hybriddp.tables.frames import nw
from hybriddp.tables.query import NO_CODE, NO_REPORT, DeviceCodes, Query, Tally, choose, chosen_code

if TYPE_CHECKING:
    import pyarrow as pa

REPORT_WORD = 1 << 24
"""Reports with Laplace noise are added up as ``upper`` words of this size and a ``lower`` rest."""


@dataclass(frozen=True)
class MeanQuery(Query):
    """What to count for the mean of a column."""

    study: MeanStudy

    sums: ClassVar[tuple[str, ...]] = (*Query.sums, "total", "clamped", "upper", "lower")

    @property
    def numbers(self) -> list[str]:
        """Values and reports."""
        return [name for name in (self.value, self.report) if name is not None]

    def value_cells(self, dtype: Any, trusts: Any, code: Any) -> dict[str, Any]:  # noqa: ANN401
        """How many values each row has, their units, and whether they were clamped."""
        lower, upper = self.study.bounds
        x = frames.as_float(dtype, str(self.value))
        finite, cells = self.raw_value(frames.is_finite(x), trusts, code)
        safe = nw.when(finite).then(x).otherwise(nw.lit(lower))  # the lower bound is 0 units, so it adds nothing
        units = self.study.grid.to_units(safe, floor=frames.floor_to_integer)
        clamped = frames.indicator((safe < lower) | (safe > upper))
        return cells | {"count": frames.indicator(finite), "total": units, "clamped": clamped}

    def report_cells(self, dtype: Any) -> dict[str, Any]:  # noqa: ANN401
        """The code of each row.

        Reports with Laplace noise are all code 0, and are summed: in two words, since engines add 64 bits only.
        """
        column, (least, most) = str(self.report), self.study.reports_between
        if not isinstance(self.study.channel, DiscreteLaplace):
            return {"code": chosen_code(dtype, column, least, most)}
        whole = choose(dtype, column, least, most, lambda x, _: x, 0, 0)
        upper = whole // REPORT_WORD
        return {
            "code": choose(dtype, column, least, most, lambda _, kind: nw.lit(kind(0)), NO_REPORT, NO_CODE),
            "upper": upper,
            "lower": whole - upper * REPORT_WORD,
        }

    def raw_cells(self, dtype: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """The values as floats, and which of them are finite."""
        x = frames.as_float(dtype, str(self.value))
        return x, frames.is_finite(x)

    @staticmethod
    def device_codes(text: str) -> DeviceCodes:
        """What devices send for a column of values: nothing for those that are not finite."""
        study = MeanStudy.from_json(text)

        def codes(column: "pa.Array", rng: np.random.Generator | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
            import pyarrow as pa

            x = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # nulls become NaN
            finite = np.isfinite(x)
            drawn = np.zeros(len(x), np.int64)
            drawn[finite] = study.randomize(x[finite], random_state=rng)
            return drawn, finite

        return codes

    def tally(self) -> "MeanTally":
        """An empty tally."""
        return MeanTally()


@dataclass(slots=True)
class MeanTally(Tally[TrustedSummary, LocalSummary | LaplaceSummary]):
    """The rows of one group, for a mean."""

    total: int = field(default=0, repr=False)  # the sum of the values' units: exact, not for logs
    clamped: int = 0  # values outside of the bounds
    reported: int = 0  # the sum of the reports, if they carry Laplace noise

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of a query's result."""
        Tally.add(self, row)  # slots make a new class, which super() without arguments does not know
        n = {name: int(row.get(name) or 0) for name in ("total", "clamped", "upper", "lower")}
        self.total += n["total"]
        self.clamped += n["clamped"]
        self.reported += n["upper"] * REPORT_WORD + n["lower"]

    def trusted_summary(self, study: MeanStudy) -> TrustedSummary:
        """Count and total of the values."""
        return TrustedSummary(study.digest, self.count, self.total, self.neither, self.clamped)

    def local_summary(self, study: MeanStudy) -> LocalSummary | LaplaceSummary:
        """One count per code, or the sum of reports with Laplace noise."""
        bad, seeded = self.bad, self.seeded > 0
        if isinstance(study.channel, DiscreteLaplace):
            return LaplaceSummary(study.digest, self.good, self.reported, bad, self.all_tied, seeded)
        counts = tuple(self.codes[code] for code in range(study.channel.n_codes))
        return LocalSummary(study.digest, counts, bad, self.all_tied, seeded)
