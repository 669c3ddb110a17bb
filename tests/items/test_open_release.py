import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybriddp import Ledger
from hybriddp.errors import BudgetError, NumericalError, ParameterError
from hybriddp.items.open_release import PrivateItems, release_items
from hybriddp.privacy import Privacy
from hybriddp.release.threshold import ThresholdRule
from tests.levels import LEVEL, z_limit
from tests.release.numbers import cost

RULE = ThresholdRule.of(Privacy(epsilon=1, delta="0.000001"))

# The law of what is shown, from the definition


def _shown(count: int | None, rule: ThresholdRule, *, threshold: int | None) -> np.ndarray:
    """Probabilities of not being shown, and of each noisy count up to far beyond; None: an item that nobody has.

    Without a threshold the first entry is that of all counts that are far below.
    """
    a, reach = math.exp(-1 / rule.scale), math.ceil(45 * rule.scale)
    least = -reach if threshold is None else threshold
    values = np.arange(least, (threshold or 0) + reach + 10)
    if count is None:
        nothing: np.ndarray = np.eye(1, len(values) + 1)[0]
        return nothing
    law = (1 - a) / (1 + a) * a ** np.abs(values - count)
    return np.concatenate([[1 - law.sum()], law])


def _excess(one: list[np.ndarray], other: list[np.ndarray], epsilon: float) -> float:
    """The least δ for which two products of laws are (ε, δ)-close, in one direction, by going through all results."""
    p, q = np.ones(1), np.ones(1)
    for a, b in zip(one, other, strict=True):
        # Odds that are equal need not be told apart: that keeps the number of results small.
        p, q = _merge(np.outer(p, a).ravel(), np.outer(q, b).ravel())
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def _merge(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.round(np.log(p) - np.log(q), 9)
    odds[(p == 0) & (q == 0)] = 0
    _, at = np.unique(odds, return_inverse=True)
    return np.bincount(at, p), np.bincount(at, q)


def _neighbors() -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """Counts of few people, one of whom has another item instead, or none: alone or not, on both sides."""
    base, pool = Counter({"a": 1, "b": 2, "c": 5}), [None, "a", "b", "c", "new", "newer"]
    for mine, instead in product(pool, pool):
        one, other = (base + Counter([held] if held else []) for held in (mine, instead))
        yield one, other


def _laws(counts: dict[str, int], rule: ThresholdRule, threshold: int, public: tuple[str, ...]) -> list[np.ndarray]:
    pool = ["a", "b", "c", "new", "newer"]
    return [
        _shown(counts.get(item, 0 if item in public else None), rule, threshold=None if item in public else threshold)
        for item in pool
    ]


@pytest.mark.repeated
@pytest.mark.parametrize("public", [(), ("a", "new")])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.1"), ("2", "0.001"), ("0.5", "0.01")])
def test_all_results_of_neighbors_are_close(epsilon: str, delta: str, public: tuple[str, ...]) -> None:
    """The definition of (ε, δ), result by result, items of one person included; one threshold lower breaks it."""
    rule = ThresholdRule.of(Privacy(epsilon=epsilon, delta=delta))
    worst = lower = 0.0
    for one, other in _neighbors():
        for threshold in (rule.threshold, rule.threshold - 1):
            before, after = (_laws(counts, rule, threshold, public) for counts in (one, other))
            excess = _excess(before, after, float(epsilon))
            if threshold == rule.threshold:
                worst = max(worst, excess)
            else:
                lower = max(lower, excess)
    assert worst <= float(delta) + 1e-12
    assert lower > float(delta)


def test_an_item_of_one_person_costs_exactly_its_chance_of_being_shown() -> None:
    rule = ThresholdRule.of(Privacy(epsilon=1, delta="0.01"))
    alone, gone = {"mine": 1}, {"other": 1}
    laws = [[_shown(c.get(i), rule, threshold=rule.threshold) for i in ("mine", "other")] for c in (alone, gone)]
    assert _excess(laws[0], laws[1], 1.0) == pytest.approx(rule.single_chance, rel=1e-9)


def test_half_of_the_noise_would_not_be_enough() -> None:
    """What the enumeration must notice: the noise of users who join or leave, where one is replaced."""
    rule = ThresholdRule.of(Privacy(epsilon=1, delta="0.01"))
    less = ThresholdRule(rule.privacy, 1.0, rule.threshold)
    laws = [[_shown(c, less, threshold=less.threshold) for c in counts] for counts in ((9, 8), (8, 9))]
    assert _excess(laws[0], laws[1], 1.0) > float(rule.privacy.delta)


# The threshold


@given(st.sampled_from(["0.01", "0.3", "1", "4", "20"]), st.sampled_from(["0.001", "1e-6", "1e-12"]))
def test_the_threshold_is_the_lowest_that_hides(epsilon: str, delta: str) -> None:
    rule = ThresholdRule.of(Privacy(epsilon=epsilon, delta=delta))
    b, target = rule.scale, float(delta)
    assert 2 / Fraction(b) <= Fraction(epsilon)
    assert rule.single_chance <= target * (1 + 1e-12)
    if rule.threshold > 2:
        assert rule.single_chance * math.exp(1 / b) > target * (1 - 1e-12)
    assert abs(rule.threshold - (1 + 2 / float(epsilon) * math.log(1 / (2 * float(delta))))) < 2


def test_the_threshold_of_the_documentation() -> None:
    thresholds = [ThresholdRule.of(Privacy(epsilon=epsilon, delta=1e-6)).threshold for epsilon in (1, 2, 4)]
    assert thresholds == [28, 15, 8]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"threshold": RULE.threshold - 1}, "threshold of the release is too low"),
        ({"scale": 1.999}, "noise of the release is too little"),
        ({"privacy": Privacy(epsilon=1, delta=1e-7)}, "threshold of the release is too low"),
        ({"privacy": Privacy(epsilon="0.9", delta=1e-6)}, "noise of the release is too little"),
    ],
)
def test_a_rule_that_does_not_hide_is_not_used(changed: dict[str, object], reason: str) -> None:
    fields = {"privacy": RULE.privacy, "scale": RULE.scale, "threshold": RULE.threshold, **changed}
    with pytest.raises(NumericalError, match=reason):
        release_items({"a": 100}, 100, ThresholdRule(**fields), cost(fields["privacy"]))


