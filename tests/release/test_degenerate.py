"""The noise of a release has the same law whatever it is added to: one user, one bin, items that have no code.

Each kind draws as for a private release. The mean size of its noise is compared with a scale that is known here from
sensitivity and ε alone.
"""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hybriddp._check import FloatArray, IntArray
from hybriddp.distribution import DistributionStudy
from hybriddp.grid import UNITS
from hybriddp.items import HeavyHitterStudy
from hybriddp.items.open_release import release_items
from hybriddp.kmeans import KMeansStudy
from hybriddp.kmeans.algorithm.problem import Release
from hybriddp.kmeans.points import PointArray
from hybriddp.kmeans.protocol.budget import TrustedBudget
from hybriddp.kmeans.reports.base import GridQuestion, Labels
from hybriddp.kmeans.statistics import ClusterSizes, ClusterSums, Histogram, SecondMoments
from hybriddp.mean import MeanStudy
from hybriddp.release.mechanisms import mechanism_for
from hybriddp.release.release import release
from hybriddp.shares import FrequencyStudy
from tests.levels import z_limit

EPSILON = 0.02
MEAN = MeanStudy("m", bounds=(0, 1), epsilon=EPSILON)
GAUSSIAN = MeanStudy("m", bounds=(0, 1), epsilon=1, delta=1e-6)
QUANTILES = DistributionStudy("d", bounds=(0, 1), epsilon=EPSILON)
SHARES = FrequencyStudy("f", categories=list("abcdefg"), epsilon=EPSILON, other=True)
BINARY = FrequencyStudy("f", categories=["a", "b"], epsilon=EPSILON)
ITEMS = HeavyHitterStudy("h", epsilon=EPSILON, delta=1e-6)
POINTS = KMeansStudy("k", n_clusters=2, bounds=[(0, 1)] * 2, epsilon=2 * EPSILON)
PUBLIC = [f"item {i}" for i in range(50)]
SPREAD = np.random.default_rng(0).random(1000)

Draw = Callable[[], IntArray]
Noise = Callable[[FloatArray], Draw]
"""From the trusted users' values to what draws the noise of a release about them."""


def _drawn(study: Any, raw: Any) -> Draw:
    """Noise of a study's only release about these users."""
    statistic = study.statistic(raw)
    return lambda: release(statistic, study.cost).values - statistic.values


def _total(study: MeanStudy) -> Noise:
    def noise(values: FloatArray) -> Draw:
        return _drawn(study, study.summarize_trusted(values))

    return noise


def _histograms(values: FloatArray) -> Draw:
    return _drawn(QUANTILES, QUANTILES.summarize_trusted(values))


def _counts(study: FrequencyStudy) -> Noise:
    def noise(values: FloatArray) -> Draw:
        k = len(study.names)
        return _drawn(study, study.summarize_trusted([study.names[int(x * k)] for x in values]))

    return noise


def _items(values: FloatArray) -> Draw:
    """Half of the users have an item that is too long for a code, and which nobody has made public."""
    counts = Counter([PUBLIC[int(x * len(PUBLIC))] for x in values] + ["x" * 100] * (len(values) // 2))

    def draw() -> IntArray:
        released = release_items(counts, len(values), ITEMS.rule, ITEMS.cost, candidates=PUBLIC)
        found = zip(released.items, released.counts, strict=True)
        return np.array([count - counts[item] for item, count in found if item in PUBLIC])

    return draw


CORNERS = Labels(np.array([[0.25, 0.25], [0.75, 0.75]]))
STATISTICS = {
    "K-means, grid": Histogram(GridQuestion(None, np.zeros(2), np.full(2, 1 / 4), (5, 5))),
    "K-means, sizes": ClusterSizes(CORNERS),
    "K-means, sums": ClusterSums(CORNERS, np.array([0.1, 0.5]), 1000),
    "K-means, second moments": SecondMoments(np.full(2, 0.5), 0.1),
}


def _statistic(name: str) -> Noise:
    def noise(values: FloatArray) -> Draw:
        points = PointArray(POINTS.box, np.column_stack([values, values]), "trusted")
        budget, wanted = TrustedBudget(POINTS, None), Release(STATISTICS[name], Fraction(1, 2))
        exact = points.exact(STATISTICS[name])
        return lambda: budget.release("a step", wanted, points, Fraction(0), None).values - exact

    return noise


KINDS: dict[str, tuple[Noise, float]] = {
    "total": (_total(MEAN), UNITS / EPSILON),
    "total, Gaussian": (_total(GAUSSIAN), mechanism_for(GAUSSIAN.privacy).scale),
    "histograms": (_histograms, 4 / EPSILON),
    "counts": (_counts(SHARES), 2 / EPSILON),
    "counts of yes and no": (_counts(BINARY), 1 / EPSILON),
    "items": (_items, 2 / EPSILON),
    **{name: (_statistic(name), 2 * one.max_contribution / EPSILON) for name, one in STATISTICS.items()},
}
SIZES = {"total, Gaussian": (math.sqrt(2 / math.pi), math.sqrt(math.pi / 2 - 1))}
"""Mean size of noise, in scales, and its standard deviation in means: 1 and 1 of Laplace noise."""
GROUPS = {"one user": SPREAD[:1], "all in one place": np.full(1000, 0.3), "spread": SPREAD}


@pytest.mark.statistical
@pytest.mark.parametrize("kind", KINDS)
def test_the_scale_of_noise_is_that_of_the_study_whatever_the_data(kind: str) -> None:
    """The size of Laplace noise is exponential: the tail of its mean is up to eight times as likely as a normal one."""
    noise, scale = KINDS[kind]
    mean, spread = SIZES.get(kind, (1.0, 1.0))
    limit = z_limit(8 * len(GROUPS))
    for name, values in GROUPS.items():
        draw = noise(values)
        drawn = np.abs(np.concatenate([draw() for _ in range(-(-6000 // len(draw())))]))
        z = {f: (drawn.mean() / (f * mean * scale) - 1) / spread * len(drawn) ** 0.5 for f in (0.8, 1.0, 1.2)}
        assert abs(z[1.0]) < limit, name
        assert z[0.8] > limit, name
        assert z[1.2] < -limit, name
