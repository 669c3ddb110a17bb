import math

import numpy as np
import pytest
from dp_accounting import gaussian_mechanism as oracle
from dp_accounting.pld import privacy_loss_mechanism as pld
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from hybriddp.errors import ParameterError
from hybriddp.theory import gaussian_delta, gaussian_epsilon, gaussian_sigma

EPSILONS = [1e-3, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
DELTAS = [1e-3, 1e-5, 1e-7, 1e-9, 1e-12]


# Definition


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_sigma_agrees_with_dp_accounting(epsilon: float, delta: float) -> None:
    expected = oracle.get_sigma_gaussian(epsilon, delta, tol=1e-13)
    assert gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=1.0) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.0, 3.0, 10.0, 100.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_agrees_with_dp_accounting(sigma: float, delta: float) -> None:
    expected = oracle.get_epsilon_gaussian(sigma, delta, tol=1e-13)
    assert gaussian_epsilon(delta=delta, sensitivity=1.0, sigma=sigma) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_delta_agrees_with_dp_accounting(sigma: float, epsilon: float) -> None:
    loss = pld.GaussianPrivacyLoss(standard_deviation=sigma)
    assert gaussian_delta(epsilon=epsilon, sensitivity=1.0, sigma=sigma) == pytest.approx(
        loss.get_delta_for_epsilon(epsilon), abs=1e-9
    )


def _exact_delta(epsilon: float, sigma: float) -> mpf:
    with mp.workdps(80):
        e, s = mpf(epsilon), mpf(sigma)
        u, v = e * s - 1 / (2 * s), e * s + 1 / (2 * s)
        return (mp.erfc(u / mp.sqrt(2)) - mp.exp(e) * mp.erfc(v / mp.sqrt(2))) / 2


@given(
    st.one_of(st.sampled_from([0.0, 1e-15, 1e-9, 1e-3, 50.0]), st.floats(1e-12, 60)),
    st.one_of(st.sampled_from([1e-18, 1e-12, 1e-3]), st.floats(1e-15, 0.9)),
)
def test_the_calibrated_noise_is_private_in_eighty_digits(epsilon: float, delta: float) -> None:
    sigma = float(gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=1.0))
    assert delta * (1 - 1e-9) < _exact_delta(epsilon, sigma) <= delta
    enough = float(gaussian_epsilon(delta=delta, sensitivity=1.0, sigma=sigma))
    assert _exact_delta(enough, sigma) <= delta


@given(st.floats(0, 60), st.one_of(st.floats(0.02, 50), st.floats(900, 1100), st.floats(1e3, 1e17)))
def test_delta_agrees_with_eighty_digits(epsilon: float, sigma: float) -> None:
    expected = _exact_delta(epsilon, sigma)
    u = epsilon * sigma - 1 / (2 * sigma)
    # Rounding u costs a relative u² of an ulp in the tail; nothing below the smallest normal number is asked for.
    tolerance = 1e-12 + 1e-13 * abs(u) ** 2
    assert gaussian_delta(epsilon=epsilon, sensitivity=1.0, sigma=sigma) == pytest.approx(
        float(expected), rel=tolerance, abs=1e-300
    )


# Identities


@given(st.floats(1e-3, 50), st.floats(1e-12, 0.5), st.floats(1e-6, 1e6))
def test_the_three_functions_are_inverses(epsilon: float, delta: float, sensitivity: float) -> None:
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    assert gaussian_delta(epsilon=epsilon, sensitivity=sensitivity, sigma=sigma) == pytest.approx(delta, rel=1e-8)
    assert gaussian_epsilon(delta=delta, sensitivity=sensitivity, sigma=sigma) == pytest.approx(epsilon, rel=1e-8)


@given(st.floats(1e-3, 50), st.floats(1e-12, 0.5))
def test_the_inverses_err_on_the_private_side(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=1.0)
    assert gaussian_delta(epsilon=epsilon, sensitivity=1.0, sigma=sigma) <= delta
    enough = gaussian_epsilon(delta=delta, sensitivity=1.0, sigma=sigma)
    assert gaussian_delta(epsilon=enough, sensitivity=1.0, sigma=sigma) <= delta


def test_enough_noise_needs_no_epsilon() -> None:
    assert gaussian_epsilon(delta=0.5, sensitivity=1.0, sigma=10.0) == 0.0


def test_delta_without_epsilon_is_the_total_variation() -> None:
    expected = math.erf(1 / (2 * math.sqrt(2) * 3.0))
    assert gaussian_delta(epsilon=0.0, sensitivity=1.0, sigma=3.0) == pytest.approx(expected, rel=1e-14)
    assert gaussian_sigma(epsilon=0.0, delta=expected, sensitivity=1.0) == pytest.approx(3.0, rel=1e-10)


def test_huge_epsilon_does_not_overflow() -> None:
    assert gaussian_delta(epsilon=1e4, sensitivity=1.0, sigma=1.0) == 0.0
    assert 0 < gaussian_delta(epsilon=1e4, sensitivity=1.0, sigma=0.007) < 1
    assert gaussian_delta(epsilon=1.0, sensitivity=1.0, sigma=1e-3) == 1.0
    assert gaussian_delta(epsilon=1.0, sensitivity=1.0, sigma=1e-320) == 1.0
    assert gaussian_epsilon(delta=1e-5, sensitivity=1.0, sigma=1e-200) == np.inf
    assert 36 < gaussian_sigma(epsilon=1.0, delta=1e-300, sensitivity=1.0) < 38


def test_only_the_ratio_of_sensitivity_and_sigma_matters() -> None:
    a = gaussian_delta(epsilon=1.0, sensitivity=4.0, sigma=12.0)
    assert a == gaussian_delta(epsilon=1.0, sensitivity=1.0, sigma=3.0)


def test_arrays_broadcast_and_agree_with_scalars() -> None:
    epsilon, delta = np.array(EPSILONS)[:, None], np.array(DELTAS)[None, :]
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=2.0)
    assert sigma.shape == (10, 5)
    assert sigma[4, 2] == gaussian_sigma(epsilon=1.0, delta=1e-7, sensitivity=2.0)
    back = gaussian_epsilon(delta=delta, sensitivity=2.0, sigma=sigma)
    assert back == pytest.approx(np.broadcast_to(epsilon, (10, 5)), rel=1e-8)


# Edges


@pytest.mark.parametrize(
    ("function", "good"),
    [
        (gaussian_delta, {"epsilon": 1.0, "sensitivity": 1.0, "sigma": 1.0}),
        (gaussian_epsilon, {"delta": 1e-5, "sensitivity": 1.0, "sigma": 1.0}),
        (gaussian_sigma, {"epsilon": 1.0, "delta": 1e-5, "sensitivity": 1.0}),
    ],
)
@pytest.mark.parametrize("bad", ["x", None, float("nan"), float("inf"), -1.0, True])
def test_bad_parameters_are_named(function, good, bad) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    for name in good:
        with pytest.raises(ParameterError, match=f"^{name} must be"):
            function(**{**good, name: bad})
    names = list(good)
    with pytest.raises(ParameterError, match="shapes broadcast"):
        function(**{**good, names[0]: [0.1, 0.2], names[1]: [0.1, 0.2, 0.3]})


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_delta_lies_strictly_between_zero_and_one(delta: float) -> None:
    with pytest.raises(ParameterError, match="delta must be"):
        gaussian_sigma(epsilon=1.0, delta=delta, sensitivity=1.0)
