import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

from hybriddp.distribution import DistributionStudy, TrustedSummary
from hybriddp.distribution.release import (
    N_COARSE,
    SENSITIVITY,
    PrivateHistogram,
    noise_shape,
    tree,
)
from hybriddp.errors import BudgetError
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.release import release as door
from hybriddp.release.mechanisms import laplace_variance
from hybriddp.release.release import release
from tests.levels import z_limit

ONE = Privacy(epsilon=1)
STUDY = DistributionStudy("d", bounds=(0, 1), epsilon=1)
FOUR = TrustedSummary(STUDY.digest, 1024, (4,) * 256)


def _counts(bins: tuple[int, ...]) -> np.ndarray:
    return np.bincount(bins, minlength=256).astype(np.int64)


def test_replacing_one_user_changes_the_vector_by_four_at_most() -> None:
    """All neighbors: a user in any bin who moves to any other, beside one who stays."""
    distances = {
        int(np.abs(tree(_counts((9, one))) - tree(_counts((9, other)))).sum())
        for one, other in combinations_with_replacement(range(256), 2)
    }
    assert distances == {0, 2, 4}  # nowhere, within a coarse bin, to another one
    assert max(distances) == SENSITIVITY


def test_the_vector_is_sixteen_sums_and_the_counts() -> None:
    counts = np.arange(256)
    found = tree(counts)
    assert found.shape == (272,)
    assert found[:N_COARSE].tolist() == [int(counts[16 * i : 16 * i + 16].sum()) for i in range(16)]
    assert np.array_equal(found[N_COARSE:], counts)


def test_the_noise_is_that_of_four_over_epsilon() -> None:
    study = DistributionStudy("d", bounds=(0, 1), epsilon=2)
    statistic = study.statistic(TrustedSummary(study.digest, 2560, (10,) * 256))
    assert statistic.sensitivity == 4
    assert np.array_equal(statistic.values, tree(np.full(256, 10)))
    released = PrivateHistogram.of(release(statistic, study.cost))
    assert released.variance == pytest.approx(laplace_variance(2.0))
    assert (released.count, released.counted, released.seeded) == (2560, False, False)


def test_the_influence_of_noise_is_that_of_one_more_in_a_count() -> None:
    def fractions(values: np.ndarray) -> np.ndarray:
        return PrivateHistogram(50, values, 3.0, counted=False, seeded=True).fractions

    values, one = tree(_counts((3, 3, 200))), np.eye(272, dtype=np.int64)
    influence = PrivateHistogram(50, values, 3.0, counted=False, seeded=True).noise_influence
    assert influence.shape == (256, 272)
    for i in (0, 7, 15, 16, 100, 271):
        assert np.allclose(influence[:, i], fractions(values + one[i]) - fractions(values), atol=1e-15)
    noise = PrivateHistogram(50, values, 3.0, counted=False, seeded=True).noise_covariance
    assert np.allclose(3.0 * influence @ influence.T, noise, atol=1e-15)


@pytest.mark.parametrize("scale", [0.4, 2.0, 30.0])
def test_the_fourth_cumulant_is_that_of_discrete_laplace_noise(scale: float) -> None:
    k = np.arange(-60 * math.ceil(scale), 60 * math.ceil(scale) + 1)
    law = np.exp(-np.abs(k) / scale)
    law /= law.sum()
    variance = laplace_variance(scale)
    assert law @ k**2 == pytest.approx(variance)
    released = PrivateHistogram(50, tree(_counts((3,))), variance, counted=False, seeded=True)
    assert released.fourth_cumulant == pytest.approx(float(law @ k.astype(float) ** 4) - 3 * variance**2)


def test_the_shape_is_the_inverse_of_the_information_on_sum_zero() -> None:
    kernel = np.vstack([np.kron(np.eye(16), np.ones(16)), np.eye(256)])
    shape = noise_shape()
    assert np.abs(shape.sum(axis=0)).max() < 1e-12
    centering = np.eye(256) - 1 / 256
    assert np.allclose(shape @ (kernel.T @ kernel) @ centering, centering, atol=1e-12)


def test_without_noise_the_fractions_are_the_counts() -> None:
    counts = np.random.default_rng(0).multinomial(5000, np.full(256, 1 / 256))
    exact = PrivateHistogram(5000, tree(counts), 1.0, counted=False, seeded=True)
    assert np.allclose(exact.fractions, counts / 5000, atol=1e-14)


@pytest.mark.statistical
@pytest.mark.representative
def test_the_covariance_is_that_of_the_noise() -> None:
    """Variances of 60 cumulated fractions over 4,000 releases; a scale that is 20 % off is rejected."""
    counts = np.full(256, 4)
    draws = np.random.default_rng(3)
    cdfs = []
    for _ in range(4000):
        released = PrivateHistogram.of(release(STUDY.statistic(FOUR), STUDY.cost, random_state=draws))
        cdfs.append(np.cumsum(released.fractions)[3:243:4])
    squares = (np.array(cdfs) - np.cumsum(counts)[3:243:4] / 1024) ** 2
    expected = np.diag(np.cumsum(np.cumsum(released.noise_covariance, 0), 1))[3:243:4]

    def largest_z(variance: np.ndarray) -> float:
        ratio = squares / variance
        return float(np.abs((ratio.mean(axis=0) - 1) / (ratio.std(axis=0) / 4000**0.5)).max())

    assert largest_z(expected) < z_limit(60)
    assert largest_z(expected * 0.64) > z_limit(60)
    assert 12.5 < np.sqrt(expected.mean()) * 1024 < 13.3  # a cumulated count


def test_it_is_paid_for_before_the_noise_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(ONE)

    def broken(*_: object, **__: object) -> None:
        assert ledger.spent("trusted").epsilon == 1
        raise RuntimeError

    monkeypatch.setattr(door, "_add_noise", broken)
    with pytest.raises(RuntimeError):
        release(STUDY.statistic(FOUR), STUDY.part("country", "DE").cost, ledger=ledger)
    (event,) = ledger.events
    assert (event.what, event.study) == ("histogram of the trusted group", STUDY.digest)
    assert str(event.part) == "country = DE"
    with pytest.raises(BudgetError):
        release(STUDY.statistic(FOUR), STUDY.cost, ledger=ledger)
