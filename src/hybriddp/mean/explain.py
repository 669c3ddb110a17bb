"""An estimate in plain words, with warnings first, and as tables for the terminal; diagnostics for the curator."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from hybriddp.channels.plausible import implausible_words
from hybriddp.mean.published import PublishedMean, has_second_tier, publish, rounded, step_of
from hybriddp.reporting.rich import empty_table
from hybriddp.reporting.warnings import FAR_APART, HEADING, UNTIED, group_sizes
from hybriddp.reporting.wording import percent, significant
from hybriddp.study.intervals import Interval
from hybriddp.study.rounding import nearest, number
from hybriddp.study.summary import LocalSummary, TrustedSummary

if TYPE_CHECKING:
    from rich.table import Table

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
CELL_HEADINGS = ("", "users", "mean", "95 % interval")
_MANY = 0.05  # a fraction of clamped values from which on the bounds or the units are doubtful


class GroupRow(NamedTuple):
    """One answer: whose it is, how many users it is about, and where it lies with 95 % confidence."""

    name: str
    users: int
    value: float
    interval: Interval


def rows(estimate: "Estimate") -> list[GroupRow]:
    """The answers of the groups, which are the curator's, and of both together, as it may be published."""
    n = estimate.n_trusted + estimate.n_local
    result = []
    if estimate.trusted is not None and estimate.local is not None:
        for name, group in (("trusted alone", estimate.trusted), ("local alone", estimate.local)):
            result.append(GroupRow(name, group.count, group.mean, group.interval(0.95)))
    name = "hybrid" if len(result) == 2 else "trusted only" if estimate.n_trusted else "local only"
    answer = estimate.published(level=0.95)
    return [*result, GroupRow(name, n, answer.value, answer.interval)]


def published_rows(estimate: "Estimate") -> list[GroupRow]:
    """The same answers as they may be published: within the bounds, rounded to the step, intervals outwards.

    Without the groups where the answer alone has a second tier of protection, which they would cost.
    """
    *groups, both = rows(estimate)
    if has_second_tier(estimate):
        return [both]
    step, (bottom, top) = step_of(estimate), map(Fraction, estimate.study.bounds)

    def inside(x: Fraction) -> Fraction:
        return min(max(x, bottom), top)

    told = []
    for row in groups:
        value = inside(nearest(Fraction(row.value), step))
        lower = min(inside(math.floor(Fraction(row.interval.lower) / step) * step), value)
        upper = max(inside(math.ceil(Fraction(row.interval.upper) / step) * step), value)
        told.append(row._replace(value=float(value), interval=Interval(float(lower), float(upper), row.interval.level)))
    return [*told, both]


def cells(estimate: "Estimate") -> list[tuple[str, str, str, str]]:
    """The same as text: name, users, mean and 95 % interval."""
    step = step_of(estimate)
    return [
        (row.name, f"{row.users:,}", number(row.value, step), " … ".join(number(end, step) for end in row.interval))
        for row in rows(estimate)
    ]


def notes(estimate: "Estimate") -> tuple[str, ...]:
    """What belongs beside the answers of the groups."""
    return (*(() if estimate.tied else (UNTIED,)), *((FIRST_TIER_ONLY,) if has_second_tier(estimate) else ()))


def warnings(estimate: "Estimate") -> tuple[str, ...]:
    """What a reader must know before the number, the worst first, told from released numbers alone."""
    found = [*implausible_words(estimate.implausible_reports, estimate.n_local), *_refuted_spread(estimate)]
    gap = estimate.divergence
    if not estimate.tied and gap is not None and abs(gap.z) > FAR_APART:
        found.append(
            f"WARNING: do not use this number yet. The groups' means are more than {FAR_APART:g} standard errors "
            "apart, and nothing ties the reports to this study: they may have been made for another study or another ε."
        )
    elif gap is not None and abs(gap.z) > FAR_APART:
        found.append(
            f"WARNING: the groups' means are more than {FAR_APART:g} standard errors apart: check that both groups' "
            "values have the same units. If they do, those who trust are other people than those who do not."
        )
    value, (bottom, top) = float(rounded(estimate, step_of(estimate))), estimate.study.bounds
    near = NEAR_A_BOUND * estimate.study.width
    if value <= bottom + near or value >= top - near:
        side = "lower" if value <= bottom + near else "upper"
        found.append(
            f"WARNING: the answer lies at the {side} bound, within {100 * NEAR_A_BOUND:g} % of the range: check the "
            "units and the bounds. Values outside of the bounds count as the bound."
        )
    return tuple(found)


