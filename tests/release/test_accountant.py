import math
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as oracle
from dp_accounting.rdp import rdp_privacy_accountant as rdp
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.release import Accountant, MechanismRecord
from hybriddp.release.accountant import rho_to_epsilon
from hybriddp.release.history import Cost, history
from hybriddp.theory import gaussian_delta, gaussian_epsilon
from tests.examples import fewer_examples

NAMES = ("basic", "zcdp", "pld")
FINER = ("zcdp", "pld")
DELTA = Fraction("1e-6")
every_accountant = pytest.mark.parametrize("name", NAMES)
finer_accountants = pytest.mark.parametrize("name", FINER)


def laplace(epsilon: str, kind: str = "laplace") -> Cost:
    return Cost(Fraction(epsilon), Fraction(0), MechanismRecord.noise(kind, sensitivity=1, scale=1 / float(epsilon)))


def gaussian(sigma: float, kind: str = "gaussian", sensitivity: int = 1) -> Cost:
    """Noise of this σ, with the (ε, δ) it has at δ = 1e-8."""
    epsilon = gaussian_epsilon(delta=1e-8, sensitivity=sensitivity, sigma=sigma) + 2.0 / sigma**2
    mechanism = MechanismRecord.noise(kind, sensitivity=sensitivity, scale=sigma)
    return Cost(Fraction(float(epsilon)), Fraction("1e-8"), mechanism)


def epsilon_by(name: str, *costs: Cost, delta: Fraction = DELTA) -> float:
    found = Accountant(name).epsilon(history(costs), delta)
    assert found is not None
    return float(found)


# Definition: what is claimed is true


def _composed(costs: list[Cost], *, optimistic: bool) -> Any:
    """The same noise, composed by dp-accounting alone."""
    options: dict[str, Any] = {"pessimistic_estimate": not optimistic, "use_connect_dots": not optimistic}
    composed = oracle.identity(pessimistic_estimate=not optimistic)
    for cost in costs:
        noise = cost.mechanism
        assert noise is not None
        make = oracle.from_laplace_mechanism if noise.kind == "laplace" else oracle.from_gaussian_mechanism
        composed = composed.compose(make(float(noise.exact_scale), float(noise.exact_sensitivity), **options))
    return composed


continuous_noise = st.one_of(
    st.sampled_from(["0.05", "0.1", "0.3", "0.8", "1.5"]).map(laplace),
    st.sampled_from([1.5, 4.0, 10.0, 40.0]).map(gaussian),
)


histories = st.lists(continuous_noise, min_size=1, max_size=6)
some_delta = st.sampled_from(["1e-4", "1e-6", "1e-8"])


@pytest.mark.slow
@fewer_examples(5)
@given(histories, some_delta)
def test_no_cost_is_below_what_dp_accounting_finds(costs: list[Cost], delta: str) -> None:
    least = _composed(costs, optimistic=True).get_epsilon_for_delta(float(delta))
    pessimistic = _composed(costs, optimistic=False)
    close = pessimistic.get_epsilon_for_delta(float(delta))
    for name in FINER:
        found = epsilon_by(name, *costs, delta=Fraction(delta))
        assert found >= least - 1e-9
        assert found >= close - 2e-6  # the discretization of the pessimistic one
    # What is set aside for the rounding of convolutions, 1e-13 of δ for each, matters where δ is small.
    reserved = pessimistic.get_epsilon_for_delta(float(delta) - len(costs) * 1e-13)
    assert epsilon_by("pld", *costs, delta=Fraction(delta)) <= reserved + 1e-5


def _losses(mechanism: MechanismRecord) -> tuple[np.ndarray, np.ndarray]:
    """The privacy loss of discrete noise: its values, and how likely each is."""
    scale, sensitivity = float(mechanism.exact_scale), int(mechanism.exact_sensitivity)
    k = np.arange(-60, 61)
    if mechanism.kind == "discrete-gaussian":
        weight, loss = np.exp(-(k**2) / (2 * scale**2)), (2 * sensitivity * k + sensitivity**2) / (2 * scale**2)
    else:
        weight, loss = np.exp(-np.abs(k) / scale), (np.abs(k + sensitivity) - np.abs(k)) / scale
    return loss, weight / weight.sum()


