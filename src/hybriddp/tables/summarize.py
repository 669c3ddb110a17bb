"""Any table to summaries, by one code path: pandas, Polars (eager or lazy), PyArrow, DuckDB, PySpark, files.

A table is counted chunk by chunk, or user by user, and what came out is checked before it becomes summaries.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypedDict, Unpack, overload

import numpy as np

from hybriddp import _check
from hybriddp.distribution.study import DistributionStudy
from hybriddp.errors import DataError, ParameterError
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.mean.study import MeanStudy
from hybriddp.shares.study import FrequencyStudy
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.distribution import DistributionQuery
from hybriddp.tables.frames import Chunk, TableSource, lazy_frame, open_chunks
from hybriddp.tables.items import ItemQuery, ItemStudy
from hybriddp.tables.mean import MeanQuery
from hybriddp.tables.paths import expand, file_names
from hybriddp.tables.query import Query
from hybriddp.tables.report_files import DIGEST_COLUMN, Origin, by_digest
from hybriddp.tables.shares import FrequencyQuery
from hybriddp.tables.tally import GroupedSummaries, Key, L, Summaries, T, TableStudy, Tally, check
from hybriddp.tables.trust import Trust
from hybriddp.tables.users import REPEATED, one_row_each

QUERIES: dict[type[Any], type[Query]] = {
    MeanStudy: MeanQuery,
    FrequencyStudy: FrequencyQuery,
    ItemStudy: ItemQuery,
    DistributionStudy: DistributionQuery,
}
"""What is counted for each kind of study."""

Progress = Callable[[float | None], object]
"""Is told which share of a table has been counted, from 0 to 1; None while that is not known."""


class Counting(TypedDict, total=False):
    """Options of how a table is read, and its users are counted."""

    user: str | None
    repeated: str
    engine: str | None
    csv: CsvFormat | None
    progress: Progress | None


@overload
def summarize(
    table: Any,  # noqa: ANN401
    study: TableStudy[T, L],
    *,
    value: str | None = None,
    report: str | None = None,
    group: None = None,
    keys: None = None,
    trusted_if: str | None = None,
    **options: Unpack[Counting],
) -> Summaries[T, L]: ...


@overload
def summarize(
    table: Any,  # noqa: ANN401
    study: TableStudy[T, L],
    *,
    value: str | None = None,
    report: str | None = None,
    group: str,
    keys: Sequence[str] | Sequence[int],
    trusted_if: str | None = None,
    **options: Unpack[Counting],
) -> GroupedSummaries[T, L]: ...


@overload
def summarize(
    table: Any,  # noqa: ANN401
    study: HeavyHitterStudy,
    *,
    value: str | None = None,
    report: str | None = None,
    trusted_if: str | None = None,
    **options: Unpack[Counting],
) -> Summaries[Any, Any]: ...


def summarize(
    table: Any,
    study: TableStudy[Any, Any] | HeavyHitterStudy,
    *,
    value: str | None = None,
    report: str | None = None,
    group: str | None = None,
    keys: Sequence[str] | Sequence[int] | None = None,
    trusted_if: str | None = None,
    user: str | None = None,
    repeated: str = "refuse",
    engine: str | None = None,
    csv: CsvFormat | None = None,
    progress: Progress | None = None,
) -> Summaries[Any, Any] | GroupedSummaries[Any, Any]:
    """The trusted and the local users of a table as summaries.

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
    study = table_study(study)
    public = public_keys(study, group, keys)
    _check.choice("repeated", repeated, REPEATED)
    trust = None if trusted_if is None else Trust.of(trusted_if)
    query = query_for(study, value, report, group, public, trust, user)
    source = CountedTable(table, query, engine, csv, in_chunks=progress is not None and user is None)
    tallies = count([source], public, progress, repeated=repeated)
    return as_summaries(study, group, tallies, trusted=value is not None, local=report is not None)


@overload
def summarize_both(
    trusted: Any,  # noqa: ANN401
    local: Any,  # noqa: ANN401
    study: TableStudy[T, L],
    *,
    value: str,
    report: str,
    group: str | None = None,
    keys: Sequence[str] | Sequence[int] | None = None,
    **options: Unpack[Counting],
) -> Summaries[T, L] | GroupedSummaries[T, L]: ...


@overload
def summarize_both(
    trusted: Any,  # noqa: ANN401
    local: Any,  # noqa: ANN401
    study: HeavyHitterStudy,
    *,
    value: str,
    report: str,
    **options: Unpack[Counting],
) -> Summaries[Any, Any]: ...


