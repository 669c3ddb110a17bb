"""Whole studies over tables: the same as over arrays, to the last bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hybriddp.kmeans.points import TrustedPoints
from hybriddp.kmeans.protocol.round import Round, RoundReports, RoundTally
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.tables import count_reports, report_table, trusted_points
from tests.tables.conftest import ENGINES

Count = Callable[[Round, tuple[RoundReports, ...]], RoundTally]


def _users(n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(d)
    return np.where(rng.random((n, 1)) < 0.5, -40.0, 60.0) + 10 * rng.standard_normal((n, d))


def _run(
    study: KMeansStudy, trusted: np.ndarray | TrustedPoints, local: np.ndarray, count: Count
) -> HybridKMeansServer:
    server = HybridKMeansServer(study, n_local=len(local), trusted=trusted, random_state=1)
    server.start()
    first = 0
    while server.round is not None:
        asked = round(server.round.user_fraction * len(local))
        reports = server.round.answer(local[first : first + asked], random_state=server.round.number)
        server.absorb(count(server.round, reports))
        first += asked
    return server


def compare(
    folder: Path,
    engine: Callable[[pl.DataFrame], Any],
    *,
    d: int,
    epsilon: float,
    n_trusted: int,
    n_local: int,
    reader: str | None = None,
) -> HybridKMeansServer:
    """Run a study over arrays and over tables; its state, all that was published, must be the same text."""
    study = KMeansStudy("users", n_clusters=2, bounds=[(-99, 101)] * d, epsilon=epsilon)
    users = _users(n_trusted + n_local, d)
    trusted, local = users[:n_trusted], users[n_trusted:]

    def stored(asked: Round, reports: tuple[RoundReports, ...]) -> RoundTally:
        path = folder / f"round-{asked.number}.parquet"
        report_table(reports).write_parquet(path)
        return count_reports(path, asked, engine=reader)

    columns = [f"c{j}" for j in range(d)]
    group = trusted_points(engine(pl.DataFrame(trusted, schema=columns)), study, columns=columns)
    of_tables = _run(study, group, local, stored)
    of_arrays = _run(study, trusted, local, Round.count)
    assert of_tables.to_json() == of_arrays.to_json()
    np.testing.assert_array_equal(of_tables.cluster_centers, of_arrays.cluster_centers)
    return of_tables


@pytest.mark.repeated
@pytest.mark.parametrize("name", ["polars lazy", "duckdb"])
@pytest.mark.parametrize(
    ("d", "epsilon", "n_trusted", "n_local", "used", "letters"),
    [
        (2, 2.0, 2000, 6000, True, "r"),
        (2, 0.5, 50, 6000, True, "rx"),
        pytest.param(5, 2.0, 4000, 3000, True, "rx", marks=pytest.mark.slow),
        pytest.param(5, 0.5, 20, 6000, False, "rx", marks=pytest.mark.slow),
    ],
)
def test_a_study_over_tables(
    tmp_path: Path, name: str, d: int, epsilon: float, n_trusted: int, n_local: int, used: bool, letters: str
) -> None:
    reader = name.removesuffix(" lazy")
    sizes = {"n_trusted": n_trusted, "n_local": n_local}
    server = compare(tmp_path, ENGINES[name], d=d, epsilon=epsilon, reader=reader, **sizes)
    assert server.trusted_used == used
    codes = pl.read_parquet(tmp_path / "round-*.parquet")["code"]
    assert set(codes.str.slice(0, 1)) == set(letters)