def _exact_delta(costs: tuple[Cost, ...], epsilon: float) -> float:
    total, chance = np.zeros(1), np.ones(1)
    for cost in costs:
        assert cost.mechanism is not None
        loss, weight = _losses(cost.mechanism)
        losses, chances = np.add.outer(total, loss).ravel(), np.multiply.outer(chance, weight).ravel()
        total, index = np.unique(np.round(losses, 12), return_inverse=True)  # equal ones become one
        chance = np.bincount(index, weights=chances).astype(float)
    return float(np.sum(chance * -np.expm1(np.minimum(epsilon - total, 0.0))))


DISCRETE = (
    gaussian(1.0, "discrete-gaussian"),
    gaussian(1.5, "discrete-gaussian", 2),
    gaussian(4.0, "discrete-gaussian", 3),
    laplace("0.5", "discrete-laplace"),
    laplace("2", "discrete-laplace"),
)


@pytest.mark.repeated
@pytest.mark.parametrize("delta", ["1e-2", "1e-4", "1e-6"])
def test_discrete_noise_costs_no_more_than_is_claimed(delta: str) -> None:
    for first, second in product(DISCRETE, DISCRETE):
        _check_discrete("zcdp", first, second, delta)


@pytest.mark.slow
def test_discrete_noise_costs_no_more_than_is_claimed_by_privacy_loss_distributions() -> None:
    for first, second, delta in zip(DISCRETE, (*DISCRETE[1:], DISCRETE[0]), ["1e-2", "1e-4", "1e-6"] * 2, strict=False):
        _check_discrete("pld", first, second, delta)


@pytest.mark.long
@pytest.mark.parametrize("delta", ["1e-2", "1e-4", "1e-6"])
def test_discrete_noise_costs_no_more_in_all_pairs(delta: str) -> None:
    for first, second in product(DISCRETE, DISCRETE):
        _check_discrete("pld", first, second, delta)


def _check_discrete(name: str, first: Cost, second: Cost, delta: str) -> None:
    for costs in ((first,), (first, second), (first, second, second)):
        assert _exact_delta(costs, epsilon_by(name, *costs, delta=Fraction(delta))) <= float(delta) * (1 + 1e-9)


def test_the_formula_for_continuous_noise_does_not_hold_for_discrete_noise() -> None:
    coarse = gaussian(1.0, "discrete-gaussian")
    excess = [
        _exact_delta((coarse,), epsilon) / float(gaussian_delta(epsilon=epsilon, sensitivity=1.0, sigma=1.0))
        for epsilon in np.linspace(0.0, 4.0, 401)
    ]
    assert max(excess) > 1.2
    assert coarse.mechanism is not None
    assert coarse.mechanism.lattice_shift == 1


@pytest.mark.parametrize("sigmas", [[2.0], [1.5, 1.5], [10.0, 20.0, 5.0], [30.0] * 6])
def test_gaussian_histories_cost_what_one_gaussian_mechanism_costs(sigmas: list[float]) -> None:
    together = math.sqrt(sum(1 / s**2 for s in sigmas))
    exact = float(gaussian_epsilon(delta=float(DELTA), sensitivity=together, sigma=1.0))
    for name in FINER:
        assert epsilon_by(name, *map(gaussian, sigmas)) == pytest.approx(exact, rel=1e-9)
        assert epsilon_by(name, *map(gaussian, sigmas)) >= exact * (1 - 1e-12)


@pytest.mark.parametrize("rho", ["0.0001", "0.01", "0.5", "3"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_the_conversion_of_rho_is_dp_accountings(rho: str, delta: str) -> None:
    ours = float(rho_to_epsilon(Fraction(rho), Fraction(delta)))
    orders = 1 + np.geomspace(0.02, 1e4, 20_000)
    theirs, _ = rdp.compute_epsilon(orders, float(rho) * orders, float(delta))
    assert ours == pytest.approx(theirs, rel=1e-6)
    coarse = rdp.RdpAccountant()
    coarse.compose(dp_event.GaussianDpEvent(1 / math.sqrt(2 * float(rho))))
    assert ours <= coarse.get_epsilon(float(delta)) * (1 + 1e-9)
    assert ours < float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))


@finer_accountants
def test_a_claim_that_is_better_than_every_formula_counts(name: str) -> None:
    noise = gaussian(3.0, "discrete-gaussian")
    claim = next(e for e in map(Fraction, np.arange(1.0, 3.0, 1 / 128)) if _exact_delta((noise,), float(e)) <= DELTA)
    claimed = Cost(claim, DELTA, noise.mechanism)
    assert epsilon_by(name, claimed) == claim < epsilon_by(name, noise)


