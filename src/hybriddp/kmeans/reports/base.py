"""Questions to local users, the channels behind them, and the tally of the answers.

A question is public. It turns a point into one symbol (or a set of symbols of fixed size) by any function of the point
and random numbers; the channel behind it hides which symbol it was, and **all of the privacy is in the channel**. A
question may come in several *variants* (other coordinates, for example); who answers which does not depend on points.

A device answers what strangers ask. So the text of a question is checked before it is computed with, and one that is
larger than any server would ask is refused: it could fill the device's memory, or keep it busy. Neither protects a
point: that is done by the channel, and by work that is the same for every point (`clustering`).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.response import SymbolChannel
from hybriddp.errors import ProtocolError
from hybriddp.kmeans.clustering import nearest, nearest_constant_time, products, rows_constant_time
from hybriddp.kmeans.study import SMALLEST, KMeansStudy, grid_position
from hybriddp.randomness import UniformDraws

MOST_SIGNS = 8  # signs in one symbol
MOST_VERTICES = 4096  # of a grid in one direction
LARGEST = 1e100
"""Of the numbers of a question, in size; those that are not 0 are at least `SMALLEST`, like coordinates of points.

Within these, nothing that a device computes overflows: an infinity less another would be no number, and not one of the
symbols that the channel hides among each other. Nor does a device begin with numbers so small that a processor takes
longer over them, which would tell whose point is that small. (Products of several small ones can still become so.)
"""

_Asked = TypeVar("_Asked", bound="Question")
Rng = np.random.Generator | UniformDraws
"""Source of the random numbers of symbols: a device's own bytes, or numpy where devices are simulated."""


class Question(ABC):
    """Function from points of the unit box to symbols."""

    kind: ClassVar[str]
    """Name of the kind of question in its text."""

    @property
    def n_variants(self) -> int:
        """Number of variants."""
        return 1

    @property
    @abstractmethod
    def n_symbols(self) -> int:
        """Number of symbols."""

    @property
    def n_chosen(self) -> int | None:
        """None if the answer is a symbol; the size of a set of symbols, which is sent as the bits of an integer."""
        return None

    @abstractmethod
    def symbols(self, points: FloatArray, variants: IntArray, rng: Rng, *, constant_time: bool = True) -> IntArray:
        """Draw the symbol, or set of symbols, of each point, in its variant.

        A device answers in ``constant_time``: what it computes takes the same steps whatever its point is. Devices that
        are simulated in one process need not, and are faster; the symbols have the same law.
        """

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """List the content of its text, with arrays for lists of numbers."""

    def text_fields(self) -> dict[str, Any]:
        """List its kind and content as plain values."""
        plain = {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in self.fields().items()}
        return {"kind": self.kind, **plain}

    @classmethod
    @abstractmethod
    def from_fields(cls, d: int, fields: dict[str, Any]) -> Self:
        """Read the question from the content of its text, for ``d`` dimensions; `ProtocolError` if it is malformed."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Question, its channel, and the fraction of local users who get it; each answers once."""

    question: Question
    channel: SymbolChannel  # with all of ε
    user_fraction: Fraction  # of the local users

    def check(self, study: KMeansStudy) -> None:
        """Raise `ProtocolError` unless the channel has the study's ε and hides exactly what the question answers."""
        question, channel = self.question, self.channel
        promised = isinstance(channel, SymbolChannel) and channel.epsilon == study.privacy.epsilon
        require(promised, "its channel is not one of symbols with the study's epsilon", "ask")
        fewer = "fewer" if question.n_symbols > channel.n_symbols else "more"
        exactly = max(question.n_symbols, 2) == channel.n_symbols
        require(exactly, f"its channel has {fewer} symbols than its question", "ask")
        same = question.n_chosen == channel.n_chosen
        require(same, "its channel is for sets of another size than its question's", "ask")

    def question_as(self, kind: type[_Asked]) -> _Asked:
        """Return the question, which must be of this kind: others are decoded in another way."""
        if not isinstance(self.question, kind):
            raise TypeError(f"The question must be a {kind.__name__}, got a {type(self.question).__name__}.")
        return self.question


