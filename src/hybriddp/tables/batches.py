"""The rows of a table in batches of Arrow, for what an engine cannot compute by itself.

Batches are of bounded size wherever the engine can stream. In Spark the work is done by the workers, partition by
partition, and only what comes out of it travels.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.tables.frames import library, require_library

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 16
"""Rows that are read at a time."""

Work = Callable[[Iterator["pa.RecordBatch"]], Iterator[NDArray[Any]]]
"""From the batches of a table, or of a part of it, to arrays."""


def computed(frame: Any, work: Work, dtype: type[np.generic]) -> Iterator[NDArray[Any]]:  # noqa: ANN401
    """Compute arrays of one type from the batches of a lazy frame, in the order of its rows.

    All of it has to be taken: some engines cannot do anything else in the meantime.
    """
    native = frame.to_native()
    if hasattr(native, "mapInArrow"):
        for row in native.mapInArrow(_Packed(work, dtype), "cell binary").toLocalIterator():
            yield np.frombuffer(row[0], dtype)
    else:
        for array in work(_batches(native, library(frame))):
            yield array.astype(dtype, copy=False).ravel()


class _Packed:
    """Some work whose arrays come as bytes, one cell each: for a worker of Spark."""

    def __init__(self, work: Work, dtype: type[np.generic]) -> None:
        self.work, self.dtype = work, dtype

    def __call__(self, batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import pyarrow as pa

        for array in self.work(batches):
            cell = pa.array([array.astype(self.dtype, copy=False).tobytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([cell], ["cell"])


def _batches(native: Any, kind: str) -> Iterator["pa.RecordBatch"]:  # noqa: ANN401
    """Read the rows of a table that is in this process."""
    pa = require_library("pyarrow", purpose="Reading a table in batches")
    if kind == "polars":
        if hasattr(native, "collect_batches"):
            parts = native.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming")
        else:  # before 1.34
            parts = native.collect(engine="streaming").iter_slices(BATCH)
        for part in parts:
            yield from part.to_arrow().to_batches(BATCH)
    elif kind == "duckdb":
        # Older versions have another name for it.
        reader = (native.to_arrow_reader if hasattr(native, "to_arrow_reader") else native.fetch_arrow_reader)(BATCH)
        try:
            yield from reader
        finally:
            reader.close()
    elif kind == "pandas":
        for first in range(0, len(native), BATCH):
            yield pa.RecordBatch.from_pandas(native.iloc[first : first + BATCH], preserve_index=False)
    else:
        yield from native.to_batches(BATCH)
