"""Any table to summaries, by one code path: pandas, Polars (eager or lazy), PyArrow, DuckDB, PySpark, files."""

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from hybriddp.distribution.study import DistributionStudy
from hybriddp.errors import DataError, ParameterError
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.mean.study import MeanStudy
from hybriddp.shares.study import FrequencyStudy
from hybriddp.tables.counting import CountedTable, Progress, count
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.distribution import DistributionQuery
from hybriddp.tables.frames import Table
from hybriddp.tables.items import ItemQuery
from hybriddp.tables.mean import MeanQuery
from hybriddp.tables.paths import expand, file_names
from hybriddp.tables.query import Query
from hybriddp.tables.shares import FrequencyQuery
from hybriddp.tables.tally import GroupedSummaries, Key, Summaries
from hybriddp.tables.trust import Trust

TableStudy = MeanStudy | FrequencyStudy | HeavyHitterStudy | DistributionStudy
"""A study that a table can be counted for."""

Keys = Sequence[str] | Sequence[int]
_QUERIES: dict[type[Any], type[Query]] = {
    MeanStudy: MeanQuery,
    FrequencyStudy: FrequencyQuery,
    HeavyHitterStudy: ItemQuery,
    DistributionStudy: DistributionQuery,
}


class Reading(TypedDict, total=False):
    """Options of how a table is read."""

    engine: str | None
    csv: CsvFormat | None


class Counting(Reading, total=False):
    """Options of how a table is read, and its users are counted."""

    user: str | None
    repeated: str
    progress: Progress | None


class Both(Counting, total=False):
    """Options of a table that may have both groups."""

    value: str | None
    report: str | None
    trusted_if: str | None


@overload
def summarize(
    table: Table, study: TableStudy, *, group: None = None, keys: None = None, **options: Unpack[Both]
) -> Summaries: ...


@overload
def summarize(
    table: Table, study: TableStudy, *, group: str, keys: Keys, **options: Unpack[Both]
) -> GroupedSummaries: ...


