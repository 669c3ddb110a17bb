"""Questions to local users, how they are put, and the tally of the answers.

A question is public. It turns a point into one symbol (or a set of symbols of fixed size) by any function of the point
and random numbers; the channel behind it hides which symbol it was, and **all of the privacy is in the channel**. A
question may come in several *variants* (other coordinates, for example); who answers which does not depend on points.

A device answers what strangers ask. So the text of a question is checked before it is computed with, and one that is
larger than any server would ask is refused: it could fill the device's memory, or keep it busy. Neither protects a
point: that is done by the channel, and by work that is the same for every point (`clustering`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.response import SymbolChannel
from hybriddp.errors import ProtocolError
from hybriddp.kmeans.box import SMALLEST
from hybriddp.kmeans.clustering import nearest, nearest_constant_time, products, rows_constant_time
from hybriddp.kmeans.reports.codebook import CODEBOOKS_OF_PAIRS, CODEBOOKS_OF_SHIFTS, most_bases
from hybriddp.kmeans.study import MOST_CHARACTERS, MOST_CLUSTERS, KMeansStudy
from hybriddp.randomness import UniformDraws

MOST_ASKS = 3  # questions in one round
MOST_ROUNDS = 64  # the largest number of a round
MOST_SIGNS = 8  # signs in one symbol
CENTERS_PER_CLUSTER = 3  # centers that a question is about, for each cluster wanted: there are too many at first
PURPOSE_CHARACTERS = 200  # characters of the words that say what a round is for
_NUMBER, _FRAME = 26, 4096  # characters of a number with its comma; of all that is neither a number nor a name

LARGEST = 1e100
"""Of the numbers of a question, in size; those that are not 0 are at least `SMALLEST`, like coordinates of points.

Within these, nothing that a device computes overflows: an infinity less another would be no number, and not one of the
symbols that the channel hides among each other. Nor does a device begin with numbers so small that a processor takes
longer over them, which would tell whose point is that small. (Products of several small ones can still become so.)
"""

_Asked = TypeVar("_Asked", bound="Question")
_Value = TypeVar("_Value", float, FloatArray)
Rng = np.random.Generator | UniformDraws
"""Where the random numbers of symbols come from: a device's own bytes, or numpy where devices are simulated."""


