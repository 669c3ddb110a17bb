"""What a device is asked: from a point to one symbol, before the channel.

A question is public. What it makes of a point may be any function of the point and of dice: the channel behind it hides
which symbol it was, and all of the privacy is there. A question may come in several *variants* (other coordinates, for
example); who answers which does not depend on the points.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.kmeans.box import grid_position
from hybriddp.kmeans.clustering import nearest, products
from hybriddp.kmeans.reports.steady import nearest_steadily, rows_steadily


class Question(ABC):
    """From points of the unit box to symbols."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def n_variants(self) -> int:
        """In how many variants it comes."""

    @property
    @abstractmethod
    def n_symbols(self) -> int:
        """How many answers there are."""

    @property
    def n_chosen(self) -> int | None:
        """None if the answer is a symbol; how many, if it is a set of symbols, as the bits of an integer."""
        return None

    @abstractmethod
    def symbols(
        self, points: FloatArray, variants: IntArray, rng: np.random.Generator, *, steady: bool = True
    ) -> IntArray:
        """The symbol, or set of symbols, of each point, in its variant.

        A device must be ``steady``: what it computes takes the same steps whatever its point is (see `steady`). A crowd
        that is counted in one process need not be, and is faster; the symbols have the same law.
        """

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """What its text holds."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A few directions in which points are looked at: $A(x - o)$; or the points as they are."""

    origin: FloatArray
    axes: FloatArray

    def see(self, points: FloatArray) -> FloatArray:
        """The coordinates of the points in these directions."""
        return products(points - self.origin, self.axes)


@dataclass(frozen=True, slots=True)
class GridQuestion(Question):
    """Near which vertex of a grid? Each coordinate is rounded up or down at random, so that its mean stays.

    Attributes
    ----------
    view : View or None
        The directions of the grid; None for those of the box.
    low, step : ndarray, shape (q,)
        The first vertex and the distance between vertices, in each direction.
    sizes : tuple of int
        How many vertices there are in each direction, at least 2.
    """

    kind: ClassVar[str] = "grid"

    view: Projection | None
    low: FloatArray
    step: FloatArray
    sizes: tuple[int, ...]

    @property
    def n_variants(self) -> int:
        """One."""
        return 1

    @property
    def n_symbols(self) -> int:
        """One symbol for each vertex."""
        return math.prod(self.sizes)  # not in 64 bits, where a grid that is too large may pass for a small one

    def position(self, points: FloatArray) -> FloatArray:
        """Where points are on the grid, in steps, moved into it if they lie outside."""
        seen = points if self.view is None else self.view.see(points)
        position: FloatArray = grid_position(seen, self.low, 1.0 / self.step, np.array(self.sizes) - 1.0)
        return position

    def symbols(
        self,
        points: FloatArray,
        variants: IntArray,  # noqa: ARG002
        rng: np.random.Generator,
        *,
        steady: bool = True,  # noqa: ARG002  (there is one way)
    ) -> IntArray:
        """The vertex that each point is rounded to."""
        position = self.position(points)
        vertex = np.floor(position)
        vertex += rng.random(position.shape, np.float32) < position - vertex
        return self.index(vertex.astype(np.int64))

    def index(self, vertices: IntArray) -> IntArray:
        """The number of a vertex, the last direction running fastest."""
        number = vertices[:, 0]
        for axis, size in enumerate(self.sizes[1:], start=1):
            number = number * size + vertices[:, axis]
        return number

    def vertices(self) -> FloatArray:
        """The coordinates of all vertices, in the order of their symbols."""
        axes = [low + step * np.arange(size) for low, step, size in zip(self.low, self.step, self.sizes, strict=True)]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def fields(self) -> dict[str, Any]:
        """What its text holds."""
        return {**_view_fields(self.view), "low": self.low, "step": self.step, "sizes": list(self.sizes)}


