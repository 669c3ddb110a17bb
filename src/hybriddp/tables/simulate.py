"""Trying a study out on a raw table: the reports of those who do not trust are made here, not on their devices.

That is a simulation. It shows what the study would give; it protects nobody, since all raw values were in one place.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp.errors import DataError
from hybriddp.study.reports import Reports
from hybriddp.tables.batches import computed
from hybriddp.tables.counting import CountedTable, count
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.frames import Frame, Table, nw
from hybriddp.tables.query import Query
from hybriddp.tables.summarize import Keys, Reading, TableStudy, query_for
from hybriddp.tables.tally import GroupedSummaries, Key, Summaries
from hybriddp.tables.text import require_column
from hybriddp.tables.trust import Trust

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class Simulating(Reading, total=False):
    """Options of how a table is read, and of the simulated reports."""

    random_state: int | np.random.Generator | None


@overload
def simulate_local(
    table: Table,
    study: TableStudy,
    *,
    value: str,
    trusted_if: str,
    group: None = None,
    keys: None = None,
    **options: Unpack[Simulating],
) -> Summaries: ...


@overload
def simulate_local(
    table: Table,
    study: TableStudy,
    *,
    value: str,
    trusted_if: str,
    group: str,
    keys: Keys,
    **options: Unpack[Simulating],
) -> GroupedSummaries: ...


def simulate_local(
    table: Table,
    study: TableStudy,
    *,
    value: str,
    trusted_if: str,
    group: str | None = None,
    keys: Keys | None = None,
    engine: str | None = None,
    csv: CsvFormat | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Summaries | GroupedSummaries:
    """Summarize a raw table, with simulated reports of those who do not trust, to try a study out.

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
    trust = Trust.of(trusted_if)
    query = query_for(study, value, None, group, keys, trust)
    raw = CountedTable(table, query, engine, csv, in_chunks=False)
    summaries = count([raw], simulated=True).summaries(trusted=True, local=False)
    rng = None if random_state is None else np.random.default_rng(random_state)

    def simulated(trusted: Summaries, key: Key | None) -> Summaries:
        values = (_untrusted_values(chunk.frame, query, trust, key) for chunk in raw.parts)
        return trusted._replace(local=_simulated(values, key, query, rng))

    with raw.source.reading():
        if isinstance(summaries, Summaries):
            return simulated(summaries, None)
        parts = {key: simulated(part, key) for key, part in summaries.items()}
    return GroupedSummaries(summaries.by, parts, summaries.other)


def _simulated(frames: Iterable[Frame], key: Key | None, query: Query, rng: np.random.Generator | None) -> Any:  # noqa: ANN401
    """Summarize the reports that devices would have sent; in Spark the workers draw, without a seed."""
    digest = query.question.digest
    summary = query.summarize_reports(Reports(np.empty(0, np.int64), digest), key)
    for values in frames:
        generator = None if hasattr(values.to_native(), "mapInArrow") else rng
        for codes in computed(values, partial(_drawn, query=query, rng=generator), np.int64):
            summary = summary + query.summarize_reports(Reports(codes, digest, seeded=True), key)
    return summary


def _untrusted_values(frame: Frame, query: Query, trust: Trust, key: Key | None) -> Frame:
    """Select the values of those who do not trust, of all users or of a key's."""
    schema = frame.collect_schema()
    trusts, _ = trust.expressions(schema[trust.column])
    x, present = query.raw_cells(schema[query.value])
    wanted = present & ~trusts
    if query.group is not None:
        wanted = wanted & (nw.col(query.group).cast(nw.String) == str(key))
    return frame.filter(wanted).select(x=x)


def _drawn(
    batches: Iterable["pa.RecordBatch"], query: Query, rng: np.random.Generator | None
) -> Iterator[NDArray[np.int64]]:
    """Draw the codes of batches of values, in a worker if the table is Spark's."""
    for batch in batches:
        codes, answers = query.device_codes(batch.column(0), rng)
        yield codes[answers]


def simulate_devices(
    frame: "DataFrame", study: TableStudy, *, value: str, report: str = "code", seed: int | None = None
) -> "DataFrame":
    """Add a column to a PySpark table, the code that each user's device would have sent.

    A simulation, for tests and for planning. On real devices a value never leaves; here the raw values were all in
    one place, so the codes protect nobody by themselves. Spark computes the codes anew whenever the table is used:
    without a seed they are others every time, so write the table down before using it twice.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per user. Workers need hybriddp too.
    study : MeanStudy, FrequencyStudy or DistributionStudy
        The study that the devices take part in. It travels to the workers.
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
    return frame.mapInArrow(partial(_with_codes, query=query, report=report, seed=seed), schema)


def _with_codes(
    batches: Iterable["pa.RecordBatch"], query: Query, report: str, seed: int | None
) -> Iterator["pa.RecordBatch"]:
    """Add the column of codes to the batches of a partition, in a worker."""
    import pyarrow as pa
    from pyspark import TaskContext

    context = TaskContext.get()
    partition = 0 if context is None else int(context.partitionId())
    rng = None if seed is None else np.random.default_rng([seed, partition])
    for batch in batches:
        codes, answers = query.device_codes(batch.column(query.value), rng)
        yield batch.append_column(report, pa.array(codes, mask=~answers))
