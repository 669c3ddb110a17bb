"""Any table to summaries, by one code path: pandas, Polars (eager or lazy), PyArrow, DuckDB, PySpark, files.

A table is counted chunk by chunk, with one row per user, and what came out is checked before it becomes summaries.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from hybriddp import _check
from hybriddp.distribution.study import DistributionStudy
from hybriddp.errors import DataError, ParameterError
from hybriddp.frequency.study import FrequencyStudy
from hybriddp.mean.study import MeanStudy
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.distribution.query import DistributionQuery
from hybriddp.tables.frames import Chunk, TableSource, collect, lazy_frame, library, nw, open_chunks, require_polars
from hybriddp.tables.frequency.query import FrequencyQuery
from hybriddp.tables.mean.query import MeanQuery
from hybriddp.tables.paths import expand, file_names
from hybriddp.tables.query import NO_REPORT, GroupedSummaries, Key, L, Query, Summaries, T, TableStudy, Tally, check
from hybriddp.tables.report_files import DIGEST_COLUMN, Origin, by_digest
from hybriddp.tables.trust import Trust
from hybriddp.wording import counted

QUERIES: dict[type[Any], type[Query]] = {
    MeanStudy: MeanQuery,
    FrequencyStudy: FrequencyQuery,
    DistributionStudy: DistributionQuery,
}
"""What is counted for each kind of study."""

Progress = Callable[[float | None], object]
"""Is told which share of a table has been counted, from 0 to 1; None while that is not known."""

REPEATED = ("refuse", "first")
"""What is done about more than one row of a user: the table is refused, or the first row is kept.

The first row is that in the order of the table, among those with a value or a report. Which one it is depends on no
value but on the order alone, and a user's rows decide about no other user's, so one user still changes one row. DuckDB
and Spark keep no order: what is first would differ from run to run, and so might the answer.
"""

_ORDERED = ("polars", "pandas", "pyarrow")


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
    user: str | None = None,
    repeated: str = "refuse",
    engine: str | None = None,
    csv: CsvFormat | None = None,
    progress: Progress | None = None,
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
    user: str | None = None,
    repeated: str = "refuse",
    engine: str | None = None,
    csv: CsvFormat | None = None,
    progress: Progress | None = None,
) -> GroupedSummaries[T, L]: ...


def summarize(
    table: Any,
    study: TableStudy[T, L],
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
) -> Summaries[T, L] | GroupedSummaries[T, L]:
    """The trusted and the local users of a table as summaries.

    Parameters
    ----------
    table : dataframe, relation, path, str, or list of paths
        Anything that narwhals understands, or the name of a .parquet, .csv, .tsv, .jsonl or .json file (text files also
        compressed: .gz, .zst), with ``*`` for many, or of a folder of Parquet files, or several names.
    study : MeanStudy, FrequencyStudy or DistributionStudy
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
        ``trusted, local``. Rows that have neither a finite value nor a report are counted as rejected by the trusted
        summary, reports that are no codes by the local one. A row with both is an error: nobody is in both groups.
        Reports that carry the digest of another study, in the metadata of a Parquet file or in a column ``study``, are
        refused (`ProtocolError`); if all carry the right one, the local summary is ``tied``.
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
    public = public_keys(study, group, keys)
    _check.choice("repeated", repeated, REPEATED)
    trust = None if trusted_if is None else Trust.of(trusted_if)
    query = query_for(study, value, report, group, public, trust, user)
    source = CountedTable(table, query, engine, csv, in_chunks=progress is not None and user is None)
    tallies = count([source], public, progress, repeated=repeated)
    return as_summaries(study, group, tallies, trusted=value is not None, local=report is not None)


def summarize_both(
    trusted: Any,  # noqa: ANN401
    local: Any,  # noqa: ANN401
    study: TableStudy[T, L],
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
) -> Summaries[T, L] | GroupedSummaries[T, L]:
    """A table of trusted users and another of local ones, which may have other columns, as summaries.

    Without ``user`` it is the same as two calls of `summarize`. With it, nobody may be in both tables. A file or table
    that is given for both groups is refused: everybody in it would be counted twice.

    Parameters
    ----------
    trusted, local : dataframe, relation, path, str, or list of paths
        As for `summarize`.
    study : MeanStudy, FrequencyStudy or DistributionStudy
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


def public_keys(study: TableStudy[T, L], group: str | None, keys: Sequence[str] | Sequence[int] | None) -> list[Key]:
    """The keys of the groups, once they and the study have been checked."""
    if type(study) not in QUERIES:
        kinds = " or ".join(f"a {kind.__name__}" for kind in QUERIES)
        raise ParameterError("study", kinds, type(study).__name__, shown_as="type")
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


def query_for(study: TableStudy[Any, Any], *columns: Any, **more: Any) -> Query:  # noqa: ANN401
    """What is counted for a study, in these columns."""
    return QUERIES[type(study)](study, *columns, **more)


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


def count(
    tables: Sequence[CountedTable],
    keys: Sequence[Key],
    progress: Progress | None = None,
    *,
    repeated: str = "refuse",
    simulated: bool = False,
) -> dict[Key | None, Tally[Any, Any]]:
    """The tallies of all keys, and of None for rows that have none of them."""
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
        query.count(_one_row_each(cells, str(query.user), repeated, query.no_item), tallies)


def _one_row_each(frames: Sequence[Any], column: str, repeated: str, no_item: str | int) -> Any:  # noqa: ANN401
    """The cells of a query, from all frames, with at most one row per user that has a value or a report.

    A user with two rows would pay twice, and count twice.
    """
    polars = require_polars()
    if repeated == "first":
        for frame in frames:
            if library(frame) not in _ORDERED:
                raise DataError(
                    f"Rows have no order in {library(frame)}, so that no row of a user is the first. Use the engine "
                    "polars, or --repeated refuse."
                )
    if repeated == "first" or len(frames) > 1:
        parts = [frame.collect(backend="polars").to_native() for frame in frames]
        joined = polars.concat(parts, how="diagonal_relaxed")
        fill: dict[str, Any] = {name: 0 for name in joined.columns if name not in ("user", "key")}
        fill |= {name: x for name, x in {"code": NO_REPORT, "item": no_item}.items() if name in fill}
        cells = nw.from_native(joined.lazy().with_columns(polars.col(name).fill_null(x) for name, x in fill.items()))
    else:
        cells = frames[0]
    known = cells.collect_schema().names()
    present = [nw.col(name) > 0 for name in ("count", "raw") if name in known]
    present += [nw.col("code") != NO_REPORT] if "code" in known else []
    takes_part = nw.any_horizontal(*present, ignore_nulls=True)
    taking = cells.filter(takes_part)
    repeats = taking.group_by("user").agg(rows=nw.len()).filter(nw.col("user").is_null() | (nw.col("rows") > 1))
    found = collect(repeats.select(nobody=nw.col("user").is_null().cast(nw.Int64).sum(), users=nw.len()))[0]
    if found["nobody"]:
        raise DataError(f"Some rows with a value or a report have no user in column {column!r}. Leave them out.")
    if found["users"] and repeated == "refuse":
        raise DataError(
            f"{counted(found['users'], 'user', 'has', 'have')} more than one row by column {column!r}: each would "
            "count, and pay, more than once. Make it one row per user, or keep the first of each with --repeated first."
        )
    if not found["users"]:
        return cells
    native = cells.to_native()
    kept = nw.to_native(taking).unique("user", keep="first", maintain_order=True)
    rest = nw.to_native(cells.filter(~takes_part))
    return nw.from_native(polars.concat([kept, rest]) if isinstance(native, polars.LazyFrame) else kept)
