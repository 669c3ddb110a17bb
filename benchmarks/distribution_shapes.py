"""Distributions to measure quantiles on: mixtures of smooth laws and atoms, clipped to the unit range."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from hybriddp._check import FloatArray
from hybriddp.distribution.bins import Bins


@dataclass(frozen=True)
class Atoms:
    """Values that many users share, each with its probability."""

    at: Sequence[float]
    chances: Sequence[float]


@dataclass(frozen=True)
class Shape:
    """A mixture: weights of smooth laws (frozen distributions of scipy), and atoms with the rest."""

    name: str
    laws: Sequence[tuple[float, Any]] = ()
    atoms: Atoms = field(default_factory=lambda: Atoms((), ()))

    def cdf(self, x: Any, *, left: bool = False) -> FloatArray:  # noqa: ANN401
        """How likely a value is at most x, or below x; values are clipped to 0 and 1."""
        x = np.asarray(x, float)
        found = sum((w * law.cdf(x) for w, law in self.laws), np.zeros(x.shape))
        for at, chance in zip(self.atoms.at, self.atoms.chances, strict=True):
            found = found + chance * ((x > at) if left else (x >= at))
        inside = np.where(x <= 0, 0.0, found) if left else np.where(x < 0, 0.0, found)
        return np.where((x > 1) if left else (x >= 1), 1.0, inside)

    def quantile(self, q: float) -> float:
        """The smallest value whose CDF is at least q."""
        low, high = 0.0, 1.0
        if float(self.cdf(0.0)) >= q:
            return 0.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if float(self.cdf(middle)) >= q else (middle, high)
        return next((float(at) for at in self.atoms.at if abs(at - high) < 1e-12), high)

    def rank_error(self, value: float, q: float) -> float:
        """How far the rank of a value is from q; 0 if the value is an atom around q."""
        low, high = float(self.cdf(value, left=True)), float(self.cdf(value))
        return min(max(q, low), high) - q

    def masses(self, bins: Bins) -> FloatArray:
        """Of the 256 bins."""
        at_edges = self.cdf(bins.edges)
        at_edges[-1] = float(self.cdf(1.0, left=True))
        masses = np.maximum(np.diff(at_edges, prepend=0.0, append=1.0), 0.0)  # but for rounding errors
        found: FloatArray = masses / masses.sum()
        return found

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Values of n users."""
        weights = [w for w, _ in self.laws] + list(self.atoms.chances)
        counts = rng.multinomial(n, np.array(weights) / sum(weights))
        smooth = [law.rvs(k, random_state=rng) for k, (_, law) in zip(counts, self.laws, strict=False)]
        fixed = [np.full(k, at) for k, at in zip(counts[len(self.laws) :], self.atoms.at, strict=True)]
        values: FloatArray = np.clip(np.concatenate([*smooth, *fixed]), 0.0, 1.0)
        rng.shuffle(values)
        return values

    def scaled(self, factor: float) -> "Shape":
        """The same values times a factor, clipped; for smooth shapes."""
        return Shape(f"{self.name} × {factor:g}", [(w, _Scaled(law, factor)) for w, law in self.laws])


@dataclass(frozen=True)
class _Scaled:
    law: Any
    factor: float

    def cdf(self, x: FloatArray) -> FloatArray:
        found: FloatArray = self.law.cdf(np.asarray(x) / self.factor)
        return found

    def rvs(self, k: int, random_state: np.random.Generator) -> FloatArray:
        found: FloatArray = self.factor * self.law.rvs(k, random_state=random_state)
        return found


ZEROS = Atoms((0.0,), (0.3,))
DEV = (
    Shape("beta", [(1, stats.beta(2, 5))]),
    Shape("lognormal", [(1, stats.lognorm(0.8, scale=1 / 8))]),
    Shape("bimodal", [(0.6, stats.norm(0.3, 0.08)), (0.4, stats.norm(0.75, 0.05))]),
    Shape("latency", [(0.7, stats.lomax(1.5, scale=0.02))], ZEROS),
)
"""The kinds of shapes that the design was chosen on. Latency: 30 % zeros, the rest a shifted Pareto law."""
STEEP = Shape("latency, Pareto from .01", [(0.7, stats.pareto(1.5, scale=0.01))], ZEROS)
"""The same with an unshifted Pareto law: nothing below .01, and half of the rest in three bins."""
NEW = (
    Shape("U", [(1, stats.beta(0.5, 0.5))]),
    Shape("heaped pay", [(0.8, stats.gamma(3, scale=0.06))], Atoms(tuple(i / 20 for i in range(1, 9)), (0.025,) * 8)),
    Shape("Weibull", [(1, stats.weibull_min(0.6, scale=0.1))]),
)
"""Shapes that no constant was chosen on."""
AWKWARD = (
    Shape("atoms of 40 and 20 %", [(0.4, stats.uniform(0, 1))], Atoms((0.2003, 0.6007), (0.4, 0.2))),
    Shape("constant", (), Atoms((1 / 3,), (1.0,))),
    Shape("only the bounds", (), Atoms((0.0, 1.0), (0.6, 0.4))),
    Shape("spike of width .01", [(1, stats.uniform(0.42, 0.01))]),
    Shape("80 % empty", [(0.5, stats.uniform(0, 0.1)), (0.5, stats.uniform(0.9, 0.1))]),
    Shape("19 round numbers", (), Atoms(tuple(i / 20 for i in range(1, 20)), (1 / 19,) * 19)),
    Shape(
        "whole-number ages",
        (),
        Atoms(tuple(i / 100 for i in range(101)), tuple(stats.binom.pmf(range(101), 100, 0.4).tolist())),
    ),
)
"""Shapes on which intervals could fail."""
