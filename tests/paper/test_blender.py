import math
from itertools import product

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.paper.blender import HeadList, TwoLevelResponse, blender
from hybriddp.privacy import Privacy
from hybriddp.shares.categories import OTHER
from tests.levels import z_limit

PRIVACY = Privacy(epsilon=3, delta="0.000001")
HEAD = HeadList.of([("a", "1"), ("a", "2"), ("b", "1"), ("a", "3"), ("c", "1"), ("b", "2")])


def _law(response: TwoLevelResponse, held: int) -> FloatArray:
    """How likely each report is, from the definition."""
    k, t, query = len(HEAD.sizes), response.keep_query, HEAD.query[held]
    law = []
    for report, q in enumerate(HEAD.query):
        size, t_q = int(HEAD.sizes[q]), response.keep_url[query]
        if q != query:
            law.append((1 - t) / (k - 1) / size)
        elif report == held:
            law.append(t * t_q if size > 1 else t)
        else:
            law.append(t * (1 - t_q) / (size - 1))
    return np.array(law)


def test_the_published_probabilities_do_not_spend_the_whole_budget() -> None:
    """The largest odds are below e^ε: the slack that one flat oracle does not have."""
    response = TwoLevelResponse.of(HEAD, PRIVACY, 0.85)
    e = math.exp(0.85 * 3)
    assert response.keep_query == pytest.approx((e + 0.85e-6 / 2 * 3) / (e + 3))
    e = math.exp(0.15 * 3)
    assert response.keep_url[0] == pytest.approx((e + 0.15e-6 / 2 * 3) / (e + 3))
    assert response.keep_url[-1] == pytest.approx(1)
    laws = [_law(response, held) for held in range(10)]
    assert [law.sum() for law in laws] == pytest.approx([1.0] * 10)
    odds = max(float((one / other).max()) for one, other in product(laws, laws))
    assert 0.6 * 3 < math.log(odds) < 3


def test_estimates_are_exact_on_average() -> None:
    """As many reports of each kind as are expected: the shares are 1 and 0, with the corrected term."""
    response = TwoLevelResponse.of(HEAD, PRIVACY, 0.85)
    for held in (1, 6, 7, 9):
        reports = np.repeat(np.arange(10), np.rint(10**6 * _law(response, held)).astype(int))
        np.testing.assert_allclose(response.estimate(reports)[0], np.arange(10) == held, atol=1e-4)


@pytest.mark.statistical
def test_shares_of_clients_are_unbiased_and_have_their_variance() -> None:
    """2,000 groups of 500 clients; a scale that is a fifth off does not pass."""
    response = TwoLevelResponse.of(HEAD, PRIVACY, 0.85)
    rng = np.random.default_rng(6)
    true = np.array([100, 60, 40, 20, 80, 60, 20, 40, 20, 60]) / 500
    found, variances = np.empty((2, 2000, 10))
    for trial in range(2000):
        held = rng.choice(10, 500, p=true)
        found[trial], variances[trial] = response.estimate(response.sample(held, rng))
    errors, variance = found - true, variances.mean(axis=0)
    assert np.abs(errors.mean(axis=0) / np.sqrt(variance / 2000)).max() < z_limit(20)
    z = (np.mean(errors**2, axis=0) / variance - 1) / math.sqrt(2 / 2000)
    assert np.abs(z).max() < z_limit(20)
    assert np.all((np.mean(errors**2, axis=0) / (0.64 * variance) - 1) / math.sqrt(2 / 2000) > z_limit(20))


def test_records_are_arranged_by_query_and_unknown_ones_are_stars() -> None:
    assert HEAD.records[3:7] == (("a", OTHER), ("b", "1"), ("b", "2"), ("b", OTHER))
    assert HEAD.sizes.tolist() == [4, 3, 2, 1]
    assert HEAD.find([("a", "2"), ("a", "x"), ("z", "1"), ("c", "1"), ("b", OTHER), "a", "z"]).tolist() == [
        1, 3, 9, 7, 6, 3, 9,
    ]  # fmt: skip


def test_pairs_are_found_with_their_shares() -> None:
    rng = np.random.default_rng(1)
    pairs = [("news", "a"), ("news", "b"), ("maps", "c")]
    users = [pairs[i] for i in rng.choice(3, 40_000, p=[0.5, 0.3, 0.2])]
    found = blender(users[:2000], users[2000:], random_state=2)
    assert found.items == tuple(pairs)
    np.testing.assert_allclose(found.shares, [0.5, 0.3, 0.2], atol=0.02)
    assert found.list_size == 3


def test_only_so_many_queries_are_kept() -> None:
    rng = np.random.default_rng(3)
    users = [f"q{i}" for i in rng.choice(6, 20_000, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05])]
    found = blender(users[:4000], users[4000:], random_state=2, head_size=2)
    assert found.items == ("q0", "q1")
    assert found.list_size == 6
    np.testing.assert_allclose(found.shares, [0.4, 0.2], atol=0.05)
    everything = blender(users[:4000], users[4000:], random_state=2, head_size=None)
    assert len(everything.items) == 6


def test_nothing_may_be_popular_and_a_seed_gives_the_same_result() -> None:
    nothing = blender([str(i) for i in range(100)], ["a"] * 10, random_state=1)
    assert (nothing.items, nothing.list_size) == ((), 0)
    users = ["a"] * 3000 + ["b"] * 1000
    one, again = (blender(users[::2], users[1::2], random_state=8) for _ in range(2))
    np.testing.assert_array_equal(one.shares, again.shares)


@pytest.mark.statistical
def test_the_list_has_the_published_threshold() -> None:
    """1 + (2/ε) ln(1/δ), for one record: items just above are shown as often as Laplace noise says.

    Another threshold, or a scale that is a fifth off, does not pass.
    """
    threshold, copies, n = 1 + 2 / 4 * math.log(1e6), 9, 8000
    items = [f"{i}" for i in range(n) for _ in range(copies)]  # all but two of which make the list
    found = blender([*items, *["x"] * 8], items[:10], random_state=3, list_fraction=1 - 1e-9)

    def z(threshold: float, scale: float) -> float:
        p = 1 - math.exp(-(copies - threshold) / scale) / 2
        return (found.list_size / n - p) / math.sqrt(p * (1 - p) / n)

    assert abs(z(threshold, 0.5)) < z_limit()
    assert abs(z(threshold, 0.4)) > z_limit()
    assert abs(z(threshold - 0.5, 0.5)) > z_limit()


def test_parameters_are_checked() -> None:
    for name, value in [
        ("delta", 0), ("epsilon", 0), ("list_fraction", 1), ("query_fraction", 0), ("head_size", 0),
        ("random_state", None),
    ]:  # fmt: skip
        with pytest.raises(ParameterError, match=f"^{name} must be"):
            blender(["a"] * 10, ["a"] * 10, **{"random_state": 1, name: value})
    with pytest.raises(DataError, match="^BLENDER needs"):
        blender(["a"], ["a"] * 10, random_state=1)
