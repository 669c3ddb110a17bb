"""Shuffled reports by enumeration, straight from the definitions, for few users."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations, combinations_with_replacement, product
from typing import Any

Distribution = Mapping[Any, float]


def hockey_stick(p: Distribution, q: Distribution, epsilon: float) -> float:
    """δ with which p and q are (ε, δ)-close, in one direction."""
    return math.fsum(max(mass - math.exp(epsilon) * q.get(outcome, 0.0), 0.0) for outcome, mass in p.items())


def clone_counts(local_epsilon: float, n_reports: int, *, flipped: bool) -> Distribution:
    """The pair of counts with C, A and the user's coin enumerated."""
    share, no_share = math.exp(-local_epsilon), -math.expm1(-local_epsilon)
    truth, lie = 1.0 / (1.0 + math.exp(-local_epsilon)), 1.0 / (1.0 + math.exp(local_epsilon))  # not 1 - truth: digits
    result: defaultdict[tuple[int, int], float] = defaultdict(float)
    for c in range(n_reports):
        clones = math.comb(n_reports - 1, c) * share**c * no_share ** (n_reports - 1 - c)
        for a, coin in product(range(c + 1), (0, 1)):
            coins = math.comb(c, a) / 2.0**c
            own = truth if coin != flipped else lie
            result[a + coin, c - a + 1 - coin] += clones * coins * own
    return result


def randomized_response(local_epsilon: float, n_values: int) -> list[list[float]]:
    odds = math.exp(local_epsilon)
    return [[(odds if y == x else 1.0) / (odds + n_values - 1) for y in range(n_values)] for x in range(n_values)]


def subset_selection(local_epsilon: float, n_values: int, size: int) -> list[list[float]]:
    """A subset of the values is reported; those that hold the true one are the likelier ones."""
    odds = math.exp(local_epsilon)
    subsets = list(combinations(range(n_values), size))
    total = odds * math.comb(n_values - 1, size - 1) + math.comb(n_values - 1, size)
    return [[(odds if x in subset else 1.0) / total for subset in subsets] for x in range(n_values)]


def shuffled_delta(channel: Sequence[Sequence[float]], n_reports: int, epsilon: float) -> float:
    """δ of the multiset of reports, over all neighbors: every pair of values of one user, all values of the others."""
    worst = 0.0
    for others in combinations_with_replacement(channel, n_reports - 1):
        rest: Distribution = {(0,) * len(channel[0]): 1.0}
        for row in others:
            rest = _one_more(rest, row)
        views = [_one_more(rest, row) for row in channel]
        worst = max(worst, *(hockey_stick(p, q, epsilon) for p, q in product(views, repeat=2)))
    return worst


def _one_more(counts: Distribution, row: Sequence[float]) -> Distribution:
    result: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for (seen, mass), (code, probability) in product(counts.items(), enumerate(row)):
        result[*seen[:code], seen[code] + 1, *seen[code + 1 :]] += mass * probability
    return result
