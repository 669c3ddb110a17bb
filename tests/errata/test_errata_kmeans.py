"""Rows 4 to 7 of docs/errata.md: the hybrid K-means pseudo-code."""

import math

import numpy as np
import pytest
from scipy import stats

from tests.errata.settings import homogeneous
from tests.levels import LEVEL

# A small version of the paper's setting: one cluster in d = 2 dimensions on [0, 1].
D, EPSILON, ROUNDS = 2, 7.0, 5
SCALE = (D + 1) * ROUNDS / EPSILON  # b_T as printed


def test_row_04_the_noise_on_a_center_is_the_noise_on_the_sum_over_the_count() -> None:
    rng = np.random.default_rng(4)
    count, mean, trials = 400, 0.25, 400_000
    center = (count * mean + rng.laplace(0, SCALE, trials)) / (count + rng.laplace(0, SCALE, trials))
    on_the_mean = 2 * SCALE**2 * (1 + mean**2) / count**2
    assert center.var() == pytest.approx(on_the_mean, rel=0.02)
    # With the printed variance, that of the sum, the privacy weight all but drops the trusted group.
    local_noise, local_count = 2 * (D * (ROUNDS + 1) / EPSILON) ** 2, 39_600
    users, fraction = local_count + count, count / (local_count + count)
    weights = [
        float(homogeneous(users, fraction, 0, trusted_noise, local_noise).weight_privacy())
        for trusted_noise in (2 * SCALE**2, on_the_mean)
    ]
    assert weights[0] < 1e-4
    assert weights[1] > 0.5


def test_row_05_randomized_response_pulls_a_center_towards_the_mean_of_all() -> None:
    rng = np.random.default_rng(5)
    k, n = 4, 400_000
    true_centers = np.array([0.25, 0.4, 0.6, 0.75])
    label = rng.integers(0, k, n)
    x = true_centers[label] + rng.uniform(-0.05, 0.05, n)
    e0 = EPSILON / (ROUNDS + 1)
    p = (math.exp(e0) - 1) / (k + math.exp(e0) - 1)
    assert p == pytest.approx(0.356, abs=5e-4)
    reported = np.where(rng.random(n) < p, label, rng.integers(0, k, n))
    printed = x[reported == 0].mean()
    assert printed == pytest.approx(p * 0.25 + (1 - p) * 0.5, abs=0.005)
    assert printed == pytest.approx(0.411, abs=0.005)
    total = (x[reported == 0].sum() - (1 - p) * x.sum() / k) / p
    count = ((reported == 0).sum() - (1 - p) * n / k) / p
    assert total / count == pytest.approx(0.25, abs=0.005)


def test_row_06_sums_over_a_whole_group_give_every_cluster_the_same_center() -> None:
    rng = np.random.default_rng(6)
    trusted = np.concatenate([rng.normal(0.2, 0.02, 100), rng.normal(0.8, 0.02, 100)])
    nearest = (np.abs(trusted - 0.8) < np.abs(trusted - 0.2)).astype(int)
    as_printed = [trusted.sum() / len(trusted) for _ in range(2)]  # the sum runs over i in T for every k
    repaired = [trusted[nearest == k].mean() for k in range(2)]
    assert as_printed[0] == as_printed[1]
    assert repaired == pytest.approx([0.2, 0.8], abs=0.01)


def test_row_07_a_noisy_count_can_be_zero_or_less() -> None:
    scale = (D + 1) * 10 / EPSILON  # ten rounds
    chance = 0.5 * math.exp(-40 / scale)
    assert chance == pytest.approx(4.4e-5, rel=0.01)
    rng = np.random.default_rng(7)
    observed = int((40 + rng.laplace(0, scale, 4_000_000) <= 0).sum())
    assert stats.binomtest(observed, 4_000_000, chance).pvalue > LEVEL
    assert stats.binomtest(observed, 4_000_000, 0.5 * math.exp(-40 / (0.8 * scale))).pvalue < LEVEL