def published_warnings(estimate: "Estimate") -> tuple[str, ...]:
    """The warning about implausible reports, unless it would cost what is published its second tier of protection."""
    told = () if has_second_tier(estimate) else implausible_words(estimate.implausible_reports, estimate.n_local)
    return tuple(told)


def _refuted_spread(estimate: "Estimate") -> list[str]:
    if estimate.refuted_sd is None:
        return []
    return [
        f"WARNING: the reports vary more than sd_at_most={estimate.refuted_sd:g} allows, by over three standard "
        "errors. So it was not used: the interval is that of a study without it. Either values do vary more, or some "
        "reports were made up."
    ]


def one_line(estimate: "Estimate") -> str:
    """The answer as it may be published; what is doubtful stands before it."""
    seeded = f" {estimate.privacy}" if estimate.privacy.seeded else ""
    return "\n".join([*warnings(estimate), f"{estimate.study.title}: {_answer(estimate)}.{seeded}"])


def assumes_alike(estimate: "Estimate") -> bool:
    """Whether the published interval holds only if those who trust are like those who do not."""
    may_differ = estimate.laws.users_if_groups_differ
    return estimate.laws.users is not may_differ and (estimate.fixed_weight or not estimate.groups_differ)


def _answer(estimate: "Estimate") -> str:
    """The published answer, with what its interval assumes in the same breath."""
    published = str(estimate.published(level=0.95))
    return published if not assumes_alike(estimate) else f"{published[:-1]}, if the groups are alike)"


def _between(published: PublishedMean) -> str:
    return f"between {published.number(published.lower)} and {published.number(published.upper)}"


def _assumption(estimate: "Estimate") -> list[str]:
    """What the interval assumes about the groups, and the one that assumes nothing."""
    if estimate.divergence is None:
        return []
    if not assumes_alike(estimate):
        if estimate.groups_clearly_differ:
            return ["The groups' means differ, so the interval is the one that holds however much they do."]
        return [
            "The groups' means differ by more than two standard errors, which may be chance: the interval holds "
            "whether they are alike or not."
        ]
    honest = _between(publish(estimate, level=0.95, groups_may_differ=True))
    doubt = " They do differ here: use the second one." if estimate.groups_differ else ""
    return [
        "The interval assumes that those who trust are like those who do not: a difference that the noise hides would "
        f"make it miss the mean more often. One that holds however much they differ is {honest} (95 %).{doubt}"
    ]


def _narrower(estimate: "Estimate") -> list[str]:
    """What would narrow the interval, where it is wide because nobody knows how much the values vary."""
    law = estimate.laws.users
    matters = law.sampling_error > 0.2 * law.variance
    if estimate.study.sd_at_most is not None or law.evidence.informative or not matters:
        return []
    return [
        "The reports say little about how much values vary, so the interval allows for nearly the worst case. Public "
        "knowledge of the spread (sd_at_most) would narrow it, and so would more local users or a larger ε."
    ]


