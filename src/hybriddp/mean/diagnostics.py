"""What the curator may see of the raw data, to find a mistake, and must not publish.

Nothing of this is in a result, a warning or a page: how many values were clamped or left out tells about people, and no
noise hides it.
"""

from collections.abc import Iterable

from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.wording import percent

HEADING = "Diagnostics for the curator: NOT FOR PUBLICATION (no noise hides these numbers)."
_MANY = 0.05  # a share of clamped values from which on the bounds or the units are doubtful


def words(
    trusted: TrustedSummary | Iterable[TrustedSummary | None] | None,
    local: LocalSummary | LaplaceSummary | Iterable[LocalSummary | LaplaceSummary | None] | None,
) -> str:
    """How many values were clamped, left out and rejected, under a heading that says not to publish it.

    Takes one summary of each group or many, such as those of all parts of the users; None is left out.

    Examples
    --------
    >>> from hybriddp import MeanStudy
    >>> study = MeanStudy("minutes", bounds=(0, 240), epsilon=1)
    >>> print(words(study.summarize_trusted([30, 9_000, None]), None))
    Diagnostics for the curator: NOT FOR PUBLICATION (no noise hides these numbers).
    Trusted values: 2 counted.
    Left out, with neither a value nor a report that can be used: 1.
    Clamped to the bounds: 1 of 2 values (50 %). Check the units and the bounds.
    """
    values = [trusted] if isinstance(trusted, TrustedSummary) else [s for s in trusted or () if s is not None]
    reports: list[LocalSummary | LaplaceSummary]
    reports = [local] if isinstance(local, LocalSummary | LaplaceSummary) else [s for s in local or () if s is not None]
    lines = [HEADING]
    if values:
        lines += _trusted(sum(s.count for s in values), sum(s.rejected for s in values), sum(s.clamped for s in values))
    if reports:
        count, rejected = sum(s.count for s in reports), sum(s.rejected for s in reports)
        tied = "all tied to the study" if all(s.tied or not s.count for s in reports) else "not tied to the study"
        lines.append(f"Local reports: {count:,} counted, {tied}; {rejected:,} are no codes.")
    return "\n".join(lines)


def _trusted(count: int, rejected: int, clamped: int) -> list[str]:
    share = clamped / count if count else 0.0
    advice = " Check the units and the bounds." if share > _MANY else ""
    return [
        f"Trusted values: {count:,} counted.",
        f"Left out, with neither a value nor a report that can be used: {rejected:,}.",
        f"Clamped to the bounds: {clamped:,} of {count:,} values ({percent(share)}).{advice}",
    ]
