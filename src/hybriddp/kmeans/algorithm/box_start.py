"""First centers in a box of up to three dimensions: K-means of denoised frequencies on a grid.

All of this is post-processing of what both groups published, so that K-means may begin from as many starts as it likes.
"""

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.cluster_estimate import ClusterEstimate, StartDoubt
from hybriddp.kmeans.algorithm.density import Density
from hybriddp.kmeans.algorithm.grid_start import GridFrequencies
from hybriddp.kmeans.clustering import Clustering, nearest, weighted_kmeans
from hybriddp.kmeans.reports.grid import GridQuestion


def box_start(
    grid: GridQuestion, found: GridFrequencies, k: int, rng: np.random.Generator
) -> tuple[ClusterEstimate, Density]:
    """First centers, and where users are."""
    density = Density.of(grid, found)
    starts = _clusterings(density, k, rng)
    clusters = density.clusters(starts[0].centers)
    mass = clusters.mass
    noise = clusters.sums(clusters.rest**2 * density.weight_noise[:, None]) / mass[:, None] ** 2
    sampling = (clusters.spread + density.rounding) / (found.n_users * mass)
    sizes, size_noise = mass / mass.sum(), np.bincount(clusters.label, density.weight_noise, k)
    known = ClusterEstimate(
        centers=starts[0].centers,
        variance=noise + sampling[:, None],
        sizes=sizes,
        size_variance=size_noise + sizes / found.n_users + (tuning.GRID_SIZE_ERROR * sizes) ** 2,
        trusted_weight=np.full(k, found.trusted_weight),
        start=start_doubt(density, [start.centers for start in starts]),
    )
    return known, density


def _clusterings(density: Density, k: int, rng: np.random.Generator) -> list[Clustering]:
    """K-means of the denoised frequencies, the best first and then by cost; each cost once."""
    weights = density.weights
    chosen = np.flatnonzero(weights > 0)
    if len(chosen) < 2 * k:  # hardly anything stands out of the noise: the vertices that stand out most
        chosen = np.lexsort((density.values, weights))[-min(2 * k, len(weights)) :]
    some = np.maximum(weights[chosen], 1e-9)
    least, most = tuning.BOX_STARTS
    starts = min(max(tuning.BOX_DISTANCES // (k * len(chosen)), least), most)
    found = weighted_kmeans(density.points[chosen], some, k, starts=starts, generator=rng)
    costs = np.array([start.cost for start in found])
    new = np.diff(costs, prepend=-np.inf) > 1e-9 * costs[0]
    different = [start for start, is_new in zip(found, new, strict=True) if is_new]
    best = _best(density, different)
    return [best, *(start for start in different if start is not best)]


def _best(density: Density, starts: list[Clustering]) -> Clustering:
    """The cheapest start; on a coarse grid, one that sees all of its clusters and is no worse as far as noise tells.

    Denoising leaves a little of what noise spreads over large blocks. Far from everybody else, that is worth a center
    to K-means, which is then missing where clusters are close.
    """
    first = starts[0]
    if len(density.points) > tuning.SEEN_VERTICES or density.sees(first.centers):
        return first
    limit = density.cost(first.centers)
    for other in starts[1:]:
        margin = tuning.SEEN_MARGIN * density.difference_sd(first.centers, other.centers)
        if density.sees(other.centers) and density.cost(other.centers) < limit + margin:
            return other
    return first


def start_doubt(density: Density, starts: list[FloatArray]) -> StartDoubt | None:
    """The first of several starts against the best one that is not the same but for small shifts, if there is any."""
    first = starts[0]
    own = np.arange(len(first))
    rivals = [other for other in starts[1:] if (nearest(other, first)[nearest(first, other)] != own).any()]
    if not rivals:
        return None
    rival = min(rivals, key=density.cost)
    difference_sd = density.difference_sd(first, rival)
    return StartDoubt(density.cost(first), density.cost(rival), difference_sd, len(density.points))
