"""Rows 8 to 15, 22, 23 and 25 of docs/errata.md: each shows the print and the corrected statement at odds."""

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.theory import (
    Setting,
    laplace_critical_trusted_fraction,
    laplace_privacy_weight_wins_below,
    trusted_only_wins_between,
)
from tests.errata.settings import homogeneous, laplace_setting

RNG_SIZE = 20_000


def _random(seed: int) -> tuple[dict[str, FloatArray], Setting]:
    rng = np.random.default_rng(seed)
    fields = {
        "n_users": np.exp(rng.uniform(np.log(10), np.log(1e6), RNG_SIZE)),
        "trusted_fraction": rng.uniform(0.001, 0.999, RNG_SIZE),
        "trusted_variance": rng.uniform(0, 1, RNG_SIZE),
        "local_variance": rng.uniform(0, 1, RNG_SIZE),
        "trusted_noise": np.exp(rng.uniform(np.log(1e-8), 0, RNG_SIZE)),
        "local_noise": np.exp(rng.uniform(np.log(1e-4), np.log(1e2), RNG_SIZE)),
        "trusted_mean": np.exp(rng.uniform(np.log(1e-6), 0, RNG_SIZE)),
    }
    return fields, Setting(**fields)


def test_row_08_the_critical_number_of_users_has_two_wrong_signs() -> None:
    f, setting = _random(8)
    c, v_t, v_l, s_l = f["trusted_fraction"], f["trusted_variance"], f["local_variance"], f["local_noise"]
    below = c * (((1 - c) * f["trusted_mean"]) ** 2 + f["trusted_noise"])
    printed = (c * s_l + (1 - c) * ((1 - c) * v_t - c * v_l)) / below
    corrected = (c * s_l - (1 - c) * ((1 - c) * v_t + c * v_l)) / below
    wins = setting.error_trusted_only() <= setting.error_full_local()
    assert np.array_equal(f["n_users"] <= corrected, wins)
    assert ((f["n_users"] <= printed) != wins).sum() > 50


def test_row_09_with_different_means_trusted_only_wins_in_an_interval_of_users() -> None:
    wins = trusted_only_wins_between(
        trusted_fraction=0.05, trusted_variance=1 / 12, local_variance=1 / 12, local_noise=2.0, mean_gap=0.005
    )
    n = np.array([wins.lower * 0.99, wins.lower * 1.01, wins.upper * 0.99, wins.upper * 1.01])
    setting = Setting(
        n_users=n,
        trusted_fraction=0.05,
        trusted_variance=1 / 12,
        local_variance=1 / 12,
        trusted_noise=2.0 / (0.05 * n) ** 2,
        local_noise=2.0,
        trusted_mean=0.005,
    )
    leads = setting.error_trusted_only() < setting.error_full_local()
    assert leads.tolist() == [False, True, True, False]


def test_row_10_the_other_single_model_is_full_local_not_local_only() -> None:
    _, setting = _random(10)
    best = np.minimum(setting.error_trusted_only(), setting.error_full_local())
    printed = np.where(
        setting.error_trusted_only() <= setting.error_full_local(),
        setting.error_trusted_only(),
        setting.error_local_only(),
    )
    assert np.all(printed >= best * (1 - 1e-12))
    assert np.mean(printed > best * 1.01) > 0.1
    assert np.allclose(setting.gain_over_best(best), 1.0, rtol=1e-12)


def test_row_11_the_printed_gamma_is_the_error_so_the_gain_divides_by_it() -> None:
    n, c, v, s_t, s_l = 5000.0, 0.03, 0.08, 1e-3, 3.0
    setting = homogeneous(n, c, v, s_t, s_l)
    gamma = ((1 - c) * v * s_l + c * n * (c * v + s_l) * s_t) / (n * (v + c * s_l) + (1 - c) * c * n**2 * s_t)
    assert gamma == pytest.approx(float(setting.error_known_variance()), rel=1e-12)
    # The factor of the theorem on PWH, in contrast, is one over the error.
    above = c * n * (s_l + (1 - c) * n * s_t) ** 2
    below = (
        (1 - c) * c * n**2 * s_t**2 * (c * v + s_l) + c * n * s_l * s_t * (2 * (c - 1) * v + s_l) + (1 - c) * v * s_l**2
    )
    assert below / above == pytest.approx(float(setting.error_hybrid(setting.weight_privacy())), rel=1e-12)


def test_row_12_the_printed_mixture_variance_is_a_second_moment() -> None:
    rng = np.random.default_rng(12)
    c, m_t, m_l, sd = 0.3, 0.9, 0.4, 0.1
    who = rng.random(2_000_000) < c
    x = np.where(who, m_t, m_l) + sd * rng.standard_normal(len(who))
    setting = Setting(
        n_users=10,
        trusted_fraction=c,
        trusted_variance=sd**2,
        local_variance=sd**2,
        trusted_noise=0,
        local_noise=0,
        trusted_mean=m_t,
        local_mean=m_l,
    )
    assert setting.mixture_variance() == pytest.approx(x.var(), rel=0.005)
    printed = c * (sd**2 + m_t**2) + (1 - c) * (sd**2 + m_l**2)
    assert printed == pytest.approx((x**2).mean(), rel=0.005)
    assert setting.mixture_variance() == pytest.approx(printed - float(setting.mixture_mean()) ** 2)


