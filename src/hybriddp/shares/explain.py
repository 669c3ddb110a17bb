"""Shares in plain words, with warnings first, and as a table for the terminal; diagnostics for the curator."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.channels.plausible import implausible_words
from hybriddp.reporting.warnings import FAR_APART, HEADING, UNTIED, group_sizes
from hybriddp.reporting.wording import percent, to_precision_of
from hybriddp.shares.selection import selection_lines
from hybriddp.study.summary import LocalSummary, TrustedSummary

if TYPE_CHECKING:
    from rich.table import Table

    from hybriddp.shares.estimate import Frequencies, ShareRow

TOLD = 5
"""Categories that an explanation lists."""
_SHOWN = 20  # categories that a table lists
_MANY = 0.05  # a fraction of items outside of the categories from which on these are doubtful


def warnings(found: "Frequencies") -> tuple[str, ...]:
    """What a reader must know before the numbers, the worst first, told from released numbers alone."""
    return (*implausible_words(found.implausible_reports, found.n_local), *_about_groups(found))


def _about_groups(found: "Frequencies") -> list[str]:
    gap = found.divergence
    if gap is None or gap.z <= FAR_APART:
        return []
    apart = f"The groups' shares are more than {FAR_APART:g} standard errors apart"
    if not found.tied:
        return [
            f"WARNING: do not use these numbers yet. {apart}, and nothing ties the reports to this study: they may "
            "have been made for another study or another ε."
        ]
    return [
        f"WARNING: {apart[0].lower()}{apart[1:]}: check that both groups were asked the same. If they were, those who "
        "trust are other people than those who do not."
    ]


def assumes_alike(found: "Frequencies") -> bool:
    """Whether the stated intervals hold only if those who trust are like those who do not."""
    return found.divergence is not None and not found.groups_differ


def answer(row: "ShareRow") -> str:
    """A share in percent with its interval, to the precision of its error."""
    error = 100 * row.standard_error
    value, low, high = (to_precision_of(100 * x, error) for x in (row.share, *row.interval))
    return f"{row.item}: {value} % ({low} … {high} %)"


def one_line(found: "Frequencies") -> str:
    """The largest shares; what is doubtful stands before them."""
    seeded = f" {found.privacy}" if found.privacy.seeded else ""
    return "\n".join([*warnings(found), f"{found.study.title}: {_largest(found)}.{seeded}"])


def _left_out(found: "Frequencies") -> str:
    """Return why users are not counted."""
    return "they have no item" if found.study.other else "their item is missing or none of the categories"


def _largest(found: "Frequencies") -> str:
    rows = found.rows() if len(found) <= TOLD else found.top(TOLD)
    rest = "" if len(found) <= TOLD else f"; {len(found) - TOLD:,} more"
    selected = f" for the {len(rows):,} largest of {len(found):,}" if rest else ""
    alike = ", if the groups are alike" if assumes_alike(found) else ""
    return f"{'; '.join(map(answer, rows))}{rest} [95 % intervals{selected}{alike}]"


def _assumption(found: "Frequencies") -> list[str]:
    if found.divergence is None:
        return []
    if not assumes_alike(found):
        if found.groups_clearly_differ:
            return ["The groups' shares differ, so the intervals are those that hold however much they do."]
        return [
            "The groups' shares differ by more than two standard errors, which may be chance: the intervals hold "
            "whether they are alike or not."
        ]
    honest = found.intervals(groups_may_differ=True)
    stated = found.intervals()
    wider = float(np.median((honest.upper - honest.lower) / np.maximum(stated.upper - stated.lower, 1e-300)))
    return [
        "The intervals assume that those who trust are like those who do not: a difference that the noise hides would "
        "make them miss a share more often. Those that hold however much the groups differ "
        f"(groups_may_differ=True) are {wider:.1f} times as wide."
    ]


def explanation(found: "Frequencies") -> str:
    """The shares, what they assume, how they came about and what they cost, a sentence per line."""
    n = found.n_trusted + found.n_local
    lines = [
        *warnings(found),
        f"{found.study.title}: {_largest(found)}.",
        *selection_lines(TOLD, len(found)),
        *_assumption(found),
        group_sizes(found.n_trusted, found.n_local, _left_out(found)),
        "An interval is about the share among these users, of one category alone; that of the population they come "
        "from is wider (population=True).",
    ]
    if not found.tied:
        lines.append(UNTIED)
    if found.divergence is None:
        lines.append("There was only one group, so these are the shares of a single model, not a hybrid.")
    else:
        low, high = float(found.weight.min()), float(found.weight.max())
        got = f"{100 * low:.3g} %" if np.isclose(low, high, rtol=0.01) else f"{100 * low:.3g} to {100 * high:.3g} %"
        fraction = f"{100 * found.n_trusted / n:.2g} % of the users"
        lines.append(f"The trusted group, {fraction}, got {got} of the weight, category by category.")
        lines.append(found.divergence.verdict)
    errors, shares = found.standard_errors, found.shares
    hidden = int(np.count_nonzero(shares < 2 * errors))
    if hidden:
        lines.append(f"{hidden:,} of {len(found):,} shares are below two standard errors, and may as well be 0.")
    noise = float(np.average(found.blend.law().noise_fraction, weights=errors**2)) if errors.any() else 0.0
    lines.append(
        f"{100 * noise:.0f} % of the expected squared error is noise for privacy, the rest is sampling; standard "
        f"errors go up to {percent(float(errors.max()), 2)} of the users."
    )
    lines.append("Shares are estimated one by one and need not add up to 1: distribution() gives those that do.")
    if not found.study.other:
        lines.append("Users whose item is none of the categories are counted with other=True.")
    lines.append(str(found.privacy))
    if found.study.users is not None:
        lines.append(f"Who has which {found.study.users.by} is public.")
    return "\n".join(lines)


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


def table(found: "Frequencies") -> "Table":
    """The largest shares, a line each."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = found.rows() if len(found) <= _SHOWN else found.top(_SHOWN)
    title = Text("\n".join([*warnings(found), found.study.title]))  # shown as it is: a name is no markup
    caption = Text("\n".join([*selection_lines(len(rows), len(found)), str(found.privacy)]))
    view = Table(title=title, caption=caption, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("", "share", "standard error", "95 % interval"):
        view.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for row in rows:
        error = 100 * row.standard_error
        value, low, high = (to_precision_of(100 * x, error) for x in (row.share, *row.interval))
        view.add_row(Text(str(row.item)), f"{value} %", f"{to_precision_of(error, error)} %", f"{low} … {high} %")
    if len(rows) < len(found):
        view.add_row(Text(f"{len(found) - len(rows):,} more"), "", "", "")
    return view
