"""Data sets of the shapes people have: unequal, thin, long and scattered clusters, and coordinates of few values.

There are two of every shape. On those called ``tune-…`` constants may be chosen. Those called ``final-…`` were written
down before anything was run on them: other layouts, other sizes and other laws of the same shape, never tuned on.
Every seed draws new points, and new places where a set says so.
"""

from collections.abc import Callable, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.kmeans_data import DataSet, Points, data_set, generator_of, separated, stretch

SIZE = 100_000
Rng = np.random.Generator
Shape = Callable[[Rng, int], Points]
"""So many points of a shape, in any order."""


def mixture(rng: Rng, n: int, sizes: ArrayLike, parts: Sequence[Shape]) -> Points:
    """Parts of these sizes, relative to each other."""
    ends = np.cumsum(np.asarray(sizes, dtype=float))
    counts = np.diff(np.rint(ends / ends[-1] * n).astype(int), prepend=0)
    return np.concatenate([part(rng, int(count)) for part, count in zip(parts, counts, strict=True)])


def ball(center: ArrayLike, sd: ArrayLike) -> Shape:
    """A normal cluster with a standard deviation for all coordinates or for each."""
    at = np.asarray(center, dtype=float)
    return lambda rng, n: at + np.asarray(sd) * rng.standard_normal((n, len(at)))


def square(center: ArrayLike, half: float) -> Shape:
    """A cluster with hard edges: uniform, that far to either side."""
    at = np.asarray(center, dtype=float)
    return lambda rng, n: at + half * rng.uniform(-1, 1, (n, len(at)))


def heavy(center: ArrayLike, scale: float) -> Shape:
    """A dense middle with long tails: lengths are exponential."""
    at = np.asarray(center, dtype=float)

    def points(rng: Rng, n: int) -> Points:
        directions = rng.standard_normal((n, len(at)))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        return at + scale * rng.exponential(1, (n, 1)) * directions

    return points


def long(center: ArrayLike, sd: float, angle: float, ratio: float = 5.0) -> Shape:
    """A normal cluster in the plane, so many times as long as it is wide."""
    at, turn = (
        np.asarray(center, dtype=float),
        np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]),
    )
    return lambda rng, n: at + (rng.standard_normal((n, 2)) * (ratio * sd, sd)) @ turn


def anywhere(dimensions: int) -> Shape:
    """A background: uniform in the box."""
    return lambda rng, n: rng.uniform(0, 1, (n, dimensions))


def curve(path: Callable[[Points], Points], density: Callable[[Rng, int], Points], width: float) -> Shape:
    """People along a line: a path from 0 to 1 into the box, where on it they live, and how far from it."""
    return lambda rng, n: path(density(rng, n)) + width * rng.standard_normal((n, 2))


def villages(rng: Rng, count: int, tail: float, sd: float, dimensions: int = 2) -> Shape:
    """Villages anywhere in the box, the sizes of which have a power law."""
    places, sizes = rng.uniform(0.04, 0.96, (count, dimensions)), 1 + rng.pareto(tail, count)
    return lambda rng, n: mixture(rng, n, sizes, [ball(place, sd) for place in places])


def touching(rng: Rng, n_clusters: int, dimensions: int, share: float) -> list[Shape]:
    """Balls about uniform centers; sd is this share of the mean distance to the nearest other center."""
    centers = rng.uniform(0.15, 0.85, (n_clusters, dimensions))
    gaps = np.linalg.norm(centers[:, None] - centers, axis=2) + 1e9 * np.eye(n_clusters)
    return [ball(center, share * gaps.min(axis=1).mean()) for center in centers]


def levels(rng: Rng, n_clusters: int, dimensions: int, choices: int, faithful: float, jitter: float) -> list[Shape]:
    """Answers out of a few: everyone gives a cluster's usual answers, each with a probability, or else any."""
    usual = rng.integers(choices, size=(n_clusters, dimensions))

    def answers(row: ArrayLike) -> Shape:
        def points(rng: Rng, n: int) -> Points:
            given = np.where(
                rng.random((n, dimensions)) < faithful, np.asarray(row), rng.integers(choices, size=(n, dimensions))
            )
            placed: Points = (given + 0.5) / choices + jitter * rng.standard_normal((n, dimensions))
            return placed

        return points

    return [answers(row) for row in usual]


