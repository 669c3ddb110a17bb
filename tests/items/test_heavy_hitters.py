import math

import numpy as np
import pytest

import hybriddp as hdp
from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.items import HeavyHitterStudy
from hybriddp.privacy import Privacy

COLORS = np.random.default_rng(1).choice(["red", "green", "blue"], 8000, p=[0.5, 0.3, 0.2]).tolist()
PROMISE = {"epsilon": 2, "delta": 1e-6}


def test_one_call_is_the_steps_one_after_the_other() -> None:
    rng, other = np.random.default_rng(4), np.random.default_rng(4)
    found = hdp.heavy_hitters(trusted=COLORS[:1000], local=COLORS[1000:], **PROMISE, random_state=rng)
    study = HeavyHitterStudy("items", **PROMISE)
    released = study.release(COLORS[:1000], random_state=other)
    reports = study.question(released).randomize(COLORS[1000:], random_state=other)
    steps = study.estimate(trusted=released, local=reports)
    assert found.items == steps.items == ("red", "green", "blue")
    np.testing.assert_array_equal(found.shares, steps.shares)


def test_it_is_private_without_a_seed_and_repeatable_with_one() -> None:
    assert not hdp.heavy_hitters(trusted=COLORS[:1000], local=COLORS[1000:], **PROMISE).privacy.seeded
    one, again = (
        hdp.heavy_hitters(trusted=COLORS[:1000], local=COLORS[1000:], **PROMISE, random_state=3) for _ in range(2)
    )
    assert one.privacy.seeded
    np.testing.assert_array_equal(one.shares, again.shares)


def test_a_dictionary_needs_no_delta() -> None:
    domain = ["red", "green", "blue", "black"]
    found = hdp.heavy_hitters(trusted=COLORS[:1000], local=COLORS[1000:], epsilon=2, domain=domain, random_state=1)
    assert found.method == "dictionary"
    assert set(found.items) == set(domain)
    assert found.items[:3] == ("red", "green", "blue")
    alone = hdp.heavy_hitters(trusted=COLORS, local=None, epsilon=2, domain=domain, single_group=True)
    assert alone.n_local == 0


def test_an_empty_list_gives_an_empty_answer() -> None:
    found = hdp.heavy_hitters(trusted=["a", "b"] * 2, local=[], **PROMISE, single_group=True, random_state=1)
    assert found.items == ()
    rare = hdp.heavy_hitters(
        trusted=[str(i) for i in range(5000)], local=[str(i) for i in range(100)], **PROMISE, random_state=1
    )
    assert (rare.items, rare.method) == ((), "list")


def test_nothing_is_paid_for_a_local_group_that_is_too_small() -> None:
    ledger = hdp.Ledger(Privacy(epsilon=2, delta=1e-6))
    with pytest.raises(DataError, match="^The local group has 1 user; the study asks for 2"):
        hdp.heavy_hitters(trusted=COLORS, local=["red"], **PROMISE, ledger=ledger)
    assert ledger.events == ()


def test_the_ledger_is_charged_once() -> None:
    ledger = hdp.Ledger(Privacy(epsilon=2, delta=1e-6))
    found = hdp.heavy_hitters(trusted=COLORS[:1000], local=COLORS[1000:], **PROMISE, ledger=ledger)
    assert found.privacy.counted
    assert [event.epsilon for event in ledger.events] == ["2"]
    with pytest.raises(BudgetError):
        hdp.heavy_hitters(trusted=COLORS[:1000], local=COLORS[1000:], **PROMISE, ledger=ledger)


def test_nothing_is_spent_where_there_is_no_answer() -> None:
    ledger = hdp.Ledger(Privacy(epsilon=2, delta=1e-6))
    with pytest.raises(DataError, match="^The local group is empty"):
        hdp.heavy_hitters(trusted=COLORS, local=None, **PROMISE, ledger=ledger)
    with pytest.raises(DataError, match="^items must all be there, but 1 user of 2 have none"):
        hdp.heavy_hitters(trusted=COLORS, local=["a", None], **PROMISE, ledger=ledger)
    with pytest.raises(DataError, match="^items must be texts"):
        hdp.heavy_hitters(trusted=COLORS, local=["a", 7], **PROMISE, ledger=ledger)
    with pytest.raises(DataError, match="^items must be texts"):
        hdp.heavy_hitters(trusted=[["a"]], local=COLORS, **PROMISE, ledger=ledger)
    with pytest.raises(DataError, match="^Both groups are empty"):
        hdp.heavy_hitters(trusted=None, local=None, **PROMISE, ledger=ledger)
    with pytest.raises(DataError, match="^The trusted group is empty"):
        hdp.heavy_hitters(trusted=None, local=COLORS, **PROMISE, ledger=ledger)
    with pytest.raises(ParameterError, match="^delta must be above 0"):
        hdp.heavy_hitters(trusted=COLORS, local=COLORS, epsilon=1, ledger=ledger)
    with pytest.raises(ParameterError, match="^ledger must be None or a Ledger"):
        hdp.heavy_hitters(trusted=COLORS, local=COLORS, **PROMISE, ledger="ledger.json")
    assert ledger.events == ()


def _ndcg(items: tuple[str, ...], counts: dict[str, int], k: int) -> float:
    rank = {item: place for place, item in enumerate(sorted(counts, key=lambda item: -counts[item]))}
    gains = [max(0, k - rank.get(item, k)) for item in items[:k]]
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains)) / sum(
        (k - place) / math.log2(place + 2) for place in range(k)
    )


@pytest.mark.slow
def test_where_few_trust_local_discovery_finds_more_than_the_list() -> None:
    """Zipf's law over 2,000 words, 100,000 users of whom 100 trust, ε = 4: a dozen words instead of one or two."""
    rng = np.random.default_rng(2)
    words = [f"w{i:04x}" for i in range(2000)]
    shares = 1 / np.arange(1, 2001)
    drawn = rng.choice(2000, 100_000, p=shares / shares.sum())
    counts = {words[i]: n for i, n in enumerate(np.bincount(drawn, minlength=2000).tolist())}
    items = [words[i] for i in drawn.tolist()]
    found = hdp.heavy_hitters(trusted=items[:100], local=items[100:], epsilon=4, delta=1e-6, random_state=1)
    assert found.method == "discovery"
    assert set(found.items) <= set(words)
    alone = hdp.heavy_hitters(trusted=items[:100], local=None, epsilon=4, delta=1e-6, random_state=1, single_group=True)
    assert _ndcg(found.items, counts, 50) > _ndcg(alone.items, counts, 50) + 0.3
