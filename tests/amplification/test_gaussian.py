import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.amplification import gaussian
from hybriddp.errors import ParameterError
from hybriddp.theory import UC_SALARIES as PAY
from hybriddp.theory import Setting, gaussian_noise
from tests.levels import z_limit


def _pay(c: float, collusion: float = 0.0) -> dict[str, float]:
    """The paper's example: UC salaries, (1, 1e-7), classic calibration, known variance."""
    known = {"n_users": PAY.n_users, "trusted_fraction": c, "width": PAY.width}
    noise = gaussian_noise(**known, epsilon=1.0, delta=1e-7, calibration="classic-unchecked")
    setting = Setting(
        n_users=PAY.n_users,
        trusted_fraction=c,
        trusted_variance=PAY.variance,
        local_variance=PAY.variance,
        trusted_noise=noise.trusted,
        local_noise=noise.local,
    )
    return {
        **known,
        "weight": float(setting.weight_known_variance()),
        "trusted_noise": float(noise.trusted),
        "local_noise": float(noise.local),
        "honest_local": (1 - collusion) * (1 - c) * PAY.n_users,
        "delta": 1e-7,
    }


# Definition


@pytest.mark.parametrize(
    ("c", "collusion", "trusted", "local"),
    [
        (0.001, 0.0, 0.34541683, 9.494e-4),
        (0.001, 0.5, 0.4523, 1.254e-3),
        (0.001, 0.9, 0.6764, 1.895e-3),
        (0.005, 0.0, 0.7456, 3.665e-4),
        (0.01, 0.0, 0.7906, 1.841e-4),
        (0.1, 0.0, 0.8079, 1.863e-5),
    ],
)
def test_the_numbers_of_the_salaries(c: float, collusion: float, trusted: float, local: float) -> None:
    found = gaussian.exact(**_pay(c, collusion))
    assert float(found.trusted.epsilon) == pytest.approx(trusted, rel=2e-8 if trusted == 0.34541683 else 2e-4)
    assert float(found.local.epsilon) == pytest.approx(local, rel=3e-4)
    assert float(found.everyone.epsilon) == float(found.trusted.epsilon)


@pytest.mark.parametrize(
    ("c", "collusion", "trusted", "local"),
    [
        (0.001, 0.0, 0.4478, 1.780e-3),
        (0.001, 0.5, 0.5780, 2.298e-3),
        (0.001, 0.9, 0.8455, 3.361e-3),
        (0.005, 0.0, 0.9269, 7.486e-4),
        (0.01, 0.0, 0.9795, 4.032e-4),
        (0.1, 0.0, 0.9997, 5.530e-5),
    ],
)
def test_the_classic_numbers_of_the_salaries(c: float, collusion: float, trusted: float, local: float) -> None:
    found = gaussian.classic(**_pay(c, collusion))
    assert float(found.trusted.epsilon) == pytest.approx(trusted, rel=2e-4)
    assert float(found.local.epsilon) == pytest.approx(local, rel=3e-4)


@pytest.mark.slow
@pytest.mark.parametrize("c", [0.001, 0.01])
def test_it_agrees_with_dp_accounting(c: float) -> None:
    setting = _pay(c)
    delta = setting.pop("delta")
    moved = gaussian.shifts(**setting)
    found = gaussian.exact(**setting, delta=delta)
    for shift, group in ((moved.trusted, found.trusted), (moved.local, found.local)):
        ratio = float(moved.sigma / shift)
        loss = pld.from_gaussian_mechanism(ratio, value_discretization_interval=1e-4 / max(ratio, 1))
        assert float(group.epsilon) == pytest.approx(loss.get_epsilon_for_delta(delta), rel=2e-3)