@dataclass(frozen=True, slots=True)
class ReportTally:
    """What local users answered: how many reports support each symbol of each variant, of how many users."""

    supports: IntArray  # shape (n_variants, n_symbols)
    users: IntArray  # shape (n_variants,)

    def __add__(self, other: "ReportTally") -> "ReportTally":
        if self.supports.shape != other.supports.shape or self.users.shape != other.users.shape:
            shapes = f"{self.supports.shape} and {other.supports.shape}"
            raise ProtocolError(f"Answers to different questions do not add up: {shapes}.")
        return ReportTally(self.supports + other.supports, self.users + other.users)

    @property
    def n_users(self) -> int:
        """Number of users who answered."""
        return int(self.users.sum())

    def checked(self, n_variants: int, n_symbols: int) -> "ReportTally":
        """Return the tally in 64-bit integers; `ProtocolError` if these variants and symbols cannot have it."""
        supports, users = np.asarray(self.supports), np.asarray(self.users)
        good = supports.shape == (n_variants, n_symbols) and users.shape == (n_variants,)
        good = good and supports.dtype.kind in "iu" and users.dtype.kind in "iu"
        good = good and bool((supports >= 0).all() and (supports <= users[:, None]).all())
        if not good or (users >= 1 << 40).any():  # sums of 64 bits could not hold them
            expected = f"counts of shape {(n_variants, n_symbols)}, none above the number of users of its variant"
            raise ProtocolError(f"Answers must be {expected}, got shape {supports.shape}.")
        return ReportTally(supports.astype(np.int64), users.astype(np.int64))

    def counts(self, channel: SymbolChannel) -> FloatArray:
        """Estimate the counts of the symbols without bias, shape (n_variants, n_symbols)."""
        return channel.unbiased_counts(self.supports, self.users)


# Labels and residuals -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Projection:
    """Orthogonal projection onto a few directions: $A(x - o)$."""

    origin: FloatArray
    axes: FloatArray

    def project(self, points: FloatArray) -> FloatArray:
        """Compute the coordinates of the points in these directions."""
        return products(points - self.origin, self.axes)

    def first(self, count: int) -> "Projection":
        """Project onto the first few of the directions only."""
        return Projection(self.origin, self.axes[:count])

    def fields(self) -> dict[str, Any]:
        return {"origin": self.origin, "axes": self.axes}

    @classmethod
    def from_fields(cls, d: int, fields: dict[str, Any]) -> tuple["Projection | None", int]:
        """Read the projection of a question, if there is one, and the number of coordinates that it leaves."""
        if "axes" not in fields:
            return None, d
        axes = len(fields["axes"])
        require(0 < axes <= d, f"it projects onto other than 1 to {d} directions")
        return cls(read_array(fields, "origin", (d,)), read_array(fields, "axes", (axes, d))), axes


@dataclass(frozen=True, slots=True)
class Labels:
    """Numbers of the nearest of several centers, in all of the space or in a projection."""

    centers: FloatArray  # shape (K, d), or (K, q) if they are projected
    projection: Projection | None = None

    def seen(self, points: FloatArray) -> FloatArray:
        """Compute the points in the coordinates of the centers."""
        return points if self.projection is None else self.projection.project(points)

    def nearest(self, points: FloatArray) -> NDArray[np.intp]:
        """Label points of the unit box."""
        return nearest(self.seen(points), self.centers)

    def nearest_seen(self, seen: FloatArray, *, constant_time: bool) -> NDArray[np.intp]:
        """Label points in the coordinates of the centers, the same either way."""
        return nearest_constant_time(seen, self.centers) if constant_time else nearest(seen, self.centers)


