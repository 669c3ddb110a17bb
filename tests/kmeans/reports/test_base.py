"""Questions as text, of which whatever is not exactly one is refused; and what becomes of a point on a grid."""

import json
from functools import partial
from typing import Any

import numpy as np
import pytest

from hybriddp.errors import ProtocolError
from hybriddp.kmeans.protocol.round import question_of
from hybriddp.kmeans.reports.base import GridQuestion, Labels, Projection, Question
from hybriddp.kmeans.reports.codebook import Directions, Pairs
from hybriddp.kmeans.reports.means import DirectionQuestion, LabelSignsQuestion
from hybriddp.kmeans.reports.moments import LengthQuestion, SecondMomentQuestion
from tests.kmeans.codebooks import symbol_shares
from tests.refusals import not_refused

VIEW = Projection(np.array([0.5, 0.4]), np.array([[0.6, 0.8]]))
CENTERS, RADII = np.array([[0.1, 0.2], [0.7, 0.8], [0.3, 0.9]]), np.array([0.1, 0.2, 0.3])
SEEN = Labels(np.array([[0.0], [0.5], [0.2]]), VIEW)
QUESTIONS: dict[str, Question] = {
    "grid": GridQuestion(None, np.zeros(2), np.array([0.5, 0.25]), (3, 5)),
    "grid in a view": GridQuestion(VIEW, np.zeros(1), np.array([0.5]), (3,)),
    "label_signs": LabelSignsQuestion(Labels(CENTERS), RADII, np.array([[0, 1], [1, 0]])),
    "residual in a view": LabelSignsQuestion(SEEN, RADII, np.array([[0]])),
    "label": LabelSignsQuestion(Labels(CENTERS), RADII, np.empty((1, 0), np.int64)),
    "direction": DirectionQuestion(Labels(CENTERS), RADII, Directions.of(2), 2),
    "direction in a view": DirectionQuestion(SEEN, RADII, Directions.of(1), 1),
    "second_moment": SecondMomentQuestion(CENTERS[0], 0.4, Pairs.of(2), 2),
    "length": LengthQuestion(CENTERS[0], 0.4),
}


def _plain(question: Question) -> dict[str, Any]:
    fields = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in question.fields().items()}
    plain: dict[str, Any] = json.loads(json.dumps({"kind": question.kind, **fields}))
    return plain


@pytest.mark.parametrize("name", QUESTIONS)
def test_text_and_question_are_inverses(name: str) -> None:
    question = QUESTIONS[name]
    again = question_of(2, _plain(question))
    assert type(again) is type(question)
    assert (again.n_symbols, again.n_variants) == (question.n_symbols, question.n_variants)
    assert _plain(again) == _plain(question)
    points = np.random.default_rng(0).random((500, 2))
    variants = np.arange(500) % question.n_variants
    first, second = (q.symbols(points, variants, np.random.default_rng(1)) for q in (question, again))
    np.testing.assert_array_equal(first, second)