def skewed(rng: Rng, n_clusters: int, dimensions: int, rank: int, sd: float) -> list[Shape]:
    """Segments: coordinates that go together, one-sided with long tails, and clusters of unequal width."""
    loadings = rng.standard_normal((rank, dimensions)) / np.sqrt(rank)

    def segment(at: Points, width: float) -> Shape:
        def points(rng: Rng, n: int) -> Points:
            hidden = at + width * (rng.gamma(2.0, 0.7, (n, rank)) - 1.4)
            placed: Points = 1 / (1 + np.exp(1.0 - 1.6 * hidden @ loadings)) + sd * rng.standard_normal((n, dimensions))
            return placed

        return points

    widths = np.geomspace(0.2, 0.7, n_clusters)
    return [segment(at, width) for at, width in zip(1.3 * rng.standard_normal((n_clusters, rank)), widths, strict=True)]


def bent(at: Points) -> Points:
    """A coast from the lower left to the upper right with two bays."""
    return np.column_stack([0.08 + 0.84 * at, 0.45 + 0.25 * np.sin(5.5 * at) + 0.15 * at])


def arc(at: Points) -> Points:
    """A coast about a gulf: most of a circle."""
    angle = np.pi * (0.1 + 1.35 * at)
    return np.column_stack([0.52 + 0.4 * np.cos(angle), 0.48 + 0.42 * np.sin(angle)])


def _ports(rng: Rng, n: int) -> Points:
    """Half of them near five ports, half anywhere on the coast."""
    at = np.where(rng.random(n) < 0.5, rng.integers(5, size=n) / 4.6 + 0.06, rng.random(n))
    return np.clip(at + 0.02 * rng.standard_normal(n), 0, 1)


def _apart(rng: Rng, n_clusters: int, dimensions: int, distance: float, sds: Sequence[float]) -> list[Shape]:
    places = separated(rng, n_clusters, dimensions, distance, 0.12)
    return [ball(place, sd) for place, sd in zip(places, sds, strict=True)]


def _stretched(rng: Rng, n_clusters: int, dimensions: int, sd: float) -> list[Shape]:
    """Clusters of axis ratio 5 in random directions, and one fifth anywhere."""

    def part(center: Points, by: Points) -> Shape:
        return lambda rng, n: center + rng.standard_normal((n, dimensions)) @ by

    places = separated(rng, n_clusters, dimensions, 5 * sd, 0.15)
    return [*(part(place, stretch(rng, dimensions, sd)) for place in places), anywhere(dimensions)]


Parts = Callable[[Rng], tuple[ArrayLike, Sequence[Shape]]]
"""The sizes of the parts of a set, and the parts."""


def _set(name: str, n_clusters: int, parts: Parts) -> tuple[str, Callable[[int], DataSet]]:
    def draw(seed: int) -> DataSet:
        rng = generator_of(name, seed)
        return data_set(name, mixture(rng, SIZE, *parts(rng)), n_clusters, rng)

    return name, draw


_CORNERS = ((0.25, 0.3), (0.75, 0.25), (0.3, 0.75), (0.78, 0.72))

TUNE_PLANE = MappingProxyType(
    dict(
        [
            _set("tune-sizes", 4, lambda rng: ((80, 10, 5, 5), _apart(rng, 4, 2, 0.3, (0.07,) * 4))),
            _set(
                "tune-widths",
                4,
                lambda _: ((3, 3, 2, 2), [ball(c, s) for c, s in zip(_CORNERS, (0.015, 0.11, 0.1, 0.02), strict=True)]),
            ),
            _set(
                "tune-long",
                5,
                lambda rng: (
                    (1,) * 5,
                    [long(c, 0.02, rng.uniform(0, np.pi)) for c in separated(rng, 5, 2, 0.25, 0.18)],
                ),
            ),
            _set(
                "tune-background",
                5,
                lambda rng: ((16,) * 5 + (20,), [*_apart(rng, 5, 2, 0.25, (0.03,) * 5), anywhere(2)]),
            ),
            _set("tune-coast", 8, lambda _: ((1,), [curve(bent, lambda rng, n: rng.beta(0.8, 1.6, n), 0.015)])),
            _set(
                "tune-city",
                6,
                lambda rng: ((80, 20), [ball(rng.uniform(0.2, 0.8, 2), 0.012), villages(rng, 40, 1.5, 0.006)]),
            ),
            _set("tune-answers3", 4, lambda rng: ((4, 3, 2, 1), levels(rng, 4, 3, 4, 0.85, 0.01))),
            _set(
                "tune-sizes3",
                5,
                lambda rng: ((60, 20, 10, 5, 5), _apart(rng, 5, 3, 0.35, (0.05, 0.1, 0.05, 0.08, 0.05))),
            ),
            _set("tune-long3", 5, lambda rng: ((16,) * 5 + (20,), _stretched(rng, 5, 3, 0.06))),
        ]
    )
)
"""Up to three dimensions, for tuning: a function of the seed for each name."""

