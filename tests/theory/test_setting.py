from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from hybriddp.errors import ParameterError
from hybriddp.theory import Setting, laplace_noise
from tests.refusals import not_refused

from .exact import Exact, close, laplace_strategy, settings_strategy

FIELDS = {
    "n_users": 10_000,
    "trusted_fraction": 0.05,
    "trusted_variance": 0.1,
    "local_variance": 0.2,
    "trusted_noise": 1e-3,
    "local_noise": 2.0,
    "trusted_mean": 0.4,
    "local_mean": 0.5,
}
TINY = Setting(
    n_users=2, trusted_fraction=0.5, trusted_variance=0.0, local_variance=0.0, trusted_noise=0.0, local_noise=0.0
)


# Definition


def weights_strategy() -> st.SearchStrategy[float]:
    """Weights whose square is not below all floats."""
    return st.floats(0, 1).map(lambda weight: weight if weight > 1e-150 else 0.0)


@given(settings_strategy(), weights_strategy())
def test_errors_follow_from_the_definition(setting: Setting, weight: float) -> None:
    exact = Exact.of(setting)
    # The bias cancels digits of the means, in any arithmetic; allow what rounding the difference costs.
    assert close(setting.error_hybrid(weight), exact.hybrid(Fraction(weight)), 1e-6)
    assert close(setting.error_trusted_only(), exact.hybrid(Fraction(1)), 1e-6)
    assert close(setting.error_local_only(), exact.hybrid(Fraction(0)), 1e-6)
    assert close(setting.error_full_local(), exact.full_local(), 1e-12)
    assert setting.error_non_private() == 0.0


@given(settings_strategy())
def test_known_variance_weight_is_the_vertex_of_the_parabola(setting: Setting) -> None:
    exact = Exact.of(setting)
    best = exact.best_weight()
    if best is None:
        assert setting.weight_known_variance() == setting.trusted_fraction
        assert setting.error_known_variance() == 0.0
    else:
        assert close(setting.weight_known_variance(), best, 1e-6)
        assert close(setting.error_known_variance(), exact.hybrid(best), 1e-6)


@given(laplace_strategy())
def test_known_variance_weight_minimizes_the_error(setting: Setting) -> None:
    weight = float(setting.weight_known_variance())
    least = float(setting.error_known_variance())
    found = minimize_scalar(lambda w: float(setting.error_hybrid(w)), bounds=(0.0, 1.0), method="bounded")
    assert least <= found.fun * (1 + 1e-9)
    assert float(setting.error_hybrid(weight)) == pytest.approx(least, rel=1e-6)
    # Near its minimum an error is flat: an error of 1e-9 is a weight within sqrt(1e-9) of the curve's scale.
    for step in (-1e-3, 1e-3):
        other = min(max(weight + step, 0.0), 1.0)
        assert float(setting.error_hybrid(other)) >= least * (1 - 1e-9)


@given(settings_strategy())
def test_privacy_weight_minimizes_the_noise(setting: Setting) -> None:
    silent = Setting(
        **{**_fields(setting), "trusted_variance": 0.0, "local_variance": 0.0, "trusted_mean": 0.0, "local_mean": 0.0}
    )
    best = Exact.of(silent).best_weight()
    if best is None:
        assert setting.weight_privacy() == setting.trusted_fraction
    else:
        assert close(setting.weight_privacy(), best, 1e-9)


@given(settings_strategy())
def test_known_variance_beats_both_exactly_where_the_sign_says(setting: Setting) -> None:
    exact = Exact.of(setting)
    best = exact.best_weight()
    baseline = min(exact.hybrid(Fraction(1)), exact.full_local())
    wins = best is not None and exact.hybrid(best) < baseline
    if not _on_the_edge(setting):
        assert bool(setting.known_variance_beats_both()) == wins


@given(settings_strategy())
def test_privacy_weight_beats_both_exactly_where_the_sign_says(setting: Setting) -> None:
    exact = Exact.of(setting)
    p, q = exact.st, exact.sl / ((1 - exact.c) * exact.n)
    weight = exact.c if p + q == 0 else q / (p + q)
    error, baseline = exact.hybrid(weight), min(exact.hybrid(Fraction(1)), exact.full_local())
    if abs(error - baseline) > baseline * Fraction(1e-6) or p == 0:
        assert bool(setting.privacy_weight_beats_both()) == (error < baseline)


@given(laplace_strategy())
@example(TINY)
def test_gain_is_never_below_one_for_laplace_noise(setting: Setting) -> None:
    gain = float(setting.gain_over_best(setting.error_known_variance()))
    assert gain >= 1 - 1e-9
    if setting.known_variance_beats_both() and not _on_the_edge(setting):
        assert gain > 1 or gain == pytest.approx(1, rel=1e-9)


def _on_the_edge(setting: Setting) -> bool:
    """Whether |T| s_T² and s_L² agree up to rounding, so that no float can tell which is larger."""
    both = (float(setting.trusted_fraction * setting.n_users * setting.trusted_noise), float(setting.local_noise))
    return abs(both[0] - both[1]) <= 1e-9 * max(both)


