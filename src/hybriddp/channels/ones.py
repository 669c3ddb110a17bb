r"""Total of the ones in unary reports: a sum whose law no value changes.

An honest row of $k$ bits has one true bit, which is 1 with probability $p$, and $k - 1$ others, which are 1 with
probability $q$, all independent. Which bit is the true one makes no difference to their sum. So the ones of $m$ rows
have, whatever the values are, the cumulant generating function $m \Lambda(s)$ with

$$
\Lambda(s) = \log(1 - p + p e^s) + (k - 1) \log(1 - q + q e^s),
$$

and by Chernoff's inequality they are more than $(\ell + m \Lambda(s))/s$ with a probability of $e^{-\ell}$ at most, for
every $s > 0$. Zeros have the same law with $1 - p$ and $1 - q$.

**How many rows are forged.** Let $f$ of $n$ rows be replaced, whichever, by whoever has seen them all. They add at most
the zeros that they replace to the ones. Any $f$ of $n$ rows together have at most $Z_f$ zeros: Chernoff's bound again,
with a union over all $\binom{n}{f} \le (en/f)^f$ choices and all $f$. So if there are more ones than $U$, the bound for
all $n$ rows, then the smallest $f$ with $\text{ones} \le U + Z_f$ is a lower bound on the number of forged rows. With
ones and zeros exchanged, it is one for rows with too few ones. Each of the four bounds fails with a quarter of the
probability of a false alarm.

Forged rows with as many ones as real ones are not seen, whichever bits these are.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybriddp._check import FloatArray

_TILTS: FloatArray = np.geomspace(1e-11, 60.0, 5000)  # s: every one gives a bound, the best of these is best to 1e-5


@dataclass(frozen=True)
class OnesLaw:
    """Law of the number of ones in an honest row.

    Examples
    --------
    >>> law = OnesLaw(50, hit=0.5, miss=0.2689)
    >>> round(law.mean, 4)
    13.6761
    >>> law.most(100_000, math.log(1e6))  # but for a probability of a millionth
    1372837
    """

    n_bits: int
    hit: float
    miss: float

    @property
    def mean(self) -> float:
        """Mean number of ones."""
        return self.hit + (self.n_bits - 1) * self.miss

    @property
    def of_zeros(self) -> "OnesLaw":
        """Law of the number of zeros."""
        return OnesLaw(self.n_bits, hit=1 - self.hit, miss=1 - self.miss)

    @cached_property
    def cumulants(self) -> FloatArray:
        """Cumulant generating function at each tilt."""
        grown = np.expm1(_TILTS)
        return np.asarray(np.log1p(self.hit * grown) + (self.n_bits - 1) * np.log1p(self.miss * grown))

    def most(self, n_rows: int, exponent: float) -> int:
        """Bound the ones of independent rows, but for a probability of ``exp(-exponent)``."""
        bound = float(np.min((exponent + n_rows * self.cumulants) / _TILTS))
        return min(math.floor(bound), n_rows * self.n_bits)

    def most_of_any(self, n_chosen: int, n_rows: int, exponent: float) -> int:
        """Bound the ones of any ``n_chosen`` of the rows, whoever chooses them."""
        return self.most(n_chosen, exponent + n_chosen * (1 + math.log(n_rows / n_chosen)))


def wrong_in_ones(ones: int, n_rows: int, law: OnesLaw, *, false_alarm: float) -> int:
    """Bound from below the number of forged rows, from the total of the ones in all rows.

    Examples
    --------
    >>> law = OnesLaw(50, hit=0.5, miss=0.2689)
    >>> wrong_in_ones(1_367_610, 100_000, law, false_alarm=1e-6)
    0
    >>> wrong_in_ones(1_367_610 + 36_324, 100_000, law, false_alarm=1e-6)  # about what 1,000 rows of ones add
    670
    """
    zeros = n_rows * law.n_bits - ones
    return max(
        _replaced(ones, n_rows, law, law.of_zeros, false_alarm),
        _replaced(zeros, n_rows, law.of_zeros, law, false_alarm),
    )


def _replaced(total: int, n_rows: int, law: OnesLaw, others: OnesLaw, false_alarm: float) -> int:
    """Find the smallest number of replaced rows that explains a total, each by at most what it lacked."""
    excess = total - law.most(n_rows, math.log(4 / false_alarm))
    if excess <= 0:
        return 0
    exponent = math.log(4 * n_rows / false_alarm)
    low, high = 1, n_rows  # the bound grows with the number of rows
    while low < high:
        middle = (low + high) // 2
        enough = others.most_of_any(middle, n_rows, exponent) >= excess
        low, high = (low, middle) if enough else (middle + 1, high)
    return low
