r"""Questions about directions: what becomes of a point, exactly where that can be, and on average where it cannot."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import hadamard as another_hadamard

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.choice import ChoiceResponse
from hybriddp.kmeans.direction_questions import (
    DirectionQuestion,
    LengthQuestion,
    PairQuestion,
    direction_gains,
    pair_gains,
)
from hybriddp.kmeans.directions import Directions, Pairs, hand_of, partner
from hybriddp.kmeans.lloyd import nearest
from hybriddp.kmeans.questions import Labels
from hybriddp.kmeans.requests import Ask
from hybriddp.kmeans.round import crowd
from hybriddp.kmeans.symbols import support
from hybriddp.odds import SHIFT, odds
from hybriddp.randomness import SystemBytes

TINY = 1e-12  # a radius that every vector is beyond, so that dice do not matter
DIMENSIONS = [1, 2, 3, 4, 5, 8, 16, 20, 64]


class EvenDice:
    """Dice that show ``n`` evenly spaced values between 0 and 1; to break ties, which there are none of, 1/2."""

    def __init__(self, n: int) -> None:
        self.values = (np.arange(n) + 0.5) / n

    def random(self, shape: int | tuple[int, ...], dtype: type = np.float64) -> FloatArray:
        if isinstance(shape, tuple):
            return np.full(shape, 0.5, dtype)
        assert shape == len(self.values)
        return self.values


class SameDice:
    """Dice that always show the same value."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self, shape: int | tuple[int, ...], dtype: type = np.float64) -> FloatArray:
        return np.full(shape, self.value, dtype)


def _directions(d: int, chosen: int, radius: float = TINY, n_centres: int = 1) -> DirectionQuestion:
    """With centres that are far from each other; a single one is at the origin. At most a hand is chosen."""
    centres = 10.0 * np.arange(n_centres)[:, None] * np.ones(d)
    return DirectionQuestion(
        Labels(centres), centres, np.full(n_centres, radius), Directions.of(d), min(chosen, hand_of(d))
    )


def _pairs(d: int, chosen: int, radius: float = TINY) -> PairQuestion:
    return PairQuestion(np.zeros(d), radius, Pairs.of(d), min(chosen, hand_of(d)))


def _members(question: DirectionQuestion | PairQuestion, sets: IntArray, variants: IntArray) -> FloatArray:
    """Counts without noise: how many users have each code in their set, in each variant."""
    counts = np.zeros((question.n_variants, question.n_symbols))
    np.add.at(counts, variants, sets[:, None] >> np.arange(question.n_symbols) & 1)
    return counts


def _signed(question: DirectionQuestion | PairQuestion, sets: IntArray) -> IntArray:
    """+1 if a direction is in the set, -1 if its opposite is, shape (n, hand)."""
    directions = np.arange(question.n_symbols // 2)
    signed: IntArray = (sets[:, None] >> directions & 1) - (sets[:, None] >> directions + len(directions) & 1)
    return signed


def _rows(directions: Directions) -> FloatArray:
    """All directions by the definition, shape (n_hands, hand, d)."""
    d = directions.flips.shape[1]
    rows = [another_hadamard(directions.order)[:, :d] * signs for signs in directions.flips]
    return np.concatenate(rows).reshape(-1, hand_of(d), d).astype(np.float64)


def _row_pairs(pairs: Pairs, hands: IntArray) -> tuple[FloatArray, FloatArray]:
    """The vectors u and v of these hands by the definition, each of shape (n, hand, d)."""
    order, d = pairs.left.order, pairs.left.flips.shape[1]
    xor, hand = np.divmod(hands, pairs.left.n_hands)
    place = hand[:, None] * hand_of(d) + np.arange(hand_of(d))
    left, right = _rows(pairs.left).reshape(-1, d), _rows(pairs.right).reshape(-1, d)
    return left[place], right[place // order * order + (partner(place % order, order) ^ xor[:, None])]


def _unit(vectors: FloatArray) -> FloatArray:
    unit: FloatArray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


# Sets


def _awkward(d: int) -> FloatArray:
    """The centre itself, ties, and vectors that are very long, very short, or usual."""
    first = np.eye(d)[0]
    rng = np.random.default_rng(d)
    some = rng.standard_normal((40, d))
    signs = rng.choice([-1.0, 1.0], (20, d))
    return np.concatenate(
        [[0 * first, -0.0 * first, first, -first, 1e-300 * first, 5e-324 * first], some, signs]
        + [scale * some for scale in (1e-200, 1e-30, 1e30, 1e100)]
        + [np.rint(some)]
    )


@pytest.mark.parametrize("radius", [1e-100, 1e-9, 0.7, 1e9, 1e100])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 16, 20, 64])
def test_every_answer_is_a_set_of_so_many_codes(d: int, radius: float) -> None:
    """Whatever the point is; and nothing overflows, which would be an error."""
    points = _awkward(d)
    dice = np.random.default_rng(0)
    for chosen in (1, 2, 5, 15, 16):
        for question in (
            _directions(d, chosen, radius),
            _directions(d, chosen, radius, n_centres=3),
            _pairs(d, chosen, radius),
        ):
            assert (question.n_chosen, question.n_symbols) == (min(chosen, hand_of(d)), 2 * hand_of(d))
            variants = dice.integers(question.n_variants, size=len(points))
            sets = question.symbols(points, variants, dice)
            assert sets.dtype == np.int64
            assert sets.shape == (len(points),)
            assert ((sets > 0) & (sets < 1 << question.n_symbols)).all()
            np.testing.assert_array_equal(np.bitwise_count(sets), question.n_chosen)


