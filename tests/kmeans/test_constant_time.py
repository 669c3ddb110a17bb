"""A device does the same work whatever its point is: counted, step by step, not timed."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import hybriddp
from hybriddp.channels import RandomizedResponse
from hybriddp.channels.response import ChoiceResponse
from hybriddp.channels.unary import symbol_channel
from hybriddp.kmeans.clustering import largest_constant_time, nearest, nearest_constant_time, rows_constant_time
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.reports import codebook
from hybriddp.kmeans.reports.codebook import Directions, Pairs
from hybriddp.kmeans.study import KMeansStudy
from tests.kmeans.servers import as_text

SOURCE = str(Path(hybriddp.__file__).parent)


@contextmanager
def recorded() -> Iterator[list[Any]]:
    """Every line that is run in hybriddp, with the shapes of all arrays that its function holds by then."""
    steps: list[Any] = []

    def trace(frame: FrameType, event: str, arg: object) -> Any:  # noqa: ARG001
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        shapes = {name: held.shape for name, held in frame.f_locals.items() if isinstance(held, np.ndarray)}
        steps.append((frame.f_code.co_qualname, event, frame.f_lineno, shapes))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield steps
    finally:
        sys.settrace(before)


def _steps(asked: Round, point: list[float]) -> list[Any]:
    with recorded() as steps:
        asked.answer([point], random_state=1)
    return steps


# Halves of the box that differ: two of the centers coincide, others are equally far from points of a line.
TWICE: dict[str, Any] = {"centers": [[0.0, 0.5], [1.0, 0.5], [1.0, 0.5]], "radii": [0.3, 0.3, 0.3]}
SEEN = {"centers": [[0.0], [1.0], [1.0]], "origin": [0.0, 0.0], "axes": [[1.0, 0.0]]}
TURNED = {"origin": [0.5, 0.5], "axes": [[0.6, 0.8], [-0.8, 0.6]]}
FLIPS = Directions.of(2).sign_flips.tolist()
QUESTIONS: dict[str, dict[str, Any]] = {
    "grid": {"kind": "grid", "low": [0.0, 0.0], "step": [0.5, 1.0], "sizes": [3, 2]},
    "label": {"kind": "label_signs", **TWICE, "coordinates": [[]]},
    "label in a view": {"kind": "label_signs", **TWICE, **SEEN, "coordinates": [[]]},
    "signs": {"kind": "label_signs", **TWICE, "coordinates": [[0, 1]]},
    "direction": {"kind": "direction", **TWICE, "sign_flips": FLIPS, "chosen": 2},
    "direction in a view": {"kind": "direction", **TWICE, **TURNED, "sign_flips": FLIPS, "chosen": 1},
    "second_moment": {
        "kind": "second_moment",
        "center": [0.5, 0.5],
        "radius": 0.2,
        "left_sign_flips": Pairs.of(2).left.sign_flips.tolist(),
        "right_sign_flips": Pairs.of(2).right.sign_flips.tolist(),
        "chosen": 2,
    },
    "length": {"kind": "length", "center": [0.5, 0.5], "radius": 0.2},
}
SYMBOLS = {"grid": 6, "label": 3, "label in a view": 3, "signs": 12, "length": 2}
POINTS = [[x, y] for x in (0.0, 0.1, 0.49, 0.5, 0.51, 0.9, 1.0) for y in (0.0, 0.3, 0.5)]


def _round(name: str, *, unary: bool = False) -> Round:
    study = KMeansStudy("points", n_clusters=2, bounds=[(0, 1)] * 2, epsilon=1)
    question = QUESTIONS[name]
    if "chosen" in question:
        channel: Any = ChoiceResponse(epsilon=1, n_codes=4, n_chosen=question["chosen"])
    elif unary:
        channel = symbol_channel("1", SYMBOLS[name])
    else:
        channel = RandomizedResponse(epsilon=1, n_categories=SYMBOLS[name])
    asks = [{"question": question, "channel": json.loads(channel.to_json()), "user_fraction": "1"}]
    fields = {"type": "kmeans-round", "version": 2, "study": study.fields(), "number": 1, "purpose": "x", "asks": asks}
    return Round.from_json(as_text(fields), study=study)


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_point_takes_the_same_steps_over_arrays_of_the_same_shapes(name: str) -> None:
    asked = _round(name)
    asked.answer([[0.5, 0.5]], random_state=1)  # what is made once is made before
    first, *others = (_steps(asked, point) for point in POINTS)
    assert len(first) > 30
    assert all(steps == first for steps in others)


def test_a_unary_report_takes_the_same_steps_too() -> None:
    asked = _round("signs", unary=True)
    asked.answer([[0.5, 0.5]], random_state=1)
    first, *others = (_steps(asked, point) for point in POINTS)
    assert all(steps == first for steps in others)


@pytest.mark.parametrize("name", [name for name, fields in QUESTIONS.items() if "chosen" in fields])
def test_a_device_selects_by_comparing_all_pairs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A selection takes as many steps as it takes, which the recorder cannot see: it is one call."""

    def refused(*_: Any) -> None:
        raise AssertionError("a device must not select the fast way")

    monkeypatch.setattr(codebook, "_largest", refused)
    for function in ("argpartition", "partition", "argsort", "sort"):
        monkeypatch.setattr(np, function, refused)
    (reports,) = _round(name).answer(POINTS)
    assert len(reports.codes) == len(POINTS)


def test_the_recorder_tells_a_path_that_depends_on_the_point() -> None:
    """`nearest` looks twice where rounding could decide: what this test would find if a device used it."""
    centers = np.array(TWICE["centers"])
    found = []
    for point in ([0.1, 0.5], [0.9, 0.5]):
        with recorded() as steps:
            nearest(np.array([point]), centers)
        found.append(steps)
    assert found[0] != found[1]


@pytest.mark.parametrize("d", [1, 3, 40])
def test_labels_are_those_of_the_fast_way(d: int) -> None:
    rng = np.random.default_rng(d)
    centers = rng.integers(0, 3, (12, d)) / 2  # with ties, and with centers that coincide
    centers[7] = centers[2]
    points = np.concatenate([rng.random((3000, d)), rng.integers(0, 5, (3000, d)) / 4, centers])
    np.testing.assert_array_equal(nearest_constant_time(points, centers), nearest(points, centers))
    assert nearest_constant_time(points[:0], centers).shape == (0,)


def test_rows_are_those_that_are_looked_up() -> None:
    rng = np.random.default_rng(1)
    table, label = rng.normal(size=(9, 4)) * 10.0 ** rng.integers(-100, 100, (9, 4)), rng.integers(0, 9, 500)
    np.testing.assert_array_equal(rows_constant_time(table, label), table[label])
    np.testing.assert_array_equal(rows_constant_time(table[:, 0], label), table[label, 0])


@pytest.mark.parametrize("count", [1, 3, 16])
def test_the_largest_are_exactly_so_many_also_where_values_are_equal(count: int) -> None:
    rng = np.random.default_rng(count)
    values = np.concatenate([rng.normal(size=(500, 32)), rng.integers(0, 3, (500, 32)).astype(float)])
    order = np.argsort(-values, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(largest_constant_time(values, count), np.sum(1 << order, axis=1))
