from fractions import Fraction

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans.questions import Labels, ResidualQuestion
from hybriddp.kmeans.requests import Answers, Ask, Published
from hybriddp.kmeans.round import crowd
from hybriddp.kmeans.statistics import UNIT, SecondMoments
from hybriddp.kmeans.steps.moments import (
    best_list_length,
    coordinate_lists,
    doubled_lists,
    moment_ask,
    moments_by_trust,
    moments_locally,
    usual_size,
)
from hybriddp.kmeans.symbols import n_symbols, support, symbol_channel
from hybriddp.randomness import byte_source

RNG = np.random.default_rng(8)
CENTRE, RADIUS = np.array([0.4, 0.5, 0.6, 0.5]), 0.3


def _truth(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    z = np.clip(points - CENTRE, -RADIUS, RADIUS)
    return z.mean(axis=0), z.T @ z / len(z)


def _expected(ask: Ask, points: FloatArray) -> Answers:
    """The mean counts if every user answers every variant once: exact, nothing is drawn."""
    question, (p, q) = ask.question, support(ask.channel)
    assert isinstance(question, ResidualQuestion)
    s = question.n_signs
    up = (1 + np.clip((points - CENTRE) / RADIUS, -1, 1)) / 2
    symbols = np.zeros((question.n_variants, n_symbols(ask.channel)))
    for variant, coordinates in enumerate(question.coordinates):
        for signs in range(1 << s):
            chance = np.ones(len(points))
            for bit, j in enumerate(coordinates):
                chance *= up[:, j] if signs >> bit & 1 else 1 - up[:, j]
            symbols[variant, signs] = chance.sum()
    return Answers((p - q) * symbols + q * len(points), np.full(question.n_variants, len(points)))


@pytest.mark.parametrize("epsilon", ["0.5", "2", "7"])
def test_moments_are_exactly_right_on_average(epsilon: str) -> None:
    """Through the channel's chances; the squares too, though a sign's square says nothing."""
    points = RNG.random((7, 4))
    lists = coordinate_lists(4, best_list_length(4, float(epsilon)))
    ask = moment_ask(CENTRE, RADIUS, lists, epsilon=epsilon, share=Fraction(1, 10))
    found = moments_locally(ask, _expected(ask, points))
    first, second = _truth(points)
    np.testing.assert_allclose(found.first, first, atol=1e-9)
    np.testing.assert_allclose(found.second, second, atol=1e-9)


@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_drawn_moments_have_the_variance_that_they_claim(epsilon: str) -> None:
    """Within .12, and a fifth would be noticed. The seeds are fixed: there are no false alarms."""
    n, runs = 1000, 400
    lists = coordinate_lists(4, best_list_length(4, float(epsilon)))
    ask = moment_ask(CENTRE, RADIUS, lists, epsilon=epsilon, share=Fraction(1))
    everybody = np.clip(CENTRE + 0.15 * RNG.standard_normal((n, 4)), 0, 1)
    _, second = _truth(everybody)
    ratios = []
    for seed in range(runs):
        dice = np.random.default_rng([seed, 2])
        sample = everybody[dice.integers(n, size=n)]
        found = moments_locally(ask, crowd(ask, iter([sample]), source=byte_source(seed), dice=dice))
        ratios.append(np.mean(((found.second - second) ** 2 / found.variance)[np.triu_indices(4)]))
    ratio = float(np.mean(ratios))
    assert np.std(ratios) / np.sqrt(runs) < 0.025
    assert abs(ratio - 1) < 0.12
    assert abs(ratio / 0.8 - 1) > 0.12
    assert abs(ratio / 1.25 - 1) > 0.12


@pytest.mark.parametrize("d", [4, 5, 8, 16, 24])
@pytest.mark.parametrize("length", [2, 3, 6, 8, 10])
def test_lists_of_coordinates_cover_every_pair(d: int, length: int) -> None:
    lists = coordinate_lists(d, min(length, 2 * d))
    seen = np.zeros((d, d), int)
    for row in lists:
        for a in range(len(row)):
            for b in range(a + 1, len(row)):
                seen[min(row[a], row[b]), max(row[a], row[b])] += 1
    assert seen[np.triu_indices(d)].min() >= 1
    np.testing.assert_array_equal(lists, coordinate_lists(d, min(length, 2 * d)))


def test_pairs_that_nobody_was_asked_for_are_unknown() -> None:
    lists = np.array([[0, 1], [0, 0]])
    question = ResidualQuestion(Labels(CENTRE[None, :2]), CENTRE[None, :2], np.array([RADIUS]), lists)
    ask = Ask(question, symbol_channel("2", 4), Fraction(1))
    nobody = Answers(np.zeros((2, n_symbols(ask.channel)), np.int64), np.array([3, 3]))
    found = moments_locally(ask, nobody)
    np.testing.assert_array_equal(np.isinf(found.variance), [[False, False], [False, True]])
    assert found.second[1, 1] == 0


@pytest.mark.parametrize("d", [4, 16, 256])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_lists_are_not_too_long(d: int, epsilon: float) -> None:
    assert 2 <= best_list_length(d, epsilon) <= min(10, 2 * d)


def test_the_trusted_moments_are_those_released() -> None:
    points = np.clip(CENTRE + 0.1 * RNG.standard_normal((500, 4)), 0, 1)
    statistic = SecondMoments(CENTRE, 10.0)  # nobody is cut
    found = moments_by_trust(statistic, Published(statistic.of(points), 4.0), 500, 0.01, 0.3)
    z = points - CENTRE
    np.testing.assert_allclose(found.second, z.T @ z / 500, atol=1e-4)
    np.testing.assert_allclose(found.variance, 4.0 * (10.0 / UNIT / 500) ** 2 + 0.01**2 / 500 + 0.003**2)
    np.testing.assert_array_equal(found.first, 0)


@pytest.mark.parametrize("d", [1, 4, 10])
def test_the_usual_size_is_the_mean_of_a_normal_matrix(d: int) -> None:
    r"""$E|z_i z_j|$ by quadrature: of one variable for i = j, of two independent ones else."""
    from scipy.integrate import quad
    from scipy.stats import norm

    absolute = 2 * quad(lambda x: x * norm.pdf(x), 0, 20)[0]
    square = 2 * quad(lambda x: x * x * norm.pdf(x), 0, 20)[0]
    mean = d * square + d * (d - 1) / 2 * absolute**2
    assert usual_size(d) == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("d", [4, 16, 256])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 7.0])
def test_doubled_lists_have_every_coordinate_equally_often_and_twice(d: int, epsilon: float) -> None:
    lists = doubled_lists(d, epsilon)
    counts = np.bincount(lists.ravel(), minlength=d)
    assert (counts == counts[0]).all()
    np.testing.assert_array_equal(lists[:, ::2], lists[:, 1::2])
    assert lists.shape[1] <= 10


def test_doubled_lists_give_means_and_squares_exactly() -> None:
    points = RNG.random((7, 4))
    ask = moment_ask(CENTRE, RADIUS, doubled_lists(4, 2.0), epsilon="2", share=Fraction(1, 10))
    found = moments_locally(ask, _expected(ask, points))
    first, second = _truth(points)
    np.testing.assert_allclose(found.first, first, atol=1e-9)
    np.testing.assert_allclose(np.diag(found.second), np.diag(second), atol=1e-9)