GRID, RESIDUAL = _plain(QUESTIONS["grid"]), _plain(QUESTIONS["label_signs"])
SEEN_GRID, SEEN_DIRECTION = _plain(QUESTIONS["grid in a view"]), _plain(QUESTIONS["direction in a view"])
DIRECTION, PAIR, LENGTH = (_plain(QUESTIONS[name]) for name in ("direction", "second_moment", "length"))
NAN, INF = float("nan"), float("inf")
CHANGES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (GRID, {"kind": "other"}),
    (GRID, {"kind": None}),
    (GRID, {"kind": []}),
    (GRID, {"sizes": 3}),
    (GRID, {"low": ["a", "b"]}),
    (GRID, {"low": None}),
    (RESIDUAL, {"centers": 5}),
    (RESIDUAL, {"coordinates": [[0], [0, 1]]}),
    (RESIDUAL, {"coordinates": [[10**30, 0]]}),
    (GRID, {"sizes": [3, 1]}),
    (GRID, {"sizes": [3]}),
    (GRID, {"sizes": [3, 5.0]}),
    (GRID, {"sizes": [3, True]}),
    (GRID, {"sizes": [3, 5000]}),
    (GRID, {"step": [0.5, 0.0]}),
    (GRID, {"step": [0.5, -1.0]}),
    (GRID, {"step": [0.5, 1e-200]}),
    (GRID, {"step": [0.5, NAN]}),
    (GRID, {"low": [0.0]}),
    (GRID, {"low": [0.0, INF]}),
    (GRID, {"low": [0.0, 1e300]}),
    (SEEN_GRID, {"axes": []}),
    (SEEN_GRID, {"axes": [[1.0]]}),
    (SEEN_GRID, {"axes": [[1e308, -1e308]]}),
    (SEEN_GRID, {"origin": [0.5]}),
    (SEEN_DIRECTION, {"centers": [[0.0, 1.0]] * 3}),
    (SEEN_DIRECTION, {"sign_flips": [[1, -1]] * 4}),
    (DIRECTION, {"sign_flips": []}),
    (DIRECTION, {"sign_flips": [[1, 0]] * 8}),
    (DIRECTION, {"sign_flips": [[1]] * 8}),
    (DIRECTION, {"sign_flips": [[1, -1]] * 8192}),
    (DIRECTION, {"chosen": 0}),
    (DIRECTION, {"chosen": 3}),
    (DIRECTION, {"chosen": 1.0}),
    (PAIR, {"left_sign_flips": [[1, -1]] * 3}),
    (PAIR, {"right_sign_flips": [[2, -1]] * 4}),
    (PAIR, {"radius": 0.0}),
    (PAIR, {"radius": 1}),
    (LENGTH, {"radius": 1e-200}),
    (LENGTH, {"radius": NAN}),
    (LENGTH, {"center": [0.5]}),
    (RESIDUAL, {"centers": []}),
    (RESIDUAL, {"centers": [[0.1, 0.2]]}),
    (RESIDUAL, {"centers": [[0.1, 0.2, 0.3]] * 3}),
    (RESIDUAL, {"centers": [[0.1, NAN]] * 3}),
    (RESIDUAL, {"radii": [0.1, 0.2, 0.0]}),
    (RESIDUAL, {"radii": [0.1, 0.2, 1e-320]}),
    (RESIDUAL, {"radii": [0.1, 0.2]}),
    (RESIDUAL, {"coordinates": []}),
    (RESIDUAL, {"coordinates": [[0, 2]]}),
    (RESIDUAL, {"coordinates": [[-1, 0]]}),
    (RESIDUAL, {"coordinates": [[0] * 17]}),
    (RESIDUAL, {"coordinates": [[0, 1], [1, 1]]}),  # the same one twice
    (RESIDUAL, {"coordinates": [[0], [1], [0]]}),  # more lists than dimensions
    (SEEN_GRID, {"axes": [[0.6, 0.8]] * 3}),  # more directions than dimensions
    (SEEN_GRID, {"axes": [[0.6, 1e-307]]}),  # products that a processor takes longer over, for some points
    (DIRECTION, {"sign_flips": [[1, -1]] * 256}),  # more rows than are ever made
    (PAIR, {"left_sign_flips": [[1, -1]] * 64, "right_sign_flips": [[1, -1]] * 64}),
]


def test_what_is_no_question_is_refused() -> None:
    cases = [(f"{fields['kind']} with {change}"[:1000], {**fields, **change}) for fields, change in CHANGES]
    assert not_refused(cases, partial(question_of, 2), ProtocolError, "The question is refused") == []


def test_what_lacks_something_is_refused() -> None:
    cases = [
        (f"{fields['kind']} without {name}", {k: v for k, v in fields.items() if k != name})
        for fields in (GRID, SEEN_GRID, RESIDUAL, SEEN_DIRECTION, PAIR, LENGTH)
        for name in fields
        if name != "axes"
    ]
    assert not_refused(cases, partial(question_of, 2), ProtocolError, "The question is refused") == []


