"""Frequencies on a grid without most of their noise."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.density import at_most_all, denoised, haar_shrunk, threshold

SHAPES = [(2,), (7,), (2, 2), (5, 8), (16, 16), (3, 4, 6)]


@pytest.mark.parametrize("shape", SHAPES)
def test_without_noise_nothing_is_removed(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).standard_normal(shape)
    np.testing.assert_allclose(haar_shrunk(values, 0.0), values, atol=1e-12)


def test_shrinkage_is_the_average_over_all_placements_of_the_blocks() -> None:
    """By definition, for two neighbors: each pair of a value and the one before or after it is kept or averaged."""
    values, sd = np.array([1.0, 0.9, 0.0, 0.0]), 0.25
    found = haar_shrunk(values, sd)
    padded = np.concatenate([np.zeros(4), values, np.zeros(4)])

    def placed(x: FloatArray, shift: int, scale: int) -> FloatArray:
        """Blocks of two halves from one placement on: half differences above the threshold are kept."""
        if scale == 2:
            return x
        level = {0: max(0.9 * np.sqrt(2 * np.log(4)), 2.25), 1: max(0.9 * np.sqrt(2 * np.log(2)), 2.25)}[scale]
        x, width = np.roll(x, -shift), 1 << scale
        blocks = x.reshape(-1, 2, width)
        rough, detail = blocks.mean(axis=(1, 2)), (blocks[:, 0].mean(axis=1) - blocks[:, 1].mean(axis=1)) / 2
        detail = np.where(np.abs(detail) > level * sd / 2 ** ((scale + 1) / 2), detail, 0.0)
        inner = blocks - blocks.mean(axis=2, keepdims=True)
        rebuilt = np.stack([rough + detail, rough - detail], axis=1)[:, :, None] + inner
        return np.asarray(np.roll(rebuilt.ravel(), shift))

    # Coarse blocks of two pairs first see the values, then pairs: details of both scales are independent of each other.
    every = []
    for shift in product(range(4)):
        coarse = padded
        for scale in (1, 0):
            coarse = placed(coarse, shift[0] % (2 << scale), scale)
        every.append(coarse)
    np.testing.assert_allclose(found, np.mean(every, axis=0)[4:8], atol=1e-12)


@pytest.mark.parametrize("shape", [(64,), (20, 20), (9, 9, 9)])
def test_of_noise_alone_little_is_left(shape: tuple[int, ...]) -> None:
    noise = np.random.default_rng(1).standard_normal(shape)
    assert np.mean(haar_shrunk(noise, 1.0) ** 2) < 0.15


def test_a_cluster_that_stands_out_at_no_vertex_keeps_most_of_its_mass() -> None:
    """A tenth of all users on 100 of 400 vertices, each with as much noise; a threshold would keep none."""
    rng = np.random.default_rng(2)
    truth = np.zeros((20, 20))
    truth[2, 3], truth[10:, 10:] = 0.9, 0.001
    noisy = truth + 0.001 * rng.standard_normal(truth.shape)
    assert (noisy[10:, 10:] < 0.001 * np.sqrt(2 * np.log(400)) + 0.001).all()
    found = denoised(noisy.ravel(), (20, 20), 0.001).reshape(20, 20)
    assert 0.05 < found[10:, 10:].sum() < 0.12
    assert found[2, 3] == pytest.approx(0.9, abs=0.01)
    assert found[:10, 10:].sum() + found[10:, :10].sum() < 0.03


@pytest.mark.parametrize("total", [0.5, 1.0, 3.0])
def test_the_nearest_values_that_are_frequencies(total: float) -> None:
    """As a general solver finds them."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal(6)
    values *= total / np.maximum(values, 0).sum()
    solved = minimize(
        lambda x: np.sum((x - values) ** 2),
        np.full(6, 1 / 6),
        bounds=[(0, None)] * 6,
        constraints={"type": "ineq", "fun": lambda x: 1 - x.sum()},
        tol=1e-12,
    )
    np.testing.assert_allclose(at_most_all(values), solved.x, atol=1e-5)


def test_nobody_is_nobody() -> None:
    np.testing.assert_array_equal(denoised(np.zeros(12), (3, 4), 1.0), np.zeros(12))
    np.testing.assert_array_equal(at_most_all(np.full(3, -1.0)), np.zeros(3))


def test_the_threshold_falls_where_many_coefficients_stand_out() -> None:
    """By definition: noise alone would make at most a tenth of those that pass, two-sided [BH95]."""
    rng = np.random.default_rng(3)
    sizes = np.abs(np.concatenate([rng.standard_normal(1000), rng.normal(4, 1, 200)]))
    found = threshold(sizes, 3.6, 10)
    tail = 2 * norm.sf(found)
    assert 2.25 < found < 3.6
    assert tail * len(sizes) <= 0.1 * np.count_nonzero(sizes > found) * (1 + 1e-9)
    lower = np.sort(sizes[(sizes > 2.25) & (sizes < found)])
    assert all(2 * norm.sf(one) * len(sizes) > 0.1 * np.count_nonzero(sizes >= one) for one in lower)


def test_the_threshold_is_the_largest_allowed_where_nothing_stands_out() -> None:
    noise = np.abs(np.random.default_rng(4).standard_normal(300))
    assert threshold(noise, 3.0, 1) == pytest.approx(3.0)
    assert threshold(np.zeros(5), 3.0, 1) == pytest.approx(3.0)
    assert threshold(np.full(50, 9.0), 3.0, 1) == pytest.approx(3.0)


def test_the_threshold_does_not_fall_for_few_coefficients() -> None:
    sizes = np.concatenate([np.full(9, 2.9), np.full(11, 0.5)])
    assert threshold(sizes, 3.0, 9) == pytest.approx(2.9)
    assert threshold(sizes, 3.0, 10) == pytest.approx(3.0)
