"""Any table to summaries, by one code path: pandas, Polars (eager or lazy), PyArrow, DuckDB, PySpark, files."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from hybriddp.errors import ParameterError
from hybriddp.mean.study import MeanStudy
from hybriddp.tables.engines import open_files
from hybriddp.tables.frames import chosen_engine, file_names, lazy_frame, require_narwhals
from hybriddp.tables.query import Query
from hybriddp.tables.reading import reading
from hybriddp.tables.steps import Step, steps
from hybriddp.tables.summaries import GroupedSummaries, Key, Summaries
from hybriddp.tables.tally import Tally, check

Progress = Callable[[float | None], object]
"""Is told which share of a table has been counted, from 0 to 1; None while nobody can tell."""


@overload
def summarize(
    table: Any,  # noqa: ANN401
    study: MeanStudy,
    *,
    value: str | None = None,
    report: str | None = None,
    group: None = None,
    keys: None = None,
    engine: str | None = None,
    progress: Progress | None = None,
) -> Summaries: ...


@overload
def summarize(
    table: Any,  # noqa: ANN401
    study: MeanStudy,
    *,
    value: str | None = None,
    report: str | None = None,
    group: str,
    keys: Sequence[str] | Sequence[int],
    engine: str | None = None,
    progress: Progress | None = None,
) -> GroupedSummaries: ...


def summarize(
    table: Any,
    study: MeanStudy,
    *,
    value: str | None = None,
    report: str | None = None,
    group: str | None = None,
    keys: Sequence[str] | Sequence[int] | None = None,
    engine: str | None = None,
    progress: Progress | None = None,
) -> Summaries | GroupedSummaries:
    """The trusted and the local users of a table as summaries.

    Parameters
    ----------
    table : dataframe, relation, path, str, or list of paths
        Anything that narwhals understands, or the name of a .parquet, .csv or .jsonl file (``*`` for many), or
        several names.
    study : MeanStudy
        The study that the rows belong to.
    value : str, optional
        The column of raw values: filled in the rows of trusted users, empty in the others.
    report : str, optional
        The column of codes: filled in the rows of local users, empty in the others.
    group : str, optional
        A column of texts or integers, for one answer per group, such as per country.
    keys : sequence of str or of int, optional
        The groups that there are answers for. They are public, so they are given and never read from the data. Texts
        of integers, as a command line has them, also name the keys of a column of integers.
    engine : {"polars", "duckdb", "spark"}, optional
        What reads files, and only files: Polars if not given. Spark uses the running session, or starts a local one.
    progress : callable, optional
        Is called with the share of the table that has been counted, from 0 to 1, or with None while nobody can tell.
        Large Parquet files that Polars reads are then counted in steps.

    Returns
    -------
    Summaries
        ``trusted, local``. Rows that have neither a finite value nor a report are counted as rejected by the trusted
        summary, reports that are no codes by the local one. A row with both is an error: nobody is in both groups.
    GroupedSummaries
        With ``group``: a mapping from every key to the summaries of ``study.part(group, key)``, empty ones for a key
        that no row has.

    Examples
    --------
    >>> import polars as pl
    >>> from hybriddp import MeanStudy
    >>> study = MeanStudy("minutes", bounds=(0, 240), epsilon=0.5)
    >>> table = pl.DataFrame({"minutes": [30.0, None, None], "code": [None, 7, 9], "country": ["DE", "FR", "XX"]})
    >>> trusted, local = summarize(table, study, value="minutes", report="code")
    >>> trusted.count, local.count
    (1, 2)
    >>> countries = summarize(table, study, value="minutes", report="code", group="country", keys=["DE", "FR"])
    >>> countries["FR"].local.count, countries.other
    (1, 1)
    """
    if not isinstance(study, MeanStudy):
        raise ParameterError("study", "a MeanStudy", type(study).__name__, shown_as="type")
    if value is None and report is None:
        raise ParameterError("value", "the name of a column, or report must be", value)
    public = _public_keys(group, keys)
    query = Query(study, value, report, group, public)
    tallies: dict[Key | None, Tally] = {key: Tally() for key in (*public, None)}
    _count(table, query, tallies, engine, progress or (lambda _: None), in_steps=progress is not None)
    check(list(tallies.values()), study)
    flags = {"trusted": value is not None, "local": report is not None}
    other = tallies.pop(None)
    if group is None:
        return other.summaries(study, **flags)
    parts = {key: tally.summaries(study.part(group, key), **flags) for key, tally in tallies.items() if key is not None}
    return GroupedSummaries(group, parts, other.rows)


def _public_keys(group: str | None, keys: Sequence[str] | Sequence[int] | None) -> list[Key]:
    if (group is None) != (keys is None):
        raise ParameterError("keys", "given exactly if group is", keys)
    if group is None or keys is None:
        return []
    words = "all texts or all integers that fit into Int64, at least one, none of them twice"
    if isinstance(keys, str) or not hasattr(keys, "__iter__"):
        raise ParameterError("keys", words, keys)
    given: Sequence[object] = keys
    public: list[Any] = [int(key) if isinstance(key, np.integer) else key for key in given]
    texts = all(isinstance(key, str) for key in public)
    integers = all(type(key) is int and -(2**63) <= key < 2**63 for key in public)
    if not public or not (texts or integers) or len(set(public)) < len(public):
        raise ParameterError("keys", words, keys)
    return public


def _count(
    table: Any,  # noqa: ANN401
    query: Query,
    tallies: dict[Key | None, Tally],
    engine: str | None,
    progress: Progress,
    *,
    in_steps: bool,
) -> None:
    names = file_names(table)
    reader = chosen_engine(names, engine)
    require_narwhals()  # before anything is opened
    if names is None:
        parts = [Step(table, 1)]
    elif in_steps:
        parts = steps(names, reader, query.columns, numbers=query.numbers)
    else:
        parts = [Step(relation, 1) for relation in open_files(names, reader, numbers=query.numbers)]
    done, whole = 0, sum(part.size for part in parts) or 1
    progress(None if len(parts) == 1 else 0.0)
    for part in parts:
        with reading(names):
            query.count(lazy_frame(part.table, query.numbers), tallies)
        done += part.size
        progress(done / whole)