def test_directions_that_make_no_whole_hand_are_refused() -> None:
    fields = _plain(DirectionQuestion(Labels(np.zeros((1, 5))), np.ones(1), Directions.of(5), 3))
    assert isinstance(question_of(5, fields), DirectionQuestion)
    with pytest.raises(ProtocolError, match="directions are malformed"):
        question_of(5, {**fields, "sign_flips": fields["sign_flips"][:-1]})


@pytest.mark.parametrize("fields", [None, [], "grid", 5])
def test_what_is_not_even_an_object_is_refused(fields: Any) -> None:
    with pytest.raises(ProtocolError, match="The question is refused"):
        question_of(2, fields)


@pytest.mark.parametrize("size", [1e-100, 1e-50, 1.0, 1e50, 1e100])
def test_no_number_in_a_question_can_make_a_symbol_that_is_none(size: float) -> None:
    """Else a stranger could tell some points from others by a symbol that the channel does not hide."""
    rng = np.random.default_rng(0)
    points = rng.random((200, 2))
    for fields in (_plain(question) for question in QUESTIONS.values()):
        for name in ("low", "origin", "axes", "centers", "center", "step", "radii", "radius"):
            if name not in fields:
                continue
            sign = 1 if name in ("step", "radii", "radius") else rng.choice([-1, 1], np.shape(fields[name]))
            hostile = {**fields, name: (size * sign * np.ones(np.shape(fields[name]))).tolist()}
            question = question_of(2, hostile)
            symbols = question.symbols(points, np.arange(200) % question.n_variants, rng)
            if question.n_chosen is None:
                assert symbols.min() >= 0
                assert symbols.max() < question.n_symbols
            else:
                assert (np.bitwise_count(symbols) == question.n_chosen).all()
                assert symbols.max() < 1 << question.n_symbols


def test_more_centers_than_a_study_can_have_are_refused() -> None:
    """Else a short message could fill the memory of a device."""
    fields = {"kind": "direction", "centers": [[0.5]] * 5000, "radii": [1.0] * 5000}
    with pytest.raises(ProtocolError, match="more than 3072 centers"):
        question_of(1, fields)


PLANE = GridQuestion(None, np.array([0.0, -0.5]), np.array([0.25, 0.5]), (5, 3))


def test_vertices_are_in_the_order_of_their_symbols() -> None:
    vertices = PLANE.vertices()
    assert vertices.shape == (PLANE.n_symbols, 2) == (15, 2)
    steps = np.rint((vertices - PLANE.low) / PLANE.step).astype(int)
    np.testing.assert_array_equal(PLANE.index(steps), np.arange(15))


@pytest.mark.parametrize("x", [0.0, 0.1, 0.25, 0.6, 0.99, 1.0])
def test_rounding_to_the_grid_keeps_the_mean(x: float) -> None:
    grid = GridQuestion(None, np.array([0.0]), np.array([0.25]), (5,))
    shares = symbol_shares(grid, np.array([x]), 0)
    assert shares @ grid.vertices()[:, 0] == pytest.approx(x, abs=0.25 / 4096)
    assert np.count_nonzero(shares) <= 2


def test_points_beyond_the_grid_are_at_its_border() -> None:
    symbols = PLANE.symbols(np.array([[-9.0, -9], [9, 9]]), np.zeros(2, int), np.random.default_rng(0))
    np.testing.assert_array_equal(symbols, [0, 14])


def test_a_view_looks_in_its_own_directions() -> None:
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    view = Projection(np.array([0.5, 0.5]), turn)
    seen = GridQuestion(view, np.array([-1.0, -1.0]), np.array([0.5, 0.5]), (5, 5))
    points = np.random.default_rng(11).random((50, 2))
    expected = np.array([turn @ (x - [0.5, 0.5]) for x in points])
    np.testing.assert_allclose(seen.position(points), (expected + 1) / 0.5)


def test_the_number_of_vertices_does_not_wrap_around() -> None:
    assert GridQuestion(None, np.zeros(6), np.ones(6), (4096,) * 6).n_symbols == 2**72