def summarize_both(
    trusted: Any,
    local: Any,
    study: TableStudy[Any, Any] | HeavyHitterStudy,
    *,
    value: str,
    report: str,
    group: str | None = None,
    keys: Sequence[str] | Sequence[int] | None = None,
    user: str | None = None,
    repeated: str = "refuse",
    engine: str | None = None,
    csv: CsvFormat | None = None,
    progress: Progress | None = None,
) -> Summaries[Any, Any] | GroupedSummaries[Any, Any]:
    """A table of trusted users and another of local ones, which may have other columns, as summaries.

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
    study = table_study(study)
    public = public_keys(study, group, keys)
    _check.choice("repeated", repeated, REPEATED)
    named = [file_names(table) for table in (trusted, local)]
    expand([name for names in named for name in names or ()])  # refuses a file that is named twice
    if trusted is local:
        raise DataError("The same table is given for both groups: its users would be counted twice.")

    def opened(table: Any, value: str | None, report: str | None) -> CountedTable:  # noqa: ANN401
        reader = None if file_names(table) is None else engine
        query = query_for(study, value, report, group, public, user=user)
        return CountedTable(table, query, reader, csv, in_chunks=progress is not None and user is None)

    tables = [opened(trusted, value, None), opened(local, None, report)]
    tallies = count(tables, public, progress, repeated=repeated)
    return as_summaries(study, group, tallies, trusted=True, local=True)


# Counting


class _Part(NamedTuple):
    """Rows that are counted at once, their size beside the others, and what metadata say about their reports."""

    frame: Any
    size: int
    origin: Origin


class CountedTable:
    """A table, and what to count in it."""

    def __init__(
        self,
        table: Any,  # noqa: ANN401
        query: Query,
        engine: str | None,
        csv: CsvFormat | None,
        *,
        in_chunks: bool,
    ) -> None:
        self.query = query
        self.source = source = TableSource.of(table, engine, query.wanted(csv))
        with source.reading():
            opened = [(Chunk(table, 1), Origin())]
            if source.names is not None:
                tied = query.report is not None
                groups = by_digest(source.files, query.study, query.digests) if tied else [(source.files, Origin())]
                opened = [
                    (chunk, origin)
                    for files, origin in groups
                    for chunk in open_chunks(files, source.engine, source.wanted, small=in_chunks)
                ]
            answers = [query.trust.column] if query.trust else []
            texts = [DIGEST_COLUMN] if query.report is not None else []
            how: dict[str, Any] = {"answers": answers, "texts": texts, "converters": query.converters}
            self.parts = [
                _Part(lazy_frame(chunk.table, query.numbers, **how), chunk.size, origin) for chunk, origin in opened
            ]
        self.source.require([part.frame for part in self.parts])


def count(
    tables: Sequence[CountedTable],
    keys: Sequence[Key],
    progress: Progress | None = None,
    *,
    repeated: str = "refuse",
    simulated: bool = False,
) -> dict[Key | None, Tally[Any, Any]]:
    """Count tables into the tallies of all keys, and of None for rows that have none of them."""
    tallies: dict[Key | None, Tally[Any, Any]] = {key: tables[0].query.tally() for key in (*keys, None)}
    parts = [(table, part) for table in tables for part in table.parts]
    whole, done = sum(part.size for _, part in parts) or 1, 0
    tell = progress or (lambda _: None)
    tell(0.0 if len(parts) > 1 else None)
    first = tables[0].query
    if any(table.query.user is not None for table in tables):
        _count_users(tables, tallies, repeated)
        tell(1.0)
    else:
        for table, part in parts:
            with table.source.reading():
                table.query.count(table.query.cells(part.frame, part.origin), tallies)
            done += part.size
            tell(done / whole)
    titles = [table.source.title for table in tables if table.query.report is not None]
    title = " or ".join(titles) or tables[0].source.title
    column = first.trust.column if first.trust else None
    check(list(tallies.values()), first.study, title, column, simulated=simulated)
    return tallies


def _count_users(tables: Sequence[CountedTable], tallies: dict[Key | None, Tally[Any, Any]], repeated: str) -> None:
    """Count all parts together, since a user may be in several of them."""
    cells: list[Any] = []
    for table in tables:
        with table.source.reading():
            cells += [table.query.cells(part.frame, part.origin) for part in table.parts]
    query = tables[0].query
    with tables[0].source.reading():
        query.count(one_row_each(cells, str(query.user), repeated, query.no_item), tallies)


def as_summaries(
    study: TableStudy[T, L],
    group: str | None,
    tallies: dict[Key | None, Tally[Any, Any]],
    *,
    trusted: bool,
    local: bool,
) -> Summaries[T, L] | GroupedSummaries[T, L]:
    """Tallies as the summaries of a study, or of its part for every key."""
    other = tallies.pop(None)
    if group is None:
        return other.summaries(study, trusted=trusted, local=local)
    parts = {
        key: tally.summaries(study.part(group, key), trusted=trusted, local=local)
        for key, tally in tallies.items()
        if key is not None
    }
    return GroupedSummaries(group, parts, other.rows)


def public_keys(
    study: TableStudy[Any, Any], group: str | None, keys: Sequence[str] | Sequence[int] | None
) -> list[Key]:
    """The keys of the groups, once they and the study have been checked."""
    if type(study) not in QUERIES:
        kinds = "a MeanStudy, a FrequencyStudy, a HeavyHitterStudy or a DistributionStudy"
        raise ParameterError("study", kinds, type(study).__name__, shown_as="type")
    if group is not None and isinstance(study, ItemStudy):
        raise ParameterError("group", "left out: heavy hitters are those of everybody", group)
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


def table_study(study: TableStudy[T, L] | HeavyHitterStudy) -> TableStudy[Any, Any]:
    """What tables count: of heavy hitters, the items or what is known about a dictionary."""
    if not isinstance(study, HeavyHitterStudy):
        return study
    return ItemStudy(study) if study.domain is None else study.dictionary


def query_for(study: TableStudy[Any, Any], *columns: Any, **more: Any) -> Query:  # noqa: ANN401
    """What is counted for a study, in these columns."""
    return QUERIES[type(study)](study, *columns, **more)