def test_row_13_the_printed_region_of_the_privacy_weight_is_that_of_the_naive_weight() -> None:
    rng = np.random.default_rng(13)
    c = rng.uniform(0.001, 0.999, RNG_SIZE)
    n = np.exp(rng.uniform(np.log(2), np.log(1e5), RNG_SIZE)) / c  # more than one trusting user
    epsilon = np.exp(rng.uniform(np.log(0.01), np.log(20), RNG_SIZE))
    variance = rng.uniform(0.001, 0.25, RNG_SIZE)
    setting = laplace_setting(n, c, epsilon, variance)
    y = epsilon**2 * variance
    with np.errstate(divide="ignore"):
        printed = (y >= 2) | (c <= y / 2) | (n < 2 * (1 + c) / (c * (2 * c - y)))
    privacy_gain = setting.gain_over_best(setting.error_hybrid(setting.weight_privacy()))
    naive_gain = setting.gain_over_best(setting.error_hybrid(setting.weight_naive()))
    limit = laplace_privacy_weight_wins_below(trusted_fraction=c, width=1.0, epsilon=epsilon, variance=variance)
    away = (np.abs(privacy_gain - 1) > 1e-9) & (np.abs(naive_gain - 1) > 1e-9)
    assert np.array_equal((privacy_gain > 1)[away], (n < limit)[away])
    assert np.array_equal((naive_gain > 1)[away], printed[away])
    assert ((privacy_gain > 1) != printed)[away].mean() > 0.5
    example = laplace_setting(1e4, 0.1, 2.857, 0.25)
    assert example.gain_over_best(example.error_hybrid(example.weight_privacy())) == pytest.approx(0.111, abs=1e-3)


def test_row_14_the_privacy_weight_can_lose_to_both() -> None:
    setting = homogeneous(100, 0.9, 1.0, 1e-6, 1e-6)
    assert setting.gain_over_worst(setting.error_hybrid(setting.weight_privacy())) == pytest.approx(0.0153, abs=5e-5)
    f, general = _random(14)
    alike = Setting(**{**f, "local_variance": f["trusted_variance"], "trusted_mean": 0.0})
    covered = (2 * f["trusted_fraction"] - 1) * f["n_users"] * f["trusted_noise"] <= 2 * f["local_noise"]
    r = alike.gain_over_worst(alike.error_hybrid(alike.weight_privacy()))
    assert np.all(r[covered] > 1)
    assert general.shape == (RNG_SIZE,)
    assert np.any(r[~covered] < 1)


def test_row_15_the_known_variance_weight_wins_if_and_only_if() -> None:
    f, setting = _random(15)
    wins = f["trusted_fraction"] * f["n_users"] * f["trusted_noise"] < f["local_noise"]
    assert np.array_equal(setting.known_variance_beats_both(), wins)
    assert np.all(setting.gain_over_best(setting.error_known_variance())[~wins] <= 1 + 1e-12)
    alone = laplace_setting(1000, 0.001, 1.0, 0.1)  # one trusting user
    assert alone.gain_over_best(alone.error_known_variance()) == pytest.approx(1.0, rel=1e-12)
    pair = laplace_setting(1000, 0.002, 1.0, 0.1)
    assert pair.gain_over_best(pair.error_known_variance()) > 1.0


def test_row_22_homogeneous_expressions_do_not_hold_in_general() -> None:
    setting = Setting(
        n_users=1000,
        trusted_fraction=0.1,
        trusted_variance=0.05,
        local_variance=0.2,
        trusted_noise=1e-4,
        local_noise=2.0,
        trusted_mean=0.1,
    )
    printed = 0.9 / (0.1 * 1000) * 0.05 + 1e-4  # the homogeneous error of trusted-only
    assert setting.error_trusted_only() > 10 * printed


def test_row_23_full_local_noise_follows_each_groups_range() -> None:
    rng = np.random.default_rng(23)
    n_trusted, n_local, m_trusted, m_local = 20, 30, 3.0, 1.0
    noise = rng.laplace(0, m_trusted, (200_000, n_trusted)).sum(axis=1) + rng.laplace(
        0, m_local, (200_000, n_local)
    ).sum(axis=1)
    n = n_trusted + n_local
    mixed = (n_trusted / n * 2 * m_trusted**2 + n_local / n * 2 * m_local**2) / n
    assert (noise / n).var() == pytest.approx(mixed, rel=0.02)
    one_width = laplace_setting(n, n_trusted / n, 1.0, 0.0, width=max(m_trusted, m_local)).error_full_local()
    assert one_width == pytest.approx(2 * m_trusted**2 / n)
    assert one_width > mixed
    critical = laplace_critical_trusted_fraction(width=3.0, epsilon=1.0, variance=0.1)
    assert critical < laplace_critical_trusted_fraction(width=1.0, epsilon=1.0, variance=0.1)


def test_row_25_the_trusted_noise_enters_with_the_squared_weight() -> None:
    quiet, loud = (homogeneous(100, 0.2, 0.1, s, 1.0) for s in (0.0, 1.0))
    assert float(loud.error_hybrid(0.3) - quiet.error_hybrid(0.3)) == pytest.approx(0.3**2)