def test_no_points_give_no_sets() -> None:
    dice = np.random.default_rng(0)
    for question in (_directions(5, 3), _pairs(5, 3), LengthQuestion(np.zeros(5), 1.0)):
        assert question.symbols(np.empty((0, 5)), np.empty(0, np.int64), dice).shape == (0,)


@pytest.mark.parametrize("d", [16, 20, 64])
@pytest.mark.parametrize("chosen", [1, 6, 16])
def test_the_set_is_that_of_the_nearest_directions(d: int, chosen: int) -> None:
    """By sorting all products, with the public sign of the centre."""
    question = _directions(d, chosen, n_centres=3)
    rng = np.random.default_rng(d)
    points = question.centres[rng.integers(3, size=200)] + rng.standard_normal((200, d))
    variants = rng.integers(question.n_variants, size=200)
    label = nearest(points, question.centres)
    rows, signs = _rows(question.directions), another_hadamard(4)
    for x, k, variant, found in zip(points, label, variants, question.symbols(points, variants, rng), strict=True):
        row, hand = divmod(int(variant), len(rows))
        products = rows[hand] @ (x - question.centres[k]) * signs[row, k]
        order = np.argsort(-np.concatenate([products, -products]))
        assert found == sum(1 << int(code) for code in order[:chosen])


@pytest.mark.parametrize("d", [16, 20, 64])
@pytest.mark.parametrize("chosen", [1, 6, 16])
def test_the_set_is_that_of_the_nearest_pairs(d: int, chosen: int) -> None:
    question = _pairs(d, chosen)
    rng = np.random.default_rng(d)
    points = rng.standard_normal((200, d))
    variants = rng.integers(question.n_variants, size=200)
    u, v = _row_pairs(question.pairs, variants)
    products = np.einsum("nid,nd->ni", u, points) * np.einsum("nid,nd->ni", v, points)
    order = np.argsort(-np.concatenate([products, -products], axis=1), axis=1)[:, :chosen]
    np.testing.assert_array_equal(question.symbols(points, variants, rng), np.sum(1 << order, axis=1))


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("chosen", [1, 3, 7, 16])
def test_opposite_vectors_have_opposite_sets(d: int, chosen: int) -> None:
    """Half of all codes are complementary. The square of a vector is that of its opposite."""
    rng = np.random.default_rng(d)
    points, hand = rng.standard_normal((500, d)), hand_of(d)
    question = _directions(d, chosen)
    variants = np.arange(500) % question.n_variants
    sets, others = (question.symbols(sign * points, variants, rng) for sign in (1, -1))
    np.testing.assert_array_equal(others, (sets & (1 << hand) - 1) << hand | sets >> hand)
    if question.chosen == hand:
        np.testing.assert_array_equal(others, (1 << 2 * hand) - 1 ^ sets)
    if d < 16:
        return  # some of the products of pairs are equal, and the dice choose among them
    squares = _pairs(d, chosen)
    variants = np.arange(500) % squares.n_variants
    first, again = (squares.symbols(sign * points, variants, rng) for sign in (1, -1))
    np.testing.assert_array_equal(first, again)


