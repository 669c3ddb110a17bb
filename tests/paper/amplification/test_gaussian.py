import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import ParameterError
from hybriddp.paper.amplification import gaussian, laplace, sensitivities
from hybriddp.theory import UC_SALARIES as PAY
from hybriddp.theory import Setting, gaussian_noise
from tests.levels import z_limit

SALARIES = [  # c, collusion, ε′ of trusted and of local users: exact, then by the classic calibration
    (0.001, 0.0, 0.34541683, 9.494e-4, 0.4478, 1.780e-3),
    (0.001, 0.5, 0.4523, 1.254e-3, 0.5780, 2.298e-3),
    (0.001, 0.9, 0.6764, 1.895e-3, 0.8455, 3.361e-3),
    (0.005, 0.0, 0.7456, 3.665e-4, 0.9269, 7.486e-4),
    (0.01, 0.0, 0.7906, 1.841e-4, 0.9795, 4.032e-4),
    (0.1, 0.0, 0.8079, 1.863e-5, 0.9997, 5.530e-5),
]


def _pay(c: float, collusion: float = 0.0) -> tuple[Setting, dict[str, float]]:
    """The paper's example: UC salaries, (1, 1e-7), classic calibration, known variance."""
    noise = gaussian_noise(
        n_users=PAY.n_users, trusted_fraction=c, width=PAY.width, epsilon=1.0, delta=1e-7,
        calibration="classic-unchecked",
    )  # fmt: skip
    setting = PAY.setting(c, noise)
    weight, honest = float(setting.weight_known_variance()), (1 - collusion) * (1 - c) * PAY.n_users
    return setting, {"weight": weight, "width": PAY.width, "honest_local": honest, "delta": 1e-7}


def _setting(n: float = 1000, c: float = 0.1, trusted_noise: float = 0.01, local_noise: float = 2.0) -> Setting:
    return Setting(
        n_users=n, trusted_fraction=c, trusted_variance=0, local_variance=0, trusted_noise=trusted_noise,
        local_noise=local_noise,
    )  # fmt: skip


# Definition


def test_the_numbers_of_the_salaries() -> None:
    for c, collusion, trusted, local, classic_trusted, classic_local in SALARIES:
        setting, known = _pay(c, collusion)
        exact, classic = gaussian.exact(setting, **known), gaussian.classic(setting, **known)
        assert float(exact.trusted) == pytest.approx(trusted, rel=2e-8 if trusted == 0.34541683 else 2e-4)
        assert float(exact.local) == pytest.approx(local, rel=3e-4)
        assert float(exact.everyone) == float(exact.trusted)
        assert float(classic.trusted) == pytest.approx(classic_trusted, rel=2e-4)
        assert float(classic.local) == pytest.approx(classic_local, rel=3e-4)


@pytest.mark.slow
def test_it_agrees_with_dp_accounting() -> None:
    for c in (0.001, 0.01):
        setting, known = _pay(c)
        exact, shift = gaussian.exact(setting, **known), sensitivities(setting, weight=known["weight"], width=PAY.width)
        sigma = gaussian.noise_sd(setting, weight=known["weight"], honest_local=known["honest_local"])
        for moved, epsilon in ((shift.trusted, exact.trusted), (shift.local, exact.local)):
            ratio = float(sigma / moved)
            loss = pld.from_gaussian_mechanism(ratio, value_discretization_interval=1e-4 / max(ratio, 1))
            assert float(epsilon) == pytest.approx(loss.get_epsilon_for_delta(known["delta"]), rel=2e-3)


@pytest.mark.statistical
@pytest.mark.representative
def test_a_distinguisher_beats_the_printed_theorem_and_never_ours() -> None:
    """Against a trusted user: with the noise of the estimate itself, a threshold on the published value.

    The printed ε′ (the smaller sensitivity for everybody) claims P[A] ≤ e^ε′ P[B] + δ. It must fail, and ours must not,
    by `z_limit` standard errors for all 14 comparisons together.
    """
    setting, known = _pay(0.001)
    delta = known["delta"]
    printed = float(gaussian.classic(setting, **known).local)  # w > c, so the print takes the local sensitivity
    ours = float(gaussian.exact(setting, **known).trusted)
    sigma = float(gaussian.noise_sd(setting, weight=known["weight"], honest_local=known["honest_local"]))
    shift = float(sensitivities(setting, weight=known["weight"], width=PAY.width).trusted)
    rng, n = np.random.default_rng(1), 1_000_000
    noise = rng.normal(0.0, sigma, n)
    for threshold in np.linspace(-2, 4, 13) * sigma:
        high, low = np.mean(noise + shift > threshold), np.mean(noise > threshold)
        error = z_limit(14) * np.sqrt((high + np.exp(2 * ours) * low + 1 / n) / n)
        assert high - np.exp(ours) * low - delta < error  # ours stands at every threshold
    high, low = np.mean(noise + shift > shift / 2), np.mean(noise > shift / 2)
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
    n = 10_000
    setting = _setting(n, c, noises[0] / (c * n) ** 2, noises[1])
    first, second = (
        gaussian.exact(setting, weight=w, width=1.0, delta=1e-6, honest_local=(1 - share) * (1 - c) * n)
        for share in sorted(collusion)
    )
    for group in ("trusted", "local", "everyone"):
        assert getattr(second, group) >= getattr(first, group) * (1 - 1e-9)
    assert first.everyone == max(first.trusted, first.local)


def test_arrays_broadcast_and_a_heat_map_is_one_call() -> None:
    c, f = np.geomspace(0.001, 0.1, 50)[:, None], np.linspace(0, 0.9, 40)[None, :]
    setting = _setting(1e5, c, 1e-4, 20.0)
    exact = gaussian.exact(setting, weight=0.5, width=1.0, honest_local=(1 - f) * (1 - c) * 1e5, delta=1e-7)
    assert exact.trusted.shape == (50, 40)
    assert np.all(np.diff(exact.trusted, axis=1) >= 0)


def test_limits() -> None:
    setting = _setting()
    assert gaussian.exact(setting, weight=1.0, width=1.0, honest_local=900, delta=1e-6).local == 0.0
    no_noise = gaussian.exact(setting, weight=0.0, width=1.0, honest_local=0, delta=1e-6)
    assert no_noise.trusted == 0.0
    assert no_noise.local == np.inf


def test_bad_parameters_are_named() -> None:
    good = {"weight": 0.5, "width": 1.0, "honest_local": 900, "delta": 1e-6}
    wrong = [("weight", 1.5), ("weight", -0.1), ("width", 0), ("honest_local", 901), ("honest_local", -1)]
    for name, value in [*wrong, ("delta", 0), ("delta", 1)]:
        with pytest.raises(ParameterError, match=f"^{name}"):
            gaussian.exact(_setting(), **{**good, name: value})
    for name, value in [*wrong, ("honest_local", 1.5), ("delta", 1)]:
        with pytest.raises(ParameterError, match=f"^{name}"):
            laplace.exact(_setting(), **{**good, name: value})
