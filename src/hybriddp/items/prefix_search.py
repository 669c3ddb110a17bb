r"""Reading the reports of local discovery: a search along frequent prefixes, and the shares of strings.

1. All $2^{16}$ prefixes of 16 bits are scored by their estimated share $e$ in the first group (less the $2^{-b}$ that a
   prefix gets from strings spread at random), and the best $K = 256$ are kept.
2. Of each kept prefix all 256 continuations are estimated in the next group. Their score pools what all groups so far
   say, $S = (N\min(S_\text{parent}, e + 2s_g) + n_g e)/(N + n_g)$, with $s_g$ the standard deviation of $e$. The cap
   is necessary: without it every continuation of a frequent prefix would live on what others add to the prefix.
   Of one 16-bit root at most 4 go on, in the end 1, or those whose own $e$ is above $6 s_g$.

What is left are the candidates: public, because they were computed from private reports only. Every report that helped
to find them also counts for their shares: the mean of $e$ over all levels, without those at which a prefix is shared
with another frequent string.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.hashing import LocalHashing
from hybriddp.items.coding import CODE_BITS, Codes
from hybriddp.items.discovery import LEVELS
from hybriddp.shares.law import GroupShares

KEPT = 256
"""Candidates at every level."""

_STEP = 8  # bits between levels
_ROOT_BITS = LEVELS[0]
_CAP = 2.0  # standard deviations by which a parent's score may be above a child's own estimate
_PER_ROOT = 4
_CLEAR = 6.0  # standard deviations of its own estimate that let a string be the second one of its root
_SHARED = 4.0  # standard deviations above longer prefixes that show another string with the same prefix
_NOTHING = 1e6  # the variance of a share about which the reports say nothing


@dataclass(frozen=True, slots=True, eq=False)
class FoundCodes:
    """Scrambled codes of candidates, the best first, and their pooled scores."""

    codes: Codes
    scores: FloatArray


def search_prefixes(tallies: list[IntArray], channel: LocalHashing) -> FoundCodes:
    """Search the candidates in the reports of all groups.

    There are no candidates if a group is empty.
    """
    sizes = [int(tally.sum()) for tally in tallies]
    if not all(sizes):
        return FoundCodes(np.empty(0, np.uint64), np.empty(0))
    prefixes = np.arange(1 << _ROOT_BITS, dtype=np.uint64)
    own = scores = _prefix_shares(tallies[0], prefixes, _ROOT_BITS, channel)
    best = np.argsort(-scores, kind="stable")[:KEPT]
    prefixes, scores, before = prefixes[best], scores[best], sizes[0]
    for bits, tally, size in zip(LEVELS[1:], tallies[1:], sizes[1:], strict=True):
        children = (prefixes[:, None] << np.uint64(_STEP) | np.arange(1 << _STEP, dtype=np.uint64)).ravel()
        own = _prefix_shares(tally, children, bits, channel)
        sd = math.sqrt(channel.count_variance / size)
        inherited = np.minimum(np.repeat(scores, 1 << _STEP), own + _CAP * sd)
        pooled = (before * inherited + size * own) / (before + size)
        rank = _rank_in_root(children >> np.uint64(bits - _ROOT_BITS), pooled)
        goes_on = rank < _PER_ROOT
        if bits == CODE_BITS:
            goes_on = (rank < 1) | (goes_on & (own > _CLEAR * sd))
        allowed = np.flatnonzero(goes_on)
        best = allowed[np.argsort(-pooled[allowed], kind="stable")[:KEPT]]
        prefixes, scores, before = children[best], pooled[best], before + size
    return FoundCodes(prefixes, scores)


def local_shares(
    tallies: list[IntArray], codes: Codes, channel: LocalHashing, has_code: NDArray[np.bool_]
) -> GroupShares:
    """Estimate the shares of these different codes from all groups.

    The reports give no information about codes without a string of their own.
    """
    sizes = np.array([int(tally.sum()) for tally in tallies])
    n, v = int(sizes.sum()), channel.count_variance
    p, q = channel.hit_probability, channel.miss_probability
    slope = (p * (1 - p) - q * (1 - q)) / channel.gap**2
    total, users = np.zeros(len(codes)), np.zeros(len(codes))
    for bits, tally, size in list(zip(LEVELS, tallies, sizes.tolist(), strict=True))[::-1]:  # the longest first
        if not size or not len(codes):
            continue
        distinct, place = np.unique(codes >> np.uint64(CODE_BITS - bits), return_inverse=True)
        own = _prefix_shares(tally, distinct, bits, channel)[place]
        mean = np.divide(total, users, out=np.zeros_like(total), where=users > 0)
        f = np.clip(mean, 0.0, 1.0)
        per_user = v + slope * f + f * (1 - f)
        with np.errstate(divide="ignore"):
            sd = np.sqrt(per_user * (1 / size + 1 / users))
        fits = (users == 0) | (own <= mean + _SHARED * sd)
        total += np.where(fits, size * own, 0.0)
        users += np.where(fits, size, 0)
    shares = np.divide(total, users, out=np.zeros_like(total), where=users > 0)
    noise = np.divide(v, users, out=np.full_like(total, _NOTHING), where=users > 0)
    noise = np.where(has_code, noise, _NOTHING)
    return GroupShares(n, np.where(has_code, shares, 0.0), noise, slope / n if n else 0.0)


def _prefix_shares(tally: IntArray, prefixes: Codes, bits: int, channel: LocalHashing) -> FloatArray:
    """Return the share of each prefix without the part due to random strings.

    Strings spread at random add to every prefix.
    """
    by_chance = 2.0**-bits
    shares = channel.corrected_counts(tally, prefixes) / int(tally.sum())
    return (shares - by_chance) / (1 - by_chance)


def _rank_in_root(roots: Codes, scores: FloatArray) -> IntArray:
    """Rank each score among the scores of the same root, 0 for the best."""
    order = np.lexsort((-scores, roots))
    ordered = roots[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    ranks = np.empty(len(roots), np.int64)
    ranks[order] = np.arange(len(roots)) - np.repeat(first, np.diff(np.append(first, len(roots))))
    return ranks
