"""Frequent items in plain words, with warnings first, and as a table for the terminal."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.plausible import implausible_words
from hybriddp.reporting.warnings import FAR_APART, UNTIED
from hybriddp.reporting.wording import counted, percent, to_precision_of
from hybriddp.shares.blend import Blend
from hybriddp.shares.law import GroupShares
from hybriddp.shares.selection import selection_lines

if TYPE_CHECKING:
    from rich.table import Table

    from hybriddp.items.estimate import HeavyHitters, ItemRow

_TOLD = 5  # items that an explanation lists
_SHOWN = 20  # items that a table lists


def warnings(found: "HeavyHitters") -> tuple[str, ...]:
    """What a reader must know before the numbers, told from released numbers alone."""
    gap, doubts = found.divergence, implausible_words(found.implausible_reports, found.n_local)
    if gap is None or gap.z <= FAR_APART:
        return tuple(doubts)
    apart = f"WARNING: the groups' shares are more than {FAR_APART:g} standard errors apart"
    why = "check that both groups were asked the same" if found.tied else "the reports may be those of another question"
    return (*doubts, f"{apart}: {why}.")


def one_line(found: "HeavyHitters") -> str:
    """The most frequent items; what is doubtful stands before them."""
    seeded = f" {found.privacy}" if found.privacy.seeded else ""
    return "\n".join([*warnings(found), f"{found.study.name}: {_largest(found)}.{seeded}"])


def explanation(found: "HeavyHitters") -> str:
    """The items, how they were found, what their shares assume and what they cost, a sentence per line."""
    n, study = found.n_trusted + found.n_local, found.study
    lines = [
        *warnings(found),
        f"{study.name}: {_largest(found)}.",
        *selection_lines(_TOLD, len(found)),
        *_found_by(found),
        f"All other items together have a share of {percent(found.other_share, 2)}.",
        f"Of {n:,} users {found.n_trusted:,} trusted the curator and {found.n_local:,} reported locally.",
    ]
    if not found.tied:
        lines.append(UNTIED)
    if found.divergence is None:
        lines.append("There was only one group, so these are the shares of a single model, not a hybrid.")
        if noise_only(found):
            lines.append(
                "The intervals are about the shares among these trusted users and contain the noise only: among all "
                "users, and in the population, shares may lie outside of them."
            )
    elif len(found):
        low, high = float(found.weight.min()), float(found.weight.max())
        got = f"{100 * low:.3g} %" if np.isclose(low, high, rtol=0.01) else f"{100 * low:.3g} to {100 * high:.3g} %"
        fraction = f"{100 * found.n_trusted / n:.2g} % of the users"
        lines.append(f"The trusted group, {fraction}, got {got} of the weight, item by item.")
        lines.append(found.divergence.verdict)
        assumption = "assume that those who trust are like those who do not"
        if found.divergence.differ:
            assumption = "hold whether those who trust are like those who do not or other people"
        lines.append(f"The intervals {assumption}.")
    lines.append(str(found.privacy))
    return "\n".join(lines)


def noise_only(found: "HeavyHitters") -> bool:
    """Whether the intervals contain no sampling, as in the first step, when only the trusted group is there."""
    return found.n_local == 0


def _found_by(found: "HeavyHitters") -> list[str]:
    study = found.study
    if found.method == "dictionary":
        return [f"The items are those of a public dictionary of {len(found):,}: nothing had to be discovered."]
    rule = study.rule
    threshold = f"{rule.threshold:,} trusted users, noise included"
    single = (
        f"An item that only one person has is shown with a probability of {rule.single_chance:.1g} at most; a public "
        "dictionary (domain=…), where there is one, finds more items."
    )
    if found.method == "list":
        short = (
            ""
            if len(found)
            else " The list is empty: more trusted users, or a larger ε, would fill it. Where few people trust, local "
            "discovery finds more."
        )
        return [f"The list holds every item that reached {threshold}.{short}", single]
    lines = [
        f"Few people trust, so items were discovered from local reports. Only {study.alphabet.words} can be found like "
        "this: longer ones, and those with other characters, count as other unless the trusted group shows them.",
        "Intervals do not allow for having been discovered: those of the last items hold less often.",
    ]
    if found.n_trusted:
        lines += [f"The trusted group counted what was found, and shows other items that reached {threshold}.", single]
    if found.n_without_code:
        lines.append(f"{counted(found.n_without_code, 'item', 'is', 'are')} counted by the trusted group alone.")
    return lines


def _largest(found: "HeavyHitters") -> str:
    if not len(found):
        return "no item is frequent enough to be shown"
    rows = found.top(_TOLD)
    rest = "" if len(found) <= _TOLD else f"; {len(found) - _TOLD:,} more"
    selected = f" for the {len(rows):,} largest of {len(found):,}" if rest else ""
    about = f"95 % intervals{selected}{' of the noise only' if noise_only(found) else ''}"
    return f"{'; '.join(map(_answer, rows))}{rest} [{about}]"


def _answer(row: "ItemRow") -> str:
    error = 100 * row.standard_error
    value, low, high = (to_precision_of(100 * x, error) for x in (row.share, *row.interval))
    return f"{row.item}: {value} % ({low} … {high} %)"


def table(found: "HeavyHitters") -> "Table":
    """The most frequent items, a line each."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = found.top(_SHOWN)
    title = Text("\n".join([*warnings(found), found.study.name]))  # shown as it is: a name is no markup
    caption = Text("\n".join([*selection_lines(len(rows), len(found)), str(found.privacy)]))
    view = Table(title=title, caption=caption, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("", "share", "standard error", "95 % interval"):
        view.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for row in rows:
        error = 100 * row.standard_error
        value, low, high = (to_precision_of(100 * x, error) for x in (row.share, *row.interval))
        view.add_row(Text(row.item), f"{value} %", f"{to_precision_of(error, error)} %", f"{low} … {high} %")
    if len(rows) < len(found):
        view.add_row(Text(f"{len(found) - len(rows):,} more"), "", "", "")
    return view


def reordered(blended: Blend, order: IntArray) -> Blend:
    """The same blend with its categories in another order."""
    gap = blended.divergence
    if gap is not None:
        arrays = {name: getattr(gap, name)[order] for name in ("differences", "item_z", "laplace_fraction", "kept")}
        gap = replace(gap, **arrays)
    groups = (_reordered_group(group, order) for group in (blended.trusted, blended.local))
    trusted, local = groups
    return replace(blended, trusted=trusted, local=local, weight=blended.weight[order], divergence=gap)


def _reordered_group(group: GroupShares | None, order: IntArray) -> GroupShares | None:
    if group is None:
        return None
    arrays: dict[str, FloatArray] = {}
    for name in ("noise", "slope"):
        value = getattr(group, name)
        if np.ndim(value):
            arrays[name] = value[order]
    listing = None if group.listing is None else group.listing.reordered(order)
    return replace(group, shares=group.shares[order], listing=listing, **arrays)  # type: ignore[arg-type]