def summarize(
    table: Table,
    study: TableStudy,
    *,
    value: str | None = None,
    report: str | None = None,
    group: str | None = None,
    keys: Keys | None = None,
    trusted_if: str | None = None,
    user: str | None = None,
    repeated: str = "refuse",
    engine: str | None = None,
    csv: CsvFormat | None = None,
    progress: Progress | None = None,
) -> Summaries | GroupedSummaries:
    """Summarize the trusted and the local users of a table.

    Parameters
    ----------
    table : dataframe, relation, path, str, or list of paths
        Anything that narwhals understands, or the name of a .parquet, .csv, .tsv, .jsonl or .json file (text files also
        compressed: .gz, .zst), with ``*`` for many, or of a folder of Parquet files, or several names.
    study : MeanStudy, FrequencyStudy, HeavyHitterStudy or DistributionStudy
        The study that the rows belong to. Heavy hitters have no groups, and reports in their tables are those on the
        dictionary, if there is one, or of local discovery; reports on a list are those of its `question`.
    value : str, optional
        The column of raw values, or of raw items: filled in the rows of trusted users, empty in the others.
    report : str, optional
        The column of codes: filled in the rows of local users, empty in the others.
    group : str, optional
        A column of texts or integers, for one answer per group, such as per country.
    keys : sequence of str or of int, optional
        The groups that there are answers for. They are public, so they are given and never read from the data. Texts
        of integers, as a command line has them, also name the keys of a column of integers.
    trusted_if : str, optional
        A column that says who trusts, as booleans, 0 and 1, or yes and no; or ``"column=word"``, where the word means
        that somebody trusts. Values of all others are not looked at: they need a report. An empty cell means no.
    user : str, optional
        A column that names the users, for tables in which they may have several rows.
    repeated : {"refuse", "first"}
        What is done if a user has several rows with a value or a report: nothing is counted (`DataError`), or the first
        one is, in the order of the rows. Tables of DuckDB and Spark have no order.
    engine : {"polars", "duckdb", "spark"}, optional
        What reads Parquet files, and only files: Polars if not given. Spark uses the running session, or starts a local
        one. Text files are always read by Polars, so that a cell means the same everywhere.
    csv : CsvFormat, optional
        How text files are written, where it cannot be detected.
    progress : callable, optional
        Is called with the share of the table that has been counted, from 0 to 1, or with None while that is not known.
        Large Parquet files that Polars reads are then counted in chunks.

    Returns
    -------
    Summaries
        ``trusted, local``. Rows that have neither a finite value nor a report are counted as rejected, or missing, by
        the trusted summary, reports that are no codes by the local one. A row with both is an error: nobody is in both
        groups. Reports that carry the digest of another study, in the metadata of a Parquet file or in a column
        ``study``, are refused (`ProtocolError`); if all carry the right one, the local summary is ``tied``.
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
    if value is None and report is None:
        raise ParameterError("value", "the name of a column, or report must be", value)
    trust = None if trusted_if is None else Trust.of(trusted_if)
    query = query_for(study, value, report, group, keys, trust, user)
    source = CountedTable(table, query, engine, csv, in_chunks=progress is not None and user is None)
    return count([source], progress, repeated=repeated).summaries(trusted=value is not None, local=report is not None)


@overload
def summarize_both(
    trusted: Table,
    local: Table,
    study: TableStudy,
    *,
    value: str,
    report: str,
    group: None = None,
    keys: None = None,
    **options: Unpack[Counting],
) -> Summaries: ...


@overload
def summarize_both(
    trusted: Table,
    local: Table,
    study: TableStudy,
    *,
    value: str,
    report: str,
    group: str,
    keys: Keys,
    **options: Unpack[Counting],
) -> GroupedSummaries: ...


def summarize_both(
    trusted: Table,
    local: Table,
    study: TableStudy,
    *,
    value: str,
    report: str,
    group: str | None = None,
    keys: Keys | None = None,
    user: str | None = None,
    repeated: str = "refuse",
    engine: str | None = None,
    csv: CsvFormat | None = None,
    progress: Progress | None = None,
) -> Summaries | GroupedSummaries:
    """Summarize a table of trusted users and another of local ones, which may have other columns.

    Without ``user`` it is the same as two calls of `summarize`. With it, nobody may be in both tables. A file or table
    that is given for both groups is refused: everybody in it would be counted twice.

    Parameters
    ----------
    trusted, local : dataframe, relation, path, str, or list of paths
        As for `summarize`.
    study : MeanStudy, FrequencyStudy, HeavyHitterStudy or DistributionStudy
        The study that the rows belong to.
    value : str
        The column of raw values in the first table.
    report : str
        The column of codes in the second.
    group, keys, user, repeated, engine, csv, progress
        As for `summarize`; columns have the same names in both tables.

    Examples
    --------
    >>> import polars as pl
    >>> study = MeanStudy("minutes", bounds=(0, 240), epsilon=0.5)
    >>> raw, reports = pl.DataFrame({"minutes": [30.0, 12.5]}), pl.DataFrame({"code": [7, 9, 200]})
    >>> both = summarize_both(raw, reports, study, value="minutes", report="code")
    >>> both.trusted.count, both.local.count
    (2, 3)
    """
    columns = ((value, None), (None, report))
    queries = [query_for(study, raw, code, group, keys, user=user) for raw, code in columns]
    named = [file_names(table) for table in (trusted, local)]
    expand([name for names in named for name in names or ()])  # refuses a file that is named twice
    if trusted is local:
        raise DataError("The same table is given for both groups: its users would be counted twice.")
    in_chunks = progress is not None and user is None
    tables = [
        CountedTable(table, query, engine if names else None, csv, in_chunks=in_chunks)
        for table, names, query in zip((trusted, local), named, queries, strict=True)
    ]
    return count(tables, progress, repeated=repeated).summaries(trusted=True, local=True)


# Which query


def query_for(
    study: Any,  # noqa: ANN401
    value: str | None,
    report: str | None,
    group: str | None = None,
    keys: Keys | None = None,
    trust: Trust | None = None,
    user: str | None = None,
) -> Query:
    """Make the query for a study, of heavy hitters about their dictionary if there is one, once all is checked."""
    if isinstance(study, HeavyHitterStudy) and study.domain is not None:
        study = study.dictionary
    if type(study) not in _QUERIES:
        kinds = "a MeanStudy, a FrequencyStudy, a HeavyHitterStudy or a DistributionStudy"
        raise ParameterError("study", kinds, type(study).__name__, shown_as="type")
    if group is not None and isinstance(study, HeavyHitterStudy):
        raise ParameterError("group", "left out: heavy hitters are those of everybody", group)
    if (group is None) != (keys is None):
        raise ParameterError("keys", "given exactly if group is", keys)
    return _QUERIES[type(study)](study, value, report, group, _public_keys(keys), trust, user)


def _public_keys(keys: Keys | None) -> list[Key]:
    """Check the keys of the groups."""
    if keys is None:
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
