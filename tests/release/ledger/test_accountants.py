"""Ledgers whose accountant is not the sum."""

import builtins
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybriddp.errors import BudgetError, MissingExtraError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Accountant, Event, Ledger, Part
from hybriddp.release.history import Cost
from tests.refusals import refused
from tests.release.numbers import total_event
from tests.release.test_accountant import every_accountant, finer_accountants, gaussian, laplace


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
def test_parts_of_one_partition_do_not_pay_for_each_other(name: str) -> None:
    each = [_event(MUCH, "country", key) for key in ("DE", "FR", "IT")]
    assert _spent(name, *each) == _spent(name, each[0]) == _spent(name, _event(MUCH))
    assert _spent(name, *each, _event(MUCH, "country", "de")) == _spent(name, _event(MUCH), _event(MUCH))


@every_accountant
def test_a_part_pays_for_everybody_and_everybody_for_the_most_expensive_part(name: str) -> None:
    events = [_event(PURE), _event(LITTLE, "country", "DE"), _event(MUCH, "country", "FR")]
    alone = [_spent(name, _event(PURE), _event(cost)) for cost in (LITTLE, MUCH)]
    assert [_spent(name, *events, part=Part("country", key)) for key in ("DE", "FR")] == alone
    assert _spent(name, *events) == alone[1] > alone[0]
    assert _spent(name, *events, part=Part("country", "IT")) == _spent(name, _event(PURE))


@every_accountant
def test_a_user_is_in_one_part_of_every_partition(name: str) -> None:
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
        with pytest.raises(BudgetError):  # the promise of one study is a sum, whatever the accountant
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
    assert f"Composed by the accountant '{name}'" in ledger.explain()
    assert "at δ = 1e-06" in ledger.explain()


@finer_accountants
def test_the_promise_of_a_study_is_a_sum(name: str) -> None:
    ledger, promise = Ledger(Privacy(epsilon=10, delta="1e-6"), accountant=name), Privacy(epsilon="4.95", delta="1e-6")
    tenth = _event(_decimal(laplace("0.1")))
    ledger.spend_all([tenth] * 49, promised=promise)
    assert ledger.spent("trusted").epsilon < 4
    refused(BudgetError, "have ε = 0.05", ledger.spend, tenth, promised=promise)
    ledger.spend(tenth)


@every_accountant
def test_a_copy_costs_the_same(name: str) -> None:
    ledger = Ledger(Privacy(epsilon=20, delta="1e-6"), accountant=name)
    ledger.spend_all([_event(MUCH), _event(PURE, "country", "DE")])
    again = ledger.copy()
    assert again.events == ledger.events
    assert again.accountant == ledger.accountant == Accountant(name)
    assert again.spent("trusted") == ledger.spent("trusted")


def test_nothing_is_written_of_what_costs_too_much(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    ledger = Ledger.create(path, Privacy(epsilon=1, delta="1e-6"), accountant="zcdp")
    ledger.spend(_event(MUCH))
    before = path.read_text(encoding="utf-8")
    with pytest.raises(BudgetError, match="Spent before: a release"):
        ledger.spend_all([_event(LITTLE), _event(MUCH), _event(MUCH), _event(MUCH)])
    assert path.read_text(encoding="utf-8") == before
    assert len(ledger.events) == 1


# Edges


@finer_accountants
def test_without_delta_only_pure_releases_can_be_paid_for(name: str) -> None:
    ledger = Ledger(Privacy(epsilon=1), accountant=name)
    ledger.spend_all([_event(PURE), _event(PURE)])
    assert ledger.spent("trusted").epsilon == Fraction("0.6")
    refused(BudgetError, "δ = 1e-08 by the accountant", ledger.spend, _event(LITTLE))
    assert "The budget's δ is 0: only pure releases can be paid for" in ledger.explain()


@finer_accountants
def test_nothing_costs_nothing(name: str) -> None:
    ledger = Ledger(Privacy(epsilon=1, delta="1e-6"), accountant=name)
    assert ledger.spent("trusted").epsilon == ledger.spent("trusted").delta == 0
    assert ledger.remaining("trusted").epsilon == 1


@pytest.mark.parametrize("name", ["renyi", "", None, 3])
def test_an_unknown_accountant_is_named(name: object) -> None:
    refused(ParameterError, "^accountant must be one of basic, zcdp, pld", Ledger, Privacy(epsilon=1), accountant=name)


def test_a_missing_library_is_named_before_anything_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("dp_accounting"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r'"pld" needs dp-accounting.*pip install "hybriddp\[accounting\]"'):
        Ledger(Privacy(epsilon=1), accountant="pld")
    assert Ledger(Privacy(epsilon=1), accountant="zcdp").events == ()
