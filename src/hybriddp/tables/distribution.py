"""What is counted for a distribution: how many values are in each bin, and how many reports are a pattern and a code.

A value becomes units by `Grid.to_units`, the same floating-point operations in every engine, and units become bins by
comparing integers with the study's cuts. So the counts are those of `DistributionStudy.summarize_trusted`, to the last
one. The engine groups by bin, so at most 256 counts come back per group.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp.channels.masked import N_BINS
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.study import DistributionStudy
from hybriddp.grid import UNITS
from hybriddp.study.summary import LocalSummary, TrustedSummary
from hybriddp.tables import frames
from hybriddp.tables.batches import computed
from hybriddp.tables.frames import nw
from hybriddp.tables.query import NumberQuery, Query, chosen_code
from hybriddp.tables.report_files import Origin
from hybriddp.tables.tally import Key, Tally

if TYPE_CHECKING:
    import pyarrow as pa

_IN_PROCESS = ("polars", "pandas", "pyarrow", "duckdb")  # engines whose values numpy can count without a copy of all


@dataclass(frozen=True)
class DistributionQuery(NumberQuery):
    """What to count for the distribution of a column."""

    study: DistributionStudy

    kind = DistributionStudy
    units = "item"
    sums: ClassVar[tuple[str, ...]] = (*Query.sums, "clamped")

    @property
    def no_item(self) -> str | int:
        """A row without a value is in bin 0, where it counts for nothing."""
        return 0

    def cells(self, frame: Any, origin: Origin | None = None) -> Any:  # noqa: ANN401
        """The columns that are counted; the units of a value have become its bin, ``item``."""
        if self.columns == [self.value] and frames.library(frame) in _IN_PROCESS:
            return self._counted(frame)
        cells = super().cells(frame, origin)
        return cells if self.value is None else with_bins(cells, self.study.bins)

    def count(self, cells: Any, tallies: dict[Key | None, Tally[Any, Any]]) -> None:  # noqa: ANN401
        """Count `cells`, unless that has been done, and add what they have to the tally of every key."""
        if not isinstance(cells, list):
            super().count(cells, tallies)
            return
        for row in cells:
            tallies[None].add(row)

    def _counted(self, frame: Any) -> list[dict[str, int]]:  # noqa: ANN401
        """The counts of a table of values and nothing else, by numpy: several times as fast as some engines are."""
        study, schema = self.study, frame.collect_schema()
        self._check_columns(schema)
        x = frames.as_float(schema[self.value], str(self.value))

        def counted(batches: Iterator["pa.RecordBatch"]) -> Iterator[NDArray[np.int64]]:
            for batch in batches:
                found = study.summarize_trusted(batch.column(0).to_numpy(zero_copy_only=False))  # nulls become NaN
                yield np.array([*found.sums, found.missing, found.clamped], np.int64)

        *bins, rejected, clamped = sum(computed(frame.select(x=x), counted, np.int64), np.zeros(N_BINS + 2, np.int64))
        rows = [{"item": i, "rows": int(n), "count": int(n)} for i, n in enumerate(bins) if n]
        return [*rows, {"item": 0, "rows": int(rejected), "clamped": int(clamped)}]

    def report_cells(self, dtype: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the report of each row: a pattern and a code as one integer."""
        return {"code": chosen_code(dtype, str(self.report), self.study.channel.n_codes - 1)}

    def tally(self) -> "DistributionTally":
        """An empty tally."""
        return DistributionTally()


@dataclass
class DistributionTally(Tally[TrustedSummary, LocalSummary]):
    """The rows of one group, for a distribution."""

    bins: Counter[int] = field(default_factory=Counter, repr=False)  # exact counts: not for logs
    clamped: int = 0  # values outside of the bounds

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of a query's result."""
        super().add(row)
        self.clamped += int(row.get("clamped") or 0)
        if row.get("count"):
            self.bins[int(row["item"])] += int(row["count"])

    def trusted_summary(self, study: DistributionStudy) -> TrustedSummary:
        """One count per bin."""
        counts = tuple(self.bins[i] for i in range(N_BINS))
        return TrustedSummary(study.digest, self.count, counts, self.neither, clamped=self.clamped)


# Bins


def with_bins(frame: Any, bins: Bins) -> Any:  # noqa: ANN401
    """A lazy frame in which the column ``item`` has become bins, out of units.

    Tables in memory are looked up in numpy. Databases compare: each row with eight cuts, in a tree of cases, or divide
    where all bins are of one width.
    """
    native, kind = frame.to_native(), frames.library(frame)
    if kind == "polars":
        polars = frames.require_polars()
        looked_up = polars.col("item").map_batches(
            lambda units: polars.Series(bins.of_units(units.to_numpy())),
            return_dtype=polars.UInt8,
            is_elementwise=True,
        )
        return nw.from_native(native.with_columns(looked_up))
    if kind == "pandas":
        return nw.from_native(native.assign(item=bins.of_units(native["item"].to_numpy()))).lazy()
    if kind == "pyarrow":
        import pyarrow as pa

        place = native.schema.get_field_index("item")
        found = pa.array(bins.of_units(native.column("item").to_numpy()))
        return nw.from_native(native.set_column(place, "item", found)).lazy()
    units = nw.col("item")
    return frame.with_columns(item=_divided(units) if bins.scale == "equal" else _searched(units, bins.cuts.tolist()))


def _divided(units: Any) -> Any:  # noqa: ANN401
    """The bins of equal width: the two bounds are bins of their own."""
    inner = (units - 1) * (N_BINS - 2) // (UNITS - 1) + 1
    last = nw.when(units == UNITS).then(nw.lit(N_BINS - 1, nw.Int64)).otherwise(inner)
    return nw.when(units == 0).then(nw.lit(0, nw.Int64)).otherwise(last)


def _searched(units: Any, cuts: list[int], first: int = 0) -> Any:  # noqa: ANN401
    """How many cuts are not above the units, by halves."""
    if not cuts:
        return nw.lit(first, nw.Int64)
    middle = len(cuts) // 2
    below = _searched(units, cuts[:middle], first)
    above = _searched(units, cuts[middle + 1 :], first + middle + 1)
    return nw.when(units < cuts[middle]).then(below).otherwise(above)
