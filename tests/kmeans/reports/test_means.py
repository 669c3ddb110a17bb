"""Labels and signs: what becomes of a point, exactly; and sums of residuals, with the variance that they claim."""

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.channels import UnaryEncoding
from hybriddp.kmeans.algorithm.problem import PublishedVector
from hybriddp.kmeans.algorithm.steps import trusted_sums
from hybriddp.kmeans.algorithm.tuning import COUNT_WEIGHT
from hybriddp.kmeans.protocol.round import simulate_devices
from hybriddp.kmeans.reports.base import Ask, GridQuestion, Labels, Projection, ReportTally
from hybriddp.kmeans.reports.codebook import Directions, Pairs
from hybriddp.kmeans.reports.means import (
    LABEL_FRACTION,
    DirectionQuestion,
    LabelSignsQuestion,
    ResidualSums,
    cyclic,
    local_sums,
    mean_asks,
    mean_reports,
)
from hybriddp.kmeans.reports.moments import LengthQuestion, SecondMomentQuestion
from hybriddp.kmeans.statistics import ClusterSums
from hybriddp.privacy import Privacy
from hybriddp.randomness import byte_source
from tests.kmeans.codebooks import symbol_shares
from tests.levels import z_limit
from tests.release.numbers import noisy

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


RNG = np.random.default_rng(4)
K, D = 3, 4
CLUSTERS = RNG.uniform(0.2, 0.8, (K, D))
REACH = np.array([0.15, 0.3, 0.2])
LABEL = Labels(CLUSTERS)
RELEASED = ClusterSums(LABEL, REACH * D, COUNT_WEIGHT)
SIGNS, DIRECTIONS, UNARY = "5", "0.5", "1.7"  # at which ε which kind of report is looked at


def _asks(epsilon: str) -> tuple[Ask, ...]:
    if epsilon == UNARY:
        question = LabelSignsQuestion(LABEL, REACH, cyclic(D, 2))
        return (Ask(question, UnaryEncoding(epsilon=epsilon, n_categories=12), Fraction(1, 2)),)
    return mean_asks(LABEL, REACH, epsilon=epsilon, user_fraction=Fraction(1, 2))


def _all_clipped(points: FloatArray) -> tuple[Any, FloatArray]:
    """Labels, and residuals clipped to the radii, by the definition."""
    label = np.argmin(np.sum((points[:, None] - CLUSTERS) ** 2, axis=2), axis=1)
    r = REACH[label][:, None]
    return label, np.clip(points - CLUSTERS[label], -r, r)


