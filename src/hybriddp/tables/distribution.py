"""What is counted for a distribution: how many values are in each bin, and how many reports are a pattern and a code.

A value becomes units by `Grid.to_units`, the same floating-point operations in every engine, and units become bins by
comparing integers with the study's cuts. So the counts are those of `DistributionStudy.summarize_trusted`, to the last
one. The engine groups by bin, so at most 256 counts come back per group.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hybriddp.channels.masked import N_BINS
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.study import DistributionStudy
from hybriddp.grid import UNITS
from hybriddp.study.summary import TrustedSummary
from hybriddp.tables import frames
from hybriddp.tables.batches import computed
from hybriddp.tables.frames import Cells, Frame, nw
from hybriddp.tables.query import NumberQuery
from hybriddp.tables.report_files import Origin
from hybriddp.tables.tally import Key, Tally

if TYPE_CHECKING:
    import pyarrow as pa

_IN_PROCESS = ("polars", "pandas", "pyarrow", "duckdb")  # engines whose values numpy can count without a copy of all


class DistributionQuery(NumberQuery):
    """What to count for the distribution of a column."""

    study: DistributionStudy
    units = "item"
    no_item = 0  # a row without a value is in bin 0, where it counts for nothing

    def cells(self, frame: Frame, origin: Origin | None = None) -> Frame:
        """Return the columns that are counted; the units of a value have become its bin, ``item``."""
        if self.columns == [self.value] and frames.library(frame) in _IN_PROCESS:
            return self._counted(frame)
        cells = super().cells(frame, origin)
        return cells if self.value is None else with_bins(cells, self.study.bins)

    def count(self, cells: Frame, tallies: Mapping[Key | None, Tally]) -> None:
        """Count `cells`, unless that has been done, and add what they have to the tally of every key."""
        if not isinstance(cells, list):
            super().count(cells, tallies)
            return
        for row in cells:
            tallies[None].add(row)

    def _counted(self, frame: Frame) -> list[dict[str, int]]:
        """Count a table of values and nothing else by numpy: several times as fast as some engines are."""
        study, schema = self.study, frame.collect_schema()
        self.check_columns(schema)
        x = frames.as_float(schema[self.value], str(self.value))

        def counted(batches: Iterator["pa.RecordBatch"]) -> Iterator[NDArray[np.int64]]:
            for batch in batches:
                some = study.summarize_trusted(batch.column(0).to_numpy(zero_copy_only=False))  # nulls become NaN
                yield np.array([*some.sums, some.missing, some.clamped], np.int64)

        *bins, rejected, clamped = sum(computed(frame.select(x=x), counted, np.int64), np.zeros(N_BINS + 2, np.int64))
        rows = [{"item": i, "rows": int(n), "count": int(n)} for i, n in enumerate(bins) if n]
        return [*rows, {"rows": int(rejected), "clamped": int(clamped)}]

    def trusted_summary(self, study: DistributionStudy, tally: Tally) -> TrustedSummary:
        """Return one count per bin."""
        counts, n = tuple(tally.items[i] for i in range(N_BINS)), tally.sums
        return TrustedSummary(study.digest, n["count"], counts, n["neither"], clamped=n["clamped"])


# Bins


def with_bins(frame: Frame, bins: Bins) -> Frame:
    """Turn the units in the column ``item`` of a lazy frame into bins.

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


def _divided(units: Cells) -> Cells:
    """Find the bins of equal width; the two bounds are bins of their own."""
    inner = (units - 1) * (N_BINS - 2) // (UNITS - 1) + 1
    last = nw.when(units == UNITS).then(nw.lit(N_BINS - 1, nw.Int64)).otherwise(inner)
    return nw.when(units == 0).then(nw.lit(0, nw.Int64)).otherwise(last)


def _searched(units: Cells, cuts: list[int], first: int = 0) -> Cells:
    """Count the cuts that are not above the units, by halves."""
    if not cuts:
        return nw.lit(first, nw.Int64)
    middle = len(cuts) // 2
    below = _searched(units, cuts[:middle], first)
    above = _searched(units, cuts[middle + 1 :], first + middle + 1)
    return nw.when(units < cuts[middle]).then(below).otherwise(above)
