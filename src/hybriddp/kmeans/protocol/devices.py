"""What the devices of local users do: draw a question and a variant of it, answer through the channel, once.

Of what a device sends, nothing but the code depends on its user's point, and the code is drawn by the channel of the
ask, with all of the study's ε (`Ask.check` makes sure of that).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.kmeans.reports.base import Ask, ReportTally
from hybriddp.kmeans.statistics import PointArray
from hybriddp.randomness import ByteSource


@dataclass(frozen=True, slots=True)
class RoundReports:
    """What devices send in answer to one ask of a round: the variant of the question that each drew, and a code."""

    users: IntArray  # which of the points given these are, shape (n,)
    variants: IntArray  # shape (n,)
    codes: NDArray[Any]  # what came out of the channel, shape (n,) or (n, n_bytes)
    seeded: bool = False  # whether they can be repeated: then they are a simulation, and not private


def answer_asks(asks: Sequence[Ask], points: FloatArray, source: ByteSource) -> tuple[RoundReports, ...]:
    """The reports of devices with these points in the unit box, one each, to an ask drawn by the fractions of users."""
    rng = np.random.default_rng(source.take(32).tolist())
    fractions = np.array([float(ask.user_fraction) for ask in asks])
    drawn = rng.choice(len(asks), len(points), p=fractions / fractions.sum())
    reports = []
    for i, ask in enumerate(asks):
        users = np.flatnonzero(drawn == i)
        variants = rng.integers(ask.question.n_variants, size=len(users))
        # A symbol that the channel does not have would come out of it as it is.
        symbols = ask.channel.check_inputs(ask.question.symbols(points[users], variants, rng))
        codes = ask.channel.draw(len(users), symbols.__getitem__, source)
        reports.append(RoundReports(users, variants, codes, source.seeded))
    return tuple(reports)


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
