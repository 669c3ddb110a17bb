import math
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from hybriddp.amplification.shuffle import (
    BRACKET,
    SLACK,
    ShuffledPrivacy,
    closed_form_epsilon,
    largest_local_epsilon,
    numerical_delta,
    numerical_epsilon,
    shuffled,
)
from hybriddp.errors import ParameterError
from tests.amplification.exact import (
    clone_counts,
    hockey_stick,
    randomized_response,
    shuffled_delta,
    subset_selection,
)
from tests.examples import fewer_examples

BLOCKS = 2e-3  # relative: what taking numbers of clones together may cost in ε

local_epsilons = st.floats(0.01, 20)
reports = st.integers(1, 10**7)
deltas = st.floats(-12, -0.5).map(lambda exponent: 10.0**exponent)


# Definition


def test_delta_is_that_of_the_enumerated_counts() -> None:
    for n_reports, local_epsilon in product(range(1, 9), (0.01, 0.3, 1.0, 2.5, 6.0, 20.0)):
        first, second = (clone_counts(local_epsilon, n_reports, flipped=flipped) for flipped in (False, True))
        for share in (0.0, 0.1, 0.37, 0.5, 0.8, 0.99, 1.0, 1.5):
            epsilon = share * local_epsilon
            exact = hockey_stick(first, second, epsilon)
            ours = numerical_delta(epsilon=epsilon, local_epsilon=local_epsilon, n_reports=n_reports)
            assert exact == pytest.approx(hockey_stick(second, first, epsilon), abs=1e-14)
            assert exact - 1e-14 <= ours <= exact + 1e-9
            assert ours <= exact * (1 + 20 * SLACK) + 1e-14


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_reports", "epsilon"),
    [(300, 0.1), (300, 0.5), *(pytest.param(1000, e, marks=pytest.mark.long) for e in (0.05, 0.25))],
)
def test_delta_agrees_with_fifty_digits(n_reports: int, epsilon: float) -> None:
    local_epsilon = 1.0
    with mp.workdps(50):
        odds, ratio = mp.exp(mpf(local_epsilon)), mp.exp(mpf(epsilon))
        alpha, share = odds / (odds + 1), 1 / odds
        exact = mpf(0)
        clones = (1 - share) ** (n_reports - 1)
        for c in range(n_reports):
            # Beyond 12 standard deviations of C nothing matters at the precision asked for.
            if abs(c - n_reports * share) < 12 * math.sqrt(n_reports * share):
                pmf = mpf(2) ** -c
                previous, total = mpf(0), mpf(0)
                for a in range(c + 2):
                    p, q = alpha * previous + (1 - alpha) * pmf, (1 - alpha) * previous + alpha * pmf
                    total += max(p - ratio * q, 0)
                    previous, pmf = pmf, pmf * (c - a) / (a + 1)
                exact += clones * total
            clones *= share / (1 - share) * (n_reports - 1 - c) / (c + 1)
        ours = numerical_delta(epsilon=epsilon, local_epsilon=local_epsilon, n_reports=n_reports)
        assert exact <= ours <= exact * mpf("1.0001")


@pytest.mark.parametrize("local_epsilon", [0.5, 1.0, 3.0])
def test_delta_agrees_with_dp_accounting(local_epsilon: float) -> None:
    first, second = (clone_counts(local_epsilon, 40, flipped=flipped) for flipped in (False, True))
    losses = [
        pld.from_two_probability_mass_functions(
            {outcome: math.log(mass) for outcome, mass in first.items()},
            {outcome: math.log(mass) for outcome, mass in second.items()},
            pessimistic_estimate=pessimistic,
            value_discretization_interval=1e-4,
        )
        for pessimistic in (False, True)
    ]
    for epsilon in (0.1, 0.3, 0.45):
        low, high = (loss.get_delta_for_epsilon(epsilon) for loss in losses)
        ours = numerical_delta(epsilon=epsilon, local_epsilon=local_epsilon, n_reports=40)
        assert low <= ours <= high * (1 + 1e-6)


@pytest.mark.slow
def test_no_shuffled_channel_is_above_the_bound_and_one_report_of_randomized_response_meets_it() -> None:
    for local_epsilon, n_reports in product((0.2, 1.0, 3.0), (1, 2, 3, 5, 6)):
        channels = [randomized_response(local_epsilon, 2), randomized_response(local_epsilon, 3)]
        if n_reports <= 3:
            channels += [randomized_response(local_epsilon, 5), subset_selection(local_epsilon, 4, 2)]
        for channel, share in product(channels, (0.0, 0.1, 0.3, 0.6, 0.9)):
            epsilon = share * local_epsilon
            bound = numerical_delta(epsilon=epsilon, local_epsilon=local_epsilon, n_reports=n_reports)
            assert shuffled_delta(channel, n_reports, epsilon) <= bound
    bound = numerical_delta(epsilon=0.4, local_epsilon=1.0, n_reports=1)
    assert shuffled_delta(randomized_response(1.0, 2), 1, 0.4) == pytest.approx(bound, rel=1e-8)


