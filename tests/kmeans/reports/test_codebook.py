"""Codebooks by the definition, and how much of a vector, or of its square, the nearest directions hold."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import hadamard as another_hadamard

from hybriddp._check import FloatArray
from hybriddp.channels.response import ChoiceResponse
from hybriddp.kmeans.reports.codebook import (
    Directions,
    Pairs,
    best_choice,
    codebook_size,
    hadamard,
    hadamard_products,
    most_bases,
    order_of,
    paired_row,
)
from hybriddp.kmeans.reports.means import direction_gains
from hybriddp.kmeans.reports.moments import pair_gains
from tests.kmeans.codebooks import DIMENSIONS, direction_question, members, pair_question, row_pairs, rows_of, unit
from tests.levels import z_limit

every_dimension = pytest.mark.parametrize("d", DIMENSIONS)


def _rows(directions: Directions) -> FloatArray:
    """All directions, shape (n_codebooks, codebook, d): each is the sum if it alone is counted, once."""
    shape = directions.n_codebooks, directions.codebook
    n = math.prod(shape)
    return directions.sums(np.eye(n).reshape(n, *shape)).reshape(*shape, -1)


def _whole(d: int, n: int) -> FloatArray:
    """Vectors of small whole numbers: whatever is computed of them is exact."""
    return np.random.default_rng(d).integers(-9, 10, (n, d)).astype(np.float64)


# Hadamard matrices


def test_signs_are_those_of_sylvester_and_orders_powers_of_two() -> None:
    for order in (1, 2, 4, 8, 16, 32, 64, 128):
        np.testing.assert_array_equal(hadamard(order), another_hadamard(order))
    dimensions = (1, 2, 3, 4, 5, 8, 9, 16, 17, 64, 65)
    assert [order_of(d) for d in dimensions] == [1, 2, 4, 4, 8, 8, 16, 16, 32, 64, 128]


@pytest.mark.parametrize("d", [1, 2, 3, 7, 16, 33])
def test_products_with_signs_add_up_pairs_in_one_order(d: int) -> None:
    """Term by term in Python's own numbers: products with H are those of its halves, added and subtracted."""
    vectors = np.random.default_rng(d).standard_normal((5000, d))  # more than one block
    order = order_of(d)
    rows = np.tile(np.arange(order), (len(vectors), 1))

    def transform(numbers: list[float]) -> list[float]:
        if len(numbers) == 1:
            return numbers
        half = len(numbers) // 2
        pairs = list(zip(transform(numbers[:half]), transform(numbers[half:]), strict=True))
        return [a + b for a, b in pairs] + [a - b for a, b in pairs]

    products = hadamard_products(vectors, order, rows)
    for i in (0, 4095, 4096, 4999):
        assert products[i].tolist() == transform([*vectors[i].tolist(), *[0.0] * (order - d)])
    np.testing.assert_allclose(products, vectors @ hadamard(order)[:, :d].T, atol=1e-12)


def test_the_most_bases_are_those_that_a_server_asks_with() -> None:
    for n_codebooks in (16, 64):
        for d in (*range(1, 18), 32, 33, 64, 100, 256):
            assert most_bases(d, n_codebooks) == len(Directions.of(d, fewest=n_codebooks).sign_flips)


@pytest.mark.parametrize("order", [4, 8, 16, 32, 64, 128, 256, 512])
def test_every_row_has_a_partner_and_every_row_is_the_product_of_two_partners(order: int) -> None:
    rows = np.arange(order)
    np.testing.assert_array_equal(np.sort(paired_row(rows, order)), rows)
    np.testing.assert_array_equal(np.sort(rows ^ paired_row(rows, order)), rows)


# Directions


@every_dimension
def test_directions_are_rows_of_signs_in_whole_codebooks(d: int) -> None:
    """Orthogonal in every pair of coordinates, since all rows of the matrix are there; always the same ones."""
    directions, pairs = Directions.of(d), Pairs.of(d)
    assert directions.n_codebooks >= 4
    assert directions.codebook == min(16, 2 ** (d - 1))  # in few dimensions there are not more
    assert directions.n_codebooks * directions.codebook == len(directions.sign_flips) * directions.order
    np.testing.assert_array_equal(np.abs(_rows(directions)), 1.0)
    np.testing.assert_array_equal(_rows(directions), rows_of(directions))
    for stream in (0, 1, 2):  # no direction is twice in a codebook, and none is the opposite of another
        for codebook in _rows(Directions.of(d, stream)):
            assert len(np.unique(codebook * codebook[:, :1], axis=0)) == len(codebook)
    for first, again in ((directions, Directions.of(d)), (pairs.left, Pairs.of(d).left)):
        np.testing.assert_array_equal(first.sign_flips, again.sign_flips)
    assert pairs.left.sign_flips.shape == pairs.right.sign_flips.shape
    streams = {some.sign_flips[:4].tobytes() for some in (directions, pairs.left, pairs.right)}
    assert d < 5 or len(streams) == 3  # other signs in every stream, where there are many