@dataclass(frozen=True, slots=True)
class ResidualQuestion(Question):
    """Question about the residual $z - c$ of a point from the nearest center, in the coordinates of the centers."""

    labels: Labels
    radii: FloatArray  # shape (K,): residuals are clipped to it, by coordinate or by length

    @property
    def centers(self) -> FloatArray:
        """$c$, shape (K, d), or (K, q) if they are projected."""
        return self.labels.centers

    def residuals(
        self, seen: FloatArray, label: NDArray[np.intp], *, constant_time: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Compute the residual of each point as it is seen, shape (n, q), and the radius of its cluster, shape (n,)."""
        if constant_time:
            return seen - rows_constant_time(self.centers, label), rows_constant_time(self.radii, label)
        return seen - self.centers[label], self.radii[label]

    def fields(self) -> dict[str, Any]:
        seen = {} if self.labels.projection is None else self.labels.projection.fields()
        return {"centers": self.centers, "radii": self.radii, **seen}

    @staticmethod
    def read_residuals(d: int, fields: dict[str, Any]) -> tuple[Labels, FloatArray]:
        """Read labels and radii."""
        k, (projection, q) = len(fields["centers"]), Projection.from_fields(d, fields)
        centers, radii = read_array(fields, "centers", (k, q)), read_array(fields, "radii", (k,))
        require(k > 0 and bool((radii >= SMALLEST).all()), "it has no centers, or radii that are not positive")
        return Labels(centers, projection), radii


# Vertices of a grid ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GridQuestion(Question):
    """Near which vertex of a grid? Each coordinate is rounded up or down at random, so that its mean stays.

    The unbiased counts of its tally are a histogram of the vertices; `symbol_variance` is their variance.
    """

    kind: ClassVar[str] = "grid"

    projection: Projection | None  # onto the directions of the grid; None for those of the box
    low: FloatArray  # the first vertex, shape (q,)
    step: FloatArray  # the distance between vertices, in each direction
    sizes: tuple[int, ...]  # how many vertices there are in each direction, at least 2

    @property
    def n_symbols(self) -> int:
        return math.prod(self.sizes)  # not in 64 bits, where a grid that is too large may pass for a small one

    def position(self, points: FloatArray) -> FloatArray:
        """Locate points on the grid, in steps; those outside are moved into it."""
        seen = points if self.projection is None else self.projection.project(points)
        position: FloatArray = grid_position(seen, self.low, 1.0 / self.step, np.array(self.sizes) - 1.0)
        return position

    def symbols(self, points: FloatArray, variants: IntArray, rng: Rng, *, constant_time: bool = True) -> IntArray:
        position = self.position(points)
        vertex = np.floor(position)
        vertex += rng.random(position.shape, np.float32) < position - vertex
        return self.index(vertex.astype(np.int64))

    def index(self, vertices: IntArray) -> IntArray:
        """Number the vertices, the last direction running fastest."""
        number = vertices[:, 0]
        for axis, size in enumerate(self.sizes[1:], start=1):
            number = number * size + vertices[:, axis]
        return number

    def vertices(self) -> FloatArray:
        """Compute the coordinates of all vertices, in the order of their symbols."""
        axes = [low + step * np.arange(size) for low, step, size in zip(self.low, self.step, self.sizes, strict=True)]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def fields(self) -> dict[str, Any]:
        seen = {} if self.projection is None else self.projection.fields()
        return {**seen, "low": self.low, "step": self.step, "sizes": list(self.sizes)}

    @classmethod
    def from_fields(cls, d: int, fields: dict[str, Any]) -> "GridQuestion":
        projection, q = Projection.from_fields(d, fields)
        sizes, low, step = tuple(fields["sizes"]), read_array(fields, "low", (q,)), read_array(fields, "step", (q,))
        whole = len(sizes) == q and all(type(size) is int and 2 <= size <= MOST_VERTICES for size in sizes)
        require(whole and bool((step >= SMALLEST).all()), "its grid is malformed")
        return cls(projection, low, step, sizes)


# Texts of strangers ---------------------------------------------------------------------------------------------------


def require(condition: bool, sentence: str, what: str = "question") -> None:
    """Raise `ProtocolError` with the sentence unless the condition holds."""
    if not condition:
        raise ProtocolError(f"The {what} is refused: {sentence}.")


def read_array(fields: dict[str, Any], name: str, shape: tuple[int, ...]) -> FloatArray:
    """Read an array of this shape, whose numbers are of a harmless size."""
    array = np.array(fields[name], np.float64)
    size = np.abs(array)
    good = array.shape == shape and ((array == 0) | ((size >= SMALLEST) & (size <= LARGEST))).all()
    sizes = f"up to {LARGEST:g}, and those that are not 0 at least {SMALLEST:g} in size"
    require(bool(good), f"its {name} must be numbers of shape {shape}, {sizes}")
    return array


def read_ball(d: int, fields: dict[str, Any]) -> tuple[FloatArray, float]:
    """Read a center and a radius."""
    radius = fields["radius"]
    require(type(radius) is float and SMALLEST <= radius <= LARGEST, "its radius is not a positive number")
    return read_array(fields, "center", (d,)), radius