class Question(ABC):
    """From points of the unit box to symbols."""

    kind: ClassVar[str]
    """The name of the kind of question in its text."""

    _kinds: ClassVar[dict[str, type["Question"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            Question._kinds[cls.kind] = cls

    @property
    def n_variants(self) -> int:
        """In how many variants it comes."""
        return 1

    @property
    @abstractmethod
    def n_symbols(self) -> int:
        """How many symbols there are."""

    @property
    def n_chosen(self) -> int | None:
        """None if the answer is a symbol; how many, if it is a set of symbols, as the bits of an integer."""
        return None

    @abstractmethod
    def symbols(self, points: FloatArray, variants: IntArray, rng: Rng, *, constant_time: bool = True) -> IntArray:
        """The symbol, or set of symbols, of each point, in its variant.

        A device answers in ``constant_time``: what it computes takes the same steps whatever its point is. Devices that
        are simulated in one process need not, and are faster; the symbols have the same law.
        """

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """What its text holds, with arrays for lists of numbers."""

    def text_fields(self) -> dict[str, Any]:
        """Its kind, and the same as plain values."""
        plain = {
            name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in self.fields().items()
        }
        return {"kind": self.kind, **plain}

    @classmethod
    @abstractmethod
    def from_fields(cls, d: int, fields: dict[str, Any]) -> Self:
        """The question with what its text holds, for points of ``d`` dimensions; `ProtocolError` if it is not one."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, its channel, and the fraction of local users who get it; each answers once."""

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
        """The question, which must be of this kind: others are decoded in another way."""
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
        """How many users answered."""
        return int(self.users.sum())

    def checked(self, n_variants: int, n_symbols: int) -> "ReportTally":
        """The same as 64-bit integers; `ProtocolError` if they cannot be answers to so many variants and symbols."""
        supports, users = np.asarray(self.supports), np.asarray(self.users)
        good = supports.shape == (n_variants, n_symbols) and users.shape == (n_variants,)
        good = good and supports.dtype.kind in "iu" and users.dtype.kind in "iu"
        good = good and bool((supports >= 0).all() and (supports <= users[:, None]).all())
        if not good or (users >= 1 << 40).any():  # sums of 64 bits could not hold them
            expected = f"counts of shape {(n_variants, n_symbols)}, none above the number of users of its variant"
            raise ProtocolError(f"Answers must be {expected}, got shape {supports.shape}.")
        return ReportTally(supports.astype(np.int64), users.astype(np.int64))

    def counts(self, channel: SymbolChannel) -> FloatArray:
        """Unbiased counts of the symbols, shape (n_variants, n_symbols)."""
        return channel.unbiased_counts(self.supports, self.users)


# Labels and residuals -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Projection:
    """An orthogonal projection onto a few directions: $A(x - o)$."""

    origin: FloatArray
    axes: FloatArray

    def project(self, points: FloatArray) -> FloatArray:
        """The coordinates of the points in these directions."""
        return products(points - self.origin, self.axes)

    def first(self, count: int) -> "Projection":
        """The projection onto the first few of its directions."""
        return Projection(self.origin, self.axes[:count])

    def fields(self) -> dict[str, Any]:
        return {"origin": self.origin, "axes": self.axes}

    @classmethod
    def from_fields(cls, d: int, fields: dict[str, Any]) -> "Projection | None":
        """The projection that a text of a question holds, if it holds one."""
        if "axes" not in fields:
            return None
        axes = len(fields["axes"])
        require(0 < axes <= d, f"it projects onto other than 1 to {d} directions")
        return cls(read_array(fields, "origin", (d,)), read_array(fields, "axes", (axes, d)))


@dataclass(frozen=True, slots=True)
class Labels:
    """Which of several centers is nearest, in all of the space or in a projection."""

    centers: FloatArray  # shape (K, d), or (K, q) if they are projected
    projection: Projection | None = None

    def seen(self, points: FloatArray) -> FloatArray:
        """The points in the coordinates of the centers."""
        return points if self.projection is None else self.projection.project(points)

    def nearest(self, points: FloatArray, *, constant_time: bool = False) -> NDArray[np.intp]:
        """The label of each point, the same either way; ``constant_time`` if nobody may tell by the time it takes."""
        return self.nearest_seen(self.seen(points), constant_time=constant_time)

    def nearest_seen(self, seen: FloatArray, *, constant_time: bool) -> NDArray[np.intp]:
        """The same of points in the coordinates of the centers."""
        return nearest_constant_time(seen, self.centers) if constant_time else nearest(seen, self.centers)


@dataclass(frozen=True, slots=True)
class ResidualQuestion(Question):
    """A question about the residual $z - c$ of a point from the nearest center, in the coordinates of the centers."""

    labels: Labels
    radii: FloatArray  # shape (K,): residuals are clipped to it, by coordinate or by length

    @property
    def centers(self) -> FloatArray:
        """$c$, shape (K, d), or (K, q) if they are projected."""
        return self.labels.centers

    def residuals(
        self, seen: FloatArray, label: NDArray[np.intp], *, constant_time: bool
    ) -> tuple[FloatArray, FloatArray]:
        """The residual of each point as it is seen, shape (n, q), and the radius of its cluster, shape (n,)."""
        if constant_time:
            return seen - rows_constant_time(self.centers, label), rows_constant_time(self.radii, label)
        return seen - self.centers[label], self.radii[label]

    def fields(self) -> dict[str, Any]:
        seen = {} if self.labels.projection is None else self.labels.projection.fields()
        return {"centers": self.centers, "radii": self.radii, **seen}

    @staticmethod
    def read_residuals(d: int, fields: dict[str, Any]) -> tuple[Labels, FloatArray]:
        """Labels and radii of a text."""
        k, projection = len(fields["centers"]), Projection.from_fields(d, fields)
        q = d if projection is None else len(projection.axes)
        centers, radii = read_array(fields, "centers", (k, q)), read_array(fields, "radii", (k,))
        require(k > 0 and bool((radii >= SMALLEST).all()), "it has no centers, or radii that are not positive")
        return Labels(centers, projection), radii


@dataclass(frozen=True, slots=True)
class Measured(Generic[_Value]):
    """What reports or a release say, and the variance of each number; infinite where nothing is known."""

    value: _Value
    variance: _Value


@dataclass(frozen=True, slots=True)
class ResidualSums:
    """What one group says of every cluster, per user of that group."""

    sizes: FloatArray  # the fraction of users in each cluster, shape (K,); may be slightly negative
    size_variance: float  # of each size
    sums: FloatArray  # mean over all users of the residual if they are in the cluster, 0 if not, shape (K, d)
    variance: FloatArray  # of the sums, shape (K, d)

    def undo_clipping(self, factors: FloatArray) -> "ResidualSums":
        """Clipping shrinks a small mean shift of each cluster by a known factor, shape (K,): divide by it."""
        factor = factors[:, None]
        return replace(self, sums=self.sums / factor, variance=self.variance / factor**2)

    def plus(self, sums: FloatArray, variance: FloatArray) -> "ResidualSums":
        """With sums that are known from elsewhere, and their variance, both of shape (K, d)."""
        return replace(self, sums=self.sums + sums, variance=self.variance + variance)


# Texts of strangers ---------------------------------------------------------------------------------------------------


def question_of(d: int, fields: dict[str, Any], n_clusters: int = MOST_CLUSTERS) -> Question:
    """The question with these plain values, for ``d`` dimensions; `ProtocolError` if they are none, or too large."""
    kinds = Question._kinds  # noqa: SLF001  (of this module)
    if not isinstance(fields, dict) or not isinstance(fields.get("kind"), str) or fields["kind"] not in kinds:
        raise ProtocolError(f"The question is refused: its kind is none of {', '.join(kinds)}.")
    try:
        most = CENTERS_PER_CLUSTER * n_clusters
        require("centers" not in fields or len(fields["centers"]) <= most, f"it has more than {most} centers")
        return kinds[fields["kind"]].from_fields(d, fields)
    except (KeyError, TypeError, ValueError, OverflowError) as reason:
        raise ProtocolError(f"The question is refused: it is incomplete or malformed ({reason}).") from None


def require(condition: bool, sentence: str, what: str = "question") -> None:
    """Nothing, if the condition holds; `ProtocolError` with the sentence if not."""
    if not condition:
        raise ProtocolError(f"The {what} is refused: {sentence}.")


def read_array(fields: dict[str, Any], name: str, shape: tuple[int, ...]) -> FloatArray:
    """The numbers of a text under this name, of this shape and of a harmless size."""
    array = np.array(fields[name], np.float64)
    size = np.abs(array)
    good = array.shape == shape and ((array == 0) | ((size >= SMALLEST) & (size <= LARGEST))).all()
    sizes = f"up to {LARGEST:g}, and those that are not 0 at least {SMALLEST:g} in size"
    require(bool(good), f"its {name} must be numbers of shape {shape}, {sizes}")
    return array


def read_ball(d: int, fields: dict[str, Any]) -> tuple[FloatArray, float]:
    """The center and the radius of a text."""
    radius = fields["radius"]
    require(type(radius) is float and SMALLEST <= radius <= LARGEST, "its radius is not a positive number")
    return read_array(fields, "center", (d,)), radius


@lru_cache(maxsize=64)
def most_characters(n_clusters: int, d: int) -> int:
    """How long the text of a round may be: every question with as many numbers as it may have, each in full."""
    centers = CENTERS_PER_CLUSTER * n_clusters * (d + 1)  # with radii
    bases = max(2 * most_bases(d, CODEBOOKS_OF_PAIRS), most_bases(d, CODEBOOKS_OF_SHIFTS))
    question = centers + d * (d + 1) + d * MOST_SIGNS + d * bases + 3 * d
    return _FRAME + 12 * MOST_CHARACTERS + _NUMBER * (2 * d + MOST_ASKS * question)


def require_short(text: str, study: KMeansStudy) -> None:
    """Raise `ProtocolError` if a text is longer than a round of the study can be."""
    most = most_characters(study.n_clusters, study.box.n_dimensions)
    if isinstance(text, (str, bytes, bytearray)) and len(text) > most:
        raise ProtocolError(
            f"The round is refused: its {len(text):,} characters are more than the {most:,} it can need."
        )
