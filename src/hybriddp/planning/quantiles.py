r"""A plan of quantiles: how wrong ranks and values would be.

The *rank error* of a quantile is the standard error of the CDF there: 1 % means that what is called p95 may be p94 or
p96. It follows from the covariance of the least squares estimate (`hybriddp.distribution.expected`), which needs group
sizes, ε, and masses of the bins. Where nothing is known of these, they are taken to be equal: for local users alone
that is the closed form of `MaskedResponse.rank_variance`.

With a rough *shape* the rank error becomes a *value error*: the root mean square over the law of the answer
(`hybriddp.planning.quantile_law`), and beside it the median of the absolute error, which is far smaller where tails are
long. Where values lie within a bin is not known to an estimate, so what that costs is in all errors: the rank and the
value of the answer that exact masses would give.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.channels.masked import N_BINS, MaskedResponse
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.expected import ExpectedFits, expected_fits, forged_rank_shift, outcomes
from hybriddp.distribution.fit import DistributionFit
from hybriddp.distribution.quantile import USUAL, asked, quantile
from hybriddp.distribution.study import DistributionStudy
from hybriddp.errors import ParameterError
from hybriddp.planning import quantile_words
from hybriddp.planning.base import Plan, plain
from hybriddp.planning.quantile_law import CurveLaw
from hybriddp.reporting.wording import percent
from hybriddp.simulation.distributions import population
from hybriddp.simulation.quantiles import BinnedCounts


@dataclass(frozen=True, slots=True)
class QuantileRow:
    """One quantile: the errors to expect."""

    q: float
    rank_error: float
    """Typical, as a fraction of the users."""
    trusted_rank_error: float
    """That of the trusted group alone."""
    local_rank_error: float
    """That of the local group alone."""
    value: float | None
    """The quantile of the assumed shape; None without one."""
    value_error: float | None
    """Typical (root mean squared), in the units of the values; None without a shape."""
    median_error: float | None
    """The absolute error that is exceeded half of the time. In long tails it is far smaller than `value_error`."""
    lower: float | None
    """Where the 95 % interval would begin on average, at an edge."""
    upper: float | None
    """Where it would end."""


@dataclass(frozen=True, slots=True)
class ForgedRank:
    """How far forged local reports can move a quantile, the weights of the estimate held fixed."""

    forged: int
    rank: float
    """By which fraction of the users."""
    value: float | None
    """By how much, in the units of the values; None without a shape."""


@dataclass(frozen=True, repr=False, eq=False)
class QuantilePlan(Plan):
    """What a study of quantiles would give."""

    single_groups: ClassVar[bool] = True
    solved_to: ClassVar[int] = 1000  # errors are not known better

    bins: Bins
    shape: str | None
    """The assumed distribution: a name, or ``"values"``; None if nothing is assumed."""
    values: "BinnedCounts | None" = field(repr=False)
    at: tuple[float, ...]

    @classmethod
    def of(
        cls,
        study: DistributionStudy,
        *,
        n_users: int,
        trusted_fraction: float,
        shape: ArrayLike | str | None = None,
        at: Sequence[float] = USUAL,
    ) -> "QuantilePlan":
        """Plan a study of a distribution; see `hybriddp.plan`."""
        if not (quantiles := asked("at", at)):
            raise ParameterError("at", "one quantile or more", quantiles)
        values = None if shape is None else BinnedCounts.of(population(shape, study.bounds).values, study.bins)
        words = shape if isinstance(shape, str) or shape is None else "values"
        sizes = cls.group_sizes(n_users, trusted_fraction)
        return cls(**sizes, privacy=study.privacy, bins=study.bins, shape=words, values=values, at=quantiles)

    @property
    def _masses(self) -> FloatArray:
        return np.full(N_BINS, 1 / N_BINS) if self.values is None else self.values.masses

    def _expected(self, *, alone: bool) -> ExpectedFits:
        sizes = {"n_trusted": self.n_trusted, "n_local": self.n_local}
        return expected_fits(_channel(self.privacy.epsilon), self._masses, **sizes, alone=alone)

    @cached_property
    def _both(self) -> DistributionFit:
        return self._expected(alone=False).both

    @cached_property
    def _alone(self) -> tuple[DistributionFit | None, DistributionFit | None]:
        fits = self._expected(alone=True)
        return fits.trusted, fits.local

    @cached_property
    def _curves(self) -> CurveLaw:
        sizes = {"n_trusted": self.n_trusted, "n_local": self.n_local}
        return CurveLaw.of(outcomes(_channel(self.privacy.epsilon), self._masses, **sizes))

    @property
    def rank_error(self) -> float:
        """Typical error of the CDF: the root mean square over all edges."""
        return float(np.sqrt(np.mean(self._both.standard_errors**2)))

    @property
    def typical_error(self) -> str:
        """Typical error of the CDF, in words."""
        return f"{percent(self.rank_error, 2)} of the users"

    @property
    def rmse(self) -> float:
        """Largest typical error of the quantiles, in the units of the values."""
        values = self.values
        if values is None:
            raise ParameterError("shape", "given for an error in the units of the values", None)
        return max(self._curves.answer(self.bins, q).rms_error(values.quantile(q)) for q in self.at)

    def achieved(self, target: str) -> float:
        """Return the largest typical error of the quantiles, of value or of rank."""
        return self.rmse if target == "target_rmse" else max(self._rank_error(self._both, q) for q in self.at)

    @cached_property
    def rows(self) -> tuple[QuantileRow, ...]:
        """The errors to expect, a row per quantile."""
        return tuple(self.row(q) for q in self.at)

    def row(self, q: float) -> QuantileRow:
        """Return the errors to expect at one quantile."""
        _check.number("q", q, _check.FRACTION)
        rank = self._rank_error(self._both, q)
        alone = [float("nan") if fit is None else self._rank_error(fit, q) for fit in self._alone]
        if self.values is None:
            return QuantileRow(q, rank, alone[0], alone[1], None, None, None, None, None)
        low, high = quantile(self._both, self.bins, q, 0.95).interval
        law, value = self._curves.answer(self.bins, q), self.values.quantile(q)
        errors = law.rms_error(value), law.median_error(value)
        return QuantileRow(q, rank, alone[0], alone[1], value, *errors, low, high)

    def bin_mass(self, q: float) -> float:
        """Return the fraction of the users in the bin of a quantile, within which nothing is known; 0 without a shape.

        A bin that is a bound is not meant: its values are known.
        """
        answer = quantile(self._both, self.bins, q, 0.95)
        inner = self.values is not None and 0 < answer.bin_number < N_BINS - 1
        return answer.bin_mass if inner else 0.0

    def _rank_error(self, fit: DistributionFit, q: float) -> float:
        """Return the standard error of the CDF, and what the place within a bin costs."""
        answer = quantile(fit, self.bins, q, 0.95).value
        noise = float(np.interp(answer, self.bins.edges, fit.standard_errors))
        inside = 0.0 if self.values is None else self.values.rank_error(answer, q)
        return float(np.hypot(noise, inside))

    def poisoning(self, forged: int, q: float) -> ForgedRank:
        """Return how far ``forged`` local reports can move a quantile, in either direction."""
        count = min(_check.integer("forged", forged, at_least=0), self.n_local)
        edge = int(np.argmin(np.abs(self.bins.edges - quantile(self._both, self.bins, q, 0.95).value)))
        edge, channel = min(max(edge, 1), N_BINS - 1), _channel(self.privacy.epsilon)
        sizes = {"n_trusted": self.n_trusted, "n_local": self.n_local}
        lowest, highest = (
            q - count * forged_rank_shift(channel, self._masses, edge, **sizes, up=up) if count else q
            for up in (True, False)
        )
        rank = max(q - lowest, highest - q)
        if self.values is None:
            return ForgedRank(count, rank, None)
        grid, value = self.bins.grid, self.values.between(q)
        low = self.values.between(lowest) if lowest > 0 else grid.lower
        high = self.values.between(highest) if highest < 1 else grid.upper
        return ForgedRank(count, rank, max(value - low, high - value))

    # How it is shown

    headline = quantile_words.headline
    details = quantile_words.details
    tables = quantile_words.tables

    def _facts(self) -> dict[str, Any]:
        return {
            "bounds": [self.bins.grid.lower, self.bins.grid.upper],
            "scale": self.bins.scale,
            "shape": self.shape,
            "rank_error": self.rank_error,
            "quantiles": [plain(row) for row in self.rows],
        }


@lru_cache(maxsize=16)
def _channel(epsilon: str) -> MaskedResponse:
    return MaskedResponse(epsilon=epsilon)
