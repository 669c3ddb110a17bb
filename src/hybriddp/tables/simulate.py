"""Trying a study out on a raw table: the reports of those who do not trust are made here, not on their devices.

That is a simulation. It shows what the study would give; it protects nobody, since all raw values were in one place.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp.errors import DataError
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.study.reports import Reports
from hybriddp.tables.batches import computed
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.frames import nw
from hybriddp.tables.query import DeviceCodes, Query
from hybriddp.tables.summarize import CountedTable, as_summaries, count, public_keys, query_for, table_study
from hybriddp.tables.tally import GroupedSummaries, Key, L, Summaries, T, TableStudy
from hybriddp.tables.text import require_column
from hybriddp.tables.trust import Trust

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


@overload
def simulate_local(
    table: Any,  # noqa: ANN401
    study: TableStudy[T, L],
    *,
    value: str,
    trusted_if: str,
    group: str | None = None,
    keys: Sequence[str] | Sequence[int] | None = None,
    engine: str | None = None,
    csv: CsvFormat | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Summaries[T, L] | GroupedSummaries[T, L]: ...


@overload
def simulate_local(
    table: Any,  # noqa: ANN401
    study: HeavyHitterStudy,
    *,
    value: str,
    trusted_if: str,
    engine: str | None = None,
    csv: CsvFormat | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Summaries[Any, Any]: ...


def simulate_local(
    table: Any,
    study: TableStudy[Any, Any] | HeavyHitterStudy,
    *,
    value: str,
    trusted_if: str,
    group: str | None = None,
    keys: Sequence[str] | Sequence[int] | None = None,
    engine: str | None = None,
    csv: CsvFormat | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Summaries[Any, Any] | GroupedSummaries[Any, Any]:
    """A raw table as summaries, with simulated reports of those who do not trust: for trying a study out.

    A simulation: the raw values were all in one place, and the reports protect nobody. Give ``estimate`` a
    ``random_state``, so that its result says so, too.

    Parameters
    ----------
    table, study, group, keys, engine, csv
        As for `summarize`.
    value : str
        The column of raw values, of everybody.
    trusted_if : str
        Who trusts, as for `summarize`.
    random_state : int or numpy.random.Generator, optional
        Makes the reports repeatable, except in Spark.

    Examples
    --------
    >>> import polars as pl
    >>> from hybriddp import MeanStudy
    >>> study = MeanStudy("minutes", bounds=(0, 240), epsilon=0.5)
    >>> table = pl.DataFrame({"minutes": [30.0, 12.5, 99.0], "consent": ["yes", "no", "no"]})
    >>> trusted, local = simulate_local(table, study, value="minutes", trusted_if="consent")
    >>> trusted.count, local.count
    (1, 2)
    """
    study = table_study(study)
    public = public_keys(study, group, keys)
    trust = Trust.of(trusted_if)
    query = query_for(study, value, None, group, public, trust)
    raw = CountedTable(table, query, engine, csv, in_chunks=False)
    counted = as_summaries(study, group, count([raw], public, simulated=True), trusted=True, local=False)
    rng = None if random_state is None else np.random.default_rng(random_state)

    def reports(part: TableStudy[Any, L], key: Key | None) -> L:
        frames = (_untrusted_values(chunk.frame, query, trust, key) for chunk in raw.parts)
        return _simulated(frames, part, query, rng)

    with raw.source.reading():
        if isinstance(counted, Summaries):
            return Summaries(counted.trusted, reports(study, None))
        by = counted.by
        parts = {key: Summaries(part.trusted, reports(study.part(by, key), key)) for key, part in counted.items()}
    return GroupedSummaries(by, parts, counted.other)


def _simulated(frames: Iterable[Any], study: TableStudy[T, L], query: Query, rng: np.random.Generator | None) -> L:
    """The reports that devices would have sent for the values of frames; in Spark the workers draw, without a seed."""
    summary: Any = study.summarize_local(Reports(np.empty(0, np.int64), study.whole_digest))
    for values in frames:
        generator = None if hasattr(values.to_native(), "mapInArrow") else rng
        work = partial(_drawn, make=query.device_codes, text=study.to_json(), rng=generator)
        for codes in computed(values, work, np.int64):
            summary = summary + study.summarize_local(Reports(codes, study.whole_digest, seeded=True))
    simulated: L = summary
    return simulated


def _untrusted_values(frame: Any, query: Query, trust: Trust, key: Key | None) -> Any:  # noqa: ANN401
    """The values of those who do not trust, of all users or of a key's."""
    schema = frame.collect_schema()
    trusts, _ = trust.expressions(schema[trust.column])
    x, present = query.raw_cells(schema[query.value])
    wanted = present & ~trusts
    if query.group is not None:
        wanted = wanted & (nw.col(query.group).cast(nw.String) == str(key))
    return frame.filter(wanted).select(x=x)


def _drawn(
    batches: Iterable["pa.RecordBatch"],
    make: Callable[[str], DeviceCodes],
    text: str,
    rng: np.random.Generator | None,
) -> Iterator[NDArray[np.int64]]:
    device_codes = make(text)
    for batch in batches:
        codes, answers = device_codes(batch.column(0), rng)
        yield codes[answers]


def simulate_devices(
    frame: "DataFrame", study: TableStudy[Any, Any], *, value: str, report: str = "code", seed: int | None = None
) -> "DataFrame":
    """A PySpark table with one more column: the code that each user's device would have sent.

    A simulation, for tests and for planning. On real devices a value never leaves; here the raw values were all in
    one place, so the codes protect nobody by themselves. Spark computes the codes anew whenever the table is used:
    without a seed they are others every time, so write the table down before using it twice.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per user. Workers need hybriddp too.
    study : MeanStudy, FrequencyStudy or DistributionStudy
        The study that the devices take part in. It travels to the workers as its text.
    value : str
        The column of raw values. Those that are missing, NaN or infinite, or none of the categories, get no code.
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
    from pyspark.sql.types import LongType, NumericType, StringType, StructField, StructType

    public_keys(study, None, None)
    query = query_for(study, value, None)
    require_column(value, frame.columns, "The table")
    numeric = value in query.numbers
    if not isinstance(frame.schema[value].dataType, NumericType if numeric else StringType):
        held = frame.schema[value].dataType.simpleString()
        raise DataError(f"Column {value!r} must hold {'numbers' if numeric else 'texts'}, but holds {held}.")
    if report in frame.columns:
        raise DataError(f"The table has a column {report!r} already. Name another one for the codes.")
    if seed is not None:
        _check.integer("seed", seed, at_least=0)
    schema = StructType([*frame.schema.fields, StructField(report, LongType())])
    return frame.mapInArrow(_randomizer(query.device_codes, study.to_json(), value, report, seed), schema)


def _randomizer(
    make: Callable[[str], DeviceCodes], text: str, value: str, report: str, seed: int | None
) -> Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]:
    """What a worker does with the batches of a partition."""

    def randomize(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = 0 if context is None else int(context.partitionId())
        rng = None if seed is None else np.random.default_rng([seed, partition])
        device_codes = make(text)
        for batch in batches:
            codes, answers = device_codes(batch.column(value), rng)
            yield batch.append_column(report, pa.array(codes, mask=~answers))

    return randomize