def test_a_delta_that_is_large_against_epsilon_is_refused() -> None:
    with pytest.raises(NumericalError, match="too large for its ε"):
        ThresholdRule.of(Privacy(epsilon="0.01", delta="0.3"))


def test_delta_zero_is_refused_with_the_reason() -> None:
    with pytest.raises(
        ParameterError, match=r"^delta must be above 0 for an open domain, got delta='0'\. Without a list"
    ):
        ThresholdRule.of(Privacy(epsilon=1))


# The release


def _release(counts: dict[str, int], **more: object) -> PrivateItems:
    return release_items(counts, 1000, RULE, cost(RULE.privacy), **more)


def test_only_items_above_the_threshold_leave_the_most_frequent_first() -> None:
    released = _release({"x": 500, "often": 5000, "a": 500, "rare": 1, "none": 3}, random_state=1)
    assert released.items[0] == "often"
    assert sorted(released.items) == ["a", "often", "x"]
    assert list(released.counts) == sorted(released.counts, reverse=True)
    assert released.reached.all()
    assert "rare" not in repr(released)


def test_the_order_of_the_data_does_not_show() -> None:
    items = {f"item {i}": 40 + i % 3 for i in range(50)}
    backward = dict(reversed(items.items()))
    one, other = _release(items, random_state=3), _release(backward, random_state=3)
    assert (one.items, one.counts) == (other.items, other.counts)
    ties = list(zip(one.counts, one.items, strict=True))
    assert ties == sorted(ties, key=lambda pair: (-pair[0], pair[1]))


def test_candidates_are_shown_whether_anybody_has_them_or_not() -> None:
    released = _release({"a": 3, "b": 3}, candidates=["a", "nobody"], random_state=2)
    assert sorted(released.items) == ["a", "nobody"]
    assert not released.reached.any()


def test_nothing_may_be_frequent() -> None:
    assert _release({}).items == ()
    assert _release({"a": 1}, random_state=1).items == ()  # without a seed it is listed with a chance of δ


def test_the_ledger_is_charged_before_the_draw_and_once_only() -> None:
    ledger = Ledger(Privacy(epsilon=5, delta=1e-3))
    released = _release({"a": 1000}, ledger=ledger)
    assert released.counted
    assert [(event.epsilon, event.delta, event.who) for event in ledger.events] == [("1", "0.000001", "everybody")]
    with pytest.raises(BudgetError, match="released already"):
        _release({"a": 1000}, ledger=ledger)
    assert len(ledger.events) == 1


def test_without_enough_budget_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybriddp.release.mechanisms.Mechanism.draw", None)  # whoever draws fails otherwise
    ledger = Ledger(Privacy(epsilon=1))
    with pytest.raises(BudgetError):
        _release({"a": 1000}, ledger=ledger)
    assert ledger.events == ()


def test_a_simulation_is_not_written_down_and_says_so() -> None:
    ledger = Ledger(Privacy(epsilon=1, delta=1e-3))
    released = _release({"a": 1000}, ledger=ledger, random_state=1)
    assert released.seeded
    assert not released.counted
    assert ledger.events == ()


@pytest.mark.statistical
@pytest.mark.parametrize("seeded", [True, False])
def test_items_are_shown_as_often_as_they_should_be(seeded: bool) -> None:
    """Binomial, at counts near the threshold; 20 % more or less noise would show."""
    n, distances = 6000, (-4, 0, 4)
    counts = {f"{distance} {i}": RULE.threshold + distance for distance in distances for i in range(n)}
    released = _release(counts, random_state=5 if seeded else None)

    def reach(distance: int, scale: float) -> float:
        a = math.exp(-1 / scale)
        return a**-distance / (1 + a) if distance < 0 else 1 - a ** (distance + 1) / (1 + a)

    for distance in distances:
        shown = sum(item.startswith(f"{distance} ") for item in released.items)
        assert stats.binomtest(shown, n, reach(distance, RULE.scale)).pvalue > LEVEL / 3
        if distance:
            assert stats.binomtest(shown, n, reach(distance, 0.8 * RULE.scale)).pvalue < LEVEL


@pytest.mark.statistical
@pytest.mark.representative
def test_counts_have_the_noise_of_the_rule() -> None:
    """Variance of 5,000 draws; a scale that is a fifth less does not pass."""
    released = _release({f"{i}": 10_000 for i in range(5000)})
    noise = np.array(released.counts) - 10_000
    z = (noise.var() / RULE.variance - 1) / math.sqrt(5 / 5000)
    assert abs(noise.mean()) < z_limit(3) * math.sqrt(RULE.variance / 5000)
    assert abs(z) < z_limit(3)
    assert abs((noise.var() / (0.64 * RULE.variance) - 1) / math.sqrt(5 / 5000)) > z_limit(3)
