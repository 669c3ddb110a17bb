"""A plan of quantiles in plain words: what you get, whether both groups help, and what it rests on."""

import math
from typing import TYPE_CHECKING

from hybriddp.distribution.explain import COARSE_BIN, LARGE_RANK_ERROR
from hybriddp.reporting.wording import counted, percent, significant, to_precision_of

if TYPE_CHECKING:
    from hybriddp.planning.quantiles import QuantilePlan, QuantileRow

HEADINGS = ("", "value", "error", "95 % interval", "rank error", "trusted", "local")
_CLAMPED = 0.005  # of the users at a bound: half of what makes p99 one
_HEAVY = 3.0  # times the median error of a normal law: from there on a few large errors make the mean square
_NORMAL = 0.6745  # median absolute error of a normal law, over its standard deviation
_HELPS = 0.95  # an error below this fraction of another one is worth a word


def name(row: "QuantileRow") -> str:
    """As people write it: p95."""
    return f"p{100 * row.q:.10g}"


def cells(row: "QuantileRow") -> tuple[str, ...]:
    """A line of the table."""
    errors = (
        percent(x, 2) if math.isfinite(x) else ""
        for x in (row.rank_error, row.trusted_rank_error, row.local_rank_error)
    )
    if row.value is None or row.value_error is None or row.lower is None or row.upper is None:
        return (name(row), "", "", "", *errors)
    low, high = (to_precision_of(end, row.value_error or 1.0) for end in (row.lower, row.upper))
    value = to_precision_of(row.value, row.value_error or 1.0)
    return (name(row), value, significant(row.value_error, 2), f"{low} … {high}", *errors)


def explanation(made: "QuantilePlan") -> str:
    """The plan, a sentence per line."""
    return "\n".join([*what_you_get(made), *worth(made), *doubts(made), *forgery(made), assumptions(made)])


def forgery(made: "QuantilePlan") -> list[str]:
    """How far one in a hundred local users could move each quantile with forged reports."""
    if not made.n_local:
        return []
    count = max(made.n_local // 100, 1)
    moved = []
    for row in made.rows:
        found = made.poisoning(count, row.q)
        rank = f"{percent(found.rank, 2)} of rank"
        moved.append(f"{name(row)} by {rank if found.value is None else f'{significant(found.value, 2)} ({rank})'}")
    return [f"{counted(count, 'forged local report')} could move {', '.join(moved)} at most."]


def what_you_get(made: "QuantilePlan") -> list[str]:
    """Each quantile and its typical error."""
    lines = []
    for row in made.rows:
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


def worth(made: "QuantilePlan") -> list[str]:
    """What both groups together are better than."""
    if not made.n_trusted or not made.n_local:
        return ["There is one group only: a single model, not a hybrid."]
    mine, trusted, local = (
        (sum(getattr(row, field) ** 2 for row in made.rows) / len(made.rows)) ** 0.5
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


def doubts(made: "QuantilePlan") -> list[str]:
    """What would be mostly noise, not determined, or too coarse."""
    lines = []
    if made.rank_error > LARGE_RANK_ERROR:
        lines.append(
            "Not recommended: the answer would be mostly noise. It takes more users, more of whom trust, or a larger ε."
        )
    lower, upper = made.bins.grid.lower, made.bins.grid.upper
    open_ended = [name(row) for row in made.rows if row.upper == upper or row.lower == lower]
    if open_ended:
        lines.append(f"Touching a bound, and so not determined from that side: {', '.join(open_ended)}.")
    lines += _clamped(made)
    coarse = [name(row) for row in made.rows if made.bin_mass(row.q) > COARSE_BIN]
    if coarse:
        lines.append(
            f"In a bin with more than {percent(COARSE_BIN)} of all users, and so as coarse as that bin: "
            f"{', '.join(coarse)}. Edges that are closer there would help."
        )
    return lines


def _clamped(made: "QuantilePlan") -> list[str]:
    """How much of the assumed shape would count as a bound; many zeros are an answer, and no sign of wrong bounds."""
    if made.crowd is None:
        return []
    grid, masses = made.bins.grid, made.crowd.masses
    ends = [("at or above the upper", float(masses[-1]))]
    ends += [("at or below the lower", float(masses[0]))] if grid.lower != 0 else []
    return [
        f"Of the assumed values {percent(mass, 2)} are {where} bound, and count as the bound: check units and bounds."
        for where, mass in ends
        if mass >= _CLAMPED
    ]


def assumptions(made: "QuantilePlan") -> str:
    """What the numbers rest on."""
    shape = "nothing about the shape: ranks are for equal masses of the bins"
    if made.shape is not None:
        shape = "values like those given" if made.shape == "values" else f"values like {made.shape}"
    return (
        f"Assumed: {shape}, {made.n_users:,} users, {made.n_trusted:,} of whom trust, ε = {made.privacy.epsilon}, "
        "and those who trust are like those who do not."
    )
