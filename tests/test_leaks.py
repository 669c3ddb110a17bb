"""A value is planted in the data; nothing that is raised, shown or logged may hold it."""

import logging
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hybriddp as hdp
from hybriddp import cli
from hybriddp.channels import (
    LocalHashing,
    MaskedResponse,
    RandomizedResponse,
    UnaryEncoding,
    WindowChannel,
)
from hybriddp.errors import DataError, HybridDPError, ParameterError, raise_unchained
from hybriddp.grid import Grid
from hybriddp.kmeans import KMeansStudy
from hybriddp.kmeans.points import PointArray
from hybriddp.kmeans.study import Box
from hybriddp.mean import LocalSummary, TrustedSummary
from hybriddp.simulation.crowd import ValueCounts
from hybriddp.tables import summarize, trusted_points
from hybriddp.tables.frames import read_columns
from hybriddp.tables.report_files import write_table
from hybriddp.tables.tally import Tally

WORD, NUMBER = "HIV-positive it's 'so'", 31337.125
SECRETS = ("HIV", "31337")
STUDY = hdp.MeanStudy("income", bounds=(0, 100_000), epsilon=1)
OPEN = hdp.HeavyHitterStudy("illness", epsilon=1, delta=1e-6)
ILLNESS = hdp.FrequencyStudy("illness", categories=["flu", "none"], epsilon=1)
NUMBERS = hdp.FrequencyStudy("number", categories=[1, 2], epsilon=1)
SHAPE = hdp.DistributionStudy("income", bounds=(0, 100_000), epsilon=1)
POINTS = KMeansStudy("x", n_clusters=2, bounds=[(0, 1), (0, 1)], epsilon=1)


def everything(error: BaseException) -> Iterator[str]:
    """All texts that somebody who catches an exception can come by, in the whole chain."""
    seen: list[BaseException] = []
    chain: list[BaseException | None] = [error]
    while chain:
        one = chain.pop()
        if one is None or one in seen:
            continue
        seen.append(one)
        chain += [one.__cause__, one.__context__]
        yield from (str(one), repr(one), repr(one.args), repr(vars(one)), repr(getattr(one, "__notes__", ())))
    yield "".join(traceback.TracebackException.from_exception(error, capture_locals=False).format(chain=True))


def assert_nothing_leaks(texts: Iterator[str]) -> None:
    for text in texts:
        # A traceback quotes the line of this file that made the call, which names the secrets but does not hold them.
        assert not any(secret in text for secret in SECRETS), text


