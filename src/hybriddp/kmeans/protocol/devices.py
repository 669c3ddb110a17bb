"""What the devices of local users do: draw a question and a variant of it, answer through the channel, once.

Of what a device sends, nothing but the code depends on its user's point, and the code is drawn by the channel of the
ask, with all of the study's ε (`Ask.check` makes sure of that).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.kmeans.reports.base import Ask, ReportTally
from hybriddp.kmeans.statistics import PointArray
from hybriddp.randomness import ByteSource, UniformDraws


@dataclass(frozen=True, slots=True)
class RoundReports:
    """What devices send in answer to one ask of a round: the variant of the question that each drew, and a code."""

    users: IntArray  # which of the points given these are, shape (n,)
    variants: IntArray  # shape (n,)
    codes: NDArray[Any]  # what came out of the channel, shape (n,) or (n, n_bytes)
    seeded: bool = False  # whether they can be repeated: then they are a simulation, and not private


def answer_asks(asks: Sequence[Ask], points: FloatArray, source: ByteSource) -> tuple[RoundReports, ...]:
    """The reports of devices with these points in the unit box, one each, to an ask drawn by the fractions of users.

    A device takes its random bytes in this order: a word of 32 bits that chooses the ask, another one that chooses the
    variant, what the question draws (`UniformDraws`), and what the channel draws. So do devices in other languages. Of
    many devices at a time, every one takes the first of these before any takes the next.
    """
    draws = UniformDraws(source)
    of_ask, of_variant = draws.words(2 * len(points)).reshape(-1, 2).T
    drawn = np.searchsorted(ask_limits(asks), of_ask, side="right")
    reports = []
    for i, ask in enumerate(asks):
        users = np.flatnonzero(drawn == i)
        variants = (of_variant[users].astype(np.int64) * ask.question.n_variants) >> 32
        # A symbol that the channel does not have would come out of it as it is.
        symbols = ask.channel.check_inputs(ask.question.symbols(points[users], variants, draws))
        codes = ask.channel.draw(len(users), symbols.__getitem__, source)
        reports.append(RoundReports(users, variants, codes, source.seeded))
    return tuple(reports)


def ask_limits(asks: Sequence[Ask]) -> IntArray:
    r"""From which word of 32 bits on a device answers each ask but the first: $\lfloor 2^{32} f \rfloor$.

    $f$ is the part of the round's users who answer the asks before it.
    """
    sums = list(accumulate(ask.user_fraction for ask in asks))
    return np.array([math.floor(before * (1 << 32) / sums[-1]) for before in sums[:-1]], np.int64)


def simulate_devices(
    ask: Ask, blocks: Iterator[FloatArray], *, source: ByteSource, rng: np.random.Generator
) -> ReportTally:
    """The tally of the answers of many devices, from their points in the unit box, block by block.

    Variants are dealt out in turn, in an order that is drawn, so that all are answered nearly equally often; else the
    law of the counts is that of one report per user.
    """
    variants = ask.question.n_variants
    users, first = np.zeros(variants, np.int64), 0
    supports = np.zeros((variants, ask.channel.n_symbols), np.int64)
    turns = rng.permutation(variants)
    for points in blocks:
        which = turns[np.arange(first, first + len(points)) % variants]
        first += len(points)
        symbols = ask.question.symbols(points, which, rng, constant_time=False)
        supports += ask.channel.simulate_supports(symbols, which, variants, source)
        users += np.bincount(which, minlength=variants)
    return ReportTally(supports, users)


class SimulatedDevices:
    """The devices of all local users of a study in one process, in random order: each answers once."""

    def __init__(self, points: PointArray, source: ByteSource) -> None:
        self._points, self._source = points, source
        self._rng = np.random.default_rng(source.take(32).tolist())
        self._order = self._rng.permutation(points.count)
        self._asked = Fraction(0)  # of the users, so far

    def answer(self, asks: Sequence[Ask]) -> tuple[ReportTally, ...]:
        """The answers of those whose turn it is."""
        tallies, n = [], len(self._order)
        for ask in asks:
            first, self._asked = self._asked, self._asked + ask.user_fraction
            users = self._order[int(first * n) : int(self._asked * n)]
            points = self._points.points_of(users)
            tallies.append(simulate_devices(ask, points, source=self._source, rng=self._rng))
        return tuple(tallies)
