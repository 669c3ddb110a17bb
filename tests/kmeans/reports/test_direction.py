r"""Questions about directions: what becomes of a point, exactly where that can be, and on average where it cannot."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import hadamard as another_hadamard

from hybriddp._check import FloatArray
from hybriddp.channels.response import ChoiceResponse
from hybriddp.kmeans.clustering import nearest
from hybriddp.kmeans.protocol.round import simulate_devices
from hybriddp.kmeans.reports.base import Ask
from hybriddp.kmeans.reports.codebook import codebook_size
from hybriddp.kmeans.reports.means import DirectionQuestion, direction_gains
from hybriddp.kmeans.reports.moments import LengthQuestion, SecondMomentQuestion, pair_gains
from hybriddp.privacy import SHIFT, odds
from hybriddp.randomness import SystemBytes
from tests.kmeans.codebooks import (
    DIMENSIONS,
    EvenDice,
    SameDice,
    direction_question,
    members,
    pair_question,
    row_pairs,
    rows_of,
    signed,
    unit,
)
from tests.levels import z_limit

# Sets


def _awkward(d: int) -> FloatArray:
    """The center itself, ties, and vectors that are very long, very short, or usual."""
    first = np.eye(d)[0]
    rng = np.random.default_rng(d)
    some = rng.standard_normal((40, d))
    signs = rng.choice([-1.0, 1.0], (20, d))
    return np.concatenate(
        [[0 * first, -0.0 * first, first, -first, 1e-300 * first, 5e-324 * first], some, signs]
        + [scale * some for scale in (1e-200, 1e-30, 1e30, 1e100)]
        + [np.rint(some)]
    )


@pytest.mark.repeated
@pytest.mark.parametrize("radius", [1e-100, 1e-9, 0.7, 1e9, 1e100])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 16, 20, 64])
def test_every_answer_is_a_set_of_so_many_codes(d: int, radius: float) -> None:
    """Whatever the point is; and nothing overflows, which would be an error."""
    points = _awkward(d)
    rng = np.random.default_rng(0)
    for chosen in (1, 2, 5, 15, 16):
        for question in (
            direction_question(d, chosen, radius),
            direction_question(d, chosen, radius, n_centers=3),
            pair_question(d, chosen, radius),
        ):
            assert (question.n_chosen, question.n_symbols) == (min(chosen, codebook_size(d)), 2 * codebook_size(d))
            variants = rng.integers(question.n_variants, size=len(points))
            sets = question.symbols(points, variants, rng)
            assert sets.dtype == np.int64
            assert sets.shape == (len(points),)
            assert ((sets > 0) & (sets < 1 << question.n_symbols)).all()
            np.testing.assert_array_equal(np.bitwise_count(sets), question.n_chosen)


@pytest.mark.parametrize("d", [16, 20, 64])
@pytest.mark.parametrize("chosen", [1, 6, 16])
def test_the_set_is_that_of_the_nearest_directions(d: int, chosen: int) -> None:
    """By sorting all products, with the public sign of the center."""
    question = direction_question(d, chosen, n_centers=3)
    rng = np.random.default_rng(d)
    points = question.centers[rng.integers(3, size=200)] + rng.standard_normal((200, d))
    variants = rng.integers(question.n_variants, size=200)
    label = nearest(points, question.centers)
    rows, signs = rows_of(question.directions), another_hadamard(4)
    for x, k, variant, found in zip(points, label, variants, question.symbols(points, variants, rng), strict=True):
        row, codebook = divmod(int(variant), len(rows))
        products = rows[codebook] @ (x - question.centers[k]) * signs[row, k]
        order = np.argsort(-np.concatenate([products, -products]))
        assert found == sum(1 << int(code) for code in order[:chosen])


@pytest.mark.parametrize("d", [16, 20, 64])
@pytest.mark.parametrize("chosen", [1, 6, 16])
def test_the_set_is_that_of_the_nearest_pairs(d: int, chosen: int) -> None:
    question = pair_question(d, chosen)
    rng = np.random.default_rng(d)
    points = rng.standard_normal((200, d))
    variants = rng.integers(question.n_variants, size=200)
    u, v = row_pairs(question.pairs, variants)
    products = np.einsum("nid,nd->ni", u, points) * np.einsum("nid,nd->ni", v, points)
    order = np.argsort(-np.concatenate([products, -products], axis=1), axis=1)[:, :chosen]
    np.testing.assert_array_equal(question.symbols(points, variants, rng), np.sum(1 << order, axis=1))


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("chosen", [1, 3, 7, 16])
def test_opposite_vectors_have_opposite_sets(d: int, chosen: int) -> None:
    """Half of all codes are complementary. The square of a vector is that of its opposite."""
    rng = np.random.default_rng(d)
    points, codebook = rng.standard_normal((500, d)), codebook_size(d)
    question = direction_question(d, chosen)
    variants = np.arange(500) % question.n_variants
    sets, others = (question.symbols(sign * points, variants, rng) for sign in (1, -1))
    np.testing.assert_array_equal(others, (sets & (1 << codebook) - 1) << codebook | sets >> codebook)
    if question.chosen == codebook:
        np.testing.assert_array_equal(others, (1 << 2 * codebook) - 1 ^ sets)
    if d < 16:
        return  # some of the products of pairs are equal, and the dice choose among them
    squares = pair_question(d, chosen)
    variants = np.arange(500) % squares.n_variants
    first, again = (squares.symbols(sign * points, variants, rng) for sign in (1, -1))
    np.testing.assert_array_equal(first, again)


# Labels


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 17, 64])
def test_public_signs_are_orthogonal(k: int) -> None:
    question = direction_question(2, 1, n_centers=k)
    signs = question.public_signs()
    assert set(np.unique(signs)) <= {-1, 1}
    assert question.n_rows < 2 * k
    assert question.n_variants == question.n_rows * question.directions.n_codebooks
    np.testing.assert_array_equal(signs.T @ signs, question.n_rows * np.eye(k))


@pytest.mark.parametrize("d", [1, 3, 8, 20])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_other_clusters_hear_nothing(d: int, k: int) -> None:
    """Everybody answers every variant, without noise: what one cluster says is its own alone, to the last digits."""
    question = direction_question(d, 5, n_centers=k)
    rng = np.random.default_rng(d)
    variants = np.tile(np.arange(question.n_variants), 30)
    rows = rows_of(question.directions)
    for own in range(k):
        rest = rng.standard_normal((30, d)).repeat(question.n_variants, axis=0) + 1.5
        sets = question.symbols(question.centers[own] + rest, variants, rng)
        sums = question.sums(members(question, sets, variants))
        row, codebook = np.divmod(variants, question.directions.n_codebooks)
        decoded = (
            np.einsum("ni,nid->nd", signed(question, sets), rows[codebook]) * question.public_signs()[row, own][:, None]
        )
        expected = decoded.sum(axis=0) / direction_gains(d)[question.chosen - 1]
        np.testing.assert_allclose(sums[own], expected, rtol=1e-12)
        assert np.linalg.norm(sums[own]) > 0.1 * len(rest)
        assert np.abs(np.delete(sums, own, axis=0)).max() < 1e-9


# Averages


@pytest.mark.statistical
@pytest.mark.parametrize(("d", "chosen"), [*zip(DIMENSIONS, [1, 2, 3, 1, 5, 16, 5, 1, 16], strict=True), (16, 16)])
def test_sums_are_where_vectors_point_to_on_average(d: int, chosen: int) -> None:
    """Over normal vectors with a shift, each asked for one codebook; seeds are fixed.

    Within `z_limit` standard errors and 3 % of the length of the mean, as it is exact only on average
    over bases and directions. A scale that is a fifth off does not pass.
    """
    n = 60_000
    rng = np.random.default_rng([d, chosen])
    vectors = rng.standard_normal((n, d)) + 0.4 * rng.choice([-1.0, 1.0], d)
    radius = 1.2 * math.sqrt(d)
    question = direction_question(d, chosen, radius)
    codebooks = np.arange(n) % question.n_variants
    sets = question.symbols(vectors, codebooks, rng, constant_time=False)
    found = question.sums(members(question, sets, codebooks))[0] / n

    rows = rows_of(question.directions)
    said = np.empty((n, d))
    for codebook, directions in enumerate(rows):
        said[codebook :: len(rows)] = signed(question, sets[codebook :: len(rows)]) @ directions
    said /= direction_gains(d)[question.chosen - 1]
    np.testing.assert_allclose(found, said.mean(axis=0), atol=1e-12)  # that is what sums are, vector by vector

    cut = unit(vectors) * np.minimum(1, np.linalg.norm(vectors, axis=1) / radius)[:, None]
    error, mean = (said - cut).std(axis=0) / math.sqrt(n), cut.mean(axis=0)
    size = float(np.linalg.norm(mean))
    limit = z_limit(d + 1)
    assert (np.abs(found - mean) < limit * error + 0.03 * size).all()
    along = float(np.std((said - cut) @ mean)) / size**2 / math.sqrt(n)
    assert abs(found @ mean / size**2 - 1) < limit * along + 0.03
    assert abs(1.2 * found @ mean / size**2 - 1) > limit * along + 0.03


@pytest.mark.statistical
@pytest.mark.parametrize(("d", "chosen"), [(8, 1), (8, 16), (16, 5), (20, 1), (20, 16), (64, 5)])
def test_sums_are_where_squares_point_to_on_average(d: int, chosen: int) -> None:
    """The same of matrices, of normal vectors that are twice as long along an axis, over fifty axes.

    What is found along the axis, without the trace, is within 3 % and the limit of what is there, on average; a scale
    that is a fifth off does not pass. The trace, which nothing relies upon, is within a quarter.
    """
    axes, n = 50, 6000
    rng = np.random.default_rng([d, chosen])
    question = pair_question(d, chosen)
    ratios, totals = np.empty(axes), np.empty(axes)
    for i, axis in enumerate(unit(rng.standard_normal((axes, d)))):
        vectors = rng.standard_normal((n, d))
        vectors += (vectors @ axis)[:, None] * axis
        codebooks = rng.integers(question.n_variants, size=n)
        sets = question.symbols(vectors, codebooks, rng, constant_time=False)
        found = question.sums(members(question, sets, codebooks)) / n
        np.testing.assert_allclose(found, found.T, atol=1e-12)
        totals[i] = np.trace(found)
        along = float(axis @ found @ axis - totals[i] / d)
        ratios[i] = along / np.mean((unit(vectors) @ axis) ** 2 - 1 / d)
    error = float(ratios.std()) / math.sqrt(axes - 1)
    assert abs(ratios.mean() - 1) < z_limit(1, axes) * error + 0.03
    assert abs(1.2 * ratios.mean() - 1) > z_limit(1, axes) * error + 0.03
    assert abs(totals.mean() - 1) < 0.25


# Lengths


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9, 1.0, 3.0])
@pytest.mark.parametrize("d", [3, 16])
def test_lengths_are_kept_up_to_the_radius(d: int, share: float) -> None:
    """Exactly, by running through dice: a vector of half the length adds half as much, beyond the radius all."""
    n, chosen = 4000, 5
    radius = 0.3
    (direction,) = unit(np.random.default_rng(d).standard_normal((1, d)))
    point = share * radius * direction if share else 1e-9 * radius * direction
    codebooks = np.zeros(n, np.int64)

    question = direction_question(d, chosen, radius)
    sets = question.symbols(np.tile(point, (n, 1)), codebooks, EvenDice(n))
    sums = question.sums(members(question, sets, codebooks))[0] / n
    whole = question.symbols(direction[None], codebooks[:1], EvenDice(1))
    full = question.sums(members(question, whole, codebooks[:1]))[0]
    np.testing.assert_allclose(sums, min(1, share) * full, atol=2e-3 * np.abs(full).max())

    square = pair_question(d, chosen, radius)
    sets = square.symbols(np.tile(point, (n, 1)), codebooks, EvenDice(n))
    matrix = square.sums(members(square, sets, codebooks)) / n
    whole = square.symbols(direction[None], codebooks[:1], EvenDice(1))
    full = square.sums(members(square, whole, codebooks[:1]))
    np.testing.assert_allclose(matrix, min(1, share**2) * full, atol=2e-3 * np.abs(full).max())


POINTS = [[0.5, 0.5, 0.5], [0.52, 0.5, 0.49], [0.6, 0.6, 0.4], [0.5, 0.5, 0.8], [0.1, 0.5, 0.5], [1.0, 0.0, 1.0]]


@pytest.mark.statistical
@pytest.mark.parametrize("point", POINTS)
def test_a_bit_has_the_mean_of_the_squared_length(point: list[float]) -> None:
    """By running through all values of the random number, and by a binomial test with a false-alarm chance of 1e-10."""
    center, radius, n = np.full(3, 0.5), 0.35, 40_000
    question = LengthQuestion(center, radius)
    assert (question.n_variants, question.n_symbols, question.n_chosen) == (1, 2, None)
    points, variants = np.tile(point, (n, 1)), np.zeros(n, np.int64)
    expected = min(1.0, sum((x - 0.5) ** 2 for x in point) / radius**2)
    even = question.symbols(points, variants, EvenDice(n))
    assert even.dtype == np.int64
    assert even.mean() == pytest.approx(expected, abs=1 / n)
    ones = int(question.symbols(points, variants, np.random.default_rng(3)).sum())
    assert stats.binomtest(ones, n, expected).pvalue > 1e-10
    if expected > 0.01:
        assert stats.binomtest(ones, n, 0.8 * expected).pvalue < 1e-10


# Through the channel


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["direction", "pair"])
def test_counts_of_a_crowd_are_those_of_its_sets(kind: str) -> None:
    """Some hundred counts and 16 sums, all together.

    Counts or sums that are a fifth too large do not pass.
    """
    chosen, d = 4, 4
    question: DirectionQuestion | SecondMomentQuestion = (
        direction_question(d, chosen, 2.5, n_centers=2) if kind == "direction" else pair_question(d, chosen, 2.5)
    )
    channel = ChoiceResponse(epsilon=6, n_codes=question.n_symbols, n_chosen=chosen)
    n = 6000 * question.n_variants
    rng = np.random.default_rng(8)
    points = rng.standard_normal((n, d)) + 0.5
    if kind == "direction":
        points += 10.0 * (rng.random(n) < 0.3)[:, None]
    parts = np.split(points, [n // 3])
    ask = Ask(question, channel, Fraction(1))
    answers = simulate_devices(ask, iter(parts), source=SystemBytes(), rng=np.random.default_rng(5))

    rng, variants = np.random.default_rng(5), np.arange(n) % question.n_variants
    of_part = np.split(variants, [n // 3])
    sets = [question.symbols(part, some, rng) for part, some in zip(parts, of_part, strict=True)]
    true = members(question, np.concatenate(sets), variants)
    p, q = channel.hit_probability, channel.miss_probability
    users = answers.users[:, None]
    np.testing.assert_array_equal(users, 6000)
    error = np.sqrt(true * p * (1 - p) + (users - true) * q * (1 - q)) / (p - q)
    counts = answers.counts(channel)
    found, expected = question.sums(counts), question.sums(true)
    limit = z_limit(counts.size + found.size)
    assert (np.abs(counts - true) < limit * error).all()
    assert (np.abs(1.2 * counts - true) > limit * error).any()

    if kind == "direction":
        gain = float(direction_gains(d)[chosen - 1])
    else:
        gain = float(min(pair_gains(d).off_diagonal[chosen - 1], pair_gains(d).diagonal[chosen - 1]))
    most = limit * math.sqrt(n) / ((p - q) * gain)  # of signs with a variance of at most 1 each
    assert (np.abs(found - expected) < most).all()
    assert (np.abs(1.2 * found - expected) > most).any()


@pytest.mark.parametrize("kind", ["direction", "pair"])
@pytest.mark.parametrize("epsilon", ["0.1", "2", "11"])
def test_no_code_says_more_than_epsilon_about_a_point(kind: str, epsilon: str) -> None:
    """In fractions: the two sets that dice can lead to, how likely they are, and the weights of the channel."""
    chosen = 3
    question: Any = (
        direction_question(3, chosen, 0.8, n_centers=2) if kind == "direction" else pair_question(3, chosen, 0.8)
    )
    channel = ChoiceResponse(epsilon=epsilon, n_codes=question.n_symbols, n_chosen=chosen)
    some = np.random.default_rng(2).random((4, 3))
    points = np.concatenate([np.zeros((1, 3)), 0.2 * some[:2], some, 10 - some[:2], 10 + some[:1]])
    allowed = Fraction(odds(epsilon), 1 << SHIFT)
    largest = Fraction(1)
    for variant in range(0, question.n_variants, 3):
        variants = np.full(len(points), variant)
        up, down = (question.symbols(points, variants, SameDice(value)) for value in (0.0, 1 - 2**-53))
        rest = points - (10.0 * (points.sum(axis=1) > 15)[:, None] if kind == "direction" else 0)
        length = np.minimum(1, np.linalg.norm(rest / 0.8, axis=1) ** (1 if kind == "direction" else 2))
        laws = []
        for first, second, kept in zip(up.tolist(), down.tolist(), length.tolist(), strict=True):
            assert kept < 1 or first == second
            likely = (1 + Fraction(kept)) / 2
            weights = zip(channel.weights(first), channel.weights(second), strict=True)
            laws.append([likely * a + (1 - likely) * b for a, b in weights])
            assert sum(laws[-1]) == 1 << channel.bits
        for chances in zip(*laws, strict=True):
            largest = max(largest, max(chances) / min(chances))
    assert largest <= allowed
    assert float(largest - 1) > 0.999 * float(allowed - 1)
