"""Trying a study out; Spark's devices are in test_spark.py."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from hybriddp.mean import LocalSummary, MeanStudy
from hybriddp.tables import simulate_local

Engine = Callable[[pl.DataFrame], Any]
STUDY = MeanStudy("x", bounds=(0, 100), epsilon=1)


def test_reports_are_simulated_for_those_who_do_not_trust(engine: Engine) -> None:
    precise = MeanStudy("x", bounds=(0, 100), epsilon=20)
    x = np.random.default_rng(0).uniform(0, 100, 3000)
    users = pl.DataFrame({"x": x, "who": np.arange(3000) % 3 == 0})
    trusted, local = simulate_local(engine(users), precise, value="x", trusted_if="who")
    assert trusted == precise.summarize_trusted(x[::3])
    assert isinstance(local, LocalSummary)
    assert (local.count, local.tied) == (2000, True)
    others = x[np.arange(3000) % 3 != 0]
    codes = precise.summarize_local(precise.randomize(others, random_state=1))
    assert isinstance(codes, LocalSummary)
    # At ε = 20 a code tells the value to within a few codes, so that the shares below the middle are nearly the same.
    half = len(local.counts) // 2
    assert abs(sum(local.counts[:half]) - sum(codes.counts[:half])) < 150


def test_simulated_reports_repeat_with_a_seed(engine: Engine) -> None:
    users = engine(pl.DataFrame({"x": np.linspace(0, 100, 500), "who": [True, False] * 250}))
    one, two, other = (
        simulate_local(users, STUDY, value="x", trusted_if="who", random_state=seed) for seed in (5, 5, 6)
    )
    assert one == two
    assert one != other


def test_simulated_reports_by_group(engine: Engine) -> None:
    users = pl.DataFrame(
        {"x": np.linspace(0, 250, 200), "who": ([True, False] * 100), "where": ["DE"] * 150 + ["FR"] * 50}
    )
    parts: Any = simulate_local(engine(users), STUDY, value="x", trusted_if="who", group="where", keys=["DE", "FR"])
    counts = {key: (part.trusted.count, part.local.count) for key, part in parts.items()}
    assert counts == {"DE": (75, 75), "FR": (25, 25)}
    assert parts["FR"].local.study == STUDY.part("where", "FR").digest
