r"""The K-means algorithms of [ADK20], section 7 and appendix D, as printed and repaired: for comparison only.

Trusted-only is the classic private Lloyd algorithm; full-local the paper's own for users who trust nobody; the hybrid
runs both side by side and, after each of $\tau$ rounds, takes the mean of their centers with the privacy weight

$$
w_k = \frac{q_k}{p_k + q_k}, \qquad p_k = \frac{2 b_T^2}{N_{T,k}^2}, \qquad q_k = \frac{2 b_L^2}{N_{L,k}}.
$$

The pseudo-code has flaws (errata 2 and 4 to 7), repaired by default. Four of them can be taken as printed, with a
warning (`PaperReading`). Always repaired is what cannot be run as printed: sums run over a cluster's members, counts
are at least 1, and centers stay within the bounds.

**Never a private release.** The noise is floating-point Laplace noise from a seeded generator, as in the paper's own
experiments: what these functions return may be compared and plotted, nothing else. `hybriddp.kmeans` has an
algorithm that is private and far more accurate.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.kmeans.points import columns_by_name, names_of, require_alike
from hybriddp.kmeans.study import Box
from hybriddp.paper import seeded
from hybriddp.paper.kmeans.groups import (
    ClusterMoments,
    LaplaceScales,
    PaperLocalGroup,
    PaperTrustedGroup,
    Points,
    truth_probability,
)
from hybriddp.paper.kmeans.sphere_packing import sphere_packing
from hybriddp.theory.setting import noise_minimizing_weight


@dataclass(frozen=True, slots=True)
class PaperReading:
    """Reading of the pseudo-code [ADK20, appendix D]: repaired by default; each switch takes an erratum as printed."""

    noise_of_sum: bool = False
    """Give the weight the noise variance of a sum, $2 b_T^2$, for that of a mean (erratum 4)."""
    biased: bool = False
    """Leave in each local cluster what randomized response mixes into it (erratum 5)."""
    assign_reports: bool = False
    """Let local users assign their noisy report instead of their point (erratum 6)."""
    add_remove: bool = False
    """Cover with the trusted group's noise a point that is added or removed, not one that is replaced (erratum 2)."""

    def warnings(self) -> Iterator[str]:
        """Explain each switch that is on."""
        for field in fields(self):
            if getattr(self, field.name):
                yield f"{field.name}=True {_FLAWS[field.name]}."


_FLAWS = {
    "noise_of_sum": "takes the noise of a sum for that of a mean, so the trusted group is all but ignored (erratum 4)",
    "biased": "pulls every local center towards the mean of everybody, as randomized response does (erratum 5)",
    "assign_reports": "assigns local users by their noise; the text of the paper has it otherwise (erratum 6)",
    "add_remove": "covers half of what replacing a point can change, so trusted users get 2 epsilon (erratum 2)",
}
REPAIRED = PaperReading()
PRINTED = PaperReading(noise_of_sum=True, biased=True, add_remove=True)
"""Pseudo-code of appendix D; local users assign their points, as the text of section 7 has it."""


@dataclass(frozen=True, slots=True)
class PaperClustering:
    """Result of the paper's K-means in a simulation: centers in the data's units, and the weights.

    The weight is that of the trusted group in each round, on average over the clusters; None with one group alone.
    """

    centers: FloatArray
    weight: tuple[float, ...] | None


