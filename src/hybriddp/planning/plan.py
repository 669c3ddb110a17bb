"""`plan` and `solve`, for every kind of study."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, overload

from hybriddp import _check
from hybriddp.distribution.study import DistributionStudy
from hybriddp.errors import ParameterError
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.mean.study import MeanStudy
from hybriddp.planning.base import Plan
from hybriddp.planning.mean import MeanPlan
from hybriddp.planning.quantiles import QuantilePlan
from hybriddp.planning.shares import SharePlan
from hybriddp.planning.solver import UNKNOWNS, PlanT, smallest
from hybriddp.shares.study import FrequencyStudy

_PLANS: Mapping[type, Callable[..., Plan]] = {
    MeanStudy: MeanPlan.of,
    FrequencyStudy: SharePlan.of,
    HeavyHitterStudy: SharePlan.of,
    DistributionStudy: QuantilePlan.of,
}


@overload
def plan(study: MeanStudy, *, n_users: int, trusted_fraction: float, **assumptions: Any) -> MeanPlan: ...
@overload
def plan(
    study: FrequencyStudy | HeavyHitterStudy, *, n_users: int, trusted_fraction: float, **assumptions: Any
) -> SharePlan: ...
@overload
def plan(study: DistributionStudy, *, n_users: int, trusted_fraction: float, **assumptions: Any) -> QuantilePlan: ...
def plan(study: Any, *, n_users: int, trusted_fraction: float, **assumptions: Any) -> Any:
    """Predict what a study would give, before a single value is collected.

    Parameters
    ----------
    study : MeanStudy, FrequencyStudy, HeavyHitterStudy or DistributionStudy
        The study as it would be run.
    n_users : int
        How many users there would be.
    trusted_fraction : float
        The fraction of them who would trust the curator, rounded to whole users. For a distribution it may be 0 or 1.
    **assumptions
        What is assumed about the values; it depends on the study.

    Other Parameters
    ----------------
    sd : float, optional
        Of a `MeanStudy`: the standard deviation of the values. If nobody knows, leave it out: the plan then shows the
        best and the worst case instead of a guess.
    mean : float, optional
        Of a `MeanStudy`: a rough guess of the mean. With ``sd`` it fixes the shape that is assumed, a Beta distribution
        on the bounds, so that the plan can say what tighter bounds would clip; alone it limits what the spread can be.
    mean_gap : float
        Of a `MeanStudy`: by how much the trusted users' mean would be higher than the others'.
    variance_ratio : float
        Of a `MeanStudy`: how many times as large the variance of the trusted users' values would be; ``sd`` is that of
        the others.
    n_items : int, optional
        Of a `HeavyHitterStudy`: how many different items there are, about; needed unless there are ``shares`` or a
        dictionary.
    slope : float
        Of shares: the slope of Zipf's law. The item of rank r has a share in proportion to r to the power of minus
        this. 0 if all are equally frequent; words, names and pages are near 1, which it is if not given.
    shares : sequence of float, optional
        Of shares: the assumed shares themselves, instead of ``slope``; of public categories one for each, *other*
        included.
    shape : array_like or str, optional
        Of a `DistributionStudy`: what the values might look like. Public ones, or a distribution as for
        `hybriddp.simulate`, such as ``"lognormal(550, 520)"`` by mean and standard deviation.
    at : sequence of float
        Of a `DistributionStudy`: the quantiles.

    Examples
    --------
    >>> from hybriddp import DistributionStudy, FrequencyStudy, HeavyHitterStudy, MeanStudy
    >>> pay = plan(MeanStudy("pay", bounds=(0, 2_349_033), epsilon=1), n_users=252_540, trusted_fraction=0.01,
    ...            sd=53_254)
    >>> pay["adaptive"].rmse.worst, pay["trusted-only"].rmse.worst
    (1605.0, 1686.1)

    >>> yes_or_no = FrequencyStudy("opened the app", categories=["yes", "no"], epsilon=1)
    >>> shares = plan(yes_or_no, n_users=20_000, trusted_fraction=0.05, shares=[0.3, 0.7])
    >>> print(f"30 %, give or take {100 * shares.standard_errors[1]:.1f} %")
    30 %, give or take 0.6 %

    >>> words = plan(HeavyHitterStudy("words", epsilon=1, delta=1e-6), n_users=10**6, trusted_fraction=0.01,
    ...              n_items=10_000)
    >>> print(f"{words.method}: {words.list_length:.0f} items, give or take {words.list_length_sd:.0f}")
    list: 38 items, give or take 2

    >>> latency = DistributionStudy("ms", bounds=(0, 10_000), epsilon=1, scale="log")
    >>> row = plan(latency, n_users=10**6, trusted_fraction=0.01, shape="lognormal(550, 520)").row(0.95)
    >>> print(f"{row.value:.0f} ms, give or take {row.value_error:.0f} ({row.rank_error:.2%} of the users)")
    1486 ms, give or take 25 (0.22% of the users)
    """
    return _unchecked(study, n_users, trusted_fraction, assumptions).checked()


def _unchecked(study: Any, n_users: int, trusted_fraction: float, assumptions: Mapping[str, Any]) -> Plan:
    planner = _PLANS.get(type(study))
    if planner is None:
        raise ParameterError("study", f"one of {', '.join(kind.__name__ for kind in _PLANS)}", study)
    return planner(study, n_users=n_users, trusted_fraction=trusted_fraction, **assumptions)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Solution(Generic[PlanT]):
    """The smallest value that reaches a target, and the plan with it."""

    unknown: str
    value: float  # ε with three digits, a whole number of users, or the fraction that whole users are
    plan: PlanT

    def __repr__(self) -> str:
        return f"<Solution: {self.unknown} = {self.value:,.12g}, typical error {self.plan.typical_error}>"


@overload
def solve(study: MeanStudy, *, for_: str, **settings: Any) -> Solution[MeanPlan]: ...
@overload
def solve(study: FrequencyStudy | HeavyHitterStudy, *, for_: str, **settings: Any) -> Solution[SharePlan]: ...
@overload
def solve(study: DistributionStudy, *, for_: str, **settings: Any) -> Solution[QuantilePlan]: ...
def solve(
    study: Any,
    *,
    for_: str,
    target_rmse: float | None = None,
    target_rank_error: float | None = None,
    n_users: int | None = None,
    trusted_fraction: float | None = None,
    **assumptions: Any,
) -> Any:
    """Find the smallest ε, number of users or fraction of opt-ins whose typical error is within a target.

    Parameters
    ----------
    study : MeanStudy, FrequencyStudy, HeavyHitterStudy or DistributionStudy
        The study as it would be run. When solving for ε its own ε does not matter.
    for_ : {"epsilon", "n_users", "trusted_fraction"}
        What to find.
    target_rmse : float
        The typical (root mean squared) error that would be fine, in the worst case where something is unknown. In the
        units of the values; of shares, as a fraction of the users, for the ten most frequent items. Quantiles need a
        ``shape``; of several ones (``at``) all must reach it.
    target_rank_error : float
        Of a `DistributionStudy`, instead: the typical error of a quantile's rank, as a fraction of the users.
    n_users, trusted_fraction, **assumptions
        As for `plan`; what is to be found must be left out.

    Examples
    --------
    >>> from hybriddp import DistributionStudy, MeanStudy
    >>> study = MeanStudy("pay", bounds=(0, 2_349_033), epsilon=1)
    >>> wanted = solve(study, for_="trusted_fraction", target_rmse=2000, n_users=252_540, sd=53_254)
    >>> wanted.plan.n_trusted, wanted.plan.rmse <= 2000
    (1853, True)

    How many users, of whom one percent trusts, until p95 is typically off by 50 ms?

    >>> latency = DistributionStudy("ms", bounds=(0, 10_000), epsilon=1, scale="log")
    >>> wanted = solve(latency, for_="n_users", target_rmse=50, trusted_fraction=0.01, shape="lognormal(550, 520)",
    ...                at=[0.95])
    >>> print(f"{wanted.value:,.0f}")
    342,679
    """
    _check.choice("for_", for_, UNKNOWNS)
    for name, value in {"n_users": n_users, "trusted_fraction": trusted_fraction}.items():
        if (name == for_) != (value is None):
            raise ParameterError(name, f"{'left out' if name == for_ else 'given'} when solving for {for_}", value)
    if (target_rmse is None) == (target_rank_error is None):
        raise ParameterError("target_rmse", "given, or target_rank_error is, but not both", target_rmse)
    name = "target_rmse" if target_rank_error is None else "target_rank_error"
    target = _check.number(name, target_rmse or target_rank_error or 0.0, _check.POSITIVE)
    fraction = 0.5 if trusted_fraction is None else _check.number("trusted_fraction", trusted_fraction, _check.WEIGHT)
    users = math.ceil(4 / max(min(fraction, 1 - fraction), 1e-9)) if n_users is None else n_users
    start = _unchecked(study, users, fraction, assumptions)
    solved = smallest(start, for_, target, name=name, trusted_fraction=fraction).checked()
    values = {"epsilon": float(solved.privacy.epsilon), "n_users": solved.n_users}
    return Solution(for_, values.get(for_, solved.trusted_fraction), solved)