def _truth(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sizes, and the mean over all users of the clipped residual if the user is in the cluster."""
    label, clipped = _all_clipped(points)
    member = label[:, None] == np.arange(K)
    return member.mean(axis=0), (member[:, :, None] * clipped[:, None, :]).mean(axis=0)


def _expected(ask: Ask, points: FloatArray) -> ReportTally:
    """The mean counts if every user answers every variant once, from the exact chances of symbols and reports."""
    question, p, q = ask.question, ask.channel.hit_probability, ask.channel.miss_probability
    label, clipped = _all_clipped(points)
    up = (1 + clipped / REACH[label][:, None]) / 2
    symbols = np.zeros((question.n_variants, ask.channel.n_symbols))
    for k, chance in zip(label, up, strict=True):
        for variant in range(question.n_variants):
            assert isinstance(question, LabelSignsQuestion)
            for signs in range(1 << question.n_signs):
                odds = [
                    chance[j] if signs >> bit & 1 else 1 - chance[j]
                    for bit, j in enumerate(question.coordinates[variant])
                ]
                symbols[variant, (int(k) << question.n_signs) + signs] += float(np.prod(odds))
    n = len(points)
    return ReportTally((p - q) * symbols + q * n, np.full(question.n_variants, n))


@pytest.mark.parametrize("epsilon", [SIGNS, UNARY, "7"])
def test_sums_are_exactly_right_on_average(epsilon: str) -> None:
    """For a tiny crowd, through the channel's chances, without any noise."""
    points = RNG.random((9, D))
    asks = _asks(epsilon)
    found = local_sums(asks, [_expected(ask, points) for ask in asks])
    sizes, sums = _truth(points)
    np.testing.assert_allclose(found.sizes, sizes, atol=1e-9)
    np.testing.assert_allclose(found.sums, sums, atol=1e-9)


def test_both_kinds_of_reports_are_tested() -> None:
    assert len(_asks(SIGNS)) == 1
    assert len(_asks(DIRECTIONS)) == 2
    assert [ask.user_fraction for ask in _asks(DIRECTIONS)] == [LABEL_FRACTION / 2, (1 - LABEL_FRACTION) / 2]
    assert isinstance(_asks(DIRECTIONS)[1].question, DirectionQuestion)


# Drawn


N, RUNS, TRUSTED_RUNS = 600, 2000, 4000
POINTS = np.clip(CLUSTERS[RNG.integers(K, size=N)] + 0.12 * RNG.standard_normal((N, D)), 0, 1)
FINE = z_limit(15, RUNS)  # a test compares 15 numbers at most


def _local(epsilon: str) -> list[ResidualSums]:
    asks = _asks(epsilon)
    found = []
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, 1])
        order = rng.integers(N, size=N)  # a sample of all users: what is claimed includes its variance
        parts = np.split(POINTS[order], [N * 3 // 20]) if len(asks) == 2 else [POINTS[order]]
        answers = [
            simulate_devices(ask, iter([part]), source=byte_source(seed), rng=rng)
            for ask, part in zip(asks, parts, strict=True)
        ]
        found.append(local_sums(asks, answers))
    return found


def _trusted() -> list[ResidualSums]:
    exact = RELEASED.compute(POINTS)
    private = noisy(
        np.tile(exact, TRUSTED_RUNS),
        sensitivity=2 * RELEASED.max_contribution,
        privacy=Privacy(epsilon=0.5),
        random_state=1,
    )
    return [
        trusted_sums(RELEASED, PublishedVector(values, private.variance), N, 0.0)
        for values in private.values.reshape(TRUSTED_RUNS, -1)
    ]


GROUPS = {"signs": SIGNS, "directions": DIRECTIONS, "unary": UNARY, "trusted": None}


@cache
def _found(group: str) -> list[ResidualSums]:
    epsilon = GROUPS[group]
    return _trusted() if epsilon is None else _local(epsilon)


def _truth_of(group: str) -> tuple[FloatArray, FloatArray]:
    if group not in ("trusted", "directions"):
        return _truth(POINTS)
    label, _ = _all_clipped(POINTS)
    rest = POINTS - CLUSTERS[label]
    length = np.abs(rest).sum(axis=1) / D if group == "trusted" else np.sqrt(np.sum(rest**2, axis=1))
    far = np.maximum(length / REACH[label], 1)
    member = label[:, None] == np.arange(K)
    return member.mean(axis=0), (member[:, :, None] * (rest / far[:, None])[:, None, :]).mean(axis=0)


def _off(group: str, shift: float = 0.0) -> float:
    """The largest deviation of a mean from the truth, in standard errors that are measured, not claimed."""
    found = [np.column_stack([s.sizes, s.sums]) for s in _found(group)]
    sizes, sums = _truth_of(group)
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    return float(np.max(np.abs(mean + shift * error * np.sqrt(len(found)) - np.column_stack([sizes, sums])) / error))


def _scale(group: str, factor: float = 1.0) -> tuple[float, float]:
    """Measured over claimed variance of the sums, and the standard error of that ratio.

    Deviations are nearly normal, and those of different numbers nearly uncorrelated.
    """
    found, truth = _found(group), _truth_of(group)[1]
    ratio = np.array([(s.sums - truth) ** 2 / (factor * s.variance) for s in found]).mean(axis=(1, 2))
    return float(ratio.mean()), float(ratio.std(ddof=1) / np.sqrt(len(found)))


@pytest.mark.statistical
@pytest.mark.parametrize("group", GROUPS)
def test_drawn_sums_are_unbiased_and_a_bias_would_be_noticed(group: str) -> None:
    """One of a fifth of a standard deviation is 9 standard errors or more."""
    assert _off(group) < FINE
    assert _off(group, 0.2) > FINE
    assert _off(group, -0.2) > FINE


@pytest.mark.statistical
@pytest.mark.parametrize("group", GROUPS)
def test_drawn_sums_have_the_variance_that_they_claim(group: str) -> None:
    """Within .12, ten standard errors or more; a variance that is a fifth wrong is noticed.

    What is claimed for local users is a little too much, since the square of the mean is not subtracted.
    """
    ratio, error = _scale(group)
    assert 10 * error < 0.12
    assert abs(ratio - 1) < 0.12
    for factor in (0.8, 1.2):
        wrong, _ = _scale(group, factor)
        assert abs(wrong - 1) > 0.12


def _size_variance(group: str) -> FloatArray:
    """The variance of each size, exactly: of the reports of a random sample, or of the noise of a release."""
    sizes, epsilon = _truth_of(group)[0], GROUPS[group]
    if epsilon is None:
        return np.full(K, _found(group)[0].size_variance)
    ask, users = _asks(epsilon)[0], N * 3 // 20 if group == "directions" else N
    assert isinstance(ask.question, LabelSignsQuestion)
    p, q = ask.channel.hit_probability, ask.channel.miss_probability
    m = 1 << ask.question.n_signs  # symbols of a cluster
    if isinstance(ask.channel, UnaryEncoding):  # bits are independent, given the cluster
        per_user = sizes * (p * (1 - p) - q * (1 - q)) + m * q * (1 - q) + sizes * (1 - sizes) * (p - q) ** 2
    else:
        chance = m * q + sizes * (p - q)
        per_user = chance * (1 - chance)
    variance: FloatArray = per_user / ((p - q) ** 2 * users)
    return variance


@pytest.mark.statistical
@pytest.mark.parametrize("group", GROUPS)
def test_sizes_have_their_exact_variance_which_is_about_what_they_claim(group: str) -> None:
    """Drawn: within `FINE` standard errors, by which a variance that is a fifth wrong would be noticed.

    Claimed: within a quarter, since it is that of the channel, for a small cluster, and without the sample's.
    """
    found, sizes, exact = _found(group), _truth_of(group)[0], _size_variance(group)
    ratio = np.array([(s.sizes - sizes) ** 2 for s in found]).mean(axis=1) / exact.mean()
    error = float(ratio.std(ddof=1)) / np.sqrt(len(ratio))
    assert FINE * error < 1 / 6
    assert abs(ratio.mean() - 1) < FINE * error
    users = {"signs": N, "unary": N, "directions": N * 0.15, "trusted": np.inf}[group]
    claimed = found[0].size_variance + float(np.mean(sizes * (1 - sizes))) / users
    assert 0.75 < exact.mean() / claimed < 1.25


# Which report


@pytest.mark.parametrize(
    ("k", "d"), [(1, 1), (2, 1), (4, 2), (30, 3), (1024, 2), (2048, 5), (3072, 4), (8, 16), (2, 256)]
)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 7.0, 20.0])
def test_there_is_always_a_question_that_its_channel_can_carry(k: int, d: int, epsilon: float) -> None:
    centers = np.zeros((k, d))
    asks = mean_asks(Labels(centers), np.ones(k), epsilon=f"{epsilon:g}", user_fraction=Fraction(1, 3))
    assert sum(ask.user_fraction for ask in asks) == Fraction(1, 3)
    for ask in asks:
        assert ask.question.n_symbols <= ask.channel.n_symbols <= 4096
        chosen = ask.channel.n_chosen
        assert ask.question.n_chosen == chosen
    assert (len(asks) == 2) == mean_reports(k, d, epsilon).by_length