@dataclass(frozen=True, slots=True)
class Labels:
    """Which of several centers is nearest, all of the space or only in some directions.

    Attributes
    ----------
    centers : ndarray, shape (K, d) or (K, q)
        The centers, in the directions of the view if there is one.
    view : View or None
        The directions that count; None for all.
    """

    centers: FloatArray
    view: Projection | None = None

    def of(self, points: FloatArray, *, steady: bool = False) -> NDArray[np.intp]:
        """The label of each point, the same either way; ``steady`` if nobody may tell by the time it takes."""
        seen = points if self.view is None else self.view.see(points)
        return nearest_steadily(seen, self.centers) if steady else nearest(seen, self.centers)


class Residuals(Protocol):
    """A question about residuals."""

    @property
    def labels(self) -> Labels:
        """Which center is meant."""

    @property
    def centers(self) -> FloatArray:
        """Where residuals are measured from."""

    @property
    def radii(self) -> FloatArray:
        """Where they are cut."""


@dataclass(frozen=True, slots=True)
class ResidualQuestion(Question):
    r"""Which center, and to which side of it? One symbol for a label and the signs of some coordinates.

    Coordinate $j$ of the residual $z = (x - c)/r$, cut to $[-1, 1]$, becomes $\pm 1$ at random so that its mean is
    $z_j$.

    Attributes
    ----------
    labels : Labels
        Which center is meant.
    centers : ndarray, shape (K, d)
        $c$: where residuals are measured from.
    radii : ndarray, shape (K,)
        $r$: residuals further out are cut.
    coordinates : ndarray of int, shape (n_variants, s)
        Which coordinates each variant is about; none for the label alone.
    """

    kind: ClassVar[str] = "residual"

    labels: Labels
    centers: FloatArray
    radii: FloatArray
    coordinates: IntArray

    @property
    def n_variants(self) -> int:
        """One for each list of coordinates."""
        return len(self.coordinates)

    @property
    def n_signs(self) -> int:
        """How many signs a symbol holds."""
        return int(self.coordinates.shape[1])

    @property
    def n_symbols(self) -> int:
        """A label and its signs."""
        return len(self.centers) << self.n_signs

    def symbols(
        self, points: FloatArray, variants: IntArray, rng: np.random.Generator, *, steady: bool = True
    ) -> IntArray:
        """The label and the signs of each point: sign *i* is bit *i*."""
        label = self.labels.of(points, steady=steady)
        symbol = label.astype(np.int64) << self.n_signs
        if not self.n_signs:
            return symbol
        users = np.arange(len(points))
        rest = residuals(self, points, label, steady=True) if steady else None
        for bit, column in enumerate(self.coordinates.T):
            at = column[variants]
            if rest is None:
                z = (points[users, at] - self.centers[label, at]) / self.radii[label]
            else:
                z = rest.vectors[users, at] / rest.radii
            # The sign is +1 with probability (1 + z)/2; beyond ±1 it is sure.
            symbol += (2 * rng.random(len(points), np.float32) - 1 < z).astype(np.int64) << bit
        return symbol

    def fields(self) -> dict[str, Any]:
        """What its text holds."""
        return {**residual_fields(self), "coordinates": self.coordinates}


@dataclass(frozen=True, slots=True)
class Rest:
    """Residuals, shape (n, d), and the radius that each is measured by, shape (n,)."""

    vectors: FloatArray
    radii: FloatArray


def residuals(question: Residuals, points: FloatArray, label: NDArray[np.intp], *, steady: bool) -> Rest:
    """How far each point is from the center of its label."""
    if steady:
        return Rest(points - rows_steadily(question.centers, label), rows_steadily(question.radii, label))
    return Rest(points - question.centers[label], question.radii[label])


def _view_fields(view: Projection | None) -> dict[str, Any]:
    return {} if view is None else {"origin": view.origin, "axes": view.axes}


def residual_fields(question: Residuals) -> dict[str, Any]:
    """The part of a text that says where residuals are measured from."""
    labels = question.labels
    seen = {} if labels.view is None else {"label_centers": labels.centers, **_view_fields(labels.view)}
    return {"centers": question.centers, "radii": question.radii, **seen}