# Identities


@given(settings_strategy(), weights_strategy())
def test_parts_add_up_to_the_error(setting: Setting, weight: float) -> None:
    for parts, total in [
        (setting.parts_hybrid(weight), setting.error_hybrid(weight)),
        (setting.parts_trusted_only(), setting.error_trusted_only()),
        (setting.parts_local_only(), setting.error_local_only()),
        (setting.parts_full_local(), setting.error_full_local()),
    ]:
        assert parts.sampling + parts.privacy + parts.bias == total
        assert min(parts.sampling, parts.privacy, parts.bias) >= 0


def test_parts_have_their_causes() -> None:
    parts = Setting(**FIELDS).parts_hybrid(0.3)
    assert Setting(**{**FIELDS, "trusted_mean": 0.5}).parts_hybrid(0.3).bias == 0
    assert Setting(**{**FIELDS, "trusted_noise": 0, "local_noise": 0}).parts_hybrid(0.3).privacy == 0
    assert Setting(**{**FIELDS, "trusted_variance": 0, "local_variance": 0}).parts_hybrid(0.3).sampling == 0
    assert min(parts.bias, parts.privacy, parts.sampling) > 0


@given(settings_strategy())
def test_local_only_is_never_better_than_full_local(setting: Setting) -> None:
    assert setting.error_local_only() >= setting.error_full_local() * (1 - 1e-12)


def test_printed_homogeneous_weight_is_the_same() -> None:
    setting = Setting(**{**FIELDS, "local_variance": 0.1, "trusted_mean": 0.5})
    n, c, v, s_t, s_l = 10_000, 0.05, 0.1, 1e-3, 2.0
    assert setting.weight_known_variance() == pytest.approx(
        c * (v + s_l) / (v + c * (n * s_t * (1 - c) + s_l)), rel=1e-12
    )


def test_printed_heterogeneous_weight_is_the_same() -> None:
    n, c, v_t, v_l, s_t, s_l, m_t, m_l = FIELDS.values()
    mean = c * m_t + (1 - c) * m_l
    above = c * (s_l + c * v_l + (1 - c) * (n * (m_l - mean) * (m_l - m_t) + v_t))
    below = c * s_l + (1 - c) * c * n * ((m_l - m_t) ** 2 + s_t) + c * v_l + (1 - c) * v_t
    assert Setting(**FIELDS).weight_known_variance() == pytest.approx(above / below, rel=1e-12)


def test_limits_of_the_trusted_fraction() -> None:
    nobody = Setting(**{**FIELDS, "trusted_fraction": 1e-12})
    assert nobody.weight_naive() == 1e-12
    assert nobody.error_local_only() == pytest.approx(nobody.error_full_local(), rel=1e-9)
    everybody = Setting(**{**FIELDS, "trusted_fraction": 1 - 1e-12})
    assert everybody.weight_known_variance() == pytest.approx(1, abs=1e-6)
    assert everybody.error_trusted_only() == pytest.approx(everybody.trusted_noise, rel=1e-6)


def test_without_noise_everybody_counts_the_same() -> None:
    setting = Setting(**{**FIELDS, "trusted_noise": 0, "local_noise": 0})
    assert setting.weight_known_variance() == pytest.approx(setting.weight_naive(), rel=1e-12)
    assert setting.error_known_variance() == 0.0
    assert setting.gain_over_best(setting.error_known_variance()) == 1.0


def test_gains_where_errors_vanish() -> None:
    assert TINY.gain_over_best(0.0) == 1.0
    assert TINY.gain_over_worst(0.0) == 1.0
    assert Setting(**FIELDS).gain_over_best(0.0) == np.inf


def test_gains_are_ratios_to_the_single_models() -> None:
    setting = Setting(**FIELDS)
    best, worst = sorted([float(setting.error_trusted_only()), float(setting.error_full_local())])
    assert setting.gain_over_best(best) == 1.0
    assert setting.gain_over_worst(worst) == 1.0
    assert setting.gain_over_worst(best) == pytest.approx(worst / best)


def test_a_curator_who_does_not_know_the_gap_uses_the_homogeneous_weight() -> None:
    believed = Setting(**FIELDS).without_mean_gap()
    assert believed.parts_hybrid(0.9).bias == 0
    assert believed.weight_known_variance() > Setting(**FIELDS).weight_known_variance()


def test_the_benchmark_has_a_variance_of_its_own() -> None:
    setting = Setting(**FIELDS)
    assert setting.benchmark_variance() == pytest.approx((0.05 * 0.1 + 0.95 * 0.2) / 10_000)
    assert setting.mixture_mean() == pytest.approx(0.495)