@pytest.mark.parametrize(("d", "s"), [(1, 1), (3, 2), (4, 4), (7, 3)])
def test_all_coordinates_are_asked_for_equally_often(d: int, s: int) -> None:
    lists = cyclic(d, s)
    assert len({len(set(row)) for row in lists.tolist()} - {s}) == 0
    assert len(set(np.bincount(lists.ravel(), minlength=d))) == 1


@pytest.mark.parametrize("d", [2, 4, 16])
def test_directions_are_chosen_for_small_epsilon_and_signs_for_large(d: int) -> None:
    chosen = [mean_reports(8, d, epsilon).by_length for epsilon in np.linspace(0.25, 12, 48)]
    assert chosen[0]
    assert not chosen[-1]
    assert sorted(chosen, reverse=True) == chosen  # one change, no back and forth


# Both


def test_a_part_in_twenty_one_of_a_release_is_for_counts() -> None:
    assert COUNT_WEIGHT / RELEASED.max_contribution == pytest.approx(1 / 21, abs=1e-5)


def test_what_clipping_shrinks_is_divided_by_its_factor() -> None:
    sums = ResidualSums(np.array([0.5, 0.5]), 0.1, np.array([[0.1, 0.2], [0.3, 0.4]]), np.full((2, 2), 0.01))
    undone = sums.undo_clipping(np.array([0.5, 1.0]))
    np.testing.assert_allclose(undone.sums, [[0.2, 0.4], [0.3, 0.4]])
    np.testing.assert_allclose(undone.variance, [[0.04, 0.04], [0.01, 0.01]])
    assert undone.sizes is sums.sizes
