r"""The K-means algorithms of [ADK20], section 7 and appendix D, as printed and repaired: for comparison only.

Trusted-only is the classic private Lloyd algorithm; full-local the paper's own for users who trust nobody; the hybrid
runs both side by side and, after each of $\tau$ rounds, takes the mean of their centers with the privacy weight

$$
w_k = \frac{q_k}{p_k + q_k}, \qquad p_k = \frac{2 b_T^2}{N_{T,k}^2}, \qquad q_k = \frac{2 b_L^2}{N_{L,k}}.
$$

The pseudo-code has flaws (errata 2 and 4 to 7). By default they are repaired. Four of them can be asked for as printed,
with a warning: see the parameters of `hybrid`. Always repaired is what cannot be run as printed: sums run over a
cluster's members, counts are at least 1, and centers stay within the bounds.

**Never a private release.** The noise is floating-point Laplace noise from a seeded generator, as in the paper's own
experiments: what these functions return may be compared and plotted, nothing else. `hybriddp.kmeans` has an
algorithm that is private and far more accurate.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.kmeans.points import columns_by_name, names_of, require_alike
from hybriddp.kmeans.study import Box
from hybriddp.paper.kmeans.groups import (
    ClusterMoments,
    LaplaceScales,
    PaperLocalGroup,
    PaperTrustedGroup,
    truth_probability,
)
from hybriddp.paper.kmeans.sphere_packing import sphere_packing
from hybriddp.randomness import simulation_generator
from hybriddp.theory.setting import noise_minimizing_weight


@dataclass(frozen=True, slots=True)
class PaperReading:
    """How the pseudo-code is read [ADK20, appendix D]; see `hybrid`. By default it is repaired."""

    weights: str = "mean"
    debias: bool = True
    assign_on: str = "true"
    neighbors: str = "replace-one"

    def check(self) -> None:
        """Raise `ParameterError` if there is no such reading."""
        _check.choice("weights", self.weights, ("mean", "printed"))
        if not isinstance(self.debias, bool):
            raise ParameterError("debias", "True or False", self.debias)
        _check.choice("assign_on", self.assign_on, ("true", "report"))
        _check.choice("neighbors", self.neighbors, ("replace-one", "add-remove"))

    def warnings(self) -> Iterator[str]:
        """One sentence for each erratum that was asked for as printed."""
        if self.weights == "printed":
            yield (
                'weights="printed" takes the noise of a sum for that of a mean, so the trusted group is all but '
                'ignored: use weights="mean" (erratum 4).'
            )
        if not self.debias:
            yield (
                "debias=False pulls every local center towards the mean of everybody, because randomized response "
                "does: use debias=True (erratum 5)."
            )
        if self.assign_on == "report":
            yield (
                'assign_on="report" assigns local users by their noise: use assign_on="true", as the text of the '
                "paper has it (erratum 6)."
            )
        if self.neighbors == "add-remove":
            yield (
                'neighbors="add-remove" covers half of what replacing a point can change, so trusted users would '
                'get 2 epsilon: use neighbors="replace-one" (erratum 2).'
            )


@dataclass(frozen=True, slots=True)
class PaperClustering:
    """What an algorithm of the paper found in a simulation: centers in the data's units, and the weight that it used.

    The weight is that of the trusted group in each round, on average over the clusters; None with one group alone.
    """

    centers: FloatArray
    weight: tuple[float, ...] | None

    @property
    def private_release(self) -> bool:
        """Never: the noise is seeded and of floating-point numbers."""
        return False


def trusted_only(
    trusted: ArrayLike,
    *,
    n_clusters: int,
    epsilon: float,
    iterations: int,
    bounds: Sequence[tuple[float, float]],
    random_state: int | np.random.Generator,
    neighbors: str = "replace-one",
    scale: str | Sequence[float] = "none",
    initial: ArrayLike | None = None,
) -> PaperClustering:
    """The paper's K-means of users who trust the curator. The parameters are those of `hybrid`.

    Examples
    --------
    >>> points = np.repeat([[2.0, 2.0], [8.0, 8.0]], 5000, axis=0)
    >>> found = trusted_only(
    ...     points, n_clusters=2, epsilon=7.0, iterations=2, bounds=[(0, 10)] * 2,
    ...     initial=[[3, 3], [7, 7]], random_state=0,
    ... )
    >>> found.centers.round(1).tolist(), found.private_release
    ([[2.0, 2.0], [8.0, 8.0]], False)
    """
    reading = PaperReading(neighbors=neighbors)
    return _run(trusted, (), reading, n_clusters, epsilon, iterations, bounds, scale, random_state, initial)


def full_local(
    local: ArrayLike,
    *,
    n_clusters: int,
    epsilon: float,
    iterations: int,
    bounds: Sequence[tuple[float, float]],
    random_state: int | np.random.Generator,
    debias: bool = True,
    assign_on: str = "true",
    scale: str | Sequence[float] = "none",
    initial: ArrayLike | None = None,
) -> PaperClustering:
    """The paper's K-means of users who trust nobody. The parameters are those of `hybrid`."""
    reading = PaperReading(debias=debias, assign_on=assign_on)
    return _run((), local, reading, n_clusters, epsilon, iterations, bounds, scale, random_state, initial)


