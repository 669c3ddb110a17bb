"""A plan of quantiles in plain words: what you get, whether both groups help, and what it rests on."""

import math
from typing import TYPE_CHECKING

from hybriddp.distribution.explain import COARSE_BIN, LARGE_RANK_ERROR
from hybriddp.planning.base import Table
from hybriddp.reporting.wording import counted, percent, significant, to_precision_of

if TYPE_CHECKING:
    from hybriddp.planning.quantiles import QuantilePlan, QuantileRow

_HEADINGS = ("", "value", "error", "95 % interval", "rank error", "trusted", "local")
_CLAMPED = 0.005  # of the users at a bound: half of what makes p99 one
_HEAVY = 3.0  # times the median error of a normal law: from there on a few large errors make the mean square
_NORMAL = 0.6745  # median absolute error of a normal law, over its standard deviation
_HELPS = 0.95  # an error below this fraction of another one is worth a word


def name(row: "QuantileRow") -> str:
    """Write a quantile as people do: p95."""
    return f"p{100 * row.q:.10g}"


def tables(plan: "QuantilePlan") -> list[Table]:
    """Return a row per quantile."""
    caption = (
        "error: typical (root mean squared). rank error: of the fraction of users below; beside it those of either "
        "group alone."
    )
    return [Table("Quantiles", _HEADINGS, [_cells(row) for row in plan.rows], caption)]


def _cells(row: "QuantileRow") -> tuple[str, ...]:
    errors = (
        percent(x, 2) if math.isfinite(x) else ""
        for x in (row.rank_error, row.trusted_rank_error, row.local_rank_error)
    )
    if row.value is None or row.value_error is None or row.lower is None or row.upper is None:
        return (name(row), "", "", "", *errors)
    low, high = (to_precision_of(end, row.value_error or 1.0) for end in (row.lower, row.upper))
    value = to_precision_of(row.value, row.value_error or 1.0)
    return (name(row), value, significant(row.value_error, 2), f"{low} … {high}", *errors)


def headline(plan: "QuantilePlan") -> tuple[str, ...]:
    """Return what you get, and whether both groups help."""
    return *what_you_get(plan), *worth(plan)


def details(plan: "QuantilePlan") -> list[str]:
    """Return doubts, what forged reports could do, and assumptions, a line each."""
    return [*doubts(plan), *forgery(plan), assumptions(plan)]


def forgery(plan: "QuantilePlan") -> list[str]:
    """Return how far one in a hundred local users could move each quantile with forged reports."""
    if not plan.n_local:
        return []
    count = max(plan.n_local // 100, 1)
    moved = []
    for row in plan.rows:
        shift = plan.poisoning(count, row.q)
        rank = f"{percent(shift.rank, 2)} of rank"
        moved.append(f"{name(row)} by {rank if shift.value is None else f'{significant(shift.value, 2)} ({rank})'}")
    return [f"{counted(count, 'forged local report')} could move {', '.join(moved)} at most."]


def what_you_get(plan: "QuantilePlan") -> list[str]:
    """Return each quantile and its typical error."""
    lines = []
    for row in plan.rows:
        rank = f"{percent(row.rank_error, 2)} of rank"
        if row.value is None or row.value_error is None:
            lines.append(f"{name(row)}: typically off by {rank}.")
            continue
        value, error = to_precision_of(row.value, row.value_error or 1.0), significant(row.value_error, 2)
        lines.append(f"{name(row)}: about {value}, typically off by {error} ({rank}){often(row)}.")
    return ["You get:", *lines]


def often(row: "QuantileRow") -> str:
    """State the median error where a few large errors dominate the mean square; else empty."""
    if row.value_error is None or row.median_error is None or row.value_error <= _HEAVY * row.median_error / _NORMAL:
        return ""
    return f", half of the time by less than {significant(row.median_error, 2)}"


def worth(plan: "QuantilePlan") -> list[str]:
    """Return what both groups together are better than."""
    if not plan.n_trusted or not plan.n_local:
        return ["There is one group only: a single model, not a hybrid."]
    mine, trusted, local = (
        (sum(getattr(row, field) ** 2 for row in plan.rows) / len(plan.rows)) ** 0.5
        for field in ("rank_error", "trusted_rank_error", "local_rank_error")
    )
    better, who = min((trusted, "trusted group"), (local, "local group"))
    if mine > _HELPS * better:
        return [f"The {who} alone would be about as good: the other one hardly adds to it."]
    users = (better / mine) ** 2
    return [
        f"Over these quantiles the {who} alone would be off by {significant(better / mine, 3)} times as much; it would "
        f"take about {significant(users, 2)} times as many of its users to be as good."
    ]


def doubts(plan: "QuantilePlan") -> list[str]:
    """Return what would be mostly noise, not determined, or too coarse."""
    lines = []
    if plan.rank_error > LARGE_RANK_ERROR:
        lines.append(
            "Not recommended: the answer would be mostly noise. It takes more users, more of whom trust, or a larger ε."
        )
    lower, upper = plan.bins.grid.lower, plan.bins.grid.upper
    open_ended = [name(row) for row in plan.rows if row.upper == upper or row.lower == lower]
    if open_ended:
        lines.append(f"Touching a bound, and so not determined from that side: {', '.join(open_ended)}.")
    lines += _clamped(plan)
    coarse = [name(row) for row in plan.rows if plan.bin_mass(row.q) > COARSE_BIN]
    if coarse:
        lines.append(
            f"In a bin with more than {percent(COARSE_BIN)} of all users, and so as coarse as that bin: "
            f"{', '.join(coarse)}. Edges that are closer there would help."
        )
    return lines


def _clamped(plan: "QuantilePlan") -> list[str]:
    """Warn of values that would count as a bound; many zeros are an answer, and no sign of wrong bounds."""
    if plan.values is None:
        return []
    grid, masses = plan.bins.grid, plan.values.masses
    ends = [("at or above the upper", float(masses[-1]))]
    ends += [("at or below the lower", float(masses[0]))] if grid.lower != 0 else []
    return [
        f"Of the assumed values {percent(mass, 2)} are {where} bound, and count as the bound: check units and bounds."
        for where, mass in ends
        if mass >= _CLAMPED
    ]


def assumptions(plan: "QuantilePlan") -> str:
    """Write what the numbers rest on."""
    shape = "nothing about the shape: ranks are for equal masses of the bins"
    if plan.shape is not None:
        shape = "values like those given" if plan.shape == "values" else f"values like {plan.shape}"
    return (
        f"Assumed: {shape}, {plan.n_users:,} users, {plan.n_trusted:,} of whom trust, ε = {plan.privacy.epsilon}, "
        "and those who trust are like those who do not."
    )
