r"""The release about the trusted group: one vector of 272 noisy counts, and nothing else.

Two histograms: 16 coarse bins, each the sum of 16 neighboring bins, and the 256 bins themselves. A user is in one bin
of each, so replacing one user's value takes 1 from one count and adds 1 to another, twice: the $L_1$ sensitivity is 4.
Discrete Laplace noise of scale $4/\epsilon$ on each count makes the whole vector ε-private.

The number of users $n_T$ is public, so the counts of each histogram are known to add up to it. Given that, the least
squares estimate of the fractions $p$ in the bins is

$$
\hat p = \frac{1}{n_T}\Bigl(\frac{n_T}{256}\,1 + A \sum_\text{histograms} K^T (y - \bar y)\Bigr), \qquad
\operatorname{Cov} = \frac{v}{n_T^2} A, \quad A = \Bigl(\sum K^T K\Bigr)^{-1} \text{ on vectors of sum 0,}
$$

with $K$ the sums that a histogram counts, $\bar y$ what equal bins would give and $v$ the variance of the noise.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.masked import N_BINS
from hybriddp.grid import read_only
from hybriddp.release.release import ReleasedNumbers

N_COARSE = 16
SENSITIVITY = 4
"""$L_1$: the line on which the privacy of trusted users rests. Two histograms, two counts in each, by 1 each."""
_WIDE = N_BINS // N_COARSE


@dataclass(frozen=True, slots=True, eq=False)
class PrivateHistogram:
    """The trusted group's two histograms with noise: safe to publish unless they are ``seeded``."""

    count: int
    """How many users, which is public."""
    values: NDArray[np.int64]
    """16 coarse counts, then 256 fine ones, with noise; they may be negative."""
    variance: float
    """The variance of the noise on each."""
    counted: bool
    """Whether a ledger has it."""
    seeded: bool
    """Whether the noise can be repeated: then this is a simulation, and hides nothing."""

    @classmethod
    def of(cls, released: ReleasedNumbers) -> "PrivateHistogram":
        """Take both histograms as they were released."""
        return cls(released.count, released.values, released.variance, released.counted, released.seeded)

    @property
    def fractions(self) -> FloatArray:
        """The estimated fraction of the users in each bin; they add up to 1."""
        n, coarse, fine = self.count, self.values[:N_COARSE], self.values[N_COARSE:]
        excess = np.repeat(coarse - n / N_COARSE, _WIDE) + (fine - n / N_BINS)
        found: FloatArray = 1 / N_BINS + noise_shape() @ excess / n
        return found

    @property
    def noise_influence(self) -> FloatArray:
        """Change of `fractions` (rows) per unit of noise on each of the 272 counts (columns)."""
        shape = noise_shape() / self.count
        return np.hstack([shape.reshape(N_BINS, N_COARSE, _WIDE).sum(axis=2), shape])

    @property
    def fourth_cumulant(self) -> float:
        """Fourth cumulant of the discrete Laplace noise on each count."""
        return self.variance + 3 * self.variance**2

    @property
    def noise_covariance(self) -> FloatArray:
        """The covariance that the noise gives to `fractions`."""
        return noise_shape() * (self.variance / self.count**2)


def tree(counts: IntArray) -> IntArray:
    """Both histograms, exactly: 16 sums of neighboring bins, then the bins."""
    return np.concatenate([counts.reshape(N_COARSE, _WIDE).sum(axis=1), counts])


@lru_cache(maxsize=1)
def noise_shape() -> FloatArray:
    r"""$A$: the inverse of the histograms' information $I + J$ ($J$ is 1 within a coarse bin), on vectors of sum 0."""
    blocks = np.kron(np.eye(N_COARSE), np.ones((_WIDE, _WIDE)))
    inverse = np.eye(N_BINS) - blocks / (1 + _WIDE)  # (I + J)^-1, since J² = 16 J
    ones = inverse.sum(axis=1)
    return read_only(inverse - np.outer(ones, ones) / ones.sum())