def hybrid(
    trusted: ArrayLike,
    local: ArrayLike,
    *,
    n_clusters: int,
    epsilon: float,
    iterations: int,
    bounds: Sequence[tuple[float, float]],
    random_state: int | np.random.Generator,
    reading: PaperReading = REPAIRED,
    initial: ArrayLike | None = None,
) -> PaperClustering:
    r"""Run the paper's K-means; with an empty group it is the paper's trusted-only or full-local algorithm.

    Parameters
    ----------
    trusted, local : array_like or dataframe, shape (n, d)
        Points of the groups, in the data's units. Those outside the bounds are moved to the nearest wall.
    n_clusters : int
        Number of centers, $K$.
    epsilon : float
        Promise to every user, over all rounds.
    iterations : int
        Number of rounds, $\tau$; each has an equal part of ε.
    bounds : sequence of (float, float)
        Public range of each dimension. The widest is the paper's $m$, for all dimensions.
    random_state : int or numpy.random.Generator
        Required: this is a simulation.
    reading : PaperReading
        Errata that are taken as printed, each with a warning; `REPAIRED` by default, `PRINTED` for the print.
    initial : array_like, shape (n_clusters, d), optional
        Centers to begin with, chosen without looking at the data; a sphere packing if left out.

    Examples
    --------
    >>> points = np.repeat([[2.0, 2.0], [8.0, 8.0]], 5000, axis=0)
    >>> trusted_only = hybrid(
    ...     points, [], n_clusters=2, epsilon=7.0, iterations=2, bounds=[(0, 10)] * 2,
    ...     initial=[[3, 3], [7, 7]], random_state=0,
    ... )
    >>> trusted_only.centers.round(1).tolist()
    [[2.0, 2.0], [8.0, 8.0]]
    """
    k = _check.integer("n_clusters", n_clusters, at_least=1)
    eps = _check.number("epsilon", epsilon, _check.POSITIVE)
    tau = _check.integer("iterations", iterations, at_least=1)
    box = Box.of(bounds, "none")
    require_alike({name: group for name, group in (("trusted", trusted), ("local", local)) if np.size(group)})
    local = columns_by_name(local, names_of(trusted), "local")
    trusted_points, local_points = _group(box, trusted, "trusted"), _group(box, local, "local")
    if not len(trusted_points) + len(local_points):
        raise DataError("There are no points. Give those of at least one group.")
    for_start, for_trusted, for_local = seeded(random_state, "paper K-means").spawn(3)
    if initial is None:
        centers = box.widths * sphere_packing(k, box.n_dimensions, generator=for_start)
    else:
        centers = box.place(initial, "initial").points
        if len(centers) != k:
            raise ParameterError("initial", f"{k} centers", len(centers), shown_as="their number")
    for sentence in reading.warnings():
        warnings.warn(sentence, UserWarning, stacklevel=2)
    scales = LaplaceScales.of(
        n_dimensions=box.n_dimensions, iterations=tau, epsilon=eps, replace_one=not reading.add_remove
    )
    trusted_group = PaperTrustedGroup(trusted_points, scale=scales.trusted, generator=for_trusted)
    local_group = PaperLocalGroup(
        local_points,
        scale=scales.local,
        truth=truth_probability(n_clusters=k, iterations=tau, epsilon=eps),
        debias=not reading.biased,
        assign_on_report=reading.assign_reports,
        generator=for_local,
    )
    weights = []
    for _ in range(tau):
        if not len(local_points):
            means = trusted_group.moments(centers).means()
        elif not len(trusted_points):
            means = local_group.moments(centers).means()
        else:
            of_trusted, of_local = trusted_group.moments(centers), local_group.moments(centers)
            w = privacy_weight(of_trusted, of_local, scales, printed=reading.noise_of_sum)
            means = w[:, None] * of_trusted.means() + (1 - w[:, None]) * of_local.means()
            weights.append(float(w.mean()))
        centers = np.clip(means, 0.0, box.widths)
    return PaperClustering(box.values(centers), tuple(weights) or None)


def privacy_weight(
    trusted: ClusterMoments, local: ClusterMoments, scales: LaplaceScales, *, printed: bool
) -> FloatArray:
    r"""Compute $w_k$, the weight of the trusted group in each cluster, from released counts and public noise."""
    n_t, n_l = trusted.floored(), local.floored()
    on_sum = np.full(len(n_t), 2 * scales.trusted**2)
    return noise_minimizing_weight(n_t / (n_t + n_l), on_sum if printed else on_sum / n_t**2, 2 * scales.local**2 / n_l)


def _group(box: Box, points: ArrayLike, name: str) -> Points:
    """Place a group's points in the box; an empty list is an empty group."""
    placed = box.place(points, name).points if np.size(points) else np.empty((0, box.n_dimensions))
    return placed.astype(np.float32)
