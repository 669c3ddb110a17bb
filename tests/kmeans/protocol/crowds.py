"""Points, studies, and devices that answer by texts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.protocol.round import Round, RoundReports, RoundTally
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.reports.base import ReportTally
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.release import Ledger
from tests.kmeans.servers import started

CENTERS = np.array([[2.0, 3.0], [7.0, 8.0], [3.0, 8.0]])
STUDY = KMeansStudy("visits", n_clusters=3, bounds=[(0, 10), (0, 10)], epsilon=2)


def _points(n: int, d: int = 2, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng([n, d, seed])
    centers = CENTERS if d == 2 else np.random.default_rng(d).uniform(2, 8, (3, d))
    return np.clip(rng.choice(centers, n) + 0.4 * rng.standard_normal((n, d)), 0, 10)


def _study(d: int = 2, **change: Any) -> KMeansStudy:
    return KMeansStudy("visits", **{"n_clusters": 3, "bounds": [(0, 10)] * d, "epsilon": 2, **change})


@dataclass
class Crowd:
    """Devices that are asked at random, at most once, and get the round as text."""

    points: FloatArray
    seed: int | None
    at_a_time: int = 1 << 30
    asked: int = 0

    def answer(self, current: Round) -> RoundTally:
        """The sum of many collectors' counts."""
        n = round(float(current.user_fraction) * len(self.points))
        some = self.points[self.asked : self.asked + n]
        self.asked += n
        rng = None if self.seed is None else np.random.default_rng([self.seed, current.number])
        found = Round.from_json(current.to_json(), study=current.study)
        total: tuple[ReportTally, ...] | None = None
        rejected = 0
        for first in range(0, len(some), self.at_a_time):
            reports = found.answer(some[first : first + self.at_a_time], random_state=rng)
            counted = current.count([RoundReports(r.users.copy(), r.variants.copy(), r.codes.copy()) for r in reports])
            rejected += counted.rejected
            total = (
                counted.answers if total is None else tuple(a + b for a, b in zip(total, counted.answers, strict=True))
            )
        return RoundTally(current.count(found.answer(some[:0])).answers if total is None else total, rejected)


def _run(
    study: KMeansStudy, trusted: FloatArray, devices: Crowd, seed: int | None, ledger: Ledger | None = None
) -> HybridKMeansServer:
    """A study in which the server is put to rest as text after every round."""
    server = started(study, n_local=len(devices.points), trusted=trusted, ledger=ledger, random_state=seed)
    for _ in range(20):
        if server.round is None:
            return server
        server = HybridKMeansServer.from_json(server.to_json(), trusted=trusted, ledger=ledger, random_state=seed)
        assert server.round is not None
        server.absorb(devices.answer(server.round))
    raise AssertionError