# Labels


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 17, 64])
def test_public_signs_are_orthogonal(k: int) -> None:
    question = _directions(2, 1, n_centres=k)
    signs = question.public_signs()
    assert set(np.unique(signs)) <= {-1, 1}
    assert question.n_rows < 2 * k
    assert question.n_variants == question.n_rows * question.directions.n_hands
    np.testing.assert_array_equal(signs.T @ signs, question.n_rows * np.eye(k))


@pytest.mark.parametrize("d", [1, 3, 8, 20])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_other_clusters_hear_nothing(d: int, k: int) -> None:
    """Everybody answers every variant, without noise: what one cluster says is its own alone, to the last digits."""
    question = _directions(d, 5, n_centres=k)
    rng = np.random.default_rng(d)
    variants = np.tile(np.arange(question.n_variants), 30)
    rows = _rows(question.directions)
    for own in range(k):
        rest = rng.standard_normal((30, d)).repeat(question.n_variants, axis=0) + 1.5
        sets = question.symbols(question.centres[own] + rest, variants, rng)
        sums = question.sums(_members(question, sets, variants))
        row, hand = np.divmod(variants, question.directions.n_hands)
        decoded = (
            np.einsum("ni,nid->nd", _signed(question, sets), rows[hand]) * question.public_signs()[row, own][:, None]
        )
        expected = decoded.sum(axis=0) / direction_gains(d)[question.chosen - 1]
        np.testing.assert_allclose(sums[own], expected, rtol=1e-12)
        assert np.linalg.norm(sums[own]) > 0.1 * len(rest)
        assert np.abs(np.delete(sums, own, axis=0)).max() < 1e-9


# Averages


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("chosen", [1, 5, 16])
def test_sums_are_where_vectors_point_to_on_average(d: int, chosen: int) -> None:
    """Over normal vectors with a shift, each asked for one hand; seeds are fixed.

    Within 5.5 standard errors (a false alarm: 4e-8) and 3 % of the length of the mean, as it is exact only on average
    over bases and directions. A scale that is a fifth off does not pass.
    """
    n = 60_000
    rng = np.random.default_rng([d, chosen])
    vectors = rng.standard_normal((n, d)) + 0.4 * rng.choice([-1.0, 1.0], d)
    radius = 1.2 * math.sqrt(d)
    question = _directions(d, chosen, radius)
    hands = np.arange(n) % question.n_variants
    sets = question.symbols(vectors, hands, rng)
    found = question.sums(_members(question, sets, hands))[0] / n

    rows = _rows(question.directions)
    said = np.empty((n, d))
    for hand, directions in enumerate(rows):
        said[hand :: len(rows)] = _signed(question, sets[hand :: len(rows)]) @ directions
    said /= direction_gains(d)[question.chosen - 1]
    np.testing.assert_allclose(found, said.mean(axis=0), atol=1e-12)  # that is what sums are, vector by vector

    cut = _unit(vectors) * np.minimum(1, np.linalg.norm(vectors, axis=1) / radius)[:, None]
    error, mean = (said - cut).std(axis=0) / math.sqrt(n), cut.mean(axis=0)
    size = float(np.linalg.norm(mean))
    assert (np.abs(found - mean) < 5.5 * error + 0.03 * size).all()
    along = float(np.std((said - cut) @ mean)) / size**2 / math.sqrt(n)
    assert abs(found @ mean / size**2 - 1) < 5.5 * along + 0.03
    assert abs(1.2 * found @ mean / size**2 - 1) > 5.5 * along + 0.03


@pytest.mark.parametrize("d", [8, 16, 20, 64])
@pytest.mark.parametrize("chosen", [1, 5, 16])
def test_sums_are_where_squares_point_to_on_average(d: int, chosen: int) -> None:
    """The same of matrices, of normal vectors that are twice as long along an axis, over fifty axes.

    What is found along the axis, without the trace, is within 3 % and 5.5 standard errors of what is there, on average;
    a scale that is a fifth off does not pass. The trace, which nothing relies upon, is within a quarter.
    """
    axes, n = 50, 6000
    rng = np.random.default_rng([d, chosen])
    question = _pairs(d, chosen)
    ratios, totals = np.empty(axes), np.empty(axes)
    for i, axis in enumerate(_unit(rng.standard_normal((axes, d)))):
        vectors = rng.standard_normal((n, d))
        vectors += (vectors @ axis)[:, None] * axis
        hands = rng.integers(question.n_variants, size=n)
        sets = question.symbols(vectors, hands, rng)
        found = question.sums(_members(question, sets, hands)) / n
        np.testing.assert_allclose(found, found.T, atol=1e-12)
        totals[i] = np.trace(found)
        along = float(axis @ found @ axis - totals[i] / d)
        ratios[i] = along / np.mean((_unit(vectors) @ axis) ** 2 - 1 / d)
    error = float(ratios.std()) / math.sqrt(axes - 1)
    assert abs(ratios.mean() - 1) < 5.5 * error + 0.03
    assert abs(1.2 * ratios.mean() - 1) > 5.5 * error + 0.03
    assert abs(totals.mean() - 1) < 0.25


