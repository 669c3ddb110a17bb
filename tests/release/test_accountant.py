import builtins
import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as oracle
from dp_accounting.rdp import rdp_privacy_accountant as rdp
from hypothesis import given, settings
from hypothesis import strategies as st

from hybriddp.errors import BudgetError, DataError, MissingExtraError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Accountant, Event, Ledger, MechanismPrice, Part
from hybriddp.release.cost import Cost, history
from hybriddp.release.total import total_event
from hybriddp.release.zcdp import zcdp_epsilon
from hybriddp.theory import gaussian_delta, gaussian_epsilon, gaussian_sigma

NAMES = ("basic", "zcdp", "pld")
FINER = ("zcdp", "pld")
DELTA = Fraction("1e-6")
every_accountant = pytest.mark.parametrize("name", NAMES)
finer_accountants = pytest.mark.parametrize("name", FINER)


def laplace(epsilon: str, kind: str = "laplace") -> Cost:
    return Cost(Fraction(epsilon), Fraction(0), MechanismPrice.noise(kind, sensitivity=1, scale=1 / float(epsilon)))


def gaussian(sigma: float, kind: str = "gaussian", sensitivity: int = 1) -> Cost:
    """Noise of this σ, with the (ε, δ) it has at δ = 1e-8."""
    epsilon = gaussian_epsilon(delta=1e-8, sensitivity=sensitivity, sigma=sigma) + 2.0 / sigma**2
    mechanism = MechanismPrice.noise(kind, sensitivity=sensitivity, scale=sigma)
    return Cost(Fraction(float(epsilon)), Fraction("1e-8"), mechanism)


def price(name: str, *costs: Cost, delta: Fraction = DELTA) -> float:
    found = Accountant(name).price(history(costs), delta)
    assert found is not None
    return float(found)


# Definition: what is claimed is true


def _dp_accounting_epsilon(costs: list[Cost], delta: float, *, optimistic: bool) -> float:
    """The same noise, composed by dp-accounting alone."""
    options: dict[str, Any] = {"pessimistic_estimate": not optimistic, "use_connect_dots": not optimistic}
    composed = oracle.identity(pessimistic_estimate=not optimistic)
    for cost in costs:
        noise = cost.mechanism
        assert noise is not None
        make = oracle.from_laplace_mechanism if noise.kind == "laplace" else oracle.from_gaussian_mechanism
        composed = composed.compose(make(float(noise.exact_scale), float(noise.exact_sensitivity), **options))
    return float(composed.get_epsilon_for_delta(delta))


continuous_noise = st.one_of(
    st.sampled_from(["0.05", "0.1", "0.3", "0.8", "1.5"]).map(laplace),
    st.sampled_from([1.5, 4.0, 10.0, 40.0]).map(gaussian),
)


@settings(max_examples=25)
@given(st.lists(continuous_noise, min_size=1, max_size=6), st.sampled_from(["1e-4", "1e-6", "1e-8"]))
def test_no_price_is_below_what_dp_accounting_finds(costs: list[Cost], delta: str) -> None:
    least = _dp_accounting_epsilon(costs, float(delta), optimistic=True)
    close = _dp_accounting_epsilon(costs, float(delta), optimistic=False)
    for name in FINER:
        found = price(name, *costs, delta=Fraction(delta))
        assert found >= least - 1e-9
        assert found >= close - 2e-6  # the discretization of the pessimistic one
    assert price("pld", *costs, delta=Fraction(delta)) <= close + 1e-5


def _losses(mechanism: MechanismPrice) -> tuple[np.ndarray, np.ndarray]:
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
        total = np.add.outer(total, loss).ravel()
        chance = np.multiply.outer(chance, weight).ravel()
    return float(np.sum(chance * -np.expm1(np.minimum(epsilon - total, 0.0))))


DISCRETE = (
    gaussian(1.0, "discrete-gaussian"),
    gaussian(1.5, "discrete-gaussian", 2),
    gaussian(4.0, "discrete-gaussian", 3),
    laplace("0.5", "discrete-laplace"),
    laplace("2", "discrete-laplace"),
)


@finer_accountants
@pytest.mark.parametrize("delta", ["1e-2", "1e-4", "1e-6"])
def test_discrete_noise_costs_no_more_than_is_claimed(name: str, delta: str) -> None:
    for first, second in product(DISCRETE, DISCRETE):
        for costs in ((first,), (first, second), (first, second, second)):
            assert _exact_delta(costs, price(name, *costs, delta=Fraction(delta))) <= float(delta) * (1 + 1e-9)


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
        assert price(name, *map(gaussian, sigmas)) == pytest.approx(exact, rel=1e-9)
        assert price(name, *map(gaussian, sigmas)) >= exact * (1 - 1e-12)


