import numpy as np
import pytest
from scipy import stats

from hybriddp.planning.estimators import detectable_change
from hybriddp.study.intervals import NoiseLaw
from tests.planning.settings import plan_mean


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
