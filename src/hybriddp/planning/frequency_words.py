"""A plan of frequencies in plain words: what you get, how wrong it would be, and what would be better."""

import math
from typing import TYPE_CHECKING

from hybriddp.items.discovery import DICTIONARY, DISCOVERY
from hybriddp.reporting.wording import counted, percent, significant, to_precision_of

if TYPE_CHECKING:
    from hybriddp.planning.frequencies import FrequencyPlan, RankRow

HEADINGS = ("rank", "share", "listed", "error", "trusted alone", "local alone")
_FEWER = 0.95  # an error below this fraction of another one is worth a word


def explanation(made: "FrequencyPlan") -> str:
    """The plan, a sentence per line."""
    lines = [what_you_get(made), how_wrong(made), *what_helps(made), *forgery(made), assumptions(made)]
    return "\n".join(lines)


def forgery(made: "FrequencyPlan") -> list[str]:
    """How far one in a hundred local users could move a share with forged reports, and how many could list an item."""
    count = max(made.n_local // 100, 1)
    moved = percent(made.poisoning(count).local, 2)
    lines = [f"{counted(count, 'forged local report')} could move a share by at most {moved} of the users."]
    listed = made.forged_to_list
    if listed is not None:
        kind = "local report" if made.method == DISCOVERY else "trusted contribution"
        lines.append(f"About {counted(listed, f'forged {kind}')} could list an item that nobody has.")
    return lines


def what_you_get(made: "FrequencyPlan") -> str:
    """How many items, and down to which share."""
    n = len(made.shares)
    if made.method == DICTIONARY:
        hidden = sum(share < 2 * error for share, error in zip(made.shares, made.standard_errors, strict=True))
        get = f"You get: the share of every one of {n:,} public items."
        if not hidden:
            return f"{get} All are above two standard errors."
        return f"{get} {hidden:,} are below two standard errors, and may as well be 0."
    length, sd = made.list_length, made.list_length_sd
    if length < 0.5:
        return f"You get: most likely no item at all; the expected length of the list is {significant(length, 2)}."
    how = "found from local reports" if made.method == DISCOVERY else "each held by enough trusted users"
    about = f"You get: about {counted(round(length), 'item')} (give or take {max(round(sd), 1):,}), {how}."
    if math.isinf(made.surely_listed):
        return f"{about} No item is frequent enough to be listed surely."
    return f"{about} An item of at least {percent(made.surely_listed, 2)} of the users is listed almost surely."


def how_wrong(made: "FrequencyPlan") -> str:
    """The typical error of the items that are likely to be listed, beside those of the groups alone."""
    rows = [row for row in made.rows() if row.chance >= 0.5]
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


def what_helps(made: "FrequencyPlan") -> list[str]:
    """Whether a public dictionary would be better."""
    if made.method == DICTIONARY:
        return []
    public = made.with_dictionary()
    mine, theirs = made.rmse(50), public.rmse(50)
    n = min(50, len(made.shares))
    better = (
        f"would bring the typical error of the {n} most frequent items from {percent(mine, 2)} to {percent(theirs, 2)} "
        "of the users"
        if theirs < _FEWER * mine
        else f"would not lower the errors of the {n} most frequent items, but needs no δ"
    )
    lines = [f"A public dictionary of the items, if there is one, {better}."]
    if made.method == DISCOVERY:
        lines.append(
            "Few people trust, so local discovery would be used: strings of up to 6 bytes, or more of a smaller "
            "alphabet. How many it finds is known roughly only."
        )
    return lines


def assumptions(made: "FrequencyPlan") -> str:
    """What the numbers rest on."""
    law = "the shares given" if made.slope is None else f"Zipf's law of slope {significant(made.slope)}"
    delta = f", δ = {made.privacy.delta}" if made.privacy.exact_delta else ""
    return (
        f"Assumed: {law}, {made.n_users:,} users, {made.n_trusted:,} of whom trust, ε = {made.privacy.epsilon}{delta}, "
        "and those who trust are like those who do not."
    )


def cells(row: "RankRow") -> tuple[str, ...]:
    """A line of the table."""
    errors = (row.standard_error, row.trusted_error, row.local_error)
    return (
        f"{row.rank:,}",
        percent(row.share),
        f"{100 * row.chance:.0f} %",
        *(f"{to_precision_of(100 * x, 100 * x)} %" for x in errors),
    )