@pytest.mark.parametrize("rho", ["0.0001", "0.01", "0.5", "3"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_the_conversion_of_rho_is_dp_accountings(rho: str, delta: str) -> None:
    ours = float(zcdp_epsilon(Fraction(rho), Fraction(delta)))
    orders = 1 + np.geomspace(0.02, 1e4, 20_000)
    theirs, _ = rdp.compute_epsilon(orders, float(rho) * orders, float(delta))
    assert ours == pytest.approx(theirs, rel=1e-6)
    coarse = rdp.RdpAccountant()
    coarse.compose(dp_event.GaussianDpEvent(1 / math.sqrt(2 * float(rho))))
    assert ours <= coarse.get_epsilon(float(delta)) * (1 + 1e-9)
    assert ours < float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))


def test_noise_about_which_nothing_is_known_is_refused() -> None:
    with pytest.raises(ParameterError, match="^scale must be at least 1 for discrete Gaussian noise"):
        MechanismPrice.noise("discrete-gaussian", sensitivity=1, scale=0.9)
    with pytest.raises(ParameterError, match="^scale must be within a factor of 1e100"):
        MechanismPrice.noise("gaussian", sensitivity=1, scale=1e200)


@finer_accountants
def test_a_claim_that_is_better_than_every_formula_counts(name: str) -> None:
    noise = gaussian(3.0, "discrete-gaussian")
    claim = next(e for e in map(Fraction, np.arange(1.0, 3.0, 1 / 128)) if _exact_delta((noise,), float(e)) <= DELTA)
    claimed = Cost(claim, DELTA, noise.mechanism)
    assert price(name, claimed) == claim < price(name, noise)


def test_many_small_pure_releases_cost_less_than_their_sum() -> None:
    small, large = [laplace("0.05")] * 60, laplace("1.5")
    rho = 60 * Fraction("0.05") ** 2 / 2
    assert price("zcdp", *small) == pytest.approx(float(zcdp_epsilon(rho, DELTA)))
    assert price("zcdp", *small) < 2.0
    # A large one is cheaper outside.
    assert price("zcdp", *small, large) == pytest.approx(float(zcdp_epsilon(rho, DELTA)) + 1.5)
    assert price("zcdp", gaussian(20.0), large) < price("zcdp", gaussian(20.0)) + 1.5 + 1e-12


@pytest.mark.parametrize("epsilons", [["0.05"] * 40, ["0.3"] * 12, ["0.05"] * 30 + ["0.4"] * 5])
def test_of_equal_releases_all_or_none_count_in_rho(epsilons: list[str]) -> None:
    exact = sorted(map(Fraction, epsilons))
    every_split = [
        zcdp_epsilon(sum((e**2 / 2 for e in exact[:k]), Fraction(0)), DELTA) + sum(exact[k:], Fraction(0))
        for k in range(len(exact) + 1)
    ]
    assert price("zcdp", *map(laplace, epsilons)) == pytest.approx(float(min(every_split)), rel=1e-12)


def test_delta_that_is_spent_is_not_there_for_gaussian_noise() -> None:
    noise = gaussian(5.0)
    for mechanism in (None, MechanismPrice("thresholded")):
        other = Cost(Fraction("0.25"), Fraction("9e-7"), mechanism)
        exact = 0.25 + float(gaussian_epsilon(delta=1e-7, sensitivity=1.0, sigma=5.0))
        assert price("zcdp", noise, other) == pytest.approx(exact, rel=1e-9)
        assert float(gaussian_epsilon(delta=1e-7, sensitivity=1.0, sigma=5.0)) < price("pld", noise, other) < exact
        assert Accountant("pld").price(history([other, other]), DELTA) is None


def test_what_is_known_by_epsilon_alone_is_composed_as_the_worst_there_is() -> None:
    # Two-point mechanisms are the worst; their composition is a binomial sum.
    epsilon, times = 0.1, 40
    found = price("pld", *[Cost(Fraction("0.1"), Fraction(0))] * times)
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