FINAL_PLANE = MappingProxyType(
    dict(
        [
            _set(
                "final-sizes",
                4,
                lambda _: (
                    (80, 10, 5, 5),
                    [ball(c, 0.085) for c in ((0.3, 0.32), (0.72, 0.3), (0.28, 0.7), (0.7, 0.74))],
                ),
            ),
            _set(
                "final-widths",
                6,
                lambda rng: (
                    (1, 1, 1, 2, 2, 2),
                    [
                        shape(c, s)
                        for c, shape, s in zip(
                            separated(rng, 6, 2, 0.24, 0.14),
                            (ball, ball, ball, square, ball, square),
                            (0.01, 0.015, 0.02, 0.12, 0.09, 0.14),
                            strict=True,
                        )
                    ],
                ),
            ),
            _set(
                "final-long",
                4,
                lambda rng: (
                    (4, 3, 2, 1),
                    [long((0.5, y), 0.028, 0.25 * rng.standard_normal()) for y in (0.14, 0.38, 0.62, 0.86)],
                ),
            ),
            _set(
                "final-background",
                7,
                lambda rng: ((24, 16, 12, 10, 8, 6, 4, 20), [*_apart(rng, 7, 2, 0.2, (0.025,) * 7), anywhere(2)]),
            ),
            _set("final-coast", 6, lambda _: ((1,), [curve(arc, _ports, 0.012)])),
            _set(
                "final-city",
                5,
                lambda rng: (
                    (80, 14, 6),
                    [heavy(rng.uniform(0.15, 0.85, 2), 0.015), villages(rng, 90, 1.1, 0.01), anywhere(2)],
                ),
            ),
            _set("final-answers3", 5, lambda rng: ((5, 4, 3, 2, 1), levels(rng, 5, 3, 5, 0.8, 0.0))),
            _set(
                "final-sizes3",
                4,
                lambda rng: (
                    (75, 12, 8, 5),
                    [
                        heavy(c, s)
                        for c, s in zip(separated(rng, 4, 3, 0.4, 0.15), (0.06, 0.1, 0.06, 0.08), strict=True)
                    ],
                ),
            ),
            _set("final-long3", 6, lambda rng: ((20, 18, 15, 12, 9, 6, 20), _stretched(rng, 6, 3, 0.05))),
        ]
    )
)
"""Up to three dimensions, for the final table."""

TUNE_SPACE = MappingProxyType(
    dict(
        [
            _set("tune-letters", 26, lambda rng: ((1,) * 26, touching(rng, 26, 16, 0.2))),
            _set("tune-segments", 7, lambda rng: ((1,) * 7, skewed(rng, 7, 18, 4, 0.03))),
            _set("tune-answers8", 5, lambda rng: ((4, 3, 2, 2, 1), levels(rng, 5, 8, 3, 0.8, 0.01))),
            _set("tune-sizes6", 4, lambda rng: ((80, 10, 5, 5), _apart(rng, 4, 6, 0.5, (0.08,) * 4))),
            _set("tune-long8", 6, lambda rng: ((16,) * 5 + (10, 10), _stretched(rng, 6, 8, 0.07))),
        ]
    )
)
"""More than three dimensions, for tuning."""

FINAL_SPACE = MappingProxyType(
    dict(
        [
            _set("final-letters", 26, lambda rng: (rng.uniform(0.7, 1.3, 26), touching(rng, 26, 16, 0.24))),
            _set("final-segments", 7, lambda rng: (np.geomspace(1, 3, 7), skewed(rng, 7, 18, 6, 0.05))),
            _set("final-answers12", 6, lambda rng: ((5, 4, 3, 3, 2, 1), levels(rng, 6, 12, 4, 0.75, 0.0))),
            _set(
                "final-sizes5",
                4,
                lambda rng: ((80, 10, 5, 5), [heavy(c, 0.15) for c in separated(rng, 4, 5, 0.45, 0.2)]),
            ),
            _set("final-long6", 8, lambda rng: ((16, 14, 12, 10, 9, 8, 6, 5, 20), _stretched(rng, 8, 6, 0.055))),
        ]
    )
)
"""More than three dimensions, for the final table."""
