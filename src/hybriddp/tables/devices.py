"""Devices in a simulation: a table of raw values in Spark gets the codes that the users' devices would have sent."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp import _check
from hybriddp.errors import DataError
from hybriddp.mean.study import MeanStudy
from hybriddp.tables.files import require_column

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def simulate_devices(
    frame: "DataFrame", study: MeanStudy, *, value: str, report: str = "code", seed: int | None = None
) -> "DataFrame":
    """A PySpark table with one more column: the code that each user's device would have sent.

    A simulation, for tests and for planning. On real devices a value never leaves; here the raw values were all in
    one place, so the codes protect nobody by themselves. Spark computes the codes anew whenever the table is used:
    without a seed they are others every time, so write the table down before using it twice.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per user. Workers need hybriddp too.
    study : MeanStudy
        The study that the devices take part in. It travels to the workers as its text.
    value : str
        The column of raw values. Those that are missing, NaN or infinite get no code.
    report : str
        The name of the new column.
    seed : int, optional
        Makes the codes the same every time, as long as the rows are in the same partitions in the same order. Whoever
        knows the seed can undo the codes: not private.

    Returns
    -------
    pyspark.sql.DataFrame
        All columns of ``frame``, and ``report``.
    """
    if not hasattr(frame, "mapInArrow"):
        raise DataError(f"frame must be a PySpark DataFrame, got {type(frame).__name__}.")
    from pyspark.sql.types import LongType, NumericType, StructField, StructType

    require_column(value, frame.columns, "The table")
    if not isinstance(frame.schema[value].dataType, NumericType):
        held = frame.schema[value].dataType.simpleString()
        raise DataError(f"Column {value!r} must hold numbers, but holds {held}.")
    if report in frame.columns:
        raise DataError(f"The table has a column {report!r} already. Name another one for the codes.")
    if seed is not None:
        _check.integer("seed", seed, at_least=0)
    schema = StructType([*frame.schema.fields, StructField(report, LongType())])
    return frame.mapInArrow(_randomizer(study.to_json(), value, report, seed), schema)


def _randomizer(
    text: str, value: str, report: str, seed: int | None
) -> Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]:
    """What a worker does with the batches of a partition."""

    def randomize(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        study = MeanStudy.from_json(text)
        generator = None if seed is None else np.random.default_rng([seed, _partition()])
        for batch in batches:
            yield batch.append_column(report, _codes(batch.column(value), study, generator))

    return randomize


def _codes(column: Any, study: MeanStudy, generator: np.random.Generator | None) -> Any:  # noqa: ANN401
    """A code for every finite value of an Arrow column, null for the others."""
    import pyarrow as pa

    x = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # nulls become NaN
    finite = np.isfinite(x)
    codes = np.zeros(len(x), np.int64)
    codes[finite] = study.randomize(x[finite], random_state=generator)
    return pa.array(codes, mask=~finite)


def _partition() -> int:
    """Which partition a worker works at."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())
