import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybriddp.errors import ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.planning import MeanPlan, Span
from hybriddp.planning.estimators import detectable_change
from hybriddp.planning.shape import beta_counts, largest_sd
from hybriddp.study.intervals import NoiseLaw
from hybriddp.theory import Setting, gaussian_noise, laplace_noise
from tests.planning.settings import plan_mean

GOOD = {"n_users": 10_000, "trusted_fraction": 0.01, "epsilon": 1.0, "bounds": (0, 240), "sd": 30.0}


def _plan(**changes: object) -> MeanPlan:
    return plan_mean(**{**GOOD, **changes})


# Definition: the paper's estimators are those of the theory


@pytest.mark.slow
@given(
    n=st.integers(100, 10**7),
    c=st.floats(0.02, 0.9),
    epsilon=st.sampled_from([0.1, 0.5, 1.0, 2.0]),
    width=st.floats(1e-3, 1e6),
    spread=st.floats(0.001, 0.5),
    gap=st.floats(-0.5, 0.5),
)
def test_the_papers_estimators_are_those_of_the_theory(
    n: int, c: float, epsilon: float, width: float, spread: float, gap: float
) -> None:
    made = plan_mean(
        n_users=n, trusted_fraction=c, epsilon=epsilon, bounds=(5, 5 + width), sd=spread * width, mean_gap=gap * width
    )
    width = made.width
    fraction = made.n_trusted / n
    noise = laplace_noise(n_users=n, trusted_fraction=fraction, width=width, epsilon=epsilon)
    setting = Setting(
        n_users=n,
        trusted_fraction=fraction,
        trusted_variance=made.sd**2,
        local_variance=made.sd**2,
        trusted_noise=noise.trusted,
        local_noise=noise.local,
        trusted_mean=made.mean_gap,
    )
    mistaken = setting.without_mean_gap().weight_known_variance()
    expected_errors = {
        "trusted-only": setting.error_trusted_only(),
        "full-local": setting.error_full_local(),
        "local-only": setting.error_local_only(),
        "naive": setting.error_hybrid(setting.weight_naive()),
        "privacy": setting.error_hybrid(setting.weight_privacy()),
        "known-variance": setting.error_hybrid(mistaken),
    }
    papers = {option.name: option for option in made.papers}
    assert list(papers) == list(expected_errors)
    for name, error in expected_errors.items():
        option = papers[name]
        assert option.rmse.worst**2 == pytest.approx(float(error), rel=1e-12), name
        assert option.sampling.worst + option.privacy.worst + option.bias.worst == pytest.approx(
            float(error), rel=1e-12
        )
        assert option.gain_over_best.worst == pytest.approx(float(setting.gain_over_best(error)), rel=1e-12)
        assert option.gain_over_worst.worst == pytest.approx(float(setting.gain_over_worst(error)), rel=1e-12)


def test_full_local_is_that_of_our_channel() -> None:
    made = _plan(sd=None)
    study = MeanStudy("x", bounds=(0, 240), epsilon=1.0)
    most = study.channel.worst_variance * 240**2 / 10_000
    assert made.full_local.worst == pytest.approx(most**0.5, rel=0.01)
    assert made["full-local"].rmse == made.full_local


@pytest.mark.parametrize("change", [{}, {"trusted_fraction": 0.2}, {"delta": 1e-6}, {"mean": 30.0}])
def test_every_table_has_one_baseline(change: dict[str, object]) -> None:
    made = _plan(**change)
    for options in (made.options, made.papers):
        by_name = {option.name: option.rmse.worst**2 for option in options}
        single = sorted((by_name["trusted-only"], by_name["full-local"]))
        for option in options:
            error = option.rmse.worst**2
            assert option.gain_over_best.worst == pytest.approx(single[0] / error, rel=1e-9), option.name
            assert option.gain_over_worst.worst == pytest.approx(single[1] / error, rel=1e-9), option.name


# Identities


def test_unknown_spread_is_a_span_that_holds_every_known_one() -> None:
    unknown = _plan(sd=None)
    for sd in (0.0, 1.0, 30.0, 80.0, 120.0):
        known = _plan(sd=sd)
        for option, span in zip(known.options, unknown.options, strict=True):
            slack = 1.03 if option.name == "adaptive" else 1.01  # reports vary a little with what is reported
            assert span.rmse.best / slack <= option.rmse.worst <= span.rmse.worst * slack, (option.name, sd)
            assert option.rmse.best == option.rmse.worst


def test_more_of_everything_is_better() -> None:
    base = _plan().rmse
    assert _plan(n_users=20_000).rmse < base
    assert _plan(trusted_fraction=0.02).rmse < base
    assert _plan(epsilon=2.0).rmse < base
    assert _plan(bounds=(0, 480)).rmse > base


def test_units_do_not_matter() -> None:
    hours = _plan(bounds=(0, 4), sd=0.5)
    assert hours.rmse * 60 == pytest.approx(_plan().rmse, rel=1e-9)
    assert _plan(bounds=(100, 340)).rmse == pytest.approx(_plan().rmse, rel=1e-9)


@pytest.mark.repeated
def test_noise_is_called_noise_wherever_the_mean_is() -> None:
    noisy = {"n_users": 1000, "epsilon": 0.1, "trusted_fraction": 0.005}
    assert _plan(**noisy, mean=120).rmse == pytest.approx(_plan(**noisy).rmse)
    errors = [_plan(**{**noisy, "epsilon": epsilon}, mean=120).rmse for epsilon in (0.01, 0.1, 0.5, 2.0)]
    assert errors == sorted(errors, reverse=True)
    assert _plan(**noisy).mostly_noise
    assert not _plan().mostly_noise
    assert not _plan(sd=0.0).mostly_noise