@settings(max_examples=60)
@given(st.lists(any_cost, min_size=1, max_size=5))
def test_basic_is_the_sum_and_the_others_are_never_dearer(costs: list[Cost]) -> None:
    basic = Accountant("basic").price(history(costs), DELTA)
    assert basic == sum(cost.epsilon for cost in costs)
    assert price("pld", *costs) <= price("zcdp", *costs) <= float(basic)
    for name in FINER:  # one more event never makes it cheaper
        assert price(name, *costs[1:]) <= price(name, *costs) + 1e-6


@every_accountant
def test_the_order_of_events_does_not_matter(name: str) -> None:
    costs = [laplace("0.3"), gaussian(4.0), Cost(Fraction("0.2"), Fraction("1e-7")), DISCRETE[2]]
    assert len({price(name, *some) for some in permutations(costs)}) == 1


def _decimal(cost: Cost) -> Cost:
    """The cost with its ε rounded up to hundredths, as a ledger's decimals."""
    return Cost(Fraction(math.ceil(cost.epsilon * 100), 100), cost.delta, cost.mechanism)


def _event(cost: Cost, by: str | None = None, key: str = "") -> Event:
    privacy = Privacy(epsilon=str(float(cost.epsilon)), delta=float(cost.delta))
    part = None if by is None else Part(by, key)
    return Event.now("a release", who="trusted", study="d", privacy=privacy, part=part, mechanism=cost.mechanism)


LITTLE, MUCH, PURE = (_decimal(c) for c in (gaussian(20.0), gaussian(8.0), laplace("0.3")))


def _spent(name: str, *events: Event, part: Part | None = None) -> Fraction:
    ledger = Ledger(Privacy(epsilon=20, delta="1e-6"), accountant=name)
    ledger.spend_all(events)
    return ledger.spent("trusted", part=part).epsilon


@every_accountant
def test_parts_of_one_cut_do_not_pay_for_each_other(name: str) -> None:
    each = [_event(MUCH, "country", key) for key in ("DE", "FR", "IT")]
    assert _spent(name, *each) == _spent(name, each[0]) == _spent(name, _event(MUCH))
    assert _spent(name, *each, _event(MUCH, "country", "de")) == _spent(name, _event(MUCH), _event(MUCH))


@every_accountant
def test_a_part_pays_for_the_whole_and_the_whole_for_its_dearest_part(name: str) -> None:
    events = [_event(PURE), _event(LITTLE, "country", "DE"), _event(MUCH, "country", "FR")]
    alone = [_spent(name, _event(PURE), _event(cost)) for cost in (LITTLE, MUCH)]
    assert [_spent(name, *events, part=Part("country", key)) for key in ("DE", "FR")] == alone
    assert _spent(name, *events) == alone[1] > alone[0]
    assert _spent(name, *events, part=Part("country", "IT")) == _spent(name, _event(PURE))


@every_accountant
def test_a_user_is_in_one_part_of_every_cut(name: str) -> None:
    events = [
        _event(MUCH, "country", "DE"),
        _event(PURE, "country", "FR"),
        _event(MUCH, "age", "18"),
        _event(LITTLE, "age", "26"),
    ]
    worst = max(_spent(name, _event(a), _event(b)) for a, b in product((MUCH, PURE), (MUCH, LITTLE)))
    assert _spent(name, *events) == worst
    assert _spent(name, *events, part=Part("country", "FR")) == _spent(name, _event(PURE), _event(MUCH))


def test_too_many_combinations_are_counted_as_more_than_they_may_be() -> None:
    kinds = [_decimal(gaussian(8.0 + k)) for k in range(9)]
    events = [_event(cost, by, str(k)) for by in ("country", "age") for k, cost in enumerate(kinds)]
    exact = _spent("zcdp", _event(kinds[0]), _event(kinds[0]))
    assert _spent("zcdp", *events[:9]) == _spent("zcdp", _event(kinds[0]))
    assert exact < _spent("zcdp", *events) <= 2 * kinds[0].epsilon
    assert _spent("zcdp", *events, part=Part("country", "0")) == exact


