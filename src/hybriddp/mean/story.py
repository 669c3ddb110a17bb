"""An estimate in plain words and as a table for the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hybriddp.mean.doubts import UNTIED, warnings
from hybriddp.mean.interval import Interval
from hybriddp.mean.published import Published, default_step, number, publish
from hybriddp.wording import significant

if TYPE_CHECKING:
    from rich.table import Table

    from hybriddp.mean.estimate import Estimate


FIRST_TIER_ONLY = (
    "The groups' means, the weight, warnings, other intervals and unrounded numbers are for the curator: publishing "
    "them leaves the first tier of protection only, every user's own ε."
)
"""Said wherever they are shown."""


class Row(NamedTuple):
    """One answer: whose it is, how many users it is about, and where it lies with 95 % confidence."""

    name: str
    users: int
    value: float
    interval: Interval


def rows(estimate: "Estimate") -> list[Row]:
    """The answers of the groups, which are the curator's, and of both together, as it may be published."""
    n = estimate.n_trusted + estimate.n_local
    result = []
    if estimate.trusted is not None and estimate.local is not None:
        for name, group in (("trusted alone", estimate.trusted), ("local alone", estimate.local)):
            result.append(Row(name, group.count, group.mean, group.interval(0.95)))
    name = "hybrid" if len(result) == 2 else "trusted only" if estimate.n_trusted else "local only"
    answer = estimate.published(level=0.95)
    return [*result, Row(name, n, answer.value, answer.interval)]


def notes(estimate: "Estimate") -> tuple[str, ...]:
    """What belongs beside the answers of the groups."""
    groups = estimate.trusted is not None and estimate.local is not None
    return (
        *(() if estimate.tied else (UNTIED,)),
        *((FIRST_TIER_ONLY,) if groups else ()),
    )


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


def _between(published: Published) -> str:
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


def words(estimate: "Estimate") -> str:
    """The story in plain words."""
    e = estimate
    n = e.n_trusted + e.n_local
    population = publish(e, level=0.95, population=True)
    lines = [
        *warnings(e),
        f"{e.study.title}: {_answer(e)}.",
        *_assumption(e),
        f"Of {n:,} users {e.n_trusted:,} trusted the curator and {e.n_local:,} reported locally.",
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
    share = 100 * noise / e.error.total if e.error.total else 0.0
    lines.append(
        f"{share:.0f} % of the expected squared error is noise for privacy, the rest is sampling; the standard error "
        f"is {significant(e.standard_error, 2)}."
    )
    lines.append(FIRST_TIER_ONLY)
    lines.append(str(e.privacy))
    if e.study.users is not None:
        lines.append(f"Who has which {e.study.users.by} is public.")
    return "\n".join(lines)


def table(estimate: "Estimate") -> "Table":
    """The answers as a table for the terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = Text("\n".join([*warnings(estimate), estimate.study.title]))
    view = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, caption_justify="left")
    for heading in ("", "users", "mean", "95 % interval"):
        view.add_column(heading, justify="left" if not heading else "right", no_wrap=True)
    step = default_step(estimate)
    for row in rows(estimate):
        low, high = (number(end, step) for end in row.interval)
        cells = (row.name, f"{row.users:,}", number(row.value, step), f"{low} … {high}")
        view.add_row(*cells, style="bold green" if row.name == "hybrid" else None)
    view.caption = Text("\n".join([*notes(estimate), str(estimate.privacy)]))
    return view


def parts_table(estimates: Sequence["Estimate"]) -> "Table":
    """The answers of many parts, a line each, with a word where the two groups of one disagree."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    doubtful = [f"{e.study.title}: {warning}" for e in estimates for warning in warnings(e)]
    title = Text("\n".join([*doubtful, estimates[0].study.name]))
    view = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, caption_justify="left")
    view.add_column("", no_wrap=True)
    for heading in ("trusted", "local", "weight", "mean", "95 % interval", "groups"):
        view.add_column(heading, justify="right", no_wrap=True)
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
    view.caption = Text(FIRST_TIER_ONLY)
    return view
