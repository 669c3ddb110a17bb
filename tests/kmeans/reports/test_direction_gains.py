"""How much of a vector, or of its square, the nearest directions hold; and that ties hold nothing."""

import math
from typing import Any

import numpy as np
import pytest

from hybriddp.kmeans.reports.codebook import Directions, Pairs, codebook_size
from hybriddp.kmeans.reports.means import direction_gains
from hybriddp.kmeans.reports.moments import pair_gains
from tests.kmeans.codebooks import (
    DIMENSIONS,
    direction_question,
    members,
    pair_question,
    row_pairs,
    rows_of,
    unit,
)
from tests.levels import z_limit


@pytest.mark.parametrize("d", DIMENSIONS)
def test_more_directions_hold_more_of_a_vector_and_each_less_than_the_one_before(d: int) -> None:
    for gains in (direction_gains(d), *([pair_gains(d).all] if d > 1 else [])):
        assert gains.shape == (codebook_size(d),)
        steps = np.diff(gains, prepend=0.0)
        assert (steps > 0).all()
        assert (np.diff(steps) <= 1e-12).all()
        with pytest.raises(ValueError, match="read-only"):
            gains[0] = 1.0


def test_in_one_dimension_the_direction_holds_all() -> None:
    np.testing.assert_allclose(direction_gains(1), [1.0], rtol=1e-12)


def test_gains_in_two_dimensions_are_integrals() -> None:
    """A codebook is both diagonals: means of |cos| + |sin| and of ||cos| - |sin||."""
    near, far = 4 / math.pi, 4 * (math.sqrt(2) - 1) / math.pi
    expected = [near, near + far]
    np.testing.assert_allclose(direction_gains(2), expected, rtol=0.005)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_whole_hand_holds_as_many_times_the_mean_product(d: int) -> None:
    """The mean of |uz| over unit vectors z is √d Γ(d/2) / (√π Γ((d + 1)/2))."""
    mean = math.sqrt(d / math.pi) * math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2))
    assert direction_gains(d)[-1] == pytest.approx(codebook_size(d) * mean, rel=0.01)


@pytest.mark.repeated
@pytest.mark.parametrize("d", [pytest.param(d, marks=pytest.mark.slow if d >= 64 else ()) for d in DIMENSIONS])
def test_gains_are_those_of_other_vectors_too(d: int) -> None:
    n = 20_000
    vectors = unit(np.random.default_rng([77, d]).standard_normal((n, d)))
    directions, pairs = rows_of(Directions.of(d)), Pairs.of(d)
    codebooks = np.arange(n) % len(directions)
    products = np.empty((n, codebook_size(d)))
    for codebook, rows in enumerate(directions):
        products[codebooks == codebook] = vectors[codebooks == codebook] @ rows.T
    found = np.cumsum(np.sort(np.abs(products), axis=1)[:, ::-1].mean(axis=0))
    np.testing.assert_allclose(direction_gains(d), found, rtol=0.03)
    if d == 1:
        return  # there is nothing off the diagonal, and nothing on it without its trace

    for codebook in range(pairs.n_codebooks):
        mine = slice(codebook, None, pairs.n_codebooks)
        (u,), (v,) = row_pairs(pairs, np.array([codebook]))
        products[mine] = (vectors[mine] @ u.T) * (vectors[mine] @ v.T)
    found = np.cumsum(np.sort(np.abs(products), axis=1)[:, ::-1].mean(axis=0))
    np.testing.assert_allclose(pair_gains(d).all, found, rtol=0.03)


