"""Distances by which forged answers move the centers of K-means: ``python -m benchmarks.kmeans_forged``.

A part of the local users send, in place of an honest answer, the code that supports one corner of the box most, in the
question and the variant that their devices drew. In reports of bits they set that one bit beside honest ones, so that
nothing looks wrong. Two runs with the same points and seeds are compared, without forged answers and with them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.kmeans import HybridKMeans, HybridKMeansServer, KMeansStudy
from hybriddp.kmeans.protocol.round import RoundReports
from hybriddp.kmeans.reports.base import Ask

USERS, TRUSTED, CLUSTERS, EPSILON = 100_000, 2_000, 3, 1
FRACTIONS = (0.001, 0.01, 0.05)
REPEATS = 4


@dataclass(frozen=True)
class Setting:
    """A number of dimensions, and how many users trust."""

    d: int
    trusted: int


SETTINGS = (Setting(2, TRUSTED), Setting(2, 0), Setting(8, TRUSTED), Setting(8, 0))


def points(d: int, n: int, seed: int) -> FloatArray:
    """Normal clusters around three places of the unit box."""
    rng = np.random.default_rng([d, seed])
    places = np.random.default_rng(d).uniform(0.2, 0.8, (CLUSTERS, d))
    return np.clip(rng.choice(places, n) + 0.05 * rng.standard_normal((n, d)), 0, 1)


def forged(ask: Ask, reports: RoundReports, count: int, rng: np.random.Generator) -> RoundReports:
    """The answers with the first ones replaced by what supports the upper corner of the box."""
    codes, count = reports.codes.copy(), min(count, len(reports.codes))
    corner = np.ones((count, ask_dimensions(ask)))
    symbols = ask.question.symbols(corner, reports.variants[:count], rng, constant_time=False)
    if ask.channel.sends_bits:
        codes[np.arange(count), symbols // 8] |= (1 << (symbols % 8)).astype(np.uint8)
    elif ask.question.n_chosen is not None:
        codes[:count] = lowest_bits(symbols)  # one of the codes of the set
    else:
        codes[:count] = symbols
    return RoundReports(reports.users, reports.variants, codes, reports.seeded)


def lowest_bits(sets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lowest code of each set."""
    lowest: NDArray[np.int64] = np.log2(sets & -sets).astype(np.int64)
    return lowest


def ask_dimensions(ask: Ask) -> int:
    """The number of dimensions of the points that a question is about."""
    fields = ask.question.fields()
    if "origin" in fields:
        return len(fields["origin"])
    return len(fields["low"]) if "low" in fields else int(np.shape(fields.get("centers", [fields.get("center")]))[-1])


def run(setting: Setting, fraction: float, seed: int) -> HybridKMeans:
    """A study in which this fraction of the local users forge their answers."""
    d, n = setting.d, USERS
    study = KMeansStudy("forged", n_clusters=CLUSTERS, bounds=[(0, 1)] * d, epsilon=EPSILON)
    data = points(d, n + setting.trusted, seed)
    local, trusted = data[:n], data[n:] if setting.trusted else None
    server = HybridKMeansServer(study, n_local=n, trusted=trusted, random_state=seed)
    server.start()
    first, rng = 0, np.random.default_rng(seed)
    while server.round is not None:
        asked = server.round
        last = first + int(asked.user_fraction * n)
        reports = asked.answer(local[first:last], random_state=seed + asked.number)
        pairs = zip(asked.asks, reports, strict=True)
        sent = [forged(ask, some, round(fraction * len(some.codes)), rng) for ask, some in pairs]
        server.absorb(asked.count(sent))
        first = last
    return HybridKMeans.from_server(server)


def moved(honest: HybridKMeans, attacked: HybridKMeans) -> FloatArray:
    """By how much each center moved, to the nearest one."""
    apart = np.linalg.norm(honest.cluster_centers_[:, None] - attacked.cluster_centers_, axis=2)
    return np.asarray(apart.min(axis=1))


def main() -> None:
    """Print a table: the center that moved most, in ranges of a coordinate and in standard errors."""
    print(f"{USERS:,} local users, {CLUSTERS} clusters, ε = {EPSILON}; medians of {REPEATS} runs")
    print(f"{'':28}{'forged':>8}{'moved':>8}{'standard errors':>17}{'warned of':>11}")
    for setting in SETTINGS:
        honest = [run(setting, 0.0, seed) for seed in range(REPEATS)]
        for fraction in FRACTIONS:
            rows = []
            for seed, base in enumerate(honest):
                model = run(setting, fraction, seed)
                far = moved(base, model)
                worst = int(far.argmax())
                error = float(np.linalg.norm(base.standard_errors_[worst]))
                rows.append((far[worst], far[worst] / error, model.implausible_reports_))
            distance, errors, warned = np.median(rows, axis=0)
            where = f"{setting.d} dimensions, {setting.trusted:,} trust"
            print(f"{where:28}{fraction:>8.1%}{distance:>8.3f}{errors:>17.1f}{warned:>11.0f}")


if __name__ == "__main__":
    main()