def test_many_small_pure_releases_cost_less_than_their_sum() -> None:
    small, large = [laplace("0.05")] * 60, laplace("1.5")
    rho = 60 * Fraction("0.05") ** 2 / 2
    assert epsilon_by("zcdp", *small) == pytest.approx(float(rho_to_epsilon(rho, DELTA)))
    assert epsilon_by("zcdp", *small) < 2.0
    # A large one is cheaper outside.
    assert epsilon_by("zcdp", *small, large) == pytest.approx(float(rho_to_epsilon(rho, DELTA)) + 1.5)
    assert epsilon_by("zcdp", gaussian(20.0), large) < epsilon_by("zcdp", gaussian(20.0)) + 1.5 + 1e-12


@pytest.mark.parametrize("epsilons", [["0.05"] * 40, ["0.3"] * 12, ["0.05"] * 30 + ["0.4"] * 5])
def test_of_equal_releases_all_or_none_count_in_rho(epsilons: list[str]) -> None:
    exact = sorted(map(Fraction, epsilons))
    every_split = [
        rho_to_epsilon(sum((e**2 / 2 for e in exact[:k]), Fraction(0)), DELTA) + sum(exact[k:], Fraction(0))
        for k in range(len(exact) + 1)
    ]
    assert epsilon_by("zcdp", *map(laplace, epsilons)) == pytest.approx(float(min(every_split)), rel=1e-12)


def test_delta_that_is_spent_is_not_there_for_gaussian_noise() -> None:
    noise = gaussian(5.0)
    for mechanism in (None, MechanismRecord("thresholded")):
        other = Cost(Fraction("0.25"), Fraction("9e-7"), mechanism)
        exact = 0.25 + float(gaussian_epsilon(delta=1e-7, sensitivity=1.0, sigma=5.0))
        assert epsilon_by("zcdp", noise, other) == pytest.approx(exact, rel=1e-9)
        assert float(gaussian_epsilon(delta=1e-7, sensitivity=1.0, sigma=5.0)) < epsilon_by("pld", noise, other) < exact
        assert Accountant("pld").epsilon(history([other, other]), DELTA) is None


def test_what_is_known_by_epsilon_alone_is_composed_as_the_worst_there_is() -> None:
    # Two-point mechanisms are the worst; their composition is a binomial sum.
    epsilon, times = 0.1, 40
    found = epsilon_by("pld", *[Cost(Fraction("0.1"), Fraction(0))] * times)
    up = 1 / (1 + math.exp(-epsilon))
    delta = sum(
        math.comb(times, k) * up**k * (1 - up) ** (times - k) * -math.expm1(min(found - (2 * k - times) * epsilon, 0.0))
        for k in range(times + 1)
    )
    assert delta <= float(DELTA)
    assert delta == pytest.approx(float(DELTA), rel=1e-2)


# Identities


any_cost = st.one_of(
    continuous_noise,
    st.sampled_from([Cost(Fraction("0.2"), Fraction("1e-7")), Cost(Fraction("0.4"), Fraction(0)), DISCRETE[2]]),
)


@given(st.lists(any_cost, min_size=1, max_size=5))
def test_basic_is_the_sum_and_zcdp_never_costs_more(costs: list[Cost]) -> None:
    basic = Accountant("basic").epsilon(history(costs), DELTA)
    assert basic == sum(cost.epsilon for cost in costs)
    assert epsilon_by("zcdp", *costs) <= float(basic)
    assert epsilon_by("zcdp", *costs[1:]) <= epsilon_by("zcdp", *costs) + 1e-6  # one more event is never cheaper


@fewer_examples(5)
@given(st.lists(any_cost, min_size=1, max_size=5))
def test_privacy_loss_distributions_never_cost_more_than_zcdp(costs: list[Cost]) -> None:
    assert epsilon_by("pld", *costs) <= epsilon_by("zcdp", *costs)
    assert epsilon_by("pld", *costs[1:]) <= epsilon_by("pld", *costs) + 1e-6


@every_accountant
def test_the_order_of_events_does_not_matter(name: str) -> None:
    costs = [laplace("0.3"), gaussian(4.0), Cost(Fraction("0.2"), Fraction("1e-7")), DISCRETE[2]]
    assert len({history(some) for some in permutations(costs)}) == 1
    assert len({epsilon_by(name, *some) for some in (costs, costs[::-1])}) == 1
