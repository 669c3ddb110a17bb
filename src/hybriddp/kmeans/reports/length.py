"""Reports of one bit about how far a point is from a center: the mean squared length."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.unary import symbol_channel
from hybriddp.kmeans.reports.base import Ask, Question, ReportTally, read_ball
from hybriddp.kmeans.reports.clipping import undo_clipping
from hybriddp.kmeans.reports.codebook import relative_lengths


@dataclass(frozen=True, slots=True)
class LengthQuestion(Question):
    r"""How long? One bit, which is 1 with probability $\min(1, |x - c|^2 / r^2)$."""

    kind: ClassVar[str] = "length"
    n_symbols: ClassVar[int] = 2

    center: FloatArray  # c, shape (d,)
    radius: float  # r

    def symbols(
        self, points: FloatArray, variants: IntArray, rng: np.random.Generator, *, steady: bool = True
    ) -> IntArray:
        square = relative_lengths(points - self.center, self.radius) ** 2
        return (rng.random(len(points)) < square).astype(np.int64)

    def fields(self) -> dict[str, Any]:
        return {"center": self.center, "radius": self.radius}

    @classmethod
    def from_fields(cls, d: int, fields: dict[str, Any]) -> "LengthQuestion":
        return cls(*read_ball(d, fields))


@dataclass(frozen=True, slots=True)
class MeanSquare:
    """The mean squared length, and its variance."""

    value: float
    variance: float


def length_ask(center: FloatArray, radius: float, *, epsilon: str, user_fraction: Fraction) -> Ask:
    """Ask how long $z = x - c$ is."""
    return Ask(LengthQuestion(center, radius), symbol_channel(epsilon, 2), user_fraction)


def mean_square(ask: Ask, answers: ReportTally) -> MeanSquare:
    """What the bits say, clipping undone; a bit has a variance of at most 1/4."""
    question, n = ask.question_as(LengthQuestion), answers.n_users
    clipped = float(answers.counts(ask.channel)[0, 1]) / max(n, 1)
    relative, slope = undo_clipping(clipped, len(question.center))
    square = question.radius**2
    variance = (square / (2 * ask.channel.gap * slope)) ** 2 / n if n else math.inf
    return MeanSquare(relative * square, variance)