def test_gaussian_noise_has_another_law() -> None:
    pure, approximate = _plan(trusted_fraction=0.5), _plan(trusted_fraction=0.5, delta=1e-6)
    assert approximate["adaptive"].rmse.worst > pure["adaptive"].rmse.worst
    ours = approximate["adaptive"]
    alone = approximate["naive"]
    assert alone.half_width.worst == pytest.approx(1.959964 * alone.rmse.worst, rel=1e-6)
    noise = gaussian_noise(n_users=10_000, trusted_fraction=0.5, width=240, epsilon=1.0, delta=1e-6)
    assert ours.privacy.worst < 2 * float(noise.trusted)


def test_crowds_have_the_moments_they_are_made_for() -> None:
    for mean, sd in ((0.5, 0.2), (0.02, 0.03), (0.3, largest_sd(0.3)), (0.9, 0.0)):
        crowd = beta_counts(mean, sd)
        assert crowd.mean == pytest.approx(mean, abs=2e-3)
        assert math.sqrt(crowd.variance) == pytest.approx(sd, rel=0.02, abs=1e-6)


def test_a_span_is_written_as_one_number_where_it_is_one() -> None:
    assert str(Span(2.0, 2.0)) == "2"
    assert str(Span(1.5, 12_345.6)) == "1.5 to 12,300"
    assert Span.of([3.0, 1.0, 2.0]) == Span(1.0, 3.0)


# Edges


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("n_users", {"n_users": 3}),
        ("n_users", {"n_users": 100.5}),
        ("n_users", {"n_users": 10**15, "trusted_fraction": 0.5}),
        ("trusted_fraction", {"trusted_fraction": 0}),
        ("trusted_fraction", {"trusted_fraction": 1.5}),
        ("trusted_fraction", {"trusted_fraction": 0.0001}),
        ("epsilon", {"epsilon": 0}),
        ("delta", {"delta": 2}),
        ("delta", {"delta": 0.5}),
        ("delta", {"delta": 1e-4}),
        ("bounds", {"bounds": (1, 0)}),
        ("sd", {"sd": -1}),
        ("sd", {"sd": 121}),
        ("sd", {"sd": 100, "mean": 10}),
        ("sd", {"sd": 100, "variance_ratio": 2}),
        ("mean", {"mean": 241}),
        ("mean_gap", {"mean_gap": 241}),
        ("mean_gap", {"mean_gap": 240, "mean": 236}),
        ("mean_gap", {"mean_gap": 120, "mean": 0, "sd": 0}),
        ("mean_gap", {"mean_gap": -1, "mean": 0, "sd": 0}),
        ("mean_gap", {"mean_gap": float("nan")}),
        ("variance_ratio", {"variance_ratio": 0}),
    ],
)
def test_bad_parameters_are_named(name: str, change: dict[str, object]) -> None:
    with pytest.raises(ParameterError) as caught:
        _plan(**change)
    assert caught.value.name == name


def test_unknown_estimators_are_not_in_a_plan() -> None:
    with pytest.raises(KeyError):
        _plan()["best"]


# Changes that two studies can tell


def test_for_normal_errors_it_is_the_textbook_formula() -> None:
    z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert detectable_change(NoiseLaw(normal=9.0, laplace=0.0)) == pytest.approx(z * 2**0.5 * 3, rel=1e-4)


@pytest.mark.statistical
@pytest.mark.representative
@pytest.mark.parametrize("laplace", [0.3, 1.0, 5.0, 1e6])
def test_a_test_finds_the_change_four_times_out_of_five(laplace: float) -> None:
    rng, n = np.random.default_rng(0), 1_000_000
    law = NoiseLaw(normal=1.0, laplace=laplace)

    def error() -> np.ndarray:
        return rng.normal(size=n) + rng.laplace(0, laplace, n)

    difference = error() - error()
    threshold = np.quantile(np.abs(difference), 0.95)
    change = detectable_change(law)
    # The standard error of a fraction of 0.8 among 1e6 is 0.0004, that of the threshold moves it by less than 0.002.
    assert np.mean(difference + change > threshold) == pytest.approx(0.8, abs=0.008)
    assert np.mean(difference + 0.8 * change > threshold) < 0.75


def test_nothing_uncertain_is_told_apart_at_once() -> None:
    assert detectable_change(NoiseLaw(0.0, 0.0)) == 0.0


def test_other_people_each_time_make_a_change_harder_to_tell() -> None:
    made = plan_mean(n_users=1_000, trusted_fraction=0.5, epsilon=4, bounds=(0, 100), mean=50, sd=30)
    ours = made["adaptive"]
    assert ours.detectable.worst > 2.7 * 2**0.5 * ours.rmse.worst
    law = (ours.rmse.worst**2 + 30**2 / 1000) ** 0.5
    assert ours.detectable.worst == pytest.approx(2.8 * 2**0.5 * law, rel=0.01)


def test_a_lasting_gap_does_not_hide_a_change() -> None:
    known = {"n_users": 10_000, "trusted_fraction": 0.05, "epsilon": 1.0, "bounds": (0, 100), "sd": 20.0}
    alike, apart = plan_mean(**known), plan_mean(**known, mean_gap=5.0)
    assert apart["known-variance"].detectable == alike["known-variance"].detectable
    assert apart["known-variance"].rmse.worst > 2 * alike["known-variance"].rmse.worst