@every_dimension
def test_products_and_sums_are_those_of_the_directions_of_the_codebook(d: int) -> None:
    directions = Directions.of(d)
    codebooks = np.arange(3 * directions.n_codebooks) % directions.n_codebooks
    vectors = _whole(d, len(codebooks))
    rows = rows_of(directions)
    expected = np.array([rows[codebook] @ z for codebook, z in zip(codebooks, vectors, strict=True)])
    np.testing.assert_array_equal(directions.products(vectors, codebooks), expected)
    shape = (2, 3, directions.n_codebooks, directions.codebook)
    counts = np.random.default_rng(d).integers(-50, 50, shape).astype(np.float64)
    np.testing.assert_array_equal(directions.sums(counts), np.einsum("abhi,hid->abd", counts, rows))


@pytest.mark.parametrize("d", [4, 8, 16, 20, 64])
def test_other_rows_are_those_of_the_same_bases(d: int) -> None:
    directions = Directions.of(d)
    order = directions.order
    codebooks = np.arange(directions.n_codebooks)
    vectors = _whole(d, len(codebooks))
    rows = rows_of(directions).reshape(-1, order, d)
    for xor in range(0, order, 3):
        products = directions.products(vectors, codebooks, directions.rows(codebooks) ^ xor)
        for codebook in codebooks:
            basis, row = np.divmod(codebook * directions.codebook + np.arange(directions.codebook), order)
            np.testing.assert_array_equal(products[codebook], rows[basis, row ^ xor] @ vectors[codebook])


# Pairs


@every_dimension
def test_sums_of_pairs_are_those_of_their_matrices_and_all_pairs_of_rows_are_there_once(d: int) -> None:
    """Sums are linear in the counts: random ones, which tell all pairs apart, and some pairs alone.

    All pairs of orthogonal rows are a tight frame of all matrices.
    """
    pairs = Pairs.of(d)
    order, bases = pairs.left.order, len(pairs.left.sign_flips)
    shape = pairs.n_codebooks, pairs.left.codebook
    assert math.prod(shape) == bases * order**2
    xor, row = np.divmod(np.arange(order**2), order)
    assert len(np.unique(row * order + (paired_row(row, order) ^ xor))) == order**2
    u, v = row_pairs(pairs, np.arange(pairs.n_codebooks))
    rng = np.random.default_rng(d)
    for turn in range(10):
        counts = rng.integers(-1000, 1000, shape).astype(np.float64)
        if turn > 1:
            counts *= rng.permutation(counts.size).reshape(shape) == 0  # one of them alone
        total = np.einsum("hi,hia,hib->ab", counts, u, v, optimize=True)
        np.testing.assert_array_equal(pairs.sums(counts), (total + total.T) / 2)


@every_dimension
def test_products_and_diagonals_of_pairs_are_those_of_the_matrices_of_the_codebook(d: int) -> None:
    """And diagonals differ all over a codebook."""
    pairs = Pairs.of(d)
    codebooks = np.random.default_rng(d).permutation(pairs.n_codebooks)
    vectors = _whole(d, len(codebooks))
    u, v = row_pairs(pairs, codebooks)
    expected = np.einsum("hia,ha->hi", u, vectors) * np.einsum("hia,ha->hi", v, vectors)
    np.testing.assert_array_equal(pairs.products(vectors, codebooks), expected)
    squares = vectors**2
    np.testing.assert_array_equal(pairs.diagonals(squares, codebooks), np.einsum("hij,hj->hi", u * v, squares))
    if d > 2:
        of_basis = (u * v).reshape(len(codebooks), -1, min(pairs.left.order, pairs.left.codebook), d)
        assert all(len(np.unique(some, axis=0)) == len(some) for codebook in of_basis[::7] for some in codebook)


# Gains


@every_dimension
def test_more_directions_hold_more_of_a_vector_and_each_less_than_the_one_before(d: int) -> None:
    for gains in (direction_gains(d), *([pair_gains(d).all] if d > 1 else [])):
        assert gains.shape == (codebook_size(d),)
        steps = np.diff(gains, prepend=0.0)
        assert (steps > 0).all()
        assert (np.diff(steps) <= 1e-12).all()
        with pytest.raises(ValueError, match="read-only"):
            gains[0] = 1.0
    # A whole codebook holds as many times the mean of |uz| over unit vectors z, √d Γ(d/2) / (√π Γ((d + 1)/2)).
    mean = math.sqrt(d / math.pi) * math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2))
    assert direction_gains(d)[-1] == pytest.approx(codebook_size(d) * mean, rel=0.01)


def test_gains_in_one_and_two_dimensions_are_integrals() -> None:
    """A codebook is both diagonals: means of |cos| + |sin| and of ||cos| - |sin||."""
    near, far = 4 / math.pi, 4 * (math.sqrt(2) - 1) / math.pi
    np.testing.assert_allclose(direction_gains(1), [1.0], rtol=1e-12)
    np.testing.assert_allclose(direction_gains(2), [near, near + far], rtol=0.005)