@every_accountant
@pytest.mark.parametrize("delta", ["0", "1e-7"])
def test_a_mean_whole_or_in_parts_costs_every_user_exactly_what_it_promises(name: str, delta: str) -> None:
    study = MeanStudy("minutes", bounds=(0, 240), epsilon="0.5", delta=delta)
    budget = Privacy(epsilon=2, delta="1e-6")
    whole, parts = (Ledger(budget, accountant=name) for _ in range(2))
    values = np.full(50, 30.0)
    codes = study.randomize(np.full(500, 30.0), random_state=1)
    study.estimate(trusted=values, local=codes, ledger=whole)
    pairs = {}
    for key in ("DE", "FR"):
        part = study.part("country", key)
        pairs[key] = (part.summarize_trusted(values), part.summarize_local(part.randomize(values, random_state=1)))
    study.estimate_parts("country", pairs, ledger=parts)
    for ledger in (whole, parts):
        claimed = Ledger(budget)
        claimed.spend_all(ledger.events)
        spent = claimed.spent("trusted", part=Part("country", "DE"))
        assert (spent.epsilon, spent.delta) == (Fraction("0.5"), Fraction(delta))
        assert claimed.spent("trusted") == spent
        assert ledger.spent("trusted").epsilon <= spent.epsilon
        with pytest.raises(BudgetError):  # the promise of one study is a sum, whoever prices the budget
            study.estimate(trusted=values, local=codes, ledger=ledger)


@finer_accountants
def test_ten_gaussian_studies_cost_far_less_than_ten_times_one(name: str) -> None:
    ledger = Ledger(Privacy(epsilon="1.43", delta="1e-6"), accountant=name)
    one = Privacy(epsilon="0.5", delta="1e-7")
    for k in range(10):
        ledger.spend(total_event(f"study {k}", one, None), promised=one)
    assert float(ledger.spent("trusted").epsilon) == pytest.approx(1.42975, abs=1e-5)
    assert ledger.spent("trusted").epsilon + ledger.remaining("trusted").epsilon == Fraction("1.43")
    assert ledger.remaining("trusted").delta == Fraction("1e-6")
    with pytest.raises(BudgetError, match=f"would have spent ε = 1.5.* by the accountant '{name}', of ε = 1.43"):
        ledger.spend(total_event("study 10", one, None))
    assert len(ledger.events) == 10
    assert f"Priced by the accountant '{name}'" in ledger.explain()
    assert "at δ = 1e-06" in ledger.explain()


@finer_accountants
def test_the_promise_of_a_study_is_a_sum(name: str) -> None:
    ledger, promise = Ledger(Privacy(epsilon=10, delta="1e-6"), accountant=name), Privacy(epsilon="4.95", delta="1e-6")
    tenth = _event(_decimal(laplace("0.1")))
    ledger.spend_all([tenth] * 49, promised=promise)
    assert ledger.spent("trusted").epsilon < 4
    with pytest.raises(BudgetError, match="have ε = 0.05"):
        ledger.spend(tenth, promised=promise)
    ledger.spend(tenth)


# Files


@every_accountant
def test_text_and_ledger_are_inverses(name: str) -> None:
    ledger = Ledger(Privacy(epsilon=20, delta="1e-6"), accountant=name)
    ledger.spend_all([_event(MUCH), _event(PURE, "country", "DE")])
    again = Ledger.from_json(ledger.to_json())
    assert again.events == ledger.events
    assert again.accountant == ledger.accountant == Accountant(name)
    assert again.spent("trusted") == ledger.spent("trusted")


def test_a_file_from_before_there_were_accountants_is_read() -> None:
    old = {"what": "a", "who": "trusted", "study": "d", "epsilon": "0.5", "delta": "0", "when": "2026-01-01"}
    text = json.dumps({"version": 1, "budget": {"epsilon": "1", "delta": "0"}, "events": [old]})
    ledger = Ledger.from_json(text)
    assert ledger.accountant.name == "basic"
    assert ledger.events[0].mechanism is None
    assert ledger.spent("trusted").epsilon == Fraction("0.5")


def test_nothing_is_written_of_what_is_too_dear(tmp_path: Path) -> None:
    path = tmp_path / "book.json"
    ledger = Ledger(Privacy(epsilon=1, delta="1e-6"), path=path, accountant="zcdp")
    ledger.spend(_event(MUCH))
    before = path.read_text(encoding="utf-8")
    with pytest.raises(BudgetError, match="Spent before: a release"):
        ledger.spend_all([_event(LITTLE), _event(MUCH), _event(MUCH), _event(MUCH)])
    assert path.read_text(encoding="utf-8") == before
    assert len(ledger.events) == 1
    with pytest.raises(BudgetError, match=r"was written with the accountant 'zcdp', not 'basic'\. Open it with"):
        Ledger(Privacy(epsilon=1, delta="1e-6"), path=path)


# Edges