# Lengths


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9, 1.0, 3.0])
@pytest.mark.parametrize("d", [3, 16])
def test_lengths_are_kept_up_to_the_radius(d: int, share: float) -> None:
    """Exactly, by running through dice: a vector of half the length adds half as much, beyond the radius all."""
    n, chosen = 4000, 5
    radius = 0.3
    (direction,) = _unit(np.random.default_rng(d).standard_normal((1, d)))
    point = share * radius * direction if share else 1e-9 * radius * direction
    hands = np.zeros(n, np.int64)

    question = _directions(d, chosen, radius)
    sets = question.symbols(np.tile(point, (n, 1)), hands, EvenDice(n))
    sums = question.sums(_members(question, sets, hands))[0] / n
    whole = question.symbols(direction[None], hands[:1], EvenDice(1))
    full = question.sums(_members(question, whole, hands[:1]))[0]
    np.testing.assert_allclose(sums, min(1, share) * full, atol=2e-3 * np.abs(full).max())

    square = _pairs(d, chosen, radius)
    sets = square.symbols(np.tile(point, (n, 1)), hands, EvenDice(n))
    matrix = square.sums(_members(square, sets, hands)) / n
    whole = square.symbols(direction[None], hands[:1], EvenDice(1))
    full = square.sums(_members(square, whole, hands[:1]))
    np.testing.assert_allclose(matrix, min(1, share**2) * full, atol=2e-3 * np.abs(full).max())


POINTS = [[0.5, 0.5, 0.5], [0.52, 0.5, 0.49], [0.6, 0.6, 0.4], [0.5, 0.5, 0.8], [0.1, 0.5, 0.5], [1.0, 0.0, 1.0]]


@pytest.mark.parametrize("point", POINTS)
def test_a_bit_has_the_mean_of_the_squared_length(point: list[float]) -> None:
    """By running through dice, and by a binomial test with a false-alarm probability of 1e-6."""
    centre, radius, n = np.full(3, 0.5), 0.35, 40_000
    question = LengthQuestion(centre, radius)
    assert (question.n_variants, question.n_symbols, question.n_chosen) == (1, 2, None)
    points, variants = np.tile(point, (n, 1)), np.zeros(n, np.int64)
    expected = min(1.0, sum((x - 0.5) ** 2 for x in point) / radius**2)
    even = question.symbols(points, variants, EvenDice(n))
    assert even.dtype == np.int64
    assert even.mean() == pytest.approx(expected, abs=1 / n)
    ones = int(question.symbols(points, variants, np.random.default_rng(3)).sum())
    assert stats.binomtest(ones, n, expected).pvalue > 1e-6
    if expected > 0.01:
        assert stats.binomtest(ones, n, 0.8 * expected).pvalue < 1e-6


# Through the channel


