import numpy as np
import pytest

from hybriddp.mean.answer import shrink


@pytest.mark.parametrize("sd", [0.02, 0.1, 0.3, 1.0])
def test_shrinking_errs_less_than_the_unbiased_answer_wherever_the_mean_is(sd: float) -> None:
    """The claim of the module: at most a·E, a = 1/(1 + 4E); here for normal errors."""
    rng = np.random.default_rng(0)
    noise = sd * rng.standard_normal(20_000)
    for mean in (0.0, 0.05, 0.3, 0.5, 1.0):
        error = np.mean([(shrink(mean + e, sd**2) - mean) ** 2 for e in noise])
        assert error < 1.03 * sd**2 / (1 + 4 * sd**2)


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