def hybrid(
    trusted: ArrayLike,
    local: ArrayLike,
    *,
    n_clusters: int,
    epsilon: float,
    iterations: int,
    bounds: Sequence[tuple[float, float]],
    random_state: int | np.random.Generator,
    weights: str = "mean",
    debias: bool = True,
    assign_on: str = "true",
    neighbors: str = "replace-one",
    scale: str | Sequence[float] = "none",
    initial: ArrayLike | None = None,
) -> PaperClustering:
    r"""The paper's hybrid K-means. With nobody in one group it is the algorithm of the other.

    Parameters
    ----------
    trusted, local : array_like or dataframe, shape (n, d)
        The groups' points, in the data's units. Those outside the bounds are moved to the nearest wall.
    n_clusters : int
        Number of centers, $K$.
    epsilon : float
        What every user is promised, over all rounds.
    iterations : int
        Number of rounds, $\tau$; each has an equal part of ε.
    bounds : sequence of (float, float)
        The public range of each dimension.
    scale : "none", "bounds" or sequence of float
        What distances are measured by; see `KMeansStudy`. The paper has one range $[0, m]$ for all dimensions: by
        default the widest one's is its $m$.
    random_state : int or numpy.random.Generator
        Required: this is a simulation.
    weights : {"mean", "printed"}
        The trusted noise variance given to the weight: that on a mean, $2 b_T^2/N_T^2$, or that on a sum, $2 b_T^2$.
    debias : bool
        Whether what randomized response mixes into each local cluster is taken out again.
    assign_on : {"true", "report"}
        Whether a local user tells the cluster of their point or of their noisy report.
    neighbors : {"replace-one", "add-remove"}
        What the trusted group's noise covers.
    initial : array_like, shape (n_clusters, d), optional
        Centers to begin with, chosen without looking at the data; a sphere packing if left out.
    """
    reading = PaperReading(weights, debias, assign_on, neighbors)
    return _run(trusted, local, reading, n_clusters, epsilon, iterations, bounds, scale, random_state, initial)


def _run(
    trusted: ArrayLike,
    local: ArrayLike,
    reading: PaperReading,
    n_clusters: int,
    epsilon: float,
    iterations: int,
    bounds: Sequence[tuple[float, float]],
    scale: str | Sequence[float],
    random_state: int | np.random.Generator,
    initial: ArrayLike | None,
) -> PaperClustering:
    k = _check.integer("n_clusters", n_clusters, at_least=1)
    eps = _check.number("epsilon", epsilon, _check.POSITIVE)
    tau = _check.integer("iterations", iterations, at_least=1)
    box = Box.of(bounds, scale)
    reading.check()
    if random_state is None:
        raise ParameterError("random_state", "an integer or a numpy.random.Generator: this is a simulation", None)
    require_alike({what: group for what, group in (("trusted", trusted), ("local", local)) if np.size(group)})
    local = columns_by_name(local, names_of(trusted), "local")
    trusted_points, local_points = _group(box, trusted, "trusted"), _group(box, local, "local")
    if not len(trusted_points) + len(local_points):
        raise DataError("There are no points. Give those of at least one group.")
    for_start, for_trusted, for_local = simulation_generator(random_state, "paper K-means").spawn(3)
    if initial is None:
        centers = box.widths * sphere_packing(k, box.n_dimensions, generator=for_start)
    else:
        centers = box.place(initial, "initial").points
        if len(centers) != k:
            raise ParameterError("initial", f"{k} centers", len(centers), shown_as="their number")
    for sentence in reading.warnings():
        warnings.warn(sentence, UserWarning, stacklevel=3)
    scales = LaplaceScales.of(
        n_dimensions=box.n_dimensions, iterations=tau, epsilon=eps, replace_one=reading.neighbors == "replace-one"
    )
    trusted_group = PaperTrustedGroup(trusted_points.astype(np.float32), scale=scales.trusted, generator=for_trusted)
    local_group = PaperLocalGroup(
        local_points.astype(np.float32),
        scale=scales.local,
        truth=truth_probability(n_clusters=k, iterations=tau, epsilon=eps),
        debias=reading.debias,
        assign_on_report=reading.assign_on == "report",
        generator=for_local,
    )
    used = []
    for _ in range(tau):
        if not len(local_points):
            found = trusted_group.moments(centers).means()
        elif not len(trusted_points):
            found = local_group.moments(centers).means()
        else:
            of_trusted, of_local = trusted_group.moments(centers), local_group.moments(centers)
            w = privacy_weight(of_trusted, of_local, scales, printed=reading.weights == "printed")
            found = w[:, None] * of_trusted.means() + (1 - w[:, None]) * of_local.means()
            used.append(float(w.mean()))
        centers = np.clip(found, 0.0, box.widths)
    return PaperClustering(box.values(centers), tuple(used) or None)


def privacy_weight(
    trusted: ClusterMoments, local: ClusterMoments, scales: LaplaceScales, *, printed: bool
) -> FloatArray:
    r"""$w_k$, the weight of the trusted group in each cluster, from counts and noise that everybody may know."""
    n_t, n_l = trusted.floored(), local.floored()
    on_sum = np.full(len(n_t), 2 * scales.trusted**2)
    return noise_minimizing_weight(n_t / (n_t + n_l), on_sum if printed else on_sum / n_t**2, 2 * scales.local**2 / n_l)


def _group(box: Box, points: ArrayLike, what: str) -> FloatArray:
    """A group's points in the unit box; an empty list is nobody."""
    return box.place(points, what).points if np.size(points) else np.empty((0, box.n_dimensions))