def test_epsilon_lies_between_the_published_bounds() -> None:
    # Printed with the reference implementation of [FMT21] as its example: a lower and an upper bound of the same δ(ε).
    ours = numerical_epsilon(local_epsilon=4.0, n_reports=10**5, delta=1e-6)
    assert 0.1675385583317841 < ours < 0.172790550755978
    # Its closed form has another factor than the theorem, (e^ε₀ - 1)/(e^ε₀ + 1/(1 + x)): larger by less than 1 %.
    closed = closed_form_epsilon(local_epsilon=4.0, n_reports=10**5, delta=1e-6)
    assert closed is not None
    assert 0.99 * 0.5378040242374512 < closed < 0.5378040242374512


@given(st.floats(0.01, 12), st.integers(100, 10**9), deltas)
def test_the_closed_form_is_never_below_the_numerical_bound(local_epsilon: float, n_reports: int, delta: float) -> None:
    closed = closed_form_epsilon(local_epsilon=local_epsilon, n_reports=n_reports, delta=delta)
    valid = local_epsilon <= math.log(n_reports / (16 * math.log(2 / delta)))
    assert (closed is not None) == valid
    if closed is not None:
        # δ where the closed form promises it, with no ε in between
        assert numerical_delta(epsilon=closed, local_epsilon=local_epsilon, n_reports=n_reports) <= delta


# Identities


@given(local_epsilons, reports, deltas)
def test_epsilon_is_met_and_nearly_the_smallest(local_epsilon: float, n_reports: int, delta: float) -> None:
    epsilon = numerical_epsilon(local_epsilon=local_epsilon, n_reports=n_reports, delta=delta)
    assert 0 <= epsilon <= local_epsilon
    assert numerical_delta(epsilon=epsilon, local_epsilon=local_epsilon, n_reports=n_reports) <= delta
    if epsilon > 0:
        below = epsilon * (1 - 2 * BRACKET)
        assert numerical_delta(epsilon=below, local_epsilon=local_epsilon, n_reports=n_reports) > delta


@pytest.mark.slow
@given(local_epsilons, local_epsilons, reports, reports, deltas, deltas)
def test_more_noise_more_reports_and_more_delta_never_cost_privacy(
    local_1: float, local_2: float, n_1: int, n_2: int, delta_1: float, delta_2: float
) -> None:
    better = shuffled(local_epsilon=min(local_1, local_2), n_reports=max(n_1, n_2), delta=max(delta_1, delta_2))
    for local, n, delta in (
        (max(local_1, local_2), max(n_1, n_2), max(delta_1, delta_2)),
        (min(local_1, local_2), min(n_1, n_2), max(delta_1, delta_2)),
        (min(local_1, local_2), max(n_1, n_2), min(delta_1, delta_2)),
    ):
        worse = shuffled(local_epsilon=local, n_reports=n, delta=delta)
        assert better.epsilon <= worse.epsilon * (1 + BLOCKS)
        assert worse.epsilon <= worse.local_epsilon


@pytest.mark.slow
@given(local_epsilons, st.integers(2, 10**6), deltas, st.data())
def test_colluding_users_count_as_absent(local_epsilon: float, n: int, delta: float, data: st.DataObject) -> None:
    colluding = data.draw(st.integers(0, n - 1))
    with_them = shuffled(local_epsilon=local_epsilon, n_reports=n, delta=delta, colluding=colluding)
    without = shuffled(local_epsilon=local_epsilon, n_reports=n - colluding, delta=delta)
    assert with_them.epsilon == without.epsilon
    assert with_them.epsilon >= shuffled(local_epsilon=local_epsilon, n_reports=n, delta=delta).epsilon * (1 - BLOCKS)


def test_limits() -> None:
    for local_epsilon in (0.01, 1.0, 20.0):  # alone among colluders only the report protects
        promise = shuffled(local_epsilon=local_epsilon, n_reports=1000, delta=1e-6, colluding=999)
        assert (promise.epsilon, promise.method) == (local_epsilon, "local")
        assert "no more than that" in str(promise)
    hardly_randomized = shuffled(local_epsilon=20.0, n_reports=1000, delta=1e-6)  # no clones
    assert hardly_randomized.epsilon == pytest.approx(20.0, abs=1e-4)
    assert shuffled(local_epsilon=0.01, n_reports=10**9, delta=1e-6).epsilon == 0.0
    beyond_all_tails = shuffled(local_epsilon=10.0, n_reports=10**15, delta=1e-6)
    assert beyond_all_tails.method == "closed form"
    assert beyond_all_tails.epsilon < shuffled(local_epsilon=10.0, n_reports=10**9, delta=1e-6).epsilon


