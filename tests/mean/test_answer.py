"""From two summaries to an estimate.

An estimate with a fixed weight is linear in two means, exactly. So the two means are tested, by drawing many at once,
and a few settings end to end (`tests/simulation`).
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybriddp.errors import DataError
from hybriddp.grid import UNITS
from hybriddp.mean import MeanStudy
from hybriddp.mean.answer import WeightRule, exact_mean, shrink, weigh
from hybriddp.mean.published import report_noise, trusted_noise
from hybriddp.mean.weights import TrustedStatistics
from hybriddp.release.release import release
from hybriddp.study.result import Statement
from tests.examples import fewer_examples
from tests.levels import z_limit

VALUES = np.random.default_rng(3).beta(2, 5, 1200)
STUDIES = [
    MeanStudy("x", bounds=(-3, 17), epsilon=epsilon, delta=delta) for epsilon, delta in ((1, 0), (0.3, 0), (1, 1e-6))
]


@pytest.mark.parametrize("study", STUDIES)
@given(weight=st.floats(0.001, 1), seed=st.integers(0, 10**6))
@fewer_examples(2)
def test_a_fixed_weight_is_linear_in_two_means(study: MeanStudy, weight: float, seed: int) -> None:
    """Exactly, in the released integers; the seed draws the same noise for every weight."""
    x = -3 + 20 * VALUES
    reports = study.summarize_local(study.randomize(x[200:], random_state=seed))
    trusted, local, mixed = (
        study.estimate(trusted=x[:200], local=reports, weight=w, random_state=seed) for w in (1.0, 0.0, weight)
    )
    assert trusted.exact is not None
    assert local.exact is not None
    w = Fraction(weight)
    assert mixed.exact == w * trusted.exact + (1 - w) * local.exact
    assert mixed.value == pytest.approx(float(mixed.exact), rel=1e-12, abs=1e-12)
    assert local.exact == -3 + 20 * exact_mean(reports, study.channel)


@pytest.mark.statistical
@pytest.mark.representative
@pytest.mark.parametrize("study", STUDIES)
def test_the_trusted_mean_has_the_noise_it_says(study: MeanStudy) -> None:
    """The mean and the mean size of 2,000 draws."""
    raw = study.summarize_trusted(-3 + 20 * VALUES[:200])
    statistic, rng = study.statistic(raw), np.random.default_rng(5)
    released = [release(statistic, study.cost, random_state=rng) for _ in range(2000)]
    drawn = np.array([TrustedStatistics.of(one).mean for one in released])
    assert len(drawn) == 2000
    noise, truth = trusted_noise(study, 200), raw.sums[0] / (200 * UNITS)
    size = np.abs(drawn - truth) / noise**0.5
    mean, spread = (
        (0.5**0.5, 0.5**0.5) if not study.privacy.exact_delta else ((2 / np.pi) ** 0.5, (1 - 2 / np.pi) ** 0.5)
    )
    scores = [(size.mean() / scale - mean) / (spread / 2000**0.5) for scale in (0.8, 1.0, 1.2)]
    limit = z_limit(8)  # a gamma variable of shape 2,000 is beyond with a probability of 4e-10
    assert abs(scores[1]) < limit
    assert scores[0] > limit
    assert scores[2] < -limit
    assert abs(drawn.mean() - truth) < limit * (noise / 2000) ** 0.5


@pytest.mark.statistical
@pytest.mark.representative
@pytest.mark.parametrize("study", STUDIES)
def test_the_local_mean_has_the_noise_it_says(study: MeanStudy) -> None:
    """Every report is drawn alone, so a million reports at once tell mean and variance."""
    n = 1_000_000
    units = study.grid.place(np.full(n, 4.0)).units
    codes = study.channel.sample(units, random_state=np.random.default_rng(6))
    values = study.channel.values[codes]
    noise = report_noise(study)  # the largest over all values; 4 is in the middle of the range
    assert abs(values.mean() - 7 / 20) < z_limit(2) * (noise / n) ** 0.5
    square = (values - 7 / 20) ** 2
    error = z_limit(2) * square.std() / n**0.5
    assert noise * 0.97 - error < square.mean() < noise + error
    assert not noise * 0.97 - error < 0.8**2 * square.mean()
    assert not 1.2**2 * square.mean() < noise + error
    summary = study.summarize_local(codes)
    assert float(exact_mean(summary, study.channel)) == pytest.approx(values.mean(), rel=1e-9)
    assert study.decode(summary).noise == pytest.approx(square.mean(), rel=0.03)


def test_nothing_is_weighed_where_nobody_is() -> None:
    study = STUDIES[0]
    with pytest.raises(DataError, match="Both groups are empty"):
        weigh(
            study, None, None, WeightRule(), Statement.of(study, released=False, counted=False, seeded=True), n_users=0
        )


@pytest.mark.parametrize("sd", [0.02, 0.1, 0.3, 1.0])
def test_shrinking_errs_less_than_the_unbiased_answer_wherever_the_mean_is(sd: float) -> None:
    """The claim of the module: at most a·E, a = 1/(1 + 4E); here for normal errors, by quantiles."""
    noise = sd * stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    for mean in (0.0, 0.05, 0.3, 0.5, 1.0):
        error = np.mean([(shrink(mean + e, sd**2) - mean) ** 2 for e in noise])
        assert error < 1.001 * sd**2 / (1 + 4 * sd**2)


def test_the_linear_rule_is_the_minimax_one() -> None:
    """The worst case over the mean, of every linear rule: the chosen one has the least."""
    error = 0.04
    factors = np.linspace(0, 1, 2001)
    worst = factors**2 * error + (1 - factors) ** 2 * 0.25  # at a bound, where the bias is largest
    best = factors[np.argmin(worst)]
    assert shrink(0.9, error) == pytest.approx(0.5 + best * 0.4, abs=1e-3)
    assert worst.min() == pytest.approx(error / (1 + 4 * error), rel=1e-5)


def test_small_noise_changes_next_to_nothing_and_nothing_leaves_the_range() -> None:
    assert shrink(0.9, 1e-6) == pytest.approx(0.9, abs=2e-6)
    assert shrink(-3.0, 0.01) == 0.0
    assert shrink(7.0, 0.01) == 1.0
    assert shrink(0.5, 100.0) == 0.5
