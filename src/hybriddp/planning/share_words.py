"""A plan of frequencies in plain words: what you get, how wrong it would be, and what would be better."""

import math
from typing import TYPE_CHECKING

from hybriddp.items.discovery import DICTIONARY, DISCOVERY
from hybriddp.planning.base import Table
from hybriddp.reporting.wording import counted, percent, significant, to_precision_of

if TYPE_CHECKING:
    from hybriddp.planning.shares import RankRow, SharePlan

_HEADINGS = ("rank", "share", "listed", "error", "trusted alone", "local alone")
_LIKELY = 0.005
_FEWER = 0.95  # an error below this fraction of another one is worth a word


def tables(plan: "SharePlan") -> list[Table]:
    """Return some ranks; items that are hardly ever listed are left out."""
    caption = (
        "listed: how likely. error: typical, if it is listed; beside it that of either group alone, asked the same."
    )
    return [Table("Ranks", _HEADINGS, [_cells(row) for row in plan.rows if row.chance >= _LIKELY], caption)]


def headline(plan: "SharePlan") -> tuple[str, ...]:
    """Return what you get, how wrong it would be, and whether a dictionary would help."""
    return what_you_get(plan), how_wrong(plan), *what_helps(plan)


def details(plan: "SharePlan") -> list[str]:
    """Return what forged reports could do, and assumptions, a line each."""
    return [*forgery(plan), assumptions(plan)]


def forgery(plan: "SharePlan") -> list[str]:
    """Return how far one in a hundred local users could move a share, and how many forged reports list an item."""
    count = max(plan.n_local // 100, 1)
    moved = percent(plan.poisoning(count).local, 2)
    lines = [f"{counted(count, 'forged local report')} could move a share by at most {moved} of the users."]
    listed = plan.forged_to_list
    if listed is not None:
        kind = "local report" if plan.method == DISCOVERY else "trusted contribution"
        lines.append(f"About {counted(listed, f'forged {kind}')} could list an item that nobody has.")
    return lines


def what_you_get(plan: "SharePlan") -> str:
    """Write how many items are listed, and down to which share."""
    n = len(plan.shares)
    if plan.method == DICTIONARY:
        hidden = sum(share < 2 * error for share, error in zip(plan.shares, plan.standard_errors, strict=True))
        get = f"You get: the share of every one of {n:,} public items."
        if not hidden:
            return f"{get} All are above two standard errors."
        return f"{get} {hidden:,} are below two standard errors, and may as well be 0."
    length, sd = plan.list_length, plan.list_length_sd
    if length < 0.5:
        return f"You get: most likely no item at all; the expected length of the list is {significant(length, 2)}."
    how = "found from local reports" if plan.method == DISCOVERY else "each held by enough trusted users"
    about = f"You get: about {counted(round(length), 'item')} (give or take {max(round(sd), 1):,}), {how}."
    if math.isinf(plan.surely_listed):
        return f"{about} No item is frequent enough to be listed surely."
    return f"{about} An item of at least {percent(plan.surely_listed, 2)} of the users is listed almost surely."


def how_wrong(plan: "SharePlan") -> str:
    """Write the typical error of the items that are likely to be listed, beside those of the groups alone."""
    rows = [row for row in plan.rows if row.chance >= 0.5]
    if not rows:
        return "Errors: with so few trusted users at this ε and δ there is nothing to estimate."
    first, last = rows[0], rows[-1]
    lines = f"Errors: {_error(first)}"
    if last.rank != first.rank:
        lines += f"; {_error(last)}"
    return f"{lines}. The trusted group alone would have {_ratio(last.trusted_error, last)}, the local group alone " + (
        f"{_ratio(last.local_error, last)} the error of rank {last.rank:,}."
    )


def _error(row: "RankRow") -> str:
    return f"rank {row.rank:,} has {percent(row.share, 3)}, give or take {percent(row.standard_error, 2)}"


def _ratio(error: float, row: "RankRow") -> str:
    ratio = error / row.standard_error
    return f"{ratio:.1f} times" if ratio < 9.95 else f"{significant(ratio, 2)} times"


def what_helps(plan: "SharePlan") -> list[str]:
    """Return whether a public dictionary would be better."""
    if plan.method == DICTIONARY:
        return []
    public = plan.with_dictionary()
    mine, theirs = plan.rmse_of_top(50), public.rmse_of_top(50)
    n = min(50, len(plan.shares))
    better = (
        f"would bring the typical error of the {n} most frequent items from {percent(mine, 2)} to {percent(theirs, 2)} "
        "of the users"
        if theirs < _FEWER * mine
        else f"would not lower the errors of the {n} most frequent items, but needs no δ"
    )
    lines = [f"A public dictionary of the items, if there is one, {better}."]
    if plan.method == DISCOVERY:
        lines.append(
            "Few people trust, so local discovery would be used: strings of up to 6 bytes, or more of a smaller "
            "alphabet. How many it finds is known roughly only."
        )
    return lines


def assumptions(plan: "SharePlan") -> str:
    """Write what the numbers rest on."""
    law = "the shares given" if plan.slope is None else f"Zipf's law of slope {significant(plan.slope)}"
    delta = f", δ = {plan.privacy.delta}" if plan.privacy.exact_delta else ""
    return (
        f"Assumed: {law}, {plan.n_users:,} users, {plan.n_trusted:,} of whom trust, ε = {plan.privacy.epsilon}{delta}, "
        "and those who trust are like those who do not."
    )


def _cells(row: "RankRow") -> tuple[str, ...]:
    errors = (row.standard_error, row.trusted_error, row.local_error)
    return (
        f"{row.rank:,}",
        percent(row.share),
        f"{100 * row.chance:.0f} %",
        *(f"{to_precision_of(100 * x, 100 * x)} %" for x in errors),
    )