@pytest.mark.slow
@fewer_examples(2)
@given(st.floats(-2, 1.5).map(lambda exponent: 10.0**exponent), st.integers(1, 10**6), deltas)
def test_the_inverse_keeps_the_promise_and_the_next_does_not(epsilon: float, n_reports: int, delta: float) -> None:
    local = largest_local_epsilon(epsilon=epsilon, delta=delta, n_reports=n_reports)
    assert shuffled(local_epsilon=local, n_reports=n_reports, delta=delta).epsilon <= epsilon
    assert local == float(f"{local:.3g}")
    assert local >= min(epsilon, 20.0) * 0.99
    if local < 20.0:
        following = float(f"{local * 1.01:.3g}")
        if following <= 20.0:
            assert shuffled(local_epsilon=following, n_reports=n_reports, delta=delta).epsilon > epsilon


def test_the_inverse_goes_from_a_hundredth_to_twenty() -> None:
    assert largest_local_epsilon(epsilon=0.01, delta=1e-6, n_reports=1) == 0.01
    assert largest_local_epsilon(epsilon=100.0, delta=1e-6, n_reports=1) == 20.0
    assert largest_local_epsilon(epsilon=0.5, delta=1e-6, n_reports=1000, colluding=999) == 0.5


def test_a_promise_in_words_is_never_more_than_the_number() -> None:
    words = str(shuffled(local_epsilon=4.0, n_reports=100_000, delta=1e-6, colluding=100))
    for part in (
        "Each report is 4-private by itself",
        "Shuffling 100,000 reports makes them (0.17, 1e-06)-private together (numerical bound), if",
        "At most 100 other users pool what they know with the curator, so that 99,900 reports count.",
        "trusted group are not covered",
    ):
        assert part in words
    assert "No other user" in shuffled(local_epsilon=1.0, n_reports=10, delta=1e-6).assumptions[3]
    for epsilon, shown in ((0.12301, "(0.124, 1e-06)"), (0.0, "(0, 1e-06)")):
        assert shown in str(ShuffledPrivacy(epsilon, 1e-6, 1.0, 10, 0, "numerical", ()))


# Edges


def test_bad_parameters_are_named() -> None:
    good = {"n_reports": 1000, "delta": 1e-6, "colluding": 0}
    functions = (partial(shuffled, local_epsilon=1.0), partial(largest_local_epsilon, epsilon=1.0))
    wrong: dict[str, tuple[Any, ...]] = {
        "n_reports": (0, -1, 10.0, "10", None, True),
        "delta": (0.0, 1e-101, 1.0, -1e-6, math.nan, "1e-6", None),
        "colluding": (-1, 1000, 1001, 0.5, None, True),
    }
    for function, (name, values) in product(functions, wrong.items()):
        for value in values:
            with pytest.raises(ParameterError, match=f"^{name} must be"):
                function(**{**good, name: value})
    for value in (0.0, 0.009, 20.1, -1.0, math.nan, math.inf, "1", None, True, [1.0]):
        with pytest.raises(ParameterError, match="^local_epsilon must be"):
            shuffled(**good, local_epsilon=value)
    for value in (0.0, -1.0, math.inf, "1"):
        with pytest.raises(ParameterError, match="^epsilon must be"):
            largest_local_epsilon(**good, epsilon=value)
    with pytest.raises(ParameterError, match="local_epsilon = epsilon would keep it, but no channel goes below 0.01"):
        largest_local_epsilon(epsilon=5e-4, delta=1e-6, n_reports=100)


# Statistical


def _beaten(*, local_epsilon: float, n_reports: int, epsilon: float, delta: float) -> bool:
    """Whether some threshold on shuffled bits tells one user's value apart better than (ε, δ) allows.

    Half of the draws choose the threshold, the other half test it; by Hoeffding's inequality a true (ε, δ) is refuted
    with probability at most 1e-9.
    """
    rng = np.random.default_rng(20250711)
    trials = 200_000
    truth = 1.0 / (1.0 + math.exp(-local_epsilon))
    # All others hold 0, which hides the one user least; the curator sees the number of ones.
    others = rng.binomial(n_reports - 1, 1.0 - truth, size=(2, 2, trials))
    ones = others + (rng.random((2, 2, trials)) < np.array([truth, 1.0 - truth])[None, :, None])
    thresholds = np.arange(n_reports + 1)
    choosing, testing = (
        np.array([np.searchsorted(np.sort(sample), thresholds, side="left") for sample in half]) for half in ones
    )
    excess = [
        (1 - half[0] / trials) - math.exp(epsilon) * (1 - half[1] / trials) - delta for half in (choosing, testing)
    ]
    margin = (1.0 + math.exp(epsilon)) * math.sqrt(math.log(2e9) / (2 * trials))
    return bool(excess[1][np.argmax(excess[0])] > margin)


@pytest.mark.statistical
def test_a_distinguisher_does_not_beat_the_bound_but_a_promise_that_is_far_too_good() -> None:
    for (local_epsilon, n_reports), delta in product([(0.5, 50), (1.0, 100), (2.0, 400)], [1e-2, 1e-6]):
        setting = {"local_epsilon": local_epsilon, "n_reports": n_reports, "delta": delta}
        epsilon = shuffled(**setting).epsilon
        assert epsilon < 0.9 * local_epsilon
        assert not _beaten(**setting, epsilon=epsilon)
        if delta == 1e-6:
            assert _beaten(**setting, epsilon=epsilon / 20)
