"""Words about an estimate of a mean, rows of its groups, and diagnostics for the curator."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybriddp.mean.published import has_second_tier, publish, rounded, step_of
from hybriddp.reporting.wording import (
    ASSUMES_ALIKE,
    CLEARLY_DIFFER,
    FAR_APART,
    MAY_DIFFER,
    far_apart,
)
from hybriddp.study.diagnostics import Local, Trusted, part_words, write_diagnostics
from hybriddp.study.published import Row
from hybriddp.study.summary import TrustedSummary

if TYPE_CHECKING:
    from hybriddp.mean.estimate import Estimate

NEAR_A_BOUND = 0.02
"""Fraction of the range within which an answer counts as lying at a bound."""
FIRST_TIER_ONLY = (
    "The groups' means, the weight, warnings, other intervals and unrounded numbers are for the curator: publishing "
    "them leaves the first tier of protection only, every user's own ε."
)
"""Shown beside them where the weight was fixed beforehand: no other answer has a second tier."""
NOT_ROUNDED = "These numbers are for the curator. Every user's own ε covers them, too."
"""Shown beside them where the weight was not."""


@dataclass(frozen=True, slots=True)
class GroupRow(Row):
    """The answer of a group, or of both together."""

    name: str
    users: int = 0
    """Number of users whom the answer comes from."""


def rows(estimate: "Estimate") -> list[GroupRow]:
    """List the answers of the groups, which are the curator's, and of both together, as it may be published."""
    result = []
    if estimate.trusted is not None and estimate.local is not None:
        for name, group in (("trusted alone", estimate.trusted), ("local alone", estimate.local)):
            low, high = group.interval(0.95)
            result.append(GroupRow(name, group.mean, low, high, users=group.count))
    name = "hybrid" if result else "trusted only" if estimate.n_trusted else "local only"
    answer = publish(estimate, level=0.95)
    both = GroupRow(name, answer.value, answer.lower, answer.upper, step=answer.step, users=estimate.n_users)
    return [*result, both]


def published_rows(estimate: "Estimate") -> list[GroupRow]:
    """List the same answers as they may be published: within the bounds, rounded to the step, intervals outwards.

    Without the groups where the answer alone has a second tier of protection, which they would cost.
    """
    *groups, both = rows(estimate)
    if has_second_tier(estimate):
        return [both]
    return [*(row.rounded(step_of(estimate), estimate.study.bounds) for row in groups), both]


def warnings(estimate: "Estimate") -> Iterable[str]:
    """Warn of a refuted spread, of groups that are far apart, and of an answer at a bound."""
    if estimate.refuted_sd is not None:
        yield (
            f"WARNING: the reports vary more than sd_at_most={estimate.refuted_sd:g} allows, by over three standard "
            "errors. So it was not used: the interval is that of a study without it. Either values do vary more, or "
            "some reports were made up."
        )
    if estimate.divergence is not None and abs(estimate.divergence.z) > FAR_APART:
        yield far_apart("means", tied=estimate.tied)
    value, (bottom, top) = float(rounded(estimate, step_of(estimate))), estimate.study.bounds
    near = NEAR_A_BOUND * estimate.study.width
    if value <= bottom + near or value >= top - near:
        side = "lower" if value <= bottom + near else "upper"
        yield (
            f"WARNING: the answer lies at the {side} bound, within {100 * NEAR_A_BOUND:g} % of the range: check the "
            "units and the bounds. Values outside of the bounds count as the bound."
        )


def stated(estimate: "Estimate") -> str:
    """Write the published answer, with the assumption of its interval."""
    row = publish(estimate, level=0.95)
    alike = ", if the groups are alike" if estimate.assumes_groups_alike else ""
    return f"{row.number(row.value)}, {_between(row)} (95 %{alike})"


def _between(row: Row) -> str:
    return f"between {row.number(row.lower)} and {row.number(row.upper)}"


def meaning(estimate: "Estimate") -> list[str]:
    """Explain whom the interval is about and what it assumes, and the interval that assumes nothing."""
    e = estimate
    lines = []
    if e.divergence is not None and e.assumes_groups_alike:
        honest = _between(publish(e, level=0.95, groups_may_differ=True))
        doubt = " They do differ here: use the second one." if e.groups_differ else ""
        lines += [ASSUMES_ALIKE, f"An interval that holds however much they differ is {honest} (95 %).{doubt}"]
    elif e.divergence is not None:
        lines.append(CLEARLY_DIFFER if e.groups_clearly_differ else MAY_DIFFER)
    population = publish(e, level=0.95, population=True)
    lines.append(
        "The interval is about the mean of these users' values; that of the population they come from lies "
        f"{_between(population)} (95 %)."
    )
    law, known = e.laws.users, e.study.sd_at_most
    if known is not None:
        lines.append(
            f"Weight and intervals use public knowledge: the standard deviation of the values is at most {known:,.6g}."
        )
    elif not law.evidence.informative and law.sampling_error > 0.2 * law.variance:
        lines.append(
            "The reports say little about how much values vary, so the interval allows for nearly the worst case. "
            "Public knowledge of the spread (sd_at_most) would narrow it, and so would more local users or a larger ε."
        )
    return lines


def diagnostics(trusted: Trusted, local: Local) -> str:
    """Write how many values were clamped, left out and rejected: for the curator, to find a mistake.

    Not for publication, and it says so. Takes one summary of each group or many, such as those of all parts of the
    users; None is left out.
    """

    def lines(s: TrustedSummary) -> list[str]:
        words = part_words(s.clamped, s.count, "Check the units and the bounds.")
        return [
            f"Trusted values: {s.count:,} counted.",
            f"Left out, with neither a value nor a report that can be used: {s.missing:,}.",
            f"Clamped to the bounds: {s.clamped:,} of {s.count:,} values {words}",
        ]

    return write_diagnostics(trusted, local, lines)
