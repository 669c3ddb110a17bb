import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import brentq

from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError
from hybriddp.theory import (
    Setting,
    critical_trusted_fraction,
    laplace_critical_trusted_fraction,
    laplace_critical_users,
    laplace_gain_at_crossover,
    laplace_gain_supremum,
    laplace_noise,
    laplace_privacy_weight_wins_below,
    trusted_only_wins_between,
)
from tests.refusals import not_refused

from .exact import laplace_strategy

variances = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))
fractions = st.floats(1e-4, 1 - 1e-4)
widths = st.sampled_from([0.01, 1.0, 100.0])
epsilons = st.floats(1e-3, 50)
relative_sds = st.floats(1e-3, 0.5)


def _laplace(n: float, c: float, width: float, epsilon: float, variance: float) -> Setting:
    noise = laplace_noise(n_users=n, trusted_fraction=c, width=width, epsilon=epsilon)
    return Setting(
        n_users=n,
        trusted_fraction=c,
        trusted_variance=variance,
        local_variance=variance,
        trusted_noise=noise.trusted,
        local_noise=noise.local,
    )


# Definition: against a root finder on the errors


@given(variances, variances, st.floats(1e-6, 1e6))
def test_critical_fraction_is_where_the_errors_without_trusted_noise_cross(v_t: float, v_l: float, s_l: float) -> None:
    def lead(c: float) -> float:
        setting = Setting(
            n_users=1000, trusted_fraction=c, trusted_variance=v_t, local_variance=v_l, trusted_noise=0, local_noise=s_l
        )
        return float(setting.error_trusted_only() - setting.error_full_local())

    critical = float(critical_trusted_fraction(trusted_variance=v_t, local_variance=v_l, local_noise=s_l))
    assert 0 <= critical <= 1
    low, high = 1e-9, 1 - 1e-9
    if lead(low) <= 0:
        assert critical <= 1e-9 * (1 + 1e-6)
    elif lead(high) >= 0:
        assert critical >= 1 - 1e-8
    else:
        root = brentq(lead, low, high, xtol=1e-14, rtol=1e-14)
        assert critical == pytest.approx(root, rel=1e-6, abs=1e-9)


def test_critical_fraction_near_equal_variances_keeps_its_digits() -> None:
    equal = critical_trusted_fraction(trusted_variance=1.0, local_variance=1.0, local_noise=3.0)
    for h in (1e-15, 1e-12, 1e-9):
        near = critical_trusted_fraction(trusted_variance=1.0 + h, local_variance=1.0, local_noise=3.0)
        assert near == pytest.approx(equal, rel=3 * h + 1e-15)
    assert equal == 0.25


def test_critical_fraction_is_the_printed_one() -> None:
    v_t, v_l, s_l = 0.3, 0.1, 2.0
    printed = (2 * v_t - v_l + s_l - math.sqrt((v_l - s_l) ** 2 + 4 * s_l * v_t)) / (2 * (v_t - v_l))
    assert critical_trusted_fraction(trusted_variance=v_t, local_variance=v_l, local_noise=s_l) == pytest.approx(
        printed
    )


def test_critical_fraction_at_its_ends() -> None:
    assert critical_trusted_fraction(trusted_variance=0, local_variance=0, local_noise=0) == 0
    assert critical_trusted_fraction(trusted_variance=0, local_variance=1, local_noise=1) == 0
    assert critical_trusted_fraction(trusted_variance=0, local_variance=4, local_noise=1) == pytest.approx(0.75)
    assert critical_trusted_fraction(trusted_variance=1, local_variance=1, local_noise=0) == 1


@given(
    fractions,
    variances,
    variances,
    st.floats(1e-4, 1e6),
    st.floats(1e-4, 1e6),
    st.one_of(st.just(0.0), st.floats(1e-4, 10)),
)
def test_trusted_only_wins_exactly_in_its_interval(
    c: float, v_t: float, v_l: float, s_l: float, g: float, gap: float
) -> None:
    wins = trusted_only_wins_between(
        trusted_fraction=c, trusted_variance=v_t, local_variance=v_l, local_noise=s_l, total_noise=g, mean_gap=gap
    )

    def lead(n: FloatArray) -> FloatArray:
        setting = Setting(
            n_users=n,
            trusted_fraction=c,
            trusted_variance=v_t,
            local_variance=v_l,
            trusted_noise=g / (c * n) ** 2,
            local_noise=s_l,
            trusted_mean=gap,
        )
        return setting.error_trusted_only() / setting.error_full_local() - 1

    n = np.geomspace(2, 1e15, 60)
    clear = np.abs(lead(n)) > 1e-9
    assert np.array_equal(wins.contains(n)[clear], lead(n)[clear] < 0)
    ends = [end for end in (wins.lower, wins.upper) if 2 < end < 1e15]
    if wins.exists and ends and wins.upper > wins.lower * 1.01:
        assert np.all(np.abs(lead(np.array(ends))) < 1e-6)


def test_the_noise_of_the_total_is_that_of_one_report_unless_said_otherwise() -> None:
    args = {"trusted_fraction": 0.1, "trusted_variance": 0.1, "local_variance": 0.1, "local_noise": 2.0}
    assert trusted_only_wins_between(**args).lower == trusted_only_wins_between(**args, total_noise=2.0).lower
    assert trusted_only_wins_between(**args, total_noise=0.0).lower == 0


def test_where_trusted_only_never_wins_there_is_no_interval() -> None:
    never = trusted_only_wins_between(
        trusted_fraction=[0.001, 0.1], trusted_variance=1.0, local_variance=1.0, local_noise=2.0, mean_gap=[0.0, 9.0]
    )
    assert not never.exists.any()
    assert not never.contains(1000).any()
    assert np.isnan(never.upper).all()


