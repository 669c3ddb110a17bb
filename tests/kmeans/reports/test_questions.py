r"""Questions: what becomes of a point, exactly.

The dice are floats of 24 bits, so the chance of rounding up or of a positive sign is a count of 2^24 values. Dice
that go through such values in turn give the chances without any sampling.
"""

from typing import Any

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans.reports.base import Labels, Projection
from hybriddp.kmeans.reports.codebook import Directions, Pairs
from hybriddp.kmeans.reports.direction import DirectionQuestion
from hybriddp.kmeans.reports.grid import GridQuestion
from hybriddp.kmeans.reports.label_signs import LabelSignsQuestion
from hybriddp.kmeans.reports.length import LengthQuestion
from hybriddp.kmeans.reports.second_moment import SecondMomentQuestion

RNG = np.random.default_rng(11)


class EvenDice:
    """Dice that show ``n`` evenly spaced values between 0 and 1, in the first axis, in every throw."""

    def __init__(self, n: int) -> None:
        self.values = (np.arange(n, dtype=np.float64) / n).astype(np.float32)

    def random(self, shape: Any, dtype: Any = None) -> Any:  # noqa: ANN401, ARG002
        column = self.values.reshape(-1, *([1] * (np.size(shape) - 1)))
        return np.broadcast_to(column, shape)


def _shares(question: Any, point: FloatArray, variant: int, n: int = 4096) -> FloatArray:  # noqa: ANN401
    """How likely each symbol is for one point, if all its dice fall alike."""
    points = np.tile(point, (n, 1))
    symbols = question.symbols(points, np.full(n, variant), EvenDice(n))
    assert symbols.dtype == np.int64
    return np.bincount(symbols, minlength=question.n_symbols) / n


# Grids


GRID = GridQuestion(None, np.array([0.0, -0.5]), np.array([0.25, 0.5]), (5, 3))


def test_vertices_are_in_the_order_of_their_symbols() -> None:
    vertices = GRID.vertices()
    assert vertices.shape == (GRID.n_symbols, 2) == (15, 2)
    steps = np.rint((vertices - GRID.low) / GRID.step).astype(int)
    np.testing.assert_array_equal(GRID.index(steps), np.arange(15))


@pytest.mark.parametrize("x", [0.0, 0.1, 0.25, 0.6, 0.99, 1.0])
def test_rounding_to_the_grid_keeps_the_mean(x: float) -> None:
    grid = GridQuestion(None, np.array([0.0]), np.array([0.25]), (5,))
    shares = _shares(grid, np.array([x]), 0)
    assert shares @ grid.vertices()[:, 0] == pytest.approx(x, abs=0.25 / 4096)
    assert np.count_nonzero(shares) <= 2


def test_points_beyond_the_grid_are_at_its_border() -> None:
    symbols = GRID.symbols(np.array([[-9.0, -9], [9, 9]]), np.zeros(2, int), np.random.default_rng(0))
    np.testing.assert_array_equal(symbols, [0, 14])


def test_a_view_looks_in_its_own_directions() -> None:
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    view = Projection(np.array([0.5, 0.5]), turn)
    seen = GridQuestion(view, np.array([-1.0, -1.0]), np.array([0.5, 0.5]), (5, 5))
    points = RNG.random((50, 2))
    expected = np.array([turn @ (x - [0.5, 0.5]) for x in points])
    np.testing.assert_allclose(seen.position(points), (expected + 1) / 0.5)


def test_the_number_of_vertices_does_not_wrap_around() -> None:
    assert GridQuestion(None, np.zeros(6), np.ones(6), (4096,) * 6).n_symbols == 2**72


# Residuals


CENTERS = np.array([[0.2, 0.2, 0.2], [0.8, 0.8, 0.8], [0.2, 0.8, 0.5]])
RADII = np.array([0.1, 0.2, 0.4])
LABEL_FRACTION = Labels(CENTERS)


def _cut(point: FloatArray) -> tuple[int, FloatArray]:
    """The label and the cut residual in radii, by the definition."""
    k = int(np.argmin(np.sum((CENTERS - point) ** 2, axis=1)))
    return k, np.clip((point - CENTERS[k]) / RADII[k], -1, 1)


@pytest.mark.parametrize(
    "point", [[0.2, 0.2, 0.2], [0.25, 0.13, 0.9], [0.7, 0.9, 0.8], [0.3, 0.7, 0.1], [0.0, 1.0, 1.0]]
)
def test_a_sign_has_the_mean_of_the_cut_residual(point: list[float]) -> None:
    """A symbol is a label and a sign; of two signs in one symbol each has its own mean."""
    x = np.array(point)
    k, z = _cut(x)
    question = LabelSignsQuestion(LABEL_FRACTION, CENTERS, RADII, np.array([[0, 1], [2, 2]]))
    assert (question.n_symbols, question.n_variants, question.n_signs) == (12, 2, 2)
    for variant, coordinates in enumerate(question.coordinates):
        shares = _shares(question, x, variant).reshape(3, 4)
        assert shares[k].sum() == 1
        for bit, j in enumerate(coordinates):
            signs = 2 * (np.arange(4) >> bit & 1) - 1
            assert shares[k] @ signs == pytest.approx(z[j], abs=1e-3)


def test_products_of_two_signs_have_the_mean_of_the_product() -> None:
    x = np.array([0.25, 0.13, 0.21])
    _, z = _cut(x)
    question = LabelSignsQuestion(LABEL_FRACTION, CENTERS, RADII, np.array([[0, 1], [0, 0]]))
    n = 400_000
    for variant, expected in ((0, z[0] * z[1]), (1, z[0] ** 2)):
        symbols = question.symbols(np.tile(x, (n, 1)), np.full(n, variant), np.random.default_rng(0))
        signs = 2 * (symbols[:, None] >> np.arange(2) & 1) - 1
        assert abs(float(np.mean(signs.prod(axis=1))) - expected) < 5 / np.sqrt(n)  # a false alarm: 6e-7


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 17, 64])
def test_public_signs_are_orthogonal(k: int) -> None:
    question = DirectionQuestion(Labels(np.zeros((k, 1))), np.zeros((k, 1)), np.ones(k), Directions.of(1), 1)
    signs = question.public_signs()
    assert set(np.unique(signs)) <= {-1, 1}
    assert question.n_rows < 2 * k
    np.testing.assert_array_equal(signs.T @ signs, question.n_rows * np.eye(k))


def test_labels_in_a_view_look_only_there() -> None:
    view = Projection(np.zeros(3), np.array([[0.0, 0.0, 1.0]]))
    labels = Labels(np.array([[0.2], [0.9]]), view)
    np.testing.assert_array_equal(labels.nearest(np.array([[0.9, 0.9, 0.1], [0.0, 0.0, 0.8]])), [0, 1])


def test_no_points_give_no_symbols() -> None:
    nobody, none, rng = np.empty((0, 3)), np.empty(0, np.int64), np.random.default_rng(0)
    for question in (
        LabelSignsQuestion(LABEL_FRACTION, CENTERS, RADII, np.array([[0, 1]])),
        DirectionQuestion(LABEL_FRACTION, CENTERS, RADII, Directions.of(3), 4),
        SecondMomentQuestion(CENTERS[0], 0.5, Pairs.of(3), 4),
        LengthQuestion(CENTERS[0], 0.5),
        GridQuestion(None, np.zeros(3), np.ones(3), (2, 2, 2)),
    ):
        assert question.symbols(nobody, none, rng).shape == (0,)
