"""What could go wrong with a plan: groups that differ, and reports that are forged."""

from dataclasses import dataclass
from typing import Any

from hybriddp import _check
from hybriddp.grid import Grid
from hybriddp.planning.cases import OURS, window_channel
from hybriddp.planning.plan import Plan, errors_of, gap_possible, plan, readable

GAPS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
RATIOS = (0.25, 0.5, 2.0, 4.0)


@dataclass(frozen=True, slots=True, repr=False)
class Difference:
    """The typical errors if the groups differ, all with one-byte reports.

    Attributes
    ----------
    mean_gap : float
        By how much the trusted users' mean is higher, in the units of the values.
    variance_ratio : float
        How many times as large their variance is.
    trusted_only, full_local, known_variance, adaptive : float
        The typical errors, in the worst case.
    """

    mean_gap: float
    variance_ratio: float
    trusted_only: float
    full_local: float
    known_variance: float
    adaptive: float

    def __repr__(self) -> str:
        named = (("trusted only", self.trusted_only), ("full local", self.full_local), ("adaptive", self.adaptive))
        errors = ", ".join(f"{name} {readable(error)}" for name, error in named)
        return f"<Difference: gap {readable(self.mean_gap)}, variances × {self.variance_ratio:g}: {errors}>"


@dataclass(frozen=True, slots=True)
class Poisoning:
    """How far forged contributions can move our estimate at most, its weight held fixed.

    Attributes
    ----------
    forged : int
        How many are forged.
    local, trusted : float
        By how much, in the units of the values, if they are local reports, or trusted values.
    """

    forged: int
    local: float
    trusted: float


def differences(made: Plan) -> tuple[Difference, ...]:
    """A table of what other gaps and spreads would do: gaps in standard deviations, or in tenths of the range."""
    unit = 0.1 * made.width if made.sd is None else made.sd
    gaps = [(gap * unit, 1.0) for gap in GAPS if can_differ(made, gap * unit)]
    ratios = [(0.0, ratio) for ratio in RATIOS if made.sd is None or _possible(made, ratio)]
    return tuple(_difference(made, gap, ratio) for gap, ratio in gaps + ratios)


def can_differ(made: Plan, gap: float) -> bool:
    """Whether the means of the groups can be so far apart, between the bounds and with the mean of the plan."""
    return gap_possible(made.mean, gap, made.trusted_fraction, Grid.of(made.bounds))


def _possible(made: Plan, ratio: float) -> bool:
    from hybriddp.planning.crowds import largest_sd

    middle = 0.5 if made.mean is None else (made.mean - made.bounds[0]) / made.width
    return made.sd is not None and made.sd * max(ratio, 1.0) ** 0.5 <= largest_sd(middle) * made.width


def _difference(made: Plan, gap: float, ratio: float) -> Difference:
    other = errors_again(made, mean_gap=gap, variance_ratio=ratio)
    return Difference(
        mean_gap=gap,
        variance_ratio=ratio,
        trusted_only=other["trusted-only"].rmse.worst,
        full_local=other.full_local.worst,
        known_variance=other["known-variance"].rmse.worst,
        adaptive=other[OURS].rmse.worst,
    )


def again(made: Plan, **changes: Any) -> Plan:  # noqa: ANN401
    """The same plan with something changed."""
    return plan(**{**made.question, **changes})


def errors_again(made: Plan, **changes: Any) -> Plan:  # noqa: ANN401
    """The same without intervals, which take most of the time."""
    return errors_of(**{**made.question, **changes})


def poisoning(made: Plan, forged: int) -> Poisoning:
    r"""What ``forged`` contributions can do.

    A report is worth at most $v_{\max}$ half ranges to either side of the middle, so replacing one moves the mean of
    the local group by at most $v_{\max}$ ranges over $n_L$; a trusted value moves that of its group by one range
    over $n_T$.
    """
    count = _check.integer("forged", forged, at_least=0)
    largest = window_channel(made.privacy.epsilon).largest_value
    weight = made[OURS].weight
    return Poisoning(
        forged=count,
        local=(1 - weight.best) * min(count / (made.n_users - made.n_trusted), 1.0) * largest * made.width,
        trusted=weight.worst * min(count / made.n_trusted, 1.0) * made.width,
    )
