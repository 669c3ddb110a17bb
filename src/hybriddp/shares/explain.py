"""Words about shares, and diagnostics for the curator."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.reporting.wording import ASSUMES_ALIKE, CLEARLY_DIFFER, HEADING, MAY_DIFFER, percent, to_precision_of
from hybriddp.study.published import Row
from hybriddp.study.summary import LocalSummary, TrustedSummary

if TYPE_CHECKING:
    from hybriddp.shares.result import ShareResult

TOLD = 5
"""Rows that an explanation lists."""
_MANY = 0.05  # a fraction of items outside of the categories from which on these are doubtful


def share_words(row: Row) -> tuple[str, ...]:
    """Write name, share, standard error and interval in percent, to the precision of the error."""
    error = 100 * (row.standard_error or 0.0)
    value, low, high = (to_precision_of(100 * x, error) for x in (row.value, *row.interval))
    return str(row.name), f"{value} %", f"{to_precision_of(error, error)} %", f"{low} … {high} %"


def largest_shares(result: "ShareResult") -> str:
    """List the largest shares with their intervals."""
    if not len(result):
        return "no item is frequent enough to be shown"
    told = (share_words(row) for row in result.first(TOLD))
    listed = "; ".join(f"{name}: {share} ({interval})" for name, share, _, interval in told)
    rest = len(result) - TOLD
    more, selected = (f"; {rest:,} more", f" for the {TOLD} largest of {len(result):,}") if rest > 0 else ("", "")
    alike = ", if the groups are alike" if result.assumes_groups_alike else ""
    noise = " of the noise only" if result.about_noise_only else ""
    return f"{listed}{more} [95 % intervals{selected}{noise}{alike}]"


def assumption(result: "ShareResult") -> list[str]:
    """Explain what the stated intervals assume about the groups."""
    if result.divergence is None or not len(result):
        return []
    if not result.assumes_groups_alike:
        return [CLEARLY_DIFFER if result.groups_clearly_differ else MAY_DIFFER]
    honest, stated = result.intervals(groups_may_differ=True), result.intervals()
    wider = float(np.median((honest.upper - honest.lower) / np.maximum(stated.upper - stated.lower, 1e-300)))
    return [
        ASSUMES_ALIKE,
        f"Intervals that hold however much they differ (groups_may_differ=True) are {wider:.1f} times as wide.",
    ]


def counts_diagnostics(
    trusted: TrustedSummary | Iterable[TrustedSummary | None] | None,
    local: LocalSummary | Iterable[LocalSummary | None] | None,
) -> str:
    """How many items were missing or outside of the categories, and how many reports were rejected: for the curator.

    Not for publication, and it says so: these numbers tell about people, and no noise hides them. Nothing of this is in
    a result or a warning. Takes one summary of each group or many; None is left out.
    """
    items = [trusted] if isinstance(trusted, TrustedSummary) else [s for s in trusted or () if s is not None]
    reports = [local] if isinstance(local, LocalSummary) else [s for s in local or () if s is not None]
    lines = [HEADING]
    if items:
        count, outside = sum(s.count for s in items), sum(s.outside for s in items)
        fraction = outside / (count + outside) if count + outside else 0.0
        advice = " Check the spelling of the categories, or ask with other=True." if fraction > _MANY else ""
        lines += [
            f"Trusted items: {count:,} counted; {sum(s.missing for s in items):,} rows have neither item nor report.",
            f"Left out, being none of the categories: {outside:,} ({percent(fraction)}).{advice}",
        ]
    if reports:
        count, rejected = sum(s.count for s in reports), sum(s.rejected for s in reports)
        tied = "all tied to the study" if all(s.tied or not s.count for s in reports) else "not tied to the study"
        lines.append(f"Local reports: {count:,} counted, {tied}; {rejected:,} are no codes.")
    return "\n".join(lines)
