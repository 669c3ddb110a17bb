"""Events that cost everybody: people who choose a group in every study pay for each of them."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import BudgetError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Accountant, Event, Ledger, MechanismRecord, Part
from hybriddp.release.event import Spent
from hybriddp.release.history import Cost, history
from tests.examples import fewer_examples
from tests.refusals import refused

BUDGET = Privacy.total(epsilon=1000, delta="0.01")
GROUPS = ("trusted", "local")
LAPLACE = MechanismRecord.noise("laplace", sensitivity=1, scale=5)


def release(
    epsilon: str, who: str = "everybody", study: str = "d", part: Part | None = None, delta: str = "0", **more: object
) -> Event:
    return Event.now(
        f"a mean of {study}", who=who, study=study, privacy=Privacy(epsilon=epsilon, delta=delta), part=part, **more
    )


# What a user pays, by brute force over imagined users. The oracle does not know "everybody": a study that lets its
# users choose has something that costs trusted users, and something that costs local ones.


@dataclass(frozen=True)
class User:
    """Somebody with a group per study, and a key per partition."""

    groups: dict[str, str]
    keys: dict[str, str]
    usual: str

    def pays(self, event: Event) -> bool:
        mine = event.part is None or self.keys[event.part.by] == event.part.same_key
        return mine and self.groups[event.study] == event.who


def users(events: list[Event]) -> list[User]:
    """Everybody there could be. They choose in studies that charge everybody; in others their group is fixed."""
    chosen = sorted({event.study for event in events if event.who == "everybody"})
    return [
        User(
            {"x": usual, "y": usual, **dict(zip(chosen, choice, strict=True))}, {"country": country, "age": age}, usual
        )
        for usual in GROUPS
        for choice in product(GROUPS, repeat=len(chosen))
        for country in ("a", "b", "neither")
        for age in ("a", "b", "neither")
    ]


def costs(user: User, events: list[Event]) -> list[Cost]:
    truth = [replace(e, who=who) for e in events for who in (GROUPS if e.who == "everybody" else (e.who,))]
    return [Cost(Fraction(e.epsilon), Fraction(e.delta), e.mechanism) for e in truth if user.pays(e)]


def most(events: list[Event], who: str, part: Part | None = None, accountant: str = "basic") -> Spent:
    paid = {
        history(costs(user, events))
        for user in users(events)
        if who in (user.usual, "everybody") and (part is None or user.keys[part.by] == part.same_key)
    }
    if accountant != "basic":
        found = [Accountant(accountant).epsilon(one, BUDGET.exact_delta) for one in paid]
        return Spent(max(e for e in found if e is not None), BUDGET.exact_delta if any(paid) else Fraction(0))
    epsilons = [sum((p.times * p.cost.epsilon for p in one), Fraction(0)) for one in paid]
    return Spent(max(epsilons), max(sum((p.times * p.cost.delta for p in one), Fraction(0)) for one in paid))


parts = st.one_of(st.none(), st.builds(Part, st.sampled_from(["country", "age"]), st.sampled_from(["a", "b"])))
# A study lets its users choose, or does not: a study of ours never does both.
charges = st.one_of(
    st.builds(
        release, st.sampled_from(["0.3", "1.25"]), st.just("everybody"), st.sampled_from(["a", "b", "c"]), parts,
        st.sampled_from(["0", "0.0001"]), mechanism=st.none(),
    ),
    st.builds(
        release, st.sampled_from(["0.2", "1"]), st.sampled_from(GROUPS), st.sampled_from(["x", "y"]), parts,
        st.just("0"), mechanism=st.sampled_from([None, LAPLACE]),
    ),
)  # fmt: skip


@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
@fewer_examples(3)
@given(st.lists(charges, max_size=6), parts, st.sampled_from([*GROUPS, "everybody"]))
def test_what_is_spent_is_the_most_that_any_user_pays_whatever_they_choose(
    accountant: str, events: list[Event], part: Part | None, who: str
) -> None:
    ledger = Ledger(BUDGET, accountant=accountant)
    assert ledger.sums(who, study="a") == Spent(Fraction(0), Fraction(0))  # kept from now on, the others made later
    ledger.spend_all(events)
    assert ledger.spent(who, part=part) == most(events, who, part, accountant)
    assert ledger.sums(who, part=part) == most(events, who, part)
    for study in ("a", "b", "x"):
        assert ledger.sums(who, study=study) == most([e for e in events if e.study == study], who)


@given(st.lists(st.tuples(charges, st.sampled_from(["1", "1.5"])), max_size=8))
def test_a_study_is_refused_exactly_if_some_user_would_pay_more_than_the_budget_or_the_promise(
    asked: list[tuple[Event, str]],
) -> None:
    budget = Privacy(epsilon="2.5", delta="0.0002")
    ledger = Ledger(budget)
    for event, promise in asked:
        after, promised = [*ledger.events, event], Privacy(epsilon=promise, delta="0.0001")
        payers = [user for user in users(after) if costs(user, [event])]
        own = [e for e in after if e.study == event.study]

        def within(limit: Privacy, some: list[Event], payers: list[User] = payers) -> bool:
            # ε and δ are compared each for itself, as basic composition of a ledger is.
            paid = [costs(user, some) for user in payers]
            return all(
                sum(c.epsilon for c in one) <= limit.exact_epsilon and sum(c.delta for c in one) <= limit.exact_delta
                for one in paid
            )

        if within(budget, after) and within(promised, own):
            ledger.spend(event, promised=promised)
        else:
            with pytest.raises(BudgetError):
                ledger.spend(event, promised=promised)
    assert ledger.copy().events == ledger.events


# The same by example


def test_whoever_is_trusted_in_one_study_and_local_in_the_next_pays_for_both() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(release("0.6", study="first"), promised=Privacy(epsilon="0.6"))
    with pytest.raises(
        BudgetError,
        match=r"would cost everybody ε = 0\.6.* they have ε = 0\.4, δ = 0 left\. Spent before: .*first \(everybody\)",
    ):
        ledger.spend(release("0.6", study="second"))
    for who in (*GROUPS, "everybody"):
        assert ledger.remaining(who).epsilon == Fraction("0.4")
    with pytest.raises(BudgetError, match="It has been released already"):
        ledger.spend(release("0.1", "trusted", "first"), promised=Privacy(epsilon="0.6"))


def test_everybody_has_left_what_the_poorer_group_has() -> None:
    ledger = Ledger(Privacy(epsilon=1, delta="1e-6"))
    ledger.spend_all([release("0.5", "local"), release("0.2", "trusted", delta="1e-6"), release("0.1")])
    assert ledger.spent("everybody") == Spent(Fraction("0.6"), Fraction("1e-6"))
    refused(BudgetError, "they have ε = 0.4", ledger.spend, release("0.5"))
    ledger.spend(release("0.4"))
    ledger.spend(release("0.3", "trusted"))
    refused(BudgetError, "Spent before: .*local users.*everybody.*everybody", ledger.spend, release("0.01", "local"))


def test_a_ledger_says_what_everybody_spent() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(release("0.25", part=Part("country", "DE")))
    groups = "; trusted: spent ε = 0.25, left ε = 0.75; local: spent ε = 0.25, left ε = 0.75"
    assert repr(ledger) == f"<Ledger: budget ε = 1; 1 event{groups}>"
    assert "a mean of d, study d, counts everybody with country = DE: ε = 0.25" in ledger.explain()
    for who in GROUPS:
        assert f"Left to every one of the {who} users: ε = 0.75" in ledger.explain()


def test_an_accountant_without_sums_refuses_what_either_group_cannot_pay() -> None:
    ledger = Ledger(Privacy(epsilon=1, delta="1e-6"), accountant="zcdp")
    ledger.spend(release("0.7", "local"))
    with pytest.raises(BudgetError, match=r"With a mean of d, .* \(everybody\), local users would have spent ε = 1\.1"):
        ledger.spend(release("0.4"))
    assert len(ledger.events) == 1
    ledger.spend(release("0.4", "trusted"))


@pytest.mark.parametrize("who", ["Everybody", "all", None])
def test_nobody_is_asked_about_by_another_spelling(who: object) -> None:
    ledger = Ledger(Privacy(epsilon=1))
    for ask in (ledger.spent, ledger.sums, ledger.remaining):
        refused(ParameterError, '^who must be "trusted", "local" or "everybody"', ask, who)