@given(fractions, widths, epsilons, relative_sds)
def test_laplace_cases_are_the_general_ones(c: float, width: float, epsilon: float, relative_sd: float) -> None:
    v, s_l = (relative_sd * width) ** 2, 2 * (width / epsilon) ** 2
    args = {"width": width, "epsilon": epsilon, "variance": v}
    general = critical_trusted_fraction(trusted_variance=v, local_variance=v, local_noise=s_l)
    assert laplace_critical_trusted_fraction(**args) == pytest.approx(general, rel=1e-9)
    users = float(laplace_critical_users(trusted_fraction=c, **args))
    wins = trusted_only_wins_between(trusted_fraction=c, trusted_variance=v, local_variance=v, local_noise=s_l)
    if abs(c / general - 1) > 1e-6:
        assert bool(wins.exists) == math.isfinite(users)
        if wins.exists:
            assert users == pytest.approx(float(wins.lower), rel=1e-6)


@given(fractions, widths, epsilons, relative_sds)
def test_the_privacy_weight_wins_up_to_its_number_of_users(
    c: float, width: float, epsilon: float, relative_sd: float
) -> None:
    v = (relative_sd * width) ** 2
    limit = float(laplace_privacy_weight_wins_below(trusted_fraction=c, width=width, epsilon=epsilon, variance=v))
    for n in (2 / c, 0.99 * limit, 1.01 * limit, 1e12):
        if 2 <= n < math.inf and n * c > 1.001 and abs(n / limit - 1) > 1e-6:
            setting = _laplace(n, c, width, epsilon, v)
            gain = float(setting.gain_over_best(setting.error_hybrid(setting.weight_privacy())))
            if abs(gain - 1) > 1e-9:
                assert (gain > 1) == (n < limit)
                assert bool(setting.privacy_weight_beats_both()) == (n < limit)


@given(fractions, widths, epsilons, relative_sds)
def test_the_gain_at_the_crossover(c: float, width: float, epsilon: float, relative_sd: float) -> None:
    v = (relative_sd * width) ** 2
    args = {"trusted_fraction": c, "width": width, "epsilon": epsilon, "variance": v}
    n = float(laplace_critical_users(**args))
    gain = float(laplace_gain_at_crossover(**args))
    assert math.isnan(gain) == math.isinf(n)
    assume(2 <= n < 1e12)
    setting = _laplace(n, c, width, epsilon, v)
    assert setting.error_trusted_only() == pytest.approx(setting.error_full_local(), rel=1e-6)
    assert gain == pytest.approx(float(setting.gain_over_best(setting.error_known_variance())), rel=1e-6)


@given(laplace_strategy())
def test_no_gain_reaches_the_supremum(setting: Setting) -> None:
    # laplace_strategy keeps σ <= m/2; ε² = 2 m² / s_L² for any m, and σ² ε²/m² <= ε²/4 follows.
    gain = float(setting.gain_over_best(setting.error_known_variance()))
    y = float(2 * setting.trusted_variance / setting.local_noise)
    assert gain <= 2 + y / 2 + 1e-9


def test_a_range_of_users_must_broadcast() -> None:
    wins = trusted_only_wins_between(
        trusted_fraction=[0.1, 0.2], trusted_variance=0.1, local_variance=0.1, local_noise=2.0
    )
    with pytest.raises(ParameterError, match="n_users and range must be arrays whose shapes broadcast"):
        wins.contains([10, 20, 30])


# Edges

LAPLACE = {"trusted_fraction": 0.1, "width": 1.0, "epsilon": 1.0, "variance": 0.1}


@pytest.mark.parametrize(
    "function", [laplace_critical_users, laplace_privacy_weight_wins_below, laplace_gain_at_crossover]
)
@pytest.mark.parametrize("name", list(LAPLACE))
def test_bad_laplace_parameters_are_named(function, name: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    cases = [(repr(bad), bad) for bad in ("x", None, float("nan"), float("inf"), -1.0)]
    assert not_refused(cases, lambda bad: function(**{**LAPLACE, name: bad}), ParameterError, f"^{name} must be") == []
    with pytest.raises(ParameterError, match="shapes broadcast"):
        function(**{**LAPLACE, "trusted_fraction": [0.1, 0.2], "epsilon": [1.0, 2.0, 3.0]})


GENERAL = {"trusted_fraction": 0.1, "trusted_variance": 0.1, "local_variance": 0.1, "local_noise": 2.0}


@pytest.mark.parametrize("name", [*GENERAL, "total_noise", "mean_gap"])
def test_bad_general_parameters_are_named(name: str) -> None:
    cases = [(repr(bad), bad) for bad in ("x", float("nan"), float("inf"), [[1.0], [1.0, 2.0]])]
    words = f"^{name} must be"
    assert (
        not_refused(cases, lambda bad: trusted_only_wins_between(**{**GENERAL, name: bad}), ParameterError, words) == []
    )
    if name in GENERAL and name != "trusted_fraction":
        rest = {key: value for key, value in GENERAL.items() if key != "trusted_fraction"}
        assert (
            not_refused(cases, lambda bad: critical_trusted_fraction(**{**rest, name: bad}), ParameterError, words)
            == []
        )


@pytest.mark.parametrize("bad", ["x", 0.0, -1.0, float("nan")])
def test_the_supremum_needs_an_epsilon(bad: float) -> None:
    with pytest.raises(ParameterError, match="^epsilon must be"):
        laplace_gain_supremum(epsilon=bad)