class _Refuses:
    """An object that says too much when it is made an array."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise RuntimeError(WORD)


def _cells(x: object) -> pd.DataFrame:
    """A column of pandas with something in it that is no item."""
    return pd.DataFrame({"x": pd.Series([x, None, 5.5, ["flu"]], dtype=object)})


BAD_VALUES: dict[str, Callable[[], Any]] = {
    "a word": lambda: [1.0, WORD],
    "an object": lambda: np.array([1.0, WORD], object),
    "a nested list": lambda: [1.0, [NUMBER]],
    "two dimensions": lambda: [[NUMBER, 1.0]],
    "three dimensions": lambda: [[[NUMBER, 1.0]]],
    "bytes": lambda: [WORD.encode()],
    "a complex number": lambda: [complex(NUMBER, 1)],
    "a series": lambda: pd.Series([1.0, WORD]),
    "a frame": lambda: pd.DataFrame({"x": [NUMBER], "y": [WORD]}),
    "a dictionary": lambda: {WORD: NUMBER},
    "masked integers": lambda: np.ma.masked_array([31337, 2], mask=[False, True]),
    "masked floats": lambda: np.ma.masked_array([[NUMBER, 2.0]], mask=[[False, True]]),
    "a decimal and a boolean": lambda: np.array([Decimal(str(NUMBER)), True], object),
    "what refuses": _Refuses,
    "infinite": lambda: [NUMBER, float("inf")],
    "huge": lambda: [10**400, 31337],
}
TAKERS: dict[str, Callable[[Any], Any]] = {
    "summarize_trusted": STUDY.summarize_trusted,
    "summarize_local": STUDY.summarize_local,
    "estimate trusted": lambda x: STUDY.estimate(trusted=x, local=[1, 2, 3]),
    "estimate local": lambda x: STUDY.estimate(trusted=[1.0, 2.0], local=x),
    "randomize": STUDY.randomize,
    "distribution trusted": SHAPE.summarize_trusted,
    "distribution local": SHAPE.summarize_local,
    "distribution randomize": SHAPE.randomize,
    "distribution estimate": lambda x: SHAPE.estimate(trusted=x, local=[1, 2, 3]),
    "distribution of reports": lambda x: SHAPE.estimate(trusted=[1.0, 2.0], local=x),
    "grid": Grid(0, 1).place,
    "grid values": Grid(0, 1).values,
    "window": lambda x: WindowChannel(epsilon=1).randomize(x, bounds=(0, 1)),
    "window units": WindowChannel(epsilon=1).sample,
    "response": RandomizedResponse(epsilon=1, n_categories=4).sample,
    "masked": MaskedResponse(epsilon=1).sample,
    "unary": UnaryEncoding(epsilon=1, n_categories=4).sample,
    "trusted items": ILLNESS.summarize_trusted,
    "trusted integers": NUMBERS.summarize_trusted,
    "randomize items": ILLNESS.randomize,
    "randomize integers": NUMBERS.randomize,
    "frequency reports": ILLNESS.summarize_local,
    "estimate trusted items": lambda x: ILLNESS.estimate(trusted=x, local=[0, 1, 1]),
    "estimate frequency reports": lambda x: ILLNESS.estimate(trusted=["flu", "none"], local=x),
    "open items": OPEN.summarize_trusted,
    "discovery reports": OPEN.discovery.summarize_local,
    "hashing": LocalHashing(epsilon=1).sample,
    "heavy hitters": lambda x: hdp.heavy_hitters(trusted=x, local=["flu"], epsilon=1, delta=1e-6, single_group=True),
    "heavy hitters local": lambda x: hdp.heavy_hitters(trusted=["flu"] * 9, local=x, epsilon=1, delta=1e-6),
    "simulate": lambda x: hdp.simulate(STUDY, x, trusted_fraction=0.5, trials=1),
    "value counts": lambda x: ValueCounts.of(x, (0, 1)),
    "box": Box.of([(0, 1), (0, 1)]).place,
    "points": lambda x: PointArray(Box.of([(0, 1), (0, 1)]), x, "points"),
    "k-means": lambda x: hdp.HybridKMeans(n_clusters=2, bounds=[(0, 1)] * 2, epsilon=1).fit(x, None),
    "k-means local": lambda x: hdp.HybridKMeans(n_clusters=2, bounds=[(0, 1)] * 2, epsilon=1).fit(None, x),
    "a table": lambda x: summarize(x, STUDY, value="x"),
    "a cell of items": lambda x: summarize(_cells(x), ILLNESS, value="x"),
    "a cell of integers": lambda x: summarize(_cells(x), NUMBERS, value="x"),
    "a cell of an open domain": lambda x: summarize(_cells(x), OPEN, value="x"),
    "a K-means study": lambda x: trusted_points(x, x, columns=["x", "y"]),
    "a study": lambda x: summarize(x, x, value="x"),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_bad_values_are_refused_without_being_shown(taker: str) -> None:
    leaks = {}
    for bad, make in BAD_VALUES.items():
        values = make()
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                shown = iter([repr(TAKERS[taker](values))])
            except HybridDPError as error:
                shown = everything(error)
        if taker == "simulate":  # its result is a mean of the data, and says that it is no release
            shown = iter(())
        texts = [*shown, *(str(warning.message) for warning in heard)]
        if found := [text for text in texts if any(secret in text for secret in SECRETS)]:
            leaks[bad] = found
    assert leaks == {}


# Tables


LAZY = pl.LazyFrame({"x": ["1.0", WORD], "code": [1, 2]}).with_columns(x=pl.col("x").cast(pl.Float64))
TABLES: dict[str, Callable[[], Any]] = {
    "polars": lambda: pl.DataFrame({"x": ["1", WORD], "code": [1, 2]}),
    "polars lazy, failing late": lambda: LAZY,
    "polars objects": lambda: pl.DataFrame({"x": pl.Series([1, WORD], dtype=pl.Object), "code": [1, 2]}),
    "pandas": lambda: pd.DataFrame({"x": [1.0, WORD], "code": [1, 2]}),
    "pandas categories": lambda: pd.DataFrame({"x": pd.Categorical([WORD, WORD]), "code": [1, 2]}),
    "pyarrow": lambda: pa.table({"x": ["1", WORD], "code": [1, 2]}),
    "duckdb, failing late": lambda: duckdb.from_arrow(pa.table({"t": ["1", WORD]})).select("t::double x, 1 code"),
    "nothing like a table": lambda: {"x": [WORD]},
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize(
    "count",
    [
        lambda table: summarize(table, STUDY, value="x", report="code"),
        lambda table: summarize(table, STUDY, value="code", report="x"),
        lambda table: summarize(table, STUDY, value="code", group="x", keys=[1, 2]),
        lambda table: trusted_points(table, POINTS, columns=["x", "code"]),
    ],
)
def test_bad_tables_are_refused_without_being_shown(kind: str, count: Callable[[Any], Any]) -> None:
    with pytest.raises(HybridDPError) as caught:
        count(TABLES[kind]())
    assert_nothing_leaks(everything(caught.value))


def _files(folder: Path) -> Iterator[Path]:
    texts = {
        "a.csv": f'x,code\n1.5,\n"{WORD}",3\n',
        "quoted.csv": f"x,code\n1.5,\n'{WORD},3\n",
        "ragged.csv": f"x,code\n1.5,\n{WORD},{NUMBER},7,8,9\n",
        "late.csv": "x,code\n" + "1.5,\n" * 30_000 + f'"{WORD}",\n',
        "open.csv": f'x,code\n1.5,\n"{WORD},3\n',
        "a.jsonl": f'{{"x":1.5,"code":null}}\n{{"x":"{WORD}","code":3}}\n',
        "broken.jsonl": f'{{"x":1.5,"code":null}}\n{{"x":{WORD}}}\n',
        "no.parquet": WORD,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
        yield folder / name
    pl.DataFrame({"x": [WORD], "code": [NUMBER]}).write_parquet(folder / "a.parquet")
    yield folder / "a.parquet"


@pytest.mark.repeated
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_bad_files_are_refused_without_being_shown(
    tmp_path: Path, engine: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    for path in _files(tmp_path):
        for progress in (None, lambda _: None):
            with pytest.raises(HybridDPError) as caught:
                summarize(path, STUDY, value="x", report="code", engine=engine, progress=progress)
            assert_nothing_leaks(everything(caught.value))
    assert_nothing_leaks(iter([caplog.text, *capfd.readouterr()]))


def test_writing_a_table_says_nothing_about_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written") as caught:
        write_table(pl.DataFrame({"x": [[WORD]]}), tmp_path / "x.csv")
    assert_nothing_leaks(everything(caught.value))
    with pytest.raises(DataError) as caught:
        read_columns(next(_files(tmp_path)), ["y"])
    assert_nothing_leaks(everything(caught.value))


# The command line


@pytest.mark.repeated
@pytest.mark.parametrize("command", ["mean", "randomize", "simulate"])
def test_the_command_line_shows_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    more = {
        "mean": ["--report", "code", "--bounds", "0", "9", "--epsilon", "1", "--ledger", str(tmp_path / "l.json")],
        "randomize": ["--bounds", "0", "9", "--epsilon", "1", "-o", str(tmp_path / "r.csv")],
        "simulate": ["--bounds", "0", "9", "--epsilon", "1", "--trusted", "10%", "--trials", "2"],
    }
    for path in _files(tmp_path):
        monkeypatch.setattr(sys, "argv", ["hybriddp", command, str(path), "--value", "x", *more[command]])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 4, path
        assert_nothing_leaks(iter(capfd.readouterr()))


def test_what_nobody_expected_is_not_quoted(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def broken() -> None:
        raise KeyError(WORD)

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    shown = capfd.readouterr().err
    assert "builtins.KeyError in broken, test_leaks.py:" in " ".join(shown.split())  # wrapped
    assert_nothing_leaks(iter([shown]))


# What is printed of things that hold raw values


def test_what_holds_raw_values_does_not_show_them() -> None:
    trusted = STUDY.summarize_trusted([NUMBER])
    total = str(trusted.sums[0])
    table = pl.DataFrame({"x": [NUMBER, 5.0], "country": ["DE", "FR"]})
    groups = summarize(table, STUDY, value="x", group="country", keys=["DE", "FR"])
    tally, counts = Tally(Counter(count=1, total=trusted.sums[0])), ValueCounts.of([NUMBER, 1], (0, 1e5))
    held = [trusted, groups, tuple(groups.values()), tally, STUDY.grid.place([NUMBER]), counts]
    held += [PointArray(Box.of([(0, 1e5)]), [[NUMBER]], "x"), Box.of([(0, 1e5)]).place([[NUMBER]])]
    held += [trusted_points(table.with_columns(y=pl.col("x")), POINTS, columns=["x", "y"])]
    unit = str(NUMBER / 1e5)[:6]
    for thing in held:
        for text in (repr(thing), str(thing), f"{thing}"):
            assert not any(secret in text for secret in (*SECRETS, total, unit)), text


@pytest.mark.parametrize("kind", [TrustedSummary, LocalSummary])
def test_the_text_of_a_summary_is_not_quoted(kind: Any) -> None:
    for text in (f'{{"study":"x","total":31337, {WORD}', f'["{WORD}", 31337]', f'{{"study":"x","{WORD}":31337}}'):
        with pytest.raises(DataError) as caught:
            kind.from_json(text)
        assert_nothing_leaks(everything(caught.value))


def test_parameters_are_shown_and_tables_are_described() -> None:
    assert "got bounds=(5, 1)" in str(ParameterError("bounds", "a pair", (5, 1)))
    for table in (pd.DataFrame({"x": [NUMBER]}), pl.DataFrame({"x": [WORD]}), np.full((3, 3), NUMBER), [NUMBER] * 99):
        error = ParameterError("study", "a study", table)
        assert_nothing_leaks(everything(error))
        assert f"got study=<{type(table).__name__} of " in str(error)


def test_an_error_is_raised_alone() -> None:
    def handle() -> None:
        try:
            raise ValueError(WORD)
        except ValueError:
            raise_unchained(DataError("new"))

    with pytest.raises(DataError, match="new") as caught:
        handle()
    assert caught.value.__cause__ is caught.value.__context__ is None