def test_arrays_broadcast() -> None:
    c, eps = np.linspace(0.01, 0.1, 4)[:, None], np.linspace(0.1, 1, 5)[None, :]
    noise = laplace_noise(n_users=1000, trusted_fraction=c, width=1.0, epsilon=eps)
    grid = Setting(**{**FIELDS, "trusted_fraction": c, "trusted_noise": noise.trusted, "local_noise": noise.local})
    assert grid.shape == (4, 5)
    weight = grid.weight_known_variance()
    for method in ("trusted_only", "full_local", "local_only", "non_private", "known_variance"):
        assert getattr(grid, f"error_{method}")().shape == (4, 5)
    one = Setting(
        **{
            **FIELDS,
            "trusted_fraction": c[2, 0],
            "trusted_noise": noise.trusted[2, 3],
            "local_noise": noise.local[0, 3],
        }
    )
    assert weight[2, 3] == one.weight_known_variance()
    assert grid.gain_over_best(grid.error_hybrid(weight))[2, 3] == one.gain_over_best(one.error_hybrid(weight[2, 3]))
    for values in (
        grid.weight_naive(),
        grid.weight_privacy(),
        grid.known_variance_beats_both(),
        grid.privacy_weight_beats_both(),
    ):
        assert np.shape(values) == (4, 5)


# Edges

BAD: dict[str, list[object]] = {
    "n_users": ["many", None, float("nan"), float("inf"), 1, -5, True, 2 + 1j, [[2, 3], [4]], 10**400],
    "trusted_fraction": ["1%", None, float("nan"), 0, 1, -0.1, 1.5, False],
    "trusted_variance": ["0.1", None, float("nan"), float("inf"), -1e-9, object()],
    "local_variance": ["0.1", None, float("nan"), float("inf"), -1e-9],
    "trusted_noise": ["0.1", None, float("nan"), float("inf"), -1e-9],
    "local_noise": ["0.1", None, float("nan"), float("inf"), -1e-9],
    "trusted_mean": ["0.1", None, float("nan"), float("inf")],
    "local_mean": ["0.1", None, float("nan"), -float("inf")],
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters_are_named(name: str) -> None:
    def take(value: object) -> None:
        try:
            Setting(**{**FIELDS, name: value})
        except ParameterError as error:
            if error.name != name:
                raise AssertionError(error.name) from error
            raise

    cases = [(ascii(value)[:50], value) for value in BAD[name]]
    assert not_refused(cases, take, ParameterError, f"(?s)^{name} must be .*got {name}=") == []


def test_a_bad_element_is_shown_with_its_place() -> None:
    with pytest.raises(ParameterError, match=r"trusted_fraction must be .*, got trusted_fraction\[1, 0\]=1\.5\."):
        Setting(**{**FIELDS, "trusted_fraction": [[0.1], [1.5]]})


def test_a_list_that_mixes_booleans_is_refused() -> None:
    with pytest.raises(ParameterError, match="n_users must be"):
        Setting(**{**FIELDS, "n_users": [10, True]})


def test_shapes_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(ParameterError, match=r"n_users and local_noise must be arrays whose shapes broadcast"):
        Setting(**{**FIELDS, "n_users": [10, 20], "local_noise": [1.0, 2.0, 3.0]})


def test_a_rounded_weight_is_still_a_weight() -> None:
    rng = np.random.default_rng(4)
    c = 1 - 10 ** rng.uniform(-9, -1, 20_000)
    setting = Setting(**{**FIELDS, "trusted_fraction": c, "trusted_noise": 0.0, "local_noise": 400.0})
    assert np.all(setting.weight_known_variance() <= 1)
    assert np.all(setting.error_hybrid(setting.weight_known_variance()) >= 0)


def test_missing_and_huge_numbers() -> None:
    with pytest.raises(ParameterError, match="^n_users must be"):
        Setting(**{**FIELDS, "n_users": np.ma.masked_array([10.0, 20.0], mask=[True, False])})
    assert Setting(**{**FIELDS, "n_users": 10**20}).n_users == 1e20


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), "half", True])
def test_a_weight_is_from_zero_to_one(weight: float) -> None:
    with pytest.raises(ParameterError, match="weight must be a number from 0 to 1"):
        Setting(**FIELDS).error_hybrid(weight)


def test_weights_and_errors_must_broadcast_with_the_setting() -> None:
    setting = Setting(**{**FIELDS, "n_users": [10, 20]})
    with pytest.raises(ParameterError, match="weight and setting must be arrays whose shapes broadcast"):
        setting.error_hybrid([0.1, 0.2, 0.3])
    with pytest.raises(ParameterError, match="error and setting must be arrays whose shapes broadcast"):
        setting.gain_over_best([0.1, 0.2, 0.3])


@pytest.mark.parametrize("error", [-1.0, float("nan"), "small"])
def test_an_error_is_not_negative(error: float) -> None:
    with pytest.raises(ParameterError, match="error must be"):
        Setting(**FIELDS).gain_over_worst(error)


def _fields(setting: Setting) -> dict[str, float]:
    return {name: float(getattr(setting, name)) for name in FIELDS}
