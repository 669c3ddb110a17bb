import math

import numpy as np
import pytest

from hybriddp.errors import ParameterError
from hybriddp.theory import gaussian_delta, gaussian_noise, laplace_noise

GOOD = {"n_users": 1000, "trusted_fraction": 0.1, "width": 3.0, "epsilon": 0.5}


# Definition


def test_laplace_noise_makes_the_privacy_loss_epsilon() -> None:
    noise = laplace_noise(**GOOD)
    # A Laplace variable of variance v has scale sqrt(v/2); the loss of a shift by the sensitivity is shift / scale.
    assert (3.0 / 100) / math.sqrt(noise.trusted / 2) == pytest.approx(0.5, rel=1e-14)
    assert 3.0 / math.sqrt(noise.local / 2) == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 1.0, 10.0, 50.0])
def test_analytic_gaussian_noise_spends_delta_and_no_more(epsilon: float) -> None:
    noise = gaussian_noise(**{**GOOD, "epsilon": epsilon}, delta=1e-7)
    for sensitivity, variance in ((3.0 / 100, noise.trusted), (3.0, noise.local)):
        spent = gaussian_delta(epsilon=epsilon, sensitivity=sensitivity, sigma=np.sqrt(variance))
        assert spent == pytest.approx(1e-7, rel=1e-6)


def test_classic_gaussian_noise_is_the_textbook_formula() -> None:
    noise = gaussian_noise(**GOOD, delta=1e-5, calibration="classic")
    assert math.sqrt(noise.local) == pytest.approx(3.0 * math.sqrt(2 * math.log(1.25 / 1e-5)) / 0.5, rel=1e-14)
    assert noise.local > gaussian_noise(**GOOD, delta=1e-5).local


# Identities


def test_the_curator_adds_one_local_users_noise_to_the_total() -> None:
    for noise in (laplace_noise(**GOOD), gaussian_noise(**GOOD, delta=1e-7)):
        assert noise.trusted * 100**2 == pytest.approx(noise.local, rel=1e-14)


def test_noise_broadcasts() -> None:
    noise = laplace_noise(**{**GOOD, "epsilon": [[0.1], [1.0]], "trusted_fraction": [0.1, 0.2, 0.3]})
    assert noise.trusted.shape == (2, 3)
    assert noise.local.shape == (2, 1)


# Edges


@pytest.mark.parametrize("epsilon", [1.0, 2.0, [0.5, 1.5]])
def test_classic_refuses_what_its_theorem_does_not_cover(epsilon: float) -> None:
    with pytest.raises(ParameterError, match='epsilon must be below 1 .*Use calibration="analytic"'):
        gaussian_noise(**{**GOOD, "epsilon": epsilon}, delta=1e-5, calibration="classic")


def test_classic_unchecked_does_as_it_is_told() -> None:
    noise = gaussian_noise(**{**GOOD, "epsilon": 2.0}, delta=1e-5, calibration="classic-unchecked")
    assert noise.local == pytest.approx((3.0 / 2.0) ** 2 * 2 * math.log(1.25 / 1e-5))


def test_an_unknown_calibration_is_refused() -> None:
    with pytest.raises(ParameterError, match="calibration must be one of 'analytic', 'classic', 'classic-unchecked'"):
        gaussian_noise(**GOOD, delta=1e-5, calibration="optimal")


@pytest.mark.parametrize("name", list(GOOD))
@pytest.mark.parametrize("bad", ["x", None, float("nan"), float("inf"), -1.0, 0.0])
def test_bad_parameters_are_named(name: str, bad: object) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        laplace_noise(**{**GOOD, name: bad})
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        gaussian_noise(**{**GOOD, name: bad}, delta=1e-5)


@pytest.mark.parametrize("delta", [0.0, 1.0, float("nan"), "small"])
def test_bad_delta_is_named(delta: float) -> None:
    with pytest.raises(ParameterError, match="^delta must be"):
        gaussian_noise(**GOOD, delta=delta)