@pytest.mark.statistical
@pytest.mark.representative
def test_a_distinguisher_beats_the_printed_theorem_and_never_ours() -> None:
    """Against a trusted user: with the noise of the estimate itself, a threshold on the published value.

    The printed ε′ (the smaller sensitivity for everybody) claims P[A] ≤ e^ε′ P[B] + δ. It must fail, and ours must not,
    by `z_limit` standard errors for all 14 comparisons together.
    """
    setting = _pay(0.001)
    delta = setting["delta"]
    printed = float(gaussian.classic(**setting).local.epsilon)  # w > c, so the print takes the local sensitivity
    ours = float(gaussian.exact(**setting).trusted.epsilon)
    moved = gaussian.shifts(**{k: v for k, v in setting.items() if k != "delta"})
    rng, n = np.random.default_rng(1), 1_000_000
    noise = rng.normal(0.0, float(moved.sigma), n)
    for threshold in np.linspace(-2, 4, 13) * float(moved.sigma):
        high = np.mean(noise + float(moved.trusted) > threshold)
        low = np.mean(noise > threshold)
        error = z_limit(14) * np.sqrt((high + np.exp(2 * ours) * low + 1 / n) / n)
        assert high - np.exp(ours) * low - delta < error  # ours stands at every threshold
    threshold = float(moved.trusted) / 2
    high, low = np.mean(noise + float(moved.trusted) > threshold), np.mean(noise > threshold)
    assert high - np.exp(printed) * low - delta > z_limit(14) * np.sqrt(2 / n)  # the print does not


# Identities


@pytest.mark.slow
@given(
    c=st.floats(0.001, 0.5),
    w=st.floats(0.01, 0.99),
    collusion=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    noises=st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)),
)
def test_more_collusion_never_helps(
    c: float, w: float, collusion: tuple[float, float], noises: tuple[float, float]
) -> None:
    few, many = sorted(collusion)
    known = {"n_users": 10_000, "trusted_fraction": c, "weight": w, "width": 1.0, "delta": 1e-6}
    noise = {"trusted_noise": noises[0] / (c * 10_000) ** 2, "local_noise": noises[1]}
    locals_ = (1 - c) * 10_000
    first = gaussian.exact(**known, **noise, honest_local=(1 - few) * locals_)
    second = gaussian.exact(**known, **noise, honest_local=(1 - many) * locals_)
    for group in ("trusted", "local", "everyone"):
        assert getattr(second, group).epsilon >= getattr(first, group).epsilon * (1 - 1e-9)
    everyone = first.everyone.epsilon
    assert everyone == max(first.trusted.epsilon, first.local.epsilon)


def test_arrays_broadcast_and_a_heat_map_is_one_call() -> None:
    c = np.geomspace(0.001, 0.1, 50)[:, None]
    f = np.linspace(0, 0.9, 40)[None, :]
    found = gaussian.exact(
        n_users=1e5, trusted_fraction=c, weight=0.5, width=1.0, trusted_noise=1e-4, local_noise=20.0,
        honest_local=(1 - f) * (1 - c) * 1e5, delta=1e-7,
    )  # fmt: skip
    assert found.trusted.epsilon.shape == (50, 40)
    assert np.all(np.diff(found.trusted.epsilon, axis=1) >= 0)


def test_limits() -> None:
    known = {"n_users": 1000, "trusted_fraction": 0.1, "width": 1.0, "trusted_noise": 0.01, "local_noise": 2.0}
    alone = gaussian.exact(**known, weight=1.0, honest_local=900, delta=1e-6)
    assert alone.local.epsilon == 0.0
    nobody = gaussian.exact(**known, weight=0.0, honest_local=0, delta=1e-6)
    assert nobody.trusted.epsilon == 0.0
    assert nobody.local.epsilon == np.inf


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("n_users", {"n_users": 1}),
        ("trusted_fraction", {"trusted_fraction": 0}),
        ("weight", {"weight": 1.5}),
        ("width", {"width": 0}),
        ("trusted_noise", {"trusted_noise": -1}),
        ("local_noise", {"local_noise": -1}),
        ("honest_local", {"honest_local": 901}),
        ("delta", {"delta": 0}),
    ],
)
def test_bad_parameters_are_named(name: str, change: dict[str, float]) -> None:
    good = {
        "n_users": 1000, "trusted_fraction": 0.1, "weight": 0.5, "width": 1.0, "trusted_noise": 0.01,
        "local_noise": 2.0, "honest_local": 900, "delta": 1e-6,
    }  # fmt: skip
    with pytest.raises(ParameterError) as caught:
        gaussian.exact(**{**good, **change})
    assert caught.value.name == name
