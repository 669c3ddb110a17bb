"""Exact counts for the curator, to find a mistake: how many values were left out, and how many reports are no codes.

Not for publication, and they say so: these numbers tell about people, and no noise hides them. Nothing of this is in a
result, a warning or a page.
"""

from collections.abc import Callable, Iterable

from hybriddp.reporting.wording import HEADING, percent
from hybriddp.study.summary import LocalSummary, TrustedSummary

Trusted = TrustedSummary | Iterable[TrustedSummary | None] | None
Local = LocalSummary | Iterable[LocalSummary | None] | None
_MANY = 0.05  # a fraction of all values from which on something is wrong with them


def write_diagnostics(trusted: Trusted, local: Local, lines_of: Callable[[TrustedSummary], list[str]]) -> str:
    """Write counts of one summary of each group or of many; ``lines_of`` writes those of the trusted group."""
    values = [trusted] if isinstance(trusted, TrustedSummary) else [s for s in trusted or () if s is not None]
    reports = [local] if isinstance(local, LocalSummary) else [s for s in local or () if s is not None]
    lines = [HEADING]
    if values:
        counts = ("count", "missing", "outside", "clamped")
        total = {name: sum(getattr(summary, name) for summary in values) for name in counts}
        lines += lines_of(TrustedSummary(values[0].study, sums=(0,), **total))
    if reports:
        count, rejected = sum(s.count for s in reports), sum(s.rejected for s in reports)
        tied = "all tied to the study" if all(s.tied or not s.count for s in reports) else "not tied to the study"
        lines.append(f"Local reports: {count:,} counted, {tied}; {rejected:,} are no codes.")
    return "\n".join(lines)


def part_words(part: int, count: int, advice: str) -> str:
    """Write the fraction of all values that something is wrong with, and what to do if it is large."""
    fraction = part / count if count else 0.0
    return f"({percent(fraction)}).{f' {advice}' if fraction > _MANY else ''}"