@pytest.mark.repeated
@pytest.mark.parametrize("d", [pytest.param(d, marks=pytest.mark.slow if d >= 64 else ()) for d in DIMENSIONS])
def test_gains_are_those_of_other_vectors_too(d: int) -> None:
    n = 20_000
    vectors = unit(np.random.default_rng([77, d]).standard_normal((n, d)))
    directions, pairs = rows_of(Directions.of(d)), Pairs.of(d)
    products = np.empty((n, codebook_size(d)))
    for codebook, rows in enumerate(directions):
        products[codebook :: len(directions)] = vectors[codebook :: len(directions)] @ rows.T
    gains = np.cumsum(np.sort(np.abs(products), axis=1)[:, ::-1].mean(axis=0))
    np.testing.assert_allclose(direction_gains(d), gains, rtol=0.03)
    if d == 1:
        return  # there is nothing off the diagonal, and nothing on it without its trace
    for codebook in range(pairs.n_codebooks):
        mine = slice(codebook, None, pairs.n_codebooks)
        (u,), (v,) = row_pairs(pairs, np.array([codebook]))
        products[mine] = (vectors[mine] @ u.T) * (vectors[mine] @ v.T)
    gains = np.cumsum(np.sort(np.abs(products), axis=1)[:, ::-1].mean(axis=0))
    np.testing.assert_allclose(pair_gains(d).all, gains, rtol=0.03)


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
    gains, squares = pair_gains(d), np.sum((vectors**2 - 1 / d) ** 2, axis=1)
    others = 1 - np.sum(vectors**4, axis=1)
    np.testing.assert_allclose(gains.off_diagonal[chosen - 1], off_diagonal.mean(axis=1) / others.mean(), rtol=0.03)
    np.testing.assert_allclose(gains.diagonal[chosen - 1], diagonal.mean(axis=1) / squares.mean(), rtol=0.15)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 7.0, 12.0])
def test_the_best_choice_is_that_of_the_definition(epsilon: float) -> None:
    """The least variance of a report, from the weights of the channel itself."""
    gains = direction_gains(8)
    channels = [ChoiceResponse(epsilon=epsilon, n_codes=32, n_chosen=chosen) for chosen in range(1, 17)]
    held = [channel.gap * gains[channel.n_chosen - 1] for channel in channels]
    chosen, most = best_choice(gains, epsilon)
    assert chosen == 1 + int(np.argmax(held))
    assert most == pytest.approx(max(held), rel=1e-5)


@pytest.mark.statistical
@pytest.mark.parametrize(("d", "chosen"), [(6, 9), (16, 3)])
def test_a_wide_coordinate_is_seen_as_wide_as_a_wide_direction(d: int, chosen: int) -> None:
    """The diagonal has the same scale as the rest: both within 12 %, so that a fifth off does not pass."""
    question, n = pair_question(d, chosen), 150_000
    rng = np.random.default_rng([d, chosen])
    variants = np.arange(n) % question.n_variants
    for axis in (np.eye(d)[1], np.ones(d) / math.sqrt(d)):
        vectors = rng.standard_normal((n, d))
        vectors += 0.4 * (vectors @ axis)[:, None] * axis
        sets = question.symbols(vectors, variants, rng, constant_time=False)
        sums = question.sums(members(question, sets, variants)) / n
        along = float(axis @ sums @ axis - np.trace(sums) / d)
        assert along == pytest.approx(float(np.mean((unit(vectors) @ axis) ** 2 - 1 / d)), rel=0.12)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["direction", "pair"])
@pytest.mark.parametrize(("d", "corners"), [(20, False), (4, True), (16, True)])
def test_equal_products_do_not_point_anywhere(kind: str, d: int, corners: bool) -> None:
    """All points at their center: all products are 0, the set is any one, turned around half of the time. Or points
    at all corners of a box about the center: means are 0, and the covariance is round.

    Within `z_limit` standard errors, for which a sum of ``chosen`` signs is taken as one large step.
    """
    chosen, rng = (5, np.random.default_rng([d, 3])) if corners else (4, np.random.default_rng(0))
    question: Any = direction_question(d, chosen, n_centers=1 if corners else 2)
    if kind == "pair":
        question = pair_question(d, chosen) if corners else pair_question(d, chosen, 0.8)
    n = (100_000 // question.n_variants + 1 if corners else 400) * question.n_variants
    center = question.centers[-1] if kind == "direction" else question.center
    points = rng.choice([-0.5, 0.5], (n, d)) if corners else np.tile(center, (n, 1))
    variants = np.arange(n) % question.n_variants
    sets = question.symbols(points, variants, rng, constant_time=False)
    sums = question.sums(members(question, sets, variants)) / n
    gain = float(direction_gains(d)[chosen - 1])
    if kind == "pair":
        gains = pair_gains(d)
        gain = float(min(gains.diagonal[chosen - 1], gains.off_diagonal[chosen - 1] if corners else np.inf))
        sums = sums - np.trace(sums) / d * np.eye(d) if corners else sums
    assert np.abs(sums).max() < z_limit(sums.size) * chosen / gain / math.sqrt(n)
