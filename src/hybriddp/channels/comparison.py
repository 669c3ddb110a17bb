r"""What other reports of a bounded number cost: the least variance possible, and that of other mechanisms.

All are unbiased, and variances are for the unit range. For a mechanism whose variance depends on the input, the largest
over all inputs is given. The least variance that any ε-private report can have is bounded from below as follows.

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
from functools import lru_cache
from importlib.resources import files

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError
from hybriddp.grid import read_only
from hybriddp.privacy import canonical_epsilon


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


def tabulated() -> tuple[str, ...]:
    """The ε for which a bound is stored."""
    return tuple(_certificates())


def lower_bound(epsilon: float | str) -> float:
    """The least worst-case variance, on the unit range, that any unbiased ε-private report can have.

    Certified for the ε of `tabulated`; from 6 on the bound itself may be a percent or more too low.

    Examples
    --------
    >>> lower_bound(1.0)
    0.9976
    """
    text = canonical_epsilon(epsilon)
    if text not in tabulated():
        raise ParameterError("epsilon", f"one of {', '.join(tabulated())} for a lower bound", epsilon)
    return _certificates()[text].bound(float(text))


@lru_cache(maxsize=1)
def _certificates() -> dict[str, Certificate]:
    stored = json.loads((files("hybriddp.channels") / "bounds.json").read_text(encoding="utf-8"))
    inputs = read_only(np.array(stored["inputs"]))
    return {
        epsilon: Certificate(inputs, *(read_only(np.array(parabolas[name])) for name in ("square", "slope", "level")))
        for epsilon, parabolas in stored["parabolas"].items()
    }


def laplace(epsilon: float) -> float:
    r"""Laplace noise, as in [ADK20]: $2/\epsilon^2$."""
    return 2 / epsilon**2


def one_bit(epsilon: float) -> float:
    r"""The one-bit mechanism of [DJW18]: $C^2/4$ with $C = \coth(\epsilon/2)$, at the middle of the range."""
    return 1 / (4 * math.tanh(epsilon / 2) ** 2)


def piecewise(epsilon: float) -> float:
    r"""The piecewise mechanism of [WXYZ19], at the bounds.

    $$
    \frac14\left(\frac{h + 3}{3(h-1)^2} + \frac{1}{h-1}\right), \qquad h = e^{\epsilon/2}
    $$
    """
    h = math.exp(epsilon / 2)
    return ((h + 3) / (3 * (h - 1) ** 2) + 1 / (h - 1)) / 4


def hybrid(epsilon: float) -> float:
    r"""The hybrid mechanism of [WXYZ19], a mixture of both for ε > 0.61: its variance is the same everywhere."""
    if epsilon <= 0.61:
        return one_bit(epsilon)
    h = math.exp(epsilon / 2)
    weight = 1 - math.exp(-epsilon / 2)
    return (weight * (h + 3) / (3 * (h - 1) ** 2) + (1 - weight) / math.tanh(epsilon / 2) ** 2) / 4