@pytest.mark.repeated
@pytest.mark.parametrize("d", [5, 8, 16])
def test_gains_of_pairs_are_slopes_of_the_definition(d: int) -> None:
    """Chosen matrices, written out, regressed on $zz^T$ of other vectors: off the diagonal, and on it."""
    n, pairs = 40_000, Pairs.of(d)
    vectors = unit(np.random.default_rng([78, d]).standard_normal((n, d)))
    chosen = np.array([2, 9])
    off_diagonal, diagonal = np.zeros((2, n)), np.zeros((2, n))
    for codebook in range(pairs.n_codebooks):
        mine = slice(codebook, None, pairs.n_codebooks)
        (u,), (v,) = row_pairs(pairs, np.array([codebook]))
        products = (vectors[mine] @ u.T) * (vectors[mine] @ v.T)
        largest = np.argsort(-np.abs(products), axis=1)
        on = np.take_along_axis(np.sign(products) * ((vectors[mine] ** 2 - 1 / d) @ (u * v).T), largest, axis=1)
        off = np.take_along_axis(np.sign(products) * (products - vectors[mine] ** 2 @ (u * v).T), largest, axis=1)
        off_diagonal[:, mine] = np.cumsum(off, axis=1)[:, chosen - 1].T
        diagonal[:, mine] = np.cumsum(on, axis=1)[:, chosen - 1].T
    squares = np.sum((vectors**2 - 1 / d) ** 2, axis=1)
    others = 1 - np.sum(vectors**4, axis=1)
    np.testing.assert_allclose(
        pair_gains(d).off_diagonal[chosen - 1], off_diagonal.mean(axis=1) / others.mean(), rtol=0.03
    )
    np.testing.assert_allclose(pair_gains(d).diagonal[chosen - 1], diagonal.mean(axis=1) / squares.mean(), rtol=0.15)


@pytest.mark.statistical
@pytest.mark.parametrize(("d", "chosen"), [(6, 9), (16, 3)])
def test_a_wide_coordinate_is_seen_as_wide_as_a_wide_direction(d: int, chosen: int) -> None:
    """The diagonal has the same scale as the rest: both within 12 %, so that a fifth off does not pass."""
    question, n = pair_question(d, chosen), 150_000
    rng = np.random.default_rng([d, chosen])
    for axis in (np.eye(d)[1], np.ones(d) / math.sqrt(d)):
        vectors = rng.standard_normal((n, d))
        vectors += 0.4 * (vectors @ axis)[:, None] * axis
        codebooks = np.arange(n) % question.n_variants
        found = (
            question.sums(members(question, question.symbols(vectors, codebooks, rng, constant_time=False), codebooks))
            / n
        )
        along = float(axis @ found @ axis - np.trace(found) / d)
        assert along == pytest.approx(float(np.mean((unit(vectors) @ axis) ** 2 - 1 / d)), rel=0.12)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["direction", "pair"])
def test_points_at_their_center_say_nothing(kind: str) -> None:
    """All products are 0: the set is any one, turned around half of the time."""
    d, chosen = 20, 4
    question: Any = direction_question(d, chosen, n_centers=2) if kind == "direction" else pair_question(d, chosen, 0.8)
    n = 400 * question.n_variants
    at = question.centers[1] if kind == "direction" else question.center
    variants = np.arange(n) % question.n_variants
    sets = question.symbols(np.tile(at, (n, 1)), variants, np.random.default_rng(0), constant_time=False)
    found = question.sums(members(question, sets, variants)) / n
    gain = direction_gains(d)[chosen - 1] if kind == "direction" else pair_gains(d).diagonal[chosen - 1]
    assert np.abs(found).max() < z_limit(found.size) * chosen / float(gain) / math.sqrt(n)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["direction", "pair"])
@pytest.mark.parametrize("d", [4, 16])
def test_equal_products_do_not_point_anywhere(kind: str, d: int) -> None:
    """Points at all corners of a box about the center: means are 0, and the covariance is round.

    Within `z_limit` standard errors, for which a sum of ``chosen`` signs is taken as one large step.
    """
    chosen = 5
    question: Any = direction_question(d, chosen) if kind == "direction" else pair_question(d, chosen)
    n = (100_000 // question.n_variants + 1) * question.n_variants
    rng = np.random.default_rng([d, 3])
    points = rng.choice([-0.5, 0.5], (n, d))
    variants = np.arange(n) % question.n_variants
    found = question.sums(members(question, question.symbols(points, variants, rng, constant_time=False), variants)) / n
    if kind == "pair":
        found = found - np.trace(found) / d * np.eye(d)
        gain = min(pair_gains(d).diagonal[chosen - 1], pair_gains(d).off_diagonal[chosen - 1])
    else:
        gain = direction_gains(d)[chosen - 1]
    assert np.abs(found).max() < z_limit(found.size) * chosen / float(gain) / math.sqrt(n)
