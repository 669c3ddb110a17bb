import math

import numpy as np
import pytest
from scipy.linalg import hadamard as another_hadamard

from hybriddp._check import FloatArray
from hybriddp.kmeans.reports.codebook import (
    Directions,
    Pairs,
    hadamard,
    hadamard_products,
    most_bases,
    order_of,
    paired_row,
)
from tests.kmeans.codebooks import DIMENSIONS, row_pairs

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


@pytest.mark.parametrize("order", [1, 2, 4, 8, 16, 32, 64, 128])
def test_signs_are_those_of_sylvester(order: int) -> None:
    np.testing.assert_array_equal(hadamard(order), another_hadamard(order))


@pytest.mark.parametrize(
    ("d", "order"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (8, 8), (9, 16), (16, 16), (17, 32), (64, 64), (65, 128)]
)
def test_the_order_is_the_next_power_of_two(d: int, order: int) -> None:
    assert order_of(d) == order


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
        left, right = transform(numbers[:half]), transform(numbers[half:])
        return [a + b for a, b in zip(left, right, strict=True)] + [a - b for a, b in zip(left, right, strict=True)]

    found = hadamard_products(vectors, order, rows)
    for i in (0, 4095, 4096, 4999):
        assert found[i].tolist() == transform([*vectors[i].tolist(), *[0.0] * (order - d)])
    np.testing.assert_allclose(found, vectors @ hadamard(order)[:, :d].T, atol=1e-12)


@pytest.mark.parametrize("n_codebooks", [16, 64])
def test_the_most_bases_are_those_that_a_server_asks_with(n_codebooks: int) -> None:
    dimensions = [*range(1, 18), 32, 33, 64, 100, 256]
    made = {d: len(Directions.of(d, fewest=n_codebooks).sign_flips) for d in dimensions}
    assert {d: most_bases(d, n_codebooks) for d in dimensions} == made


# Directions


@every_dimension
def test_directions_are_rows_of_signs_in_whole_codebooks(d: int) -> None:
    directions = Directions.of(d)
    assert directions.n_codebooks >= 4
    assert directions.codebook == min(16, 2 ** (d - 1))  # in few dimensions there are not more
    assert directions.n_codebooks * directions.codebook == len(directions.sign_flips) * directions.order
    rows = _rows(directions)
    np.testing.assert_array_equal(np.abs(rows), 1.0)
    flipped = [another_hadamard(directions.order)[:, :d] * signs for signs in directions.sign_flips]
    np.testing.assert_array_equal(rows.reshape(-1, d), np.concatenate(flipped))


@every_dimension
@pytest.mark.parametrize("stream", [0, 1, 2])
def test_no_direction_is_twice_in_a_codebook_and_none_is_the_opposite_of_another(d: int, stream: int) -> None:
    for codebook in _rows(Directions.of(d, stream)):
        assert len(np.unique(codebook * codebook[:, :1], axis=0)) == len(codebook)


@every_dimension
def test_coordinates_are_orthogonal_over_all_codebooks(d: int) -> None:
    directions = Directions.of(d)
    rows = _rows(directions).reshape(-1, d)
    np.testing.assert_array_equal(rows.T @ rows, len(rows) * np.eye(d))


@every_dimension
def test_products_are_those_with_the_directions_of_the_codebook(d: int) -> None:
    directions = Directions.of(d)
    codebooks = np.arange(3 * directions.n_codebooks) % directions.n_codebooks
    vectors = _whole(d, len(codebooks))
    expected = np.array([_rows(directions)[codebook] @ z for codebook, z in zip(codebooks, vectors, strict=True)])
    found = directions.products(vectors, codebooks)
    assert found.shape == (len(codebooks), directions.codebook)
    np.testing.assert_array_equal(found, expected)


@every_dimension
def test_sums_undo_products(d: int) -> None:
    """The sum of all directions, each times its product with a vector, is that vector times their number."""
    directions = Directions.of(d)
    (z,) = _whole(d, 1)
    counts = directions.products(np.tile(z, (directions.n_codebooks, 1)), np.arange(directions.n_codebooks))
    np.testing.assert_array_equal(directions.sums(counts), directions.n_codebooks * directions.codebook * z)


@every_dimension
def test_sums_keep_leading_axes(d: int) -> None:
    directions = Directions.of(d)
    counts = (
        np.random.default_rng(d)
        .integers(-50, 50, (2, 3, directions.n_codebooks, directions.codebook))
        .astype(np.float64)
    )
    expected = np.einsum("abhi,hid->abd", counts, _rows(directions))
    np.testing.assert_array_equal(directions.sums(counts), expected)


