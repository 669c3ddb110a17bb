"""Words about shares, and diagnostics for the curator."""

from typing import TYPE_CHECKING

import numpy as np

from hybriddp.reporting.wording import ASSUMES_ALIKE, CLEARLY_DIFFER, MAY_DIFFER, to_precision_of
from hybriddp.study.diagnostics import Local, Trusted, part_words, write_diagnostics
from hybriddp.study.published import Row
from hybriddp.study.summary import TrustedSummary

if TYPE_CHECKING:
    from hybriddp.shares.result import ShareResult

TOLD = 5
"""Rows that an explanation lists."""


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


def counts_diagnostics(trusted: Trusted, local: Local) -> str:
    """Write how many items were missing or outside of the categories, and how many reports are none: for the curator.

    Not for publication, and it says so. Takes one summary of each group or many; None is left out.
    """

    def lines(s: TrustedSummary) -> list[str]:
        advice = "Check the spelling of the categories, or ask with other=True."
        return [
            f"Trusted items: {s.count:,} counted; {s.missing:,} rows have neither item nor report.",
            f"Left out, being none of the categories: {s.outside:,} "
            f"{part_words(s.outside, s.count + s.outside, advice)}",
        ]

    return write_diagnostics(trusted, local, lines)