def explanation(estimate: "Estimate") -> str:
    """The answer, what it assumes, how it came about and what it cost, a sentence per line."""
    e = estimate
    n = e.n_trusted + e.n_local
    population = publish(e, level=0.95, population=True)
    lines = [
        *warnings(e),
        f"{e.study.title}: {_answer(e)}.",
        *_assumption(e),
        group_sizes(e.n_trusted, e.n_local, "they have no value"),
        "The interval is about the mean of these users' values; that of the population they come from lies "
        f"{_between(population)} (95 %).",
    ]
    if e.study.sd_at_most is not None:
        known = f"the standard deviation of the values is at most {e.study.sd_at_most:,.6g}"
        lines.append(f"Weight and intervals use public knowledge: {known}.")
    lines.extend(_narrower(e))
    if not e.tied:
        lines.append(UNTIED)
    if e.divergence is None:
        lines.append("There was only one group, so this is the answer of a single model, not a hybrid.")
    else:
        lines.append(
            f"The trusted group, {100 * e.n_trusted / n:.2g} % of the users, got {100 * e.weight:.3g} % of the weight"
            + (", because its mean has less noise." if e.weight > e.n_trusted / n else ".")
        )
        lines.append(e.divergence.verdict)
    if e.standard_error > 0.1 * e.study.width:
        lines.append("This answer is mostly noise: the error is more than a tenth of the whole range.")
    noise = e.error.trusted_noise + e.error.local_noise
    part = 100 * noise / e.error.total if e.error.total else 0.0
    lines.append(
        f"{part:.0f} % of the expected squared error is noise for privacy, the rest is sampling; the standard error "
        f"is {significant(e.standard_error, 2)}."
    )
    lines += [*([FIRST_TIER_ONLY] if has_second_tier(e) else []), str(e.privacy)]
    if e.study.users is not None:
        lines.append(f"Who has which {e.study.users.by} is public.")
    return "\n".join(lines)


def diagnostics(
    trusted: TrustedSummary | Iterable[TrustedSummary | None] | None,
    local: LocalSummary | Iterable[LocalSummary | None] | None,
) -> str:
    """How many values were clamped, left out and rejected: for the curator, to find a mistake.

    Not for publication, and it says so: these numbers tell about people, and no noise hides them. Nothing of this is in
    a result, a warning or a page. Takes one summary of each group or many, such as those of all parts of the users;
    None is left out.
    """
    values = [trusted] if isinstance(trusted, TrustedSummary) else [s for s in trusted or () if s is not None]
    reports = [local] if isinstance(local, LocalSummary) else [s for s in local or () if s is not None]
    lines = [HEADING]
    if values:
        count, clamped = sum(s.count for s in values), sum(s.clamped for s in values)
        fraction = clamped / count if count else 0.0
        advice = " Check the units and the bounds." if fraction > _MANY else ""
        lines += [
            f"Trusted values: {count:,} counted.",
            f"Left out, with neither a value nor a report that can be used: {sum(s.missing for s in values):,}.",
            f"Clamped to the bounds: {clamped:,} of {count:,} values ({percent(fraction)}).{advice}",
        ]
    if reports:
        count, rejected = sum(s.count for s in reports), sum(s.rejected for s in reports)
        tied = "all tied to the study" if all(s.tied or not s.count for s in reports) else "not tied to the study"
        lines.append(f"Local reports: {count:,} counted, {tied}; {rejected:,} are no codes.")
    return "\n".join(lines)


def table(estimate: "Estimate") -> "Table":
    """The answers of the groups and of both together."""
    title, caption = [*warnings(estimate), estimate.study.title], [*notes(estimate), str(estimate.privacy)]
    view = empty_table(title, CELL_HEADINGS, caption)
    for row in cells(estimate):
        view.add_row(*row, style="bold green" if row[0] == "hybrid" else None)
    return view


def parts_table(estimates: Sequence["Estimate"]) -> "Table":
    """The answers of many parts, a line each, with a word where the two groups of one disagree."""
    from rich.text import Text

    doubtful = [f"{e.study.title}: {warning}" for e in estimates for warning in warnings(e)]
    headings = ("", "trusted", "local", "weight", "mean", "95 % interval", "groups")
    fixed = any(map(has_second_tier, estimates))
    view = empty_table([*doubtful, estimates[0].study.name], headings, [FIRST_TIER_ONLY] if fixed else [])
    for e in estimates:
        answer, gap = e.published(level=0.95), e.divergence
        agree = "one only" if gap is None else "agree" if abs(gap.z) < 2 else f"differ, z = {gap.z:.1f}"
        view.add_row(
            Text(str(e.study.users.key) if e.study.users else e.study.name),
            f"{e.n_trusted:,}",
            f"{e.n_local:,}",
            f"{100 * e.weight:.1f} %",
            answer.number(answer.value),
            f"{answer.number(answer.lower)} … {answer.number(answer.upper)}",
            agree if not warnings(e) else f"{agree}; see warning",
        )
    return view
