r"""Certificates of the least variance that any ε-private report of a bounded number can have.

Give every input $t_i \in [0, 1]$ (and its mirror image) a parabola $c_i(y) = \lambda_i y^2 - \mu_i y - \nu_i$ with
$\lambda_i \ge 0$, $\sum \lambda_i = 1$. Whatever the report's values $y$ and its base measure are, a row puts between 1
and $e^\epsilon$ times the base measure on each value, so $\sum_i E_i[c_i(y)] \ge \int G$ with

$$
G(y) = \sum_i \min(c_i(y), e^\epsilon c_i(y)) + \min(c_i(-y), e^\epsilon c_i(-y)).
$$

If $G \ge 0$ everywhere then, because the report is unbiased, its worst variance is at least
$\sum_i \nu_i + \mu_i t_i - \lambda_i t_i^2$ (linear programming duality). $G$ is a parabola between the roots of the
$c_i$, so its minimum is found exactly; if it is below zero, all $\nu_i$ are lowered until it is not.

The parabolas in ``bounds.json`` were found by a linear program (``scripts/make_bounds.py``). How they were found does
not matter: `Certificate.bound` checks them.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybriddp._check import FloatArray

STORED = Path(__file__).parent / "bounds.json"


@dataclass(frozen=True, slots=True)
class Certificate:
    """Parabolas for some inputs."""

    inputs: FloatArray  # t from 0 to 1, in half ranges
    square: FloatArray  # λ
    slope: FloatArray  # μ
    level: FloatArray  # ν

    def valleys(self, epsilon: float) -> tuple[FloatArray, FloatArray]:
        """Where $G$ has its minima on the pieces between the roots of the parabolas, from 0 on, and how low it is."""
        a, b, c = (np.tile(x, 2) for x in (self.square, -self.slope, -self.level))
        b[len(self.slope) :] *= -1
        with np.errstate(divide="ignore", invalid="ignore"):
            q = -0.5 * (b + np.copysign(np.sqrt(b * b - 4 * a * c), b))
            roots = np.concatenate([q / a, c / q, -c / b])
        roots = np.unique(roots[np.isfinite(roots) & (roots > 0)])
        left = np.append(0.0, roots)  # G is even, and grows beyond the last root
        right = np.append(roots, 2 * left[-1] + 1)
        middle = ((left + right) / 2)[:, None]
        factor = np.where(a * middle**2 + b * middle + c < 0, math.exp(epsilon), 1.0)
        a, b, c = (factor * a).sum(axis=1), (factor * b).sum(axis=1), (factor * c).sum(axis=1)
        vertex = np.clip(-b / (2 * np.maximum(a, np.finfo(float).tiny)), left, right)
        places = np.concatenate([left, vertex, right])
        return places, np.tile(a, 3) * places**2 + np.tile(b, 3) * places + np.tile(c, 3)

    def bound(self, epsilon: float) -> float:
        """A lower bound of the worst variance, on the unit range, for this ε or any smaller one."""
        total = self.square.sum()
        scaled = Certificate(self.inputs, self.square / total, self.slope / total, self.level / total)
        value = np.sum(scaled.level + scaled.slope * self.inputs - scaled.square * self.inputs**2)
        # Lowering all K levels by d lifts G by 2 K d, and costs K d.
        missing = max(0.0, -float(scaled.valleys(epsilon)[1].min())) / 2
        return float(value - missing) * (1 - 1e-9) / 4  # the last factor is for rounding


def certificates() -> dict[str, Certificate]:
    """The stored certificate of each ε."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    return {
        epsilon: Certificate(
            np.array(stored["inputs"]), *(np.array(parabolas[name]) for name in ("square", "slope", "level"))
        )
        for epsilon, parabolas in stored["parabolas"].items()
    }
