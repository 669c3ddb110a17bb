r"""What a study of quantiles would give, before anything is collected: how wrong ranks and values would be.

The *rank error* of a quantile is the standard error of the CDF there: 1 % means that what is called p95 may be p94 or
p96. It follows from the covariance of the least squares estimate (`hybriddp.distribution.expected`), which needs group
sizes, ε, and masses of the bins. Where nothing is known of these, they are taken to be equal: for local users alone
that is the closed form of `MaskedResponse.rank_variance`.

With a rough *shape* the rank error becomes a *value error*: the root mean square over the law of the answer
(`hybriddp.planning.quantile_law`), and beside it the median of the absolute error, which is far smaller where tails are
long. Where values lie within a bin is not known to an estimate, so what that costs is in all errors: the rank and the
value of the answer that exact masses would give.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp.channels.masked import N_BINS, MaskedResponse
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.expected import ExpectedFits, expected_fits, forged_rank_shift, outcomes
from hybriddp.distribution.explain import USUAL
from hybriddp.distribution.fit import DistributionFit
from hybriddp.distribution.quantile import asked, quantile
from hybriddp.errors import ParameterError
from hybriddp.grid import Grid
from hybriddp.planning.quantile_law import CurveLaw
from hybriddp.planning.search import EPSILONS
from hybriddp.privacy import Privacy
from hybriddp.simulation.distributions import population
from hybriddp.simulation.quantiles import BinnedCrowd, finite_fields

if TYPE_CHECKING:
    from hybriddp.simulation.crowd import Crowd

MOST_USERS = 10**10
UNKNOWNS = ("epsilon", "n_users", "trusted_fraction")
_PRECISION = 1000  # users and opt-ins are found to one in so many: errors are not known better


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
class QuantilePlan:
    """What a study of quantiles would give."""

    n_users: int
    n_trusted: int
    privacy: Privacy
    bins: Bins
    shape: str | None
    """The assumed distribution: a name, or ``"values"``; None if nothing is assumed."""
    crowd: "BinnedCrowd | None"
    at: tuple[float, ...]

    def __repr__(self) -> str:
        return f"<QuantilePlan: typical rank error {self.rank_error:.2%}; explain() says more>"

    @property
    def n_local(self) -> int:
        """Number of local users."""
        return self.n_users - self.n_trusted

    def _expected(self, *, alone: bool) -> ExpectedFits:
        masses = np.full(N_BINS, 1 / N_BINS) if self.crowd is None else self.crowd.masses
        return expected_fits(
            _channel(self.privacy.epsilon), masses, n_trusted=self.n_trusted, n_local=self.n_local, alone=alone
        )

    @cached_property
    def _both(self) -> DistributionFit:
        return self._expected(alone=False).both

    @cached_property
    def _alone(self) -> tuple[DistributionFit | None, DistributionFit | None]:
        fits = self._expected(alone=True)
        return fits.trusted, fits.local

    @cached_property
    def _curves(self) -> CurveLaw:
        masses = np.full(N_BINS, 1 / N_BINS) if self.crowd is None else self.crowd.masses
        sizes = {"n_trusted": self.n_trusted, "n_local": self.n_local}
        return CurveLaw.of(outcomes(_channel(self.privacy.epsilon), masses, **sizes))

    @property
    def rank_error(self) -> float:
        """The typical error of the CDF: the root mean square over all edges."""
        return float(np.sqrt(np.mean(self._both.standard_errors**2)))

    def errors(self, q: float) -> tuple[float, float | None]:
        """Compute the rank error at a quantile and, if there is a shape, the value error: root mean squares."""
        rank = self._rank_error(self._both, q)
        if self.crowd is None:
            return rank, None
        return rank, self._curves.answer(self.bins, q).rms_error(self.crowd.quantile(q))

    @cached_property
    def rows(self) -> tuple[QuantileRow, ...]:
        """The errors to expect, a row per quantile."""
        return tuple(self._row(q) for q in self.at)

    def row(self, q: float) -> QuantileRow:
        """The errors to expect at one quantile."""
        return self._row(_check.number("q", q, _check.FRACTION))

    def _row(self, q: float) -> QuantileRow:
        rank = self._rank_error(self._both, q)
        alone = [float("nan") if fit is None else self._rank_error(fit, q) for fit in self._alone]
        if self.crowd is None:
            return QuantileRow(q, rank, alone[0], alone[1], None, None, None, None, None)
        low, high = quantile(self._both, self.bins, q, 0.95).interval
        law, value = self._curves.answer(self.bins, q), self.crowd.quantile(q)
        errors = law.rms_error(value), law.median_error(value)
        return QuantileRow(q, rank, alone[0], alone[1], value, *errors, low, high)

    def bin_mass(self, q: float) -> float:
        """The fraction of the users in the bin of a quantile, within which nothing is known; 0 without a shape.

        A bin that is a bound is not meant: its values are known.
        """
        found = quantile(self._both, self.bins, q, 0.95)
        inner = self.crowd is not None and 0 < found.bin_number < N_BINS - 1
        return found.bin_mass if inner else 0.0

    def _rank_error(self, fit: DistributionFit, q: float) -> float:
        """The standard error of the CDF, and what the place within a bin costs."""
        answer = quantile(fit, self.bins, q, 0.95).value
        noise = float(np.interp(answer, self.bins.edges, fit.standard_errors))
        inside = 0.0 if self.crowd is None else self.crowd.rank_error(answer, q)
        return float(np.hypot(noise, inside))

    def poisoning(self, forged: int, q: float) -> "ForgedRank":
        """How far ``forged`` local reports can move a quantile, in either direction."""
        count = min(_check.integer("forged", forged, at_least=0), self.n_local)
        edge = int(np.argmin(np.abs(self.bins.edges - quantile(self._both, self.bins, q, 0.95).value)))
        masses = np.full(N_BINS, 1 / N_BINS) if self.crowd is None else self.crowd.masses
        edge = min(max(edge, 1), N_BINS - 1)
        sizes = {"n_trusted": self.n_trusted, "n_local": self.n_local}
        lowest, highest = (
            q - count * forged_rank_shift(_channel(self.privacy.epsilon), masses, edge, **sizes, up=up) if count else q
            for up in (True, False)
        )
        rank = max(q - lowest, highest - q)
        if self.crowd is None:
            return ForgedRank(count, rank, None)
        grid, value = self.bins.grid, self.crowd.between(q)
        low = self.crowd.between(lowest) if lowest > 0 else grid.lower
        high = self.crowd.between(highest) if highest < 1 else grid.upper
        return ForgedRank(count, rank, max(value - low, high - value))

    # How it is shown

    def explain(self) -> str:
        """The plan in plain words."""
        from hybriddp.planning.quantile_words import explanation

        return explanation(self)

    def __str__(self) -> str:
        return self.explain()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "n_users": self.n_users,
            "n_trusted": self.n_trusted,
            "epsilon": self.privacy.epsilon,
            "bounds": [self.bins.grid.lower, self.bins.grid.upper],
            "scale": self.bins.scale,
            "shape": self.shape,
            "rank_error": self.rank_error,
            "quantiles": [finite_fields(row) for row in self.rows],
        }

    def to_json(self) -> str:
        """What `to_dict` gives, as text."""
        return json.dumps(self.to_dict(), indent=2)


def plan_quantiles(
    *,
    n_users: int,
    trusted_fraction: float,
    epsilon: float | str,
    bounds: tuple[float, float],
    scale: str | Sequence[float] = "equal",
    kappa: float | None = None,
    shape: ArrayLike | str | None = None,
    at: Sequence[float] = USUAL,
) -> QuantilePlan:
    """What a study of quantiles would give: rank errors and, with a rough shape, value errors.

    Parameters
    ----------
    n_users : int
        How many users there would be.
    trusted_fraction : float
        The fraction of them who would trust the curator, rounded to whole users; 0 and 1 are single models.
    epsilon : float or str
        What everybody would be promised.
    bounds, scale, kappa
        As for `DistributionStudy`.
    shape : array_like or str, optional
        What the values might look like: public ones, or a distribution as for `hybriddp.simulate`, such as
        ``"lognormal(550, 520)"`` by mean and standard deviation.
    at : sequence of float
        The quantiles.

    Examples
    --------
    >>> made = plan_quantiles(n_users=10**6, trusted_fraction=0.01, epsilon=1, bounds=(0, 10_000), scale="log",
    ...                       shape="lognormal(550, 520)")
    >>> row = made.row(0.95)
    >>> print(f"{row.value:.0f} ms, give or take {row.value_error:.0f} ({row.rank_error:.2%} of the users)")
    1486 ms, give or take 26 (0.22% of the users)
    """
    users = _check.integer("n_users", n_users, at_least=4, at_most=MOST_USERS)
    n_trusted = round(_check.number("trusted_fraction", trusted_fraction, _check.WEIGHT) * users)
    bins, privacy = Bins(Grid.of(bounds), scale, kappa), Privacy.promised(epsilon=epsilon)
    if not (wanted := asked("at", at)):
        raise ParameterError("at", "one quantile or more", wanted)
    crowd: Crowd | None = None if shape is None else population(shape, bounds).crowd
    words = shape if isinstance(shape, str) or shape is None else "values"
    seen = None if crowd is None else BinnedCrowd.of(crowd, bins)
    return QuantilePlan(users, n_trusted, privacy, bins, words, seen, wanted)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class QuantileSolution:
    """The smallest value that reaches the target, and the plan with it."""

    unknown: str
    value: float
    plan: QuantilePlan

    def __repr__(self) -> str:
        return f"<QuantileSolution: {self.unknown} = {self.value:,.12g}>"


def solve_quantiles(
    *,
    for_: str,
    q: float,
    target_error: float | None = None,
    target_rank_error: float | None = None,
    n_users: int | None = None,
    trusted_fraction: float | None = None,
    epsilon: float | str | None = None,
    **others: Any,  # noqa: ANN401
) -> QuantileSolution:
    """The smallest ε, number of users or fraction of opt-ins for a quantile that is as accurate as wanted.

    Parameters
    ----------
    for_ : {"epsilon", "n_users", "trusted_fraction"}
        What to find. The others must be given, and this one must not.
    q : float
        The quantile: 0.95.
    target_error : float
        The typical (root mean squared) error that would be fine, in the units of the values; needs a ``shape``.
    target_rank_error : float
        Or that of its rank, as a fraction of the users.
    n_users, trusted_fraction, epsilon, **others
        As for `plan_quantiles`.

    Examples
    --------
    How many users, of whom one percent trusts, until p95 is typically off by 50 ms (root mean square)?

    >>> found = solve_quantiles(for_="n_users", q=0.95, target_error=50, trusted_fraction=0.01, epsilon=1,
    ...                         bounds=(0, 10_000), scale="log", shape="lognormal(550, 520)")
    >>> print(f"{found.value:,.0f}")
    358,101
    """
    _check.choice("for_", for_, UNKNOWNS)
    given = {"n_users": n_users, "trusted_fraction": trusted_fraction, "epsilon": epsilon}
    for name, value in given.items():
        if (name == for_) != (value is None):
            raise ParameterError(name, f"{'left out' if name == for_ else 'given'} when solving for {for_}", value)
    if (target_error is None) == (target_rank_error is None):
        raise ParameterError("target_error", "given, or target_rank_error is, but not both", target_error)
    if target_error is not None and others.get("shape") is None:
        raise ParameterError("shape", "given for an error in the units of the values", None)
    if target_error is not None:
        target = _check.number("target_error", target_error, _check.POSITIVE)
    else:
        target = _check.number("target_rank_error", target_rank_error or 0.0, _check.FRACTION)
    known = {name: value for name, value in given.items() if name != for_} | others | {"at": (q,)}
    most, argument = _numbered(for_, n_users)

    def error(number: int) -> float:
        rank, value = plan_quantiles(**{for_: argument(number)}, **known).errors(q)
        return rank if target_error is None or value is None else value

    name = "target_error" if target_error is not None else "target_rank_error"
    value = argument(_first(most, error, name, target))
    return QuantileSolution(for_, float(value), plan_quantiles(**{for_: value}, **known))


def _numbered(for_: str, n_users: int | None) -> tuple[int, Callable[[int], Any]]:
    """What is tried for the unknown, by a number from 1 on, and the largest one."""
    if for_ == "epsilon":
        return len(EPSILONS), lambda i: EPSILONS[i - 1]
    if for_ == "n_users":
        return MOST_USERS, lambda i: max(i, 4)
    whole = _check.integer("n_users", n_users or 0, at_least=4)
    return whole, lambda i: i / whole


def _first(most: int, error: Callable[[int], float], name: str, target: float) -> int:
    """The first number whose error is within the target, by halving: more of each never does harm here."""
    if (best := error(most)) > target:
        raise ParameterError(name, f"at least {best:.3g}, which is all that can be reached", target)
    low, high = 0, most
    while high - low > max(1, low // _PRECISION):
        middle = (low + high) // 2 if high < 4 * max(low, 1) else max(1, round((max(low, 1) * high) ** 0.5))
        if error(middle) <= target:
            high = middle
        else:
            low = middle
    return high


@lru_cache(maxsize=16)
def _channel(epsilon: str) -> MaskedResponse:
    return MaskedResponse(epsilon=epsilon)