@pytest.mark.parametrize("kind", ["direction", "pair"])
def test_counts_of_a_crowd_are_those_of_its_sets(kind: str) -> None:
    """Each of 256 counts within 6 standard errors, each of 16 sums within 5.5: a false alarm has a chance below 1.2e-6.

    Counts or sums that are a fifth too large do not pass.
    """
    chosen, d = 4, 4
    question: DirectionQuestion | PairQuestion = (
        _directions(d, chosen, 2.5, n_centres=2) if kind == "direction" else _pairs(d, chosen, 2.5)
    )
    channel = ChoiceResponse(epsilon=3, n_codes=question.n_symbols, n_chosen=chosen)
    n = 25_000 * question.n_variants
    rng = np.random.default_rng(8)
    points = rng.standard_normal((n, d)) + 0.5
    if kind == "direction":
        points += 10.0 * (rng.random(n) < 0.3)[:, None]
    parts = np.split(points, [n // 3])
    ask = Ask(question, channel, Fraction(1))
    answers = crowd(ask, iter(parts), source=SystemBytes(), dice=np.random.default_rng(5))

    dice, variants = np.random.default_rng(5), np.arange(n) % question.n_variants
    of_part = np.split(variants, [n // 3])
    sets = [question.symbols(part, some, dice) for part, some in zip(parts, of_part, strict=True)]
    true = _members(question, np.concatenate(sets), variants)
    p, q = support(channel)
    users = answers.users[:, None]
    np.testing.assert_array_equal(users, 25_000)
    error = np.sqrt(true * p * (1 - p) + (users - true) * q * (1 - q)) / (p - q)
    counts = answers.counts(channel)
    assert (np.abs(counts - true) < 6 * error).all()
    assert (np.abs(1.2 * counts - true) > 6 * error).any()

    if kind == "direction":
        gain = float(direction_gains(d)[chosen - 1])
    else:
        gain = float(min(pair_gains(d).beside[chosen - 1], pair_gains(d).diagonal[chosen - 1]))
    most = 5.5 * math.sqrt(n) / ((p - q) * gain)  # of signs with a variance of at most 1 each
    found, expected = question.sums(counts), question.sums(true)
    assert (np.abs(found - expected) < most).all()
    assert (np.abs(1.2 * found - expected) > most).any()


@pytest.mark.parametrize("kind", ["direction", "pair"])
@pytest.mark.parametrize("epsilon", ["0.1", "2", "11"])
def test_no_code_says_more_than_epsilon_about_a_point(kind: str, epsilon: str) -> None:
    """In fractions: the two sets that dice can lead to, how likely they are, and the weights of the channel."""
    chosen = 3
    question: Any = _directions(3, chosen, 0.8, n_centres=2) if kind == "direction" else _pairs(3, chosen, 0.8)
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


# Gains


@pytest.mark.parametrize("d", DIMENSIONS)
def test_more_directions_hold_more_of_a_vector_and_each_less_than_the_one_before(d: int) -> None:
    for gains in (direction_gains(d), *([pair_gains(d).all] if d > 1 else [])):
        assert gains.shape == (hand_of(d),)
        steps = np.diff(gains, prepend=0.0)
        assert (steps > 0).all()
        assert (np.diff(steps) <= 1e-12).all()
        with pytest.raises(ValueError, match="read-only"):
            gains[0] = 1.0


def test_in_one_dimension_the_direction_holds_all() -> None:
    np.testing.assert_allclose(direction_gains(1), [1.0], rtol=1e-12)


def test_gains_in_two_dimensions_are_integrals() -> None:
    """A hand is both diagonals: means of |cos| + |sin| and of ||cos| - |sin||."""
    near, far = 4 / math.pi, 4 * (math.sqrt(2) - 1) / math.pi
    expected = [near, near + far]
    np.testing.assert_allclose(direction_gains(2), expected, rtol=0.005)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_whole_hand_holds_as_many_times_the_mean_product(d: int) -> None:
    """The mean of |uz| over unit vectors z is √d Γ(d/2) / (√π Γ((d + 1)/2))."""
    mean = math.sqrt(d / math.pi) * math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2))
    assert direction_gains(d)[-1] == pytest.approx(hand_of(d) * mean, rel=0.01)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_gains_are_those_of_other_vectors_too(d: int) -> None:
    n = 20_000
    vectors = _unit(np.random.default_rng([77, d]).standard_normal((n, d)))
    directions, pairs = _rows(Directions.of(d)), Pairs.of(d)
    hands = np.arange(n) % len(directions)
    products = np.empty((n, hand_of(d)))
    for hand, rows in enumerate(directions):
        products[hands == hand] = vectors[hands == hand] @ rows.T
    found = np.cumsum(np.sort(np.abs(products), axis=1)[:, ::-1].mean(axis=0))
    np.testing.assert_allclose(direction_gains(d), found, rtol=0.03)
    if d == 1:
        return  # there is nothing beside the diagonal, and nothing on it without its trace

    for hand in range(pairs.n_hands):
        mine = slice(hand, None, pairs.n_hands)
        (u,), (v,) = _row_pairs(pairs, np.array([hand]))
        products[mine] = (vectors[mine] @ u.T) * (vectors[mine] @ v.T)
    found = np.cumsum(np.sort(np.abs(products), axis=1)[:, ::-1].mean(axis=0))
    np.testing.assert_allclose(pair_gains(d).all, found, rtol=0.03)


@pytest.mark.parametrize("d", [5, 8, 16])
def test_gains_of_pairs_are_slopes_of_the_definition(d: int) -> None:
    """Chosen matrices, written out, regressed on $zz^T$ of other vectors: beside the diagonal, and on it."""
    n, pairs = 40_000, Pairs.of(d)
    vectors = _unit(np.random.default_rng([78, d]).standard_normal((n, d)))
    chosen = np.array([2, 9])
    beside, diagonal = np.zeros((2, n)), np.zeros((2, n))
    for hand in range(pairs.n_hands):
        mine = slice(hand, None, pairs.n_hands)
        (u,), (v,) = _row_pairs(pairs, np.array([hand]))
        products = (vectors[mine] @ u.T) * (vectors[mine] @ v.T)
        largest = np.argsort(-np.abs(products), axis=1)
        on = np.take_along_axis(np.sign(products) * ((vectors[mine] ** 2 - 1 / d) @ (u * v).T), largest, axis=1)
        off = np.take_along_axis(np.sign(products) * (products - vectors[mine] ** 2 @ (u * v).T), largest, axis=1)
        beside[:, mine] = np.cumsum(off, axis=1)[:, chosen - 1].T
        diagonal[:, mine] = np.cumsum(on, axis=1)[:, chosen - 1].T
    squares = np.sum((vectors**2 - 1 / d) ** 2, axis=1)
    others = 1 - np.sum(vectors**4, axis=1)
    np.testing.assert_allclose(pair_gains(d).beside[chosen - 1], beside.mean(axis=1) / others.mean(), rtol=0.03)
    np.testing.assert_allclose(pair_gains(d).diagonal[chosen - 1], diagonal.mean(axis=1) / squares.mean(), rtol=0.15)


@pytest.mark.parametrize("d", [6, 16])
@pytest.mark.parametrize("chosen", [3, 9])
def test_a_wide_coordinate_is_seen_as_wide_as_a_wide_direction(d: int, chosen: int) -> None:
    """The diagonal has the same scale as the rest: both within 8 %."""
    question, n = _pairs(d, chosen), 300_000
    rng = np.random.default_rng([d, chosen])
    for axis in (np.eye(d)[1], np.ones(d) / math.sqrt(d)):
        vectors = rng.standard_normal((n, d))
        vectors += 0.4 * (vectors @ axis)[:, None] * axis
        hands = np.arange(n) % question.n_variants
        found = question.sums(_members(question, question.symbols(vectors, hands, rng), hands)) / n
        along = float(axis @ found @ axis - np.trace(found) / d)
        assert along == pytest.approx(float(np.mean((_unit(vectors) @ axis) ** 2 - 1 / d)), rel=0.12)


@pytest.mark.parametrize("kind", ["direction", "pair"])
def test_points_at_their_centre_say_nothing(kind: str) -> None:
    """All products are 0, and the set is whatever comes first; but the dice turn it around half of the time."""
    d, chosen = 20, 4
    question: Any = _directions(d, chosen, n_centres=2) if kind == "direction" else _pairs(d, chosen, 0.8)
    n = 400 * question.n_variants
    at = question.centres[1] if kind == "direction" else question.centre
    variants = np.arange(n) % question.n_variants
    sets = question.symbols(np.tile(at, (n, 1)), variants, np.random.default_rng(0))
    found = question.sums(_members(question, sets, variants)) / n
    gain = direction_gains(d)[chosen - 1] if kind == "direction" else pair_gains(d).diagonal[chosen - 1]
    assert np.abs(found).max() < 5.5 * chosen / float(gain) / math.sqrt(n)


@pytest.mark.parametrize("kind", ["direction", "pair"])
@pytest.mark.parametrize("d", [4, 16])
def test_equal_products_do_not_point_anywhere(kind: str, d: int) -> None:
    """Points at all corners of a box about the centre: means are 0, and the covariance is round.

    Within 5.5 standard errors, for which a sum of ``chosen`` signs is taken as one large step.
    """
    chosen = 5
    question: Any = _directions(d, chosen) if kind == "direction" else _pairs(d, chosen)
    n = (200_000 // question.n_variants + 1) * question.n_variants
    rng = np.random.default_rng([d, 3])
    points = rng.choice([-0.5, 0.5], (n, d))
    variants = np.arange(n) % question.n_variants
    found = question.sums(_members(question, question.symbols(points, variants, rng), variants)) / n
    if kind == "pair":
        found = found - np.trace(found) / d * np.eye(d)
        gain = min(pair_gains(d).diagonal[chosen - 1], pair_gains(d).beside[chosen - 1])
    else:
        gain = direction_gains(d)[chosen - 1]
    assert np.abs(found).max() < 5.5 * chosen / float(gain) / math.sqrt(n)
