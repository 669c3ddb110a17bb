"""Words about frequent items."""

from typing import TYPE_CHECKING

from hybriddp.reporting.wording import counted, percent

if TYPE_CHECKING:
    from hybriddp.items.estimate import HeavyHitters


def remainder(result: "HeavyHitters") -> list[str]:
    """Explain the share of all other items, and intervals that contain no sampling."""
    lines = [f"All other items together have a share of {percent(result.other_share, 2)}."]
    if result.about_noise_only:
        lines.append(
            "The intervals are about the shares among these trusted users and contain the noise only: among all users, "
            "and in the population, shares may lie outside of them."
        )
    return lines


def discovery(result: "HeavyHitters") -> list[str]:
    """Explain how the items were found."""
    study = result.study
    if result.method == "dictionary":
        return [f"The items are those of a public dictionary of {len(result):,}: nothing had to be discovered."]
    rule = study.rule
    threshold = f"{rule.threshold:,} trusted users, noise included"
    single = (
        f"An item that only one person has is shown with a probability of {rule.single_chance:.1g} at most; a public "
        "dictionary (domain=…), where there is one, finds more items."
    )
    if result.method == "list":
        short = (
            ""
            if len(result)
            else " The list is empty: more trusted users, or a larger ε, would fill it. Where few people trust, local "
            "discovery finds more."
        )
        return [f"The list holds every item that reached {threshold}.{short}", single]
    lines = [
        f"Few people trust, so items were discovered from local reports. Only {study.alphabet.words} can be found like "
        "this: longer ones, and those with other characters, count as other unless the trusted group shows them.",
        "Intervals do not allow for having been discovered: those of the last items hold less often.",
    ]
    if result.n_trusted:
        lines += [f"The trusted group counted what was found, and shows other items that reached {threshold}.", single]
    if result.n_without_code:
        lines.append(f"{counted(result.n_without_code, 'item', 'is', 'are')} counted by the trusted group alone.")
    return lines
