"""Labels and signs: what becomes of a point, exactly, and that no points are no trouble for any question."""

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans.reports.base import GridQuestion, Labels, Projection
from hybriddp.kmeans.reports.codebook import Directions, Pairs
from hybriddp.kmeans.reports.means import DirectionQuestion, LabelSignsQuestion
from hybriddp.kmeans.reports.moments import LengthQuestion, SecondMomentQuestion
from tests.kmeans.codebooks import symbol_shares
from tests.levels import z_limit

CENTERS = np.array([[0.2, 0.2, 0.2], [0.8, 0.8, 0.8], [0.2, 0.8, 0.5]])
RADII = np.array([0.1, 0.2, 0.4])
LABELS = Labels(CENTERS)


def _clipped(point: FloatArray) -> tuple[int, FloatArray]:
    """The label and the clipped residual in radii, by the definition."""
    k = int(np.argmin(np.sum((CENTERS - point) ** 2, axis=1)))
    return k, np.clip((point - CENTERS[k]) / RADII[k], -1, 1)


@pytest.mark.parametrize(
    "point", [[0.2, 0.2, 0.2], [0.25, 0.13, 0.9], [0.7, 0.9, 0.8], [0.3, 0.7, 0.1], [0.0, 1.0, 1.0]]
)
def test_a_sign_has_the_mean_of_the_clipped_residual(point: list[float]) -> None:
    """A symbol is a label and a sign; of two signs in one symbol each has its own mean."""
    x = np.array(point)
    k, z = _clipped(x)
    question = LabelSignsQuestion(LABELS, RADII, np.array([[0, 1], [2, 2]]))
    assert (question.n_symbols, question.n_variants, question.n_signs) == (12, 2, 2)
    for variant, coordinates in enumerate(question.coordinates):
        shares = symbol_shares(question, x, variant).reshape(3, 4)
        assert shares[k].sum() == 1
        for bit, j in enumerate(coordinates):
            signs = 2 * (np.arange(4) >> bit & 1) - 1
            assert shares[k] @ signs == pytest.approx(z[j], abs=1e-3)


@pytest.mark.statistical
def test_products_of_two_signs_have_the_mean_of_the_product() -> None:
    x = np.array([0.25, 0.13, 0.21])
    _, z = _clipped(x)
    question = LabelSignsQuestion(LABELS, RADII, np.array([[0, 1], [0, 0]]))
    n = 400_000
    for variant, expected in ((0, z[0] * z[1]), (1, z[0] ** 2)):
        symbols = question.symbols(np.tile(x, (n, 1)), np.full(n, variant), np.random.default_rng(0))
        signs = 2 * (symbols[:, None] >> np.arange(2) & 1) - 1
        mean = float(np.mean(signs.prod(axis=1)))
        assert abs(mean - expected) < z_limit(2) / np.sqrt(n)
        assert abs(1.2 * mean - expected) > z_limit(2) / np.sqrt(n)


def test_labels_in_a_view_look_only_there() -> None:
    view = Projection(np.zeros(3), np.array([[0.0, 0.0, 1.0]]))
    labels = Labels(np.array([[0.2], [0.9]]), view)
    np.testing.assert_array_equal(labels.nearest(np.array([[0.9, 0.9, 0.1], [0.0, 0.0, 0.8]])), [0, 1])


def test_no_points_give_no_symbols() -> None:
    nobody, none, rng = np.empty((0, 3)), np.empty(0, np.int64), np.random.default_rng(0)
    for question in (
        LabelSignsQuestion(LABELS, RADII, np.array([[0, 1]])),
        DirectionQuestion(LABELS, RADII, Directions.of(3), 4),
        SecondMomentQuestion(CENTERS[0], 0.5, Pairs.of(3), 4),
        LengthQuestion(CENTERS[0], 0.5),
        GridQuestion(None, np.zeros(3), np.ones(3), (2, 2, 2)),
    ):
        assert question.symbols(nobody, none, rng).shape == (0,)