@finer_accountants
def test_without_delta_only_pure_releases_can_be_paid_for(name: str) -> None:
    ledger = Ledger(Privacy(epsilon=1), accountant=name)
    ledger.spend_all([_event(PURE), _event(PURE)])
    assert ledger.spent("trusted").epsilon == Fraction("0.6")
    with pytest.raises(BudgetError, match="δ = 1e-08 by the accountant"):
        ledger.spend(_event(LITTLE))
    assert "The budget's δ is 0: only pure releases can be paid for" in ledger.explain()


@finer_accountants
def test_nothing_costs_nothing(name: str) -> None:
    ledger = Ledger(Privacy(epsilon=1, delta="1e-6"), accountant=name)
    assert ledger.spent("trusted").epsilon == ledger.spent("trusted").delta == 0
    assert ledger.remaining("trusted").epsilon == 1


@pytest.mark.parametrize("name", ["renyi", "", None, 3])
def test_an_unknown_accountant_is_named(name: object) -> None:
    with pytest.raises(ParameterError, match="^accountant must be one of basic, zcdp, pld"):
        Ledger(Privacy(epsilon=1), accountant=name)
    stored = {**json.loads(Ledger(Privacy(epsilon=1)).to_json()), "accountant": name}
    with pytest.raises(DataError, match="not a ledger"):
        Ledger.from_json(json.dumps(stored))


def test_a_missing_library_is_named_before_anything_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = builtins.__import__

    def without(name: str, *rest: Any) -> Any:  # noqa: ANN401
        if name.startswith("dp_accounting"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r'"pld" needs dp-accounting.*pip install "hybriddp\[accounting\]"'):
        Ledger(Privacy(epsilon=1), accountant="pld")
    assert Ledger(Privacy(epsilon=1), accountant="zcdp").events == ()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("uniform", "1", "1"), "^kind must be one of laplace"),
        (("laplace", None, "1"), "^sensitivity must be a positive decimal"),
        (("laplace", "1", "0"), "^scale must be a positive decimal"),
        (("laplace", "1", "-1"), "^scale must be a positive decimal"),
        (("laplace", "1", "1/3"), "^scale must be a positive decimal"),
        (("laplace", "1", 2.0), "^scale must be a positive decimal"),
        (("discrete-laplace", "1.5", "2"), "^sensitivity must be a whole number"),
        (("thresholded", "1", None), "^sensitivity must be None"),
    ],
)
def test_bad_mechanisms_are_named(fields: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        MechanismPrice(*fields)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, True, None, [1.0]])
def test_bad_scales_are_named(scale: Any) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match="^scale must be a positive number"):
        MechanismPrice.noise("laplace", sensitivity=1, scale=scale)


def test_a_scale_is_kept_exactly() -> None:
    assert MechanismPrice.noise("laplace", sensitivity="0.1", scale=0.1).exact_scale == Fraction(0.1)
    assert MechanismPrice.noise("laplace", sensitivity="0.1", scale=0.1).exact_sensitivity == Fraction(1, 10)
    released = total_event("d", Privacy(epsilon="0.3"), None).mechanism
    assert released is not None
    assert (released.kind, released.sensitivity) == ("discrete-laplace", "16777216")
    assert Fraction("0.3") - Fraction(1, 10**15) < released.exact_sensitivity / released.exact_scale <= Fraction("0.3")
    assert total_event("d", Privacy(epsilon="0.3", delta="1e-7"), None).mechanism.kind == "discrete-gaussian"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kind", "scale", "privacy"),
    [
        ("laplace", 0.99, Privacy(epsilon=1)),
        ("gaussian", 3.7, Privacy(epsilon=1, delta="1e-5")),
        ("gaussian", 100.0, Privacy(epsilon=1)),
        ("discrete-gaussian", 2.0, Privacy(epsilon=1, delta="1e-5")),
    ],
)
def test_noise_that_is_too_little_for_its_claim_is_refused(kind: str, scale: float, privacy: Privacy) -> None:
    noise = MechanismPrice.noise(kind, sensitivity=1, scale=scale)
    with pytest.raises(ParameterError, match="mechanism must be noise that is enough for ε = 1"):
        Event.now("a", who="trusted", study="d", privacy=privacy, mechanism=noise)
    enough = float(gaussian_sigma(epsilon=1.0, delta=1e-5, sensitivity=1.0))
    event = Event.now(
        "a",
        who="trusted",
        study="d",
        privacy=Privacy(epsilon=1, delta="1e-5"),
        mechanism=MechanismPrice.noise("gaussian", sensitivity=1, scale=enough),
    )
    assert event.mechanism is not None
    assert Event.now("a", who="local", study="d", privacy=privacy, mechanism=MechanismPrice("thresholded")).who
