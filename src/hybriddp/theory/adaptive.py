r"""Predicted error of the adaptive weight, before there is any data.

The weight is chosen from numbers that are random themselves: the variance that the reports reveal and a first guess of
the mean. They hardly depend on the errors of the two means, so the expected error is the error at a given weight,

$$
E(w) = w^2 V_T + (1-w)^2 V_L - \sigma^2/n,
$$

plus what the garrote adds, averaged over the law of those two numbers by Gauss-Hermite quadrature. If the groups' means
are $\delta$ apart the garrote's part becomes $(K^2/V_D)\, r(\delta/\sqrt{V_D})$, where $r$ is the risk of the
estimate of $\delta$ that it amounts to. `hybriddp.mean.expected` says which weights the rule chooses.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.grid import read_only


@dataclass(frozen=True, slots=True)
class GroupVariances:
    """Variances of both groups' private means, on the unit range."""

    trusted_fraction: float
    trusted_sampling: float  # from the users who happen to trust
    trusted_noise: float
    local_sampling: float
    local_noise: float

    @property
    def difference(self) -> float:
        """Variance of the difference of the two private means, $V_D$."""
        return self.trusted_sampling + self.trusted_noise + self.local_sampling + self.local_noise


class WeightCase(NamedTuple):
    """One weight that the rule may choose, with its probability and the garrote's risks in units of $V_D$."""

    mass: float
    weight: float
    null_risk: float  # of a garrote whose groups are alike
    gap_risk: float  # what a difference of the groups adds to it


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """Expected squared error of the unbiased adaptive answer and its parts, on the unit range."""

    weight: float  # on the trusted group, on average
    sampling: float  # from doubting that the groups are alike, too
    trusted_noise: float
    local_noise: float
    bias: float  # from a difference of the groups

    @property
    def total(self) -> float:
        """Sum of all parts."""
        return self.sampling + self.trusted_noise + self.local_noise + self.bias


def expected_error(groups: GroupVariances, cases: Iterable[WeightCase]) -> ExpectedError:
    """Average the error over the weights that the rule may choose."""
    c, v_d = groups.trusted_fraction, groups.difference
    spread = groups.trusted_sampling + groups.local_sampling
    total = np.zeros(5)
    for mass, w, null_risk, gap_risk in cases:
        sampling = (w - c) ** 2 * (spread + v_d * null_risk)
        noise = w**2 * groups.trusted_noise, (1 - w) ** 2 * groups.local_noise
        total += mass * np.array((w, sampling, *noise, (w - c) ** 2 * v_d * gap_risk))
    return ExpectedError(*total.tolist())


def error_of_clamped(mean: float, error: float) -> float:
    """Return the expected squared error after shrinking and clamping to the bounds, for a normal error."""
    y = mean + math.sqrt(error) * normal_quantiles()
    a = 0.25 / (0.25 + error)
    return float(np.mean((np.clip(0.5 + a * (y - 0.5), 0.0, 1.0) - mean) ** 2))


def average_half_width(
    alike: float, honest: float, *, between_centers: float, gap: float, sd: float, true_sd: float
) -> float:
    """Average the half-width of the stated interval over the difference of the means that will be seen.

    It is ``alike`` where the means agree and ``honest`` where they clearly differ; between them the interval holds
    both, whose centers are a fraction ``between_centers`` of the difference apart. The difference has ``true_sd``, is
    believed to have ``sd``, and is ``gap`` on average.
    """
    size = np.abs(gap / sd + true_sd / sd * normal_quantiles())
    apart = abs(between_centers) * size * sd
    both = np.maximum(np.maximum(alike, honest), (alike + honest + apart) / 2)
    return float(np.mean(np.where(size <= 2, alike, np.where(size <= 4, both, honest))))


@lru_cache(maxsize=4)
def normal_nodes(count: int) -> list[tuple[float, float]]:
    """Return places at which to evaluate a function of a standard normal variable, each with its mass."""
    z, mass = np.polynomial.hermite_e.hermegauss(count)
    return list(zip(z.tolist(), (mass / mass.sum()).tolist(), strict=True))


@lru_cache(maxsize=1)
def normal_quantiles() -> FloatArray:
    """Return equally likely values of a normal variable, standardized so that their variance is exactly 1."""
    from scipy.special import ndtri

    z: FloatArray = ndtri((np.arange(2000) + 0.5) / 2000)
    return read_only(np.asarray(z / z.std()))
