from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hybriddp.errors import DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.tables import summarize, summarize_both
from hybriddp.tables.report_files import write_table

Engine = Callable[[pl.DataFrame], Any]
STUDY = MeanStudy("x", bounds=(0, 100), epsilon=1)
USERS = pl.DataFrame(
    {
        "x": pl.Series([10.0, None, None, 40.0, 50.0, None]),
        "code": pl.Series([None, 3, None, None, None, 9], dtype=pl.Int64),
        "id": ["ada", "bob", "cy", "cy", "ada", "bob"],
    }
)
UNIQUE = USERS[:4]  # cy's empty row is no second one


@pytest.mark.repeated
@pytest.mark.parametrize("ids", [None, pl.Int64])
def test_a_user_with_two_rows_is_refused(engine: Engine, ids: Any) -> None:
    names = {"ada": 1, "bob": 2, "cy": 3}
    users = USERS if ids is None else USERS.with_columns(id=pl.col("id").replace_strict(names, return_dtype=ids))
    with pytest.raises(DataError, match="2 users have more than one row by column 'id'.*--repeated first") as caught:
        summarize(engine(users), STUDY, value="x", report="code", user="id")
    assert "ada" not in str(caught.value)
    fine = summarize(engine(users[:4]), STUDY, value="x", report="code", user="id")
    assert fine == summarize(UNIQUE, STUDY, value="x", report="code")


def test_the_first_row_of_a_user_is_kept_where_rows_have_an_order(engine: Engine) -> None:
    table = engine(USERS)
    library = type(table).__module__.split(".")[0].lstrip("_")
    if library in ("duckdb", "pyspark"):
        with pytest.raises(DataError, match=f"Rows have no order in {library}.*engine polars"):
            summarize(table, STUDY, value="x", report="code", user="id", repeated="first")
    else:
        kept = summarize(table, STUDY, value="x", report="code", user="id", repeated="first")
        assert kept == summarize(UNIQUE, STUDY, value="x", report="code")


def test_the_first_row_does_not_depend_on_values() -> None:
    for values in ([1.0, 99.0], [99.0, 1.0], [500.0, 1.0]):
        table = pl.DataFrame({"x": values, "id": ["a", "a"]})
        kept = summarize(table, STUDY, value="x", user="id", repeated="first").trusted
        assert kept == STUDY.summarize_trusted(values[:1])


def test_rows_of_nobody_are_refused(engine: Engine) -> None:
    with pytest.raises(DataError, match="have no user in column 'id'"):
        summarize(
            engine(USERS[:2].with_columns(id=pl.lit(None, pl.String))), STUDY, value="x", report="code", user="id"
        )


def test_users_are_told_apart_over_all_files(tmp_path: Path) -> None:
    names = [tmp_path / "a.csv", tmp_path / "b.parquet"]
    for name, part in zip(names, (USERS[:3], USERS[3:]), strict=True):
        write_table(part, name)
    with pytest.raises(DataError, match="2 users have more than one row"):
        summarize(names, STUDY, value="x", report="code", user="id", progress=lambda _: None)
    # The Parquet files come first, then the text files: an order that the names decide, not the values.
    kept: Any = summarize(names, STUDY, value="x", report="code", user="id", repeated="first")
    assert kept.trusted.count + kept.local.count == 3


def test_nobody_is_in_both_of_two_tables(tmp_path: Path) -> None:
    raw = pl.DataFrame({"minutes": [10.0, 40.0], "id": ["ada", "cy"]})
    reports = pl.DataFrame({"answer": [3, 9, 8], "id": ["bob", "dee", "cy"]})
    options: dict[str, Any] = {"value": "minutes", "report": "answer"}
    trusted: Any
    local: Any
    trusted, local = summarize_both(raw, reports, STUDY, **options)
    assert (trusted.count, local.count) == (2, 3)
    with pytest.raises(DataError, match="1 user is in both groups by column 'id'.*pays twice") as caught:
        summarize_both(raw, reports, STUDY, user="id", **options)
    assert "cy" not in str(caught.value)
    write_table(raw, tmp_path / "raw.parquet")
    write_table(reports, tmp_path / "reports.csv")
    names = tmp_path / "raw.parquet", tmp_path / "reports.csv"
    for engine in ("polars", "duckdb"):
        with pytest.raises(DataError, match="1 user is in both groups"):
            summarize_both(*names, STUDY, user="id", engine=engine, **options)
    with pytest.raises(DataError, match="1 user is in both groups"):  # keeping the first row mends nothing
        summarize_both(raw, reports, STUDY, user="id", repeated="first", **options)
    trusted, local = summarize_both(raw, reports[:2], STUDY, user="id", repeated="first", **options)
    assert (trusted.count, local.count) == (2, 2)


@pytest.mark.parametrize("repeated", ["refuse", "first"])
def test_a_user_with_a_value_and_a_report_in_two_rows_is_in_both_groups(engine: Engine, repeated: str) -> None:
    users = USERS.with_columns(id=pl.Series(["ada", "ada", "cy", "cy", "dee", "ada"]))
    table = engine(users)
    if repeated == "first" and type(table).__module__.split(".")[0].lstrip("_") in ("duckdb", "pyspark"):
        repeated = "refuse"  # rows have no order there
    with pytest.raises(DataError, match="1 user is in both groups by column 'id'"):
        summarize(table, STUDY, value="x", report="code", user="id", repeated=repeated)


def test_users_are_told_apart_by_their_text() -> None:
    users = pl.DataFrame({"x": [1.0, 2.0, 3.0], "id": ["1", "1.0", "01"]})
    trusted: Any = summarize(users, STUDY, value="x", user="id").trusted
    assert trusted.count == 3


def test_groups_and_users_go_together(engine: Engine) -> None:
    users = UNIQUE.with_columns(where=pl.Series(["DE", "FR", None, "DE"]))
    options: dict[str, Any] = {"value": "x", "report": "code", "group": "where", "keys": ["DE", "FR"]}
    assert summarize(engine(users), STUDY, user="id", **options) == summarize(users, STUDY, **options)


def test_mistakes_are_named() -> None:
    with pytest.raises(ParameterError, match="^repeated must be one of 'refuse', 'first'"):
        summarize(USERS, STUDY, value="x", user="id", repeated="last")
    with pytest.raises(DataError, match="Column 'x' must name users with texts or integers"):
        summarize(USERS, STUDY, value="x", user="x")
