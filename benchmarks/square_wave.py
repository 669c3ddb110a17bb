r"""Square wave reports and their estimate by expectation maximization: a peer for quantiles with everybody local.

Our own implementation, for measuring only, of the method of Zitao Li, Tianhao Wang, Milan Lopuhaä-Zwakenberg, Ninghui
Li and Boris Škoric: *Estimating Numerical Distributions under Local Differential Privacy*, SIGMOD 2020. A value in
[0, 1] is reported as a number in $[-b, 1 + b]$, with density $p$ within $b$ of the value and $q = p / e^\epsilon$
elsewhere; $b$ maximizes the mutual information for uniform values. The histogram of the reports is inverted by
expectation maximization. There is no smoothing: with it atoms would be lost. The iterations stop when the
log-likelihood rises by less than $10^{-3} e^\epsilon$. No interval comes with it.
"""

import math
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray, IntArray

N_INPUTS = 256
N_OUTPUTS = 512
_MOST_TURNS = 10_000


def half_width(epsilon: float) -> float:
    r"""$b = (\epsilon e^\epsilon - e^\epsilon + 1) / (2 e^\epsilon (e^\epsilon - 1 - \epsilon))$."""
    factor = math.exp(epsilon)
    return (epsilon * factor - factor + 1) / (2 * factor * (factor - 1 - epsilon))


def report(values: FloatArray, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """What devices send."""
    b, factor = half_width(epsilon), math.exp(epsilon)
    near = rng.random(len(values)) < 2 * b * factor / (2 * b * factor + 1)
    close = values + b * (2 * rng.random(len(values)) - 1)
    far = rng.random(len(values)) - b  # from -b to 1 - b: what is not within b of the value, with a jump over it
    far += np.where(far >= values - b, 2 * b, 0.0)
    return np.where(near, close, far)


def histogram(reports: FloatArray, epsilon: float) -> IntArray:
    """How many reports are in each of the output bins."""
    b = half_width(epsilon)
    place = ((reports + b) / (1 + 2 * b) * N_OUTPUTS).astype(np.int64)
    return np.bincount(np.clip(place, 0, N_OUTPUTS - 1), minlength=N_OUTPUTS)


@lru_cache(maxsize=4)
def transitions(epsilon: float) -> FloatArray:
    """How likely each output bin is, by input bin: for values at the middles of the input bins."""
    b, factor = half_width(epsilon), math.exp(epsilon)
    q = 1 / (2 * b * factor + 1)
    edges = np.linspace(-b, 1 + b, N_OUTPUTS + 1)
    middles = (np.arange(N_INPUTS) + 0.5) / N_INPUTS
    low, high = np.maximum(edges[:-1, None], middles - b), np.minimum(edges[1:, None], middles + b)
    found: FloatArray = q * np.diff(edges)[:, None] + (factor - 1) * q * np.maximum(high - low, 0.0)
    return found


def estimate(counts: IntArray, epsilon: float) -> FloatArray:
    """The masses of the input bins."""
    table, masses, before = transitions(epsilon), np.full(N_INPUTS, 1 / N_INPUTS), -math.inf
    for _ in range(_MOST_TURNS):
        chance = table @ masses
        masses = masses * (table.T @ (counts / chance))
        masses /= masses.sum()
        likelihood = float(counts @ np.log(chance))
        if likelihood - before < 1e-3 * math.exp(epsilon):
            break
        before = likelihood
    return masses


def quantile(masses: FloatArray, q: float) -> float:
    """Linear within a bin."""
    cdf = np.concatenate([[0.0], np.cumsum(masses)])
    at = min(int(np.searchsorted(cdf, q)), N_INPUTS)
    mass = cdf[at] - cdf[at - 1]
    return float((at - 1 + (q - cdf[at - 1]) / mass) / N_INPUTS) if mass > 0 else at / N_INPUTS
