"""Against the definition in bins, with dense indicators."""

import numpy as np
import pytest

from hybriddp.channels import MaskedResponse
from hybriddp.distribution.least_squares import (
    ALPHA,
    MaskedEvidence,
    of_known_covariance,
    prior,
    solve,
    to_walsh,
    walsh,
)

MASSES = np.random.default_rng(1).dirichlet(np.full(256, 0.3)) * 0.98 + 0.02 / 256


def test_walsh_functions_are_orthonormal_and_the_first_is_constant() -> None:
    assert np.allclose(walsh() @ walsh(), np.eye(256), atol=1e-14)
    assert np.array_equal(walsh(), walsh().T)
    assert np.allclose(walsh()[0], 1 / 16)


@pytest.mark.repeated
@pytest.mark.parametrize("label_bits", [1, 2, 3, 8])
def test_the_information_of_reports_is_that_of_the_indicators_of_their_labels(label_bits: int) -> None:
    channel = MaskedResponse(epsilon=1, label_bits=label_bits)
    counts = np.random.default_rng(2).integers(0, 9, (channel.n_patterns, channel.n_labels))
    a, b = channel.response.miss_probability, channel.response.gap
    matrix, side = np.zeros((256, 256)), np.zeros(256)
    numbers = np.arange(256, dtype=np.uint8)
    for k in range(channel.n_patterns):
        labels = channel.labels(numbers, np.full(256, k))
        for code in range(channel.n_labels):
            indicator = (labels == code).astype(float)
            chance = a + b * indicator @ MASSES
            matrix += b**2 * counts[k].sum() / chance * np.outer(indicator, indicator)
            side += b * (counts[k, code] - a * counts[k].sum()) / chance * indicator
    found = MaskedEvidence(counts, channel).information(MASSES)
    assert np.allclose(to_walsh(found.matrix), matrix, rtol=1e-9, atol=1e-8)
    assert np.allclose(walsh() @ found.side, side, rtol=1e-9, atol=1e-8)
    assert MaskedEvidence(counts, channel).count == counts.sum()


def test_expected_counts_give_the_masses_back() -> None:
    channel = MaskedResponse(epsilon=1)
    numbers = np.arange(256, dtype=np.uint8)
    table = np.array(
        [np.bincount(channel.labels(numbers, np.full(256, k)), MASSES, 4) for k in range(channel.n_patterns)]
    )
    a, b = channel.response.miss_probability, channel.response.gap
    counts = 1e9 * (a + b * table)
    found = solve(prior().plus(MaskedEvidence(counts, channel).information(MASSES)))
    assert found.values.sum() == pytest.approx(1)
    assert np.abs(found.values - MASSES).max() < 1e-6


def test_the_solution_is_the_minimum_and_its_covariance_the_inverse_on_sum_zero() -> None:
    rng = np.random.default_rng(3)
    root = rng.normal(size=(300, 256))
    covariance = np.linalg.inv(root.T @ root / 300 + np.eye(256))
    centering = np.eye(256) - 1 / 256
    covariance = centering @ covariance @ centering
    found = solve(of_known_covariance(MASSES, covariance))
    assert np.allclose(found.values, MASSES, atol=1e-10)
    assert np.allclose(found.covariance, covariance, atol=1e-10)


def test_two_estimates_of_equal_weight_are_averaged() -> None:
    one, other = MASSES, MASSES[::-1]
    covariance = np.diag(MASSES) - np.outer(MASSES, MASSES)
    both = solve(of_known_covariance(one, covariance).plus(of_known_covariance(other, covariance)))
    assert np.allclose(both.values, (one + other) / 2, atol=1e-9)
    assert np.allclose(both.covariance, covariance / 2, atol=1e-12)


def test_the_prior_is_a_twentieth_of_a_user_who_is_everywhere() -> None:
    assert ALPHA == 0.05
    assert np.allclose(to_walsh(prior().matrix), 12.8 * np.eye(256))
    assert np.allclose(walsh() @ prior().side, 0.05)
    assert np.allclose(solve(prior()).values, 1 / 256)