@pytest.mark.parametrize("d", [4, 8, 16, 20, 64])
def test_other_rows_are_those_of_the_same_bases(d: int) -> None:
    directions = Directions.of(d)
    order = directions.order
    codebooks = np.arange(directions.n_codebooks)
    vectors = _whole(d, len(codebooks))
    rows = _rows(directions).reshape(-1, order, d)
    for xor in range(0, order, 3):
        found = directions.products(vectors, codebooks, directions.rows(codebooks) ^ xor)
        for codebook in codebooks:
            basis, row = np.divmod(codebook * directions.codebook + np.arange(directions.codebook), order)
            np.testing.assert_array_equal(found[codebook], rows[basis, row ^ xor] @ vectors[codebook])


@pytest.mark.parametrize("order", [4, 8, 16, 32, 64, 128, 256, 512])
def test_every_row_has_a_partner_and_every_row_is_the_product_of_two_partners(order: int) -> None:
    rows = np.arange(order)
    np.testing.assert_array_equal(np.sort(paired_row(rows, order)), rows)
    np.testing.assert_array_equal(np.sort(rows ^ paired_row(rows, order)), rows)


# Pairs


@every_dimension
def test_sums_of_pairs_are_those_of_their_matrices_and_all_pairs_of_rows_are_there_once(d: int) -> None:
    """Sums are linear in the counts: random ones, which tell all pairs apart, and some pairs alone."""
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
def test_the_diagonals_are_those_of_the_matrices_and_differ_all_over_a_codebook(d: int) -> None:
    pairs = Pairs.of(d)
    codebooks = np.arange(pairs.n_codebooks)
    u, v = row_pairs(pairs, codebooks)
    squares = _whole(d, len(codebooks)) ** 2
    np.testing.assert_array_equal(pairs.diagonals(squares, codebooks), np.einsum("hij,hj->hi", u * v, squares))
    if d > 2:
        of_basis = (u * v).reshape(len(codebooks), -1, min(pairs.left.order, pairs.left.codebook), d)
        assert all(len(np.unique(some, axis=0)) == len(some) for codebook in of_basis[::7] for some in codebook)


@every_dimension
def test_products_of_pairs_are_those_with_the_matrices_of_the_codebook(d: int) -> None:
    pairs = Pairs.of(d)
    codebooks = np.random.default_rng(d).permutation(pairs.n_codebooks)
    vectors = _whole(d, len(codebooks))
    u, v = row_pairs(pairs, codebooks)
    expected = np.einsum("hia,ha->hi", u, vectors) * np.einsum("hia,ha->hi", v, vectors)
    np.testing.assert_array_equal(pairs.products(vectors, codebooks), expected)


@every_dimension
def test_pairs_are_a_tight_frame_of_all_matrices(d: int) -> None:
    """The sum of (uᵀAv)(uᵀBv) over all pairs is their number times the product of A and B, entry by entry."""
    pairs = Pairs.of(d)
    u, v = (rows.reshape(-1, d) for rows in row_pairs(pairs, np.arange(pairs.n_codebooks)))
    for a, b in np.random.default_rng(d).integers(-9, 10, (5, 2, d, d)).astype(np.float64):
        for other in (a, b):
            found = np.sum(((u @ a) * v).sum(axis=1) * ((u @ other) * v).sum(axis=1))
            assert found == len(u) * np.sum(a * other)


@every_dimension
def test_sums_of_pairs_undo_products(d: int) -> None:
    pairs = Pairs.of(d)
    (z,) = _whole(d, 1)
    counts = pairs.products(np.tile(z, (pairs.n_codebooks, 1)), np.arange(pairs.n_codebooks))
    np.testing.assert_array_equal(pairs.sums(counts), pairs.n_codebooks * pairs.left.codebook * np.outer(z, z))


# Always the same


@every_dimension
def test_a_dimension_always_has_the_same_directions(d: int) -> None:
    np.testing.assert_array_equal(Directions.of(d).sign_flips, Directions.of(d).sign_flips)
    again, pairs = Pairs.of(d), Pairs.of(d)
    np.testing.assert_array_equal(again.left.sign_flips, pairs.left.sign_flips)
    np.testing.assert_array_equal(again.right.sign_flips, pairs.right.sign_flips)
    assert pairs.left.sign_flips.shape == pairs.right.sign_flips.shape
    three = [directions.sign_flips[:4] for directions in (Directions.of(d), pairs.left, pairs.right)]
    assert (
        d < 5 or len({sign_flips.tobytes() for sign_flips in three}) == 3
    )  # other signs in every stream, where there are many
