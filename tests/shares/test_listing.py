import math

import numpy as np
import pytest
from scipy import stats

from hybriddp.shares.listing import ListedLaw, Listing

THRESHOLD, SCALE = 15, 1.0
LISTING = Listing(THRESHOLD, SCALE, np.array([True, False]))


def _oracle(exact: np.ndarray, threshold: int, scale: float, y: np.ndarray) -> np.ndarray:
    """Probability of K (rows, from 1) and of each noisy count, given that it reaches the threshold."""
    k = np.arange(1, len(exact) + 1)
    every = np.arange(threshold, threshold + 2000)
    joint = exact[:, None] * stats.dlaplace.pmf(every - k[:, None], 1 / scale)
    assert every[: len(y)].tolist() == y.tolist()
    return np.asarray(joint / joint.sum())


def _row(law: ListedLaw, expected: float) -> int:
    return int(np.argmin(np.abs(law.expected - expected)))


@pytest.mark.parametrize("expected", [0.3, 3.0, 12.0, 25.0])
def test_it_is_the_truncated_law_of_a_count_with_noise(expected: float) -> None:
    k = np.arange(1, 300)
    population, users = LISTING.law(1000, None), LISTING.law(1000, 1500)
    row = _row(population, expected)
    c = float(population.expected[row])
    assert np.array_equal(users.expected, population.expected)
    m = 2.5 * c  # users in all; between two whole numbers, both laws are mixed
    mixed = sum(
        share * stats.hypergeom.pmf(k, 2500, whole, 1000)
        for whole, share in ((math.floor(m), 1 - m % 1), (math.floor(m) + 1, m % 1))
    )
    for law, exact in ((population, stats.binom.pmf(k, 1000, c / 1000)), (users, mixed)):
        joint = _oracle(exact, THRESHOLD, SCALE, law.counts)
        columns = joint.sum(axis=0)[: len(law.counts)]
        np.testing.assert_allclose(law.density[row], columns, atol=1e-8)
        mean = (k[:, None] * joint).sum(axis=0)[: len(law.counts)] / columns
        np.testing.assert_allclose(law.exact_mean[row, :20], mean[:20], rtol=1e-6)
        variance = (k[:, None] ** 2 * joint).sum(axis=0)[:20] / columns[:20] - mean[:20] ** 2
        np.testing.assert_allclose(law.exact_variance[row, :20], variance, rtol=1e-4, atol=1e-6)
        y = np.arange(THRESHOLD, THRESHOLD + 2000)
        assert law.mean[row] == pytest.approx(float(joint.sum(axis=0) @ y), rel=1e-6)
        spread = float(joint.sum(axis=0) @ y**2) - law.mean[row] ** 2
        assert law.variance[row] == pytest.approx(spread, rel=1e-4)


def test_all_users_trusted_leave_no_doubt_about_their_count() -> None:
    law = LISTING.law(1000, 0)
    row = _row(law, 8)
    share = law.expected[row] % 1
    np.testing.assert_allclose(law.exact_mean[row, 0], math.floor(law.expected[row]) + _odds(share), rtol=1e-6)
    np.testing.assert_allclose(np.diff(np.log(law.density[row]))[:10], -1 / SCALE, rtol=1e-9)  # no memory


def _odds(share: float) -> float:
    """Posterior of the larger of two neighboring counts below the threshold: it is listed e^(1/b) times as often."""
    return share * math.exp(1 / SCALE) / (share * math.exp(1 / SCALE) + 1 - share)


@pytest.mark.slow
@pytest.mark.parametrize("others", [None, 0, 30_000])
def test_wide_noise_is_tabulated_in_steps(others: int | None) -> None:
    threshold, scale, n = 263, 40.0, 20_000
    law = Listing(threshold, scale, np.array([True])).law(n, others)
    assert law.counts[1] - law.counts[0] == 5
    assert law.density.size < 384 * 1000
    k = np.arange(1, 1500)
    for expected in (20.0, 200.0, 400.0):
        row = _row(law, expected)
        c = float(law.expected[row])
        exact = stats.binom.pmf(k, n, c / n)
        if others is not None:
            exact = stats.hypergeom.pmf(k, n + others, round(c * (n + others) / n), n)
        joint = _oracle(exact, threshold, scale, np.array([threshold]))
        y = np.arange(threshold, threshold + 2000)
        mean = float(joint.sum(axis=0) @ y)
        deviation = math.sqrt(float(joint.sum(axis=0) @ y**2) - mean**2)
        assert law.mean[row] == pytest.approx(mean, abs=0.05 * scale)
        assert math.sqrt(law.variance[row]) == pytest.approx(deviation, rel=0.02)


def test_frequent_items_are_as_without_a_threshold() -> None:
    law = LISTING.law(1000, None)
    c = law.expected[-1]
    assert law.mean[-1] == pytest.approx(c, abs=0.1 * SCALE)
    assert law.variance[-1] == pytest.approx(c * (1 - c / 1000) + 2 * SCALE**2, rel=0.1)
    assert law.slope[-2] == pytest.approx(1, abs=0.05)
    assert law.slope[1] < 0.2
    assert np.all(np.diff(law.mean) > -1e-9)


def test_categories_are_reordered() -> None:
    again = LISTING.reordered(np.array([1, 0]))
    assert again.listed.tolist() == [False, True]
    assert (again.threshold, again.scale) == (THRESHOLD, SCALE)
