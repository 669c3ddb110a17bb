"""A mean for each part of the users: one release, for which everybody pays once, since nobody is in two parts.

Which parts have an answer is decided by their sizes, which are public, before anything is spent: a part in which a
group is too small is left out, and the others are released without it. A study in which that is every part is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hybriddp.errors import DataError, ProtocolError
from hybriddp.mean.estimate import Estimate
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service.kinds.kind import NO_WAY_BACK, Gathered, Released, shortfall, usable
from hybriddp.service.kinds.mean import MeanKind
from hybriddp.service.pages.parts import curator_parts_page, part_means, parts_page

__all__ = ["PartSize", "part_obstacle", "part_sizes", "release_parts"]

_LISTED = 5  # parts in a sentence


@dataclass(frozen=True, slots=True)
class PartSize:
    """How many contributions a part has in each group, and why it would have no answer; empty if it would."""

    name: str
    trusted: int
    local: int
    missing: str = ""


def part_sizes(counts: Sequence[Mapping[str, Any]], study: Mapping[str, Any]) -> list[PartSize]:
    """Return the sizes of a study's parts, from the counts in its public document.

    Parts that are too small state the reason.

    Examples
    --------
    >>> study = {"min_trusted": 2, "min_local": 2, "single_group": False}
    >>> [one.missing for one in part_sizes([{"name": "DE", "trusted": 1, "local": 9}], study)]
    ['The trusted group has 1 of the 2 contributions that the study asks for.']
    """
    wanted = {name: study[name] for name in ("min_trusted", "min_local", "single_group")}
    return [
        PartSize(
            one["name"],
            one["trusted"],
            one["local"],
            shortfall(n_trusted=one["trusted"], n_local=one["local"], **wanted),
        )
        for one in counts
    ]


def part_obstacle(sizes: Sequence[PartSize]) -> str:
    """Explain that no part is large enough for a release, or return an empty text."""
    if not all(one.missing for one in sizes):
        return ""
    return f"None of the {len(sizes):,} parts has as many contributions as the study asks for in each of them."


def release_parts(
    kind: MeanKind,
    gathered: Gathered,
    *,
    min_trusted: int,
    min_local: int,
    single_group: bool,
    ledger: Ledger | None,
    warning: str | None = None,
) -> Released:
    """Release the means of all parts that are large enough, in one charge."""
    parts = kind.parts
    if parts is None:
        raise ProtocolError("The study is one of everybody: it has no parts.")
    wanted: dict[str, Any] = {"min_trusted": min_trusted, "min_local": min_local, "single_group": single_group}
    found = [
        Gathered(one.n_trusted, one.total, one.tally) for one in kind.part_sums.split(gathered.total, gathered.tally)
    ]
    if sum(one.n_trusted for one in found) != gathered.n_trusted:
        raise DataError("The sizes of the parts do not add up to the trusted group. Nothing was released.")
    counts = [
        {"name": name, "trusted": one.n_trusted, "local": one.n_local}
        for name, one in zip(parts.names, found, strict=True)
    ]
    sizes = part_sizes(counts, wanted)
    if obstacle := part_obstacle(sizes):
        raise DataError(f"{obstacle} Nothing was released. {NO_WAY_BACK}")
    used = {size.name: usable(one, **wanted) for size, one in zip(sizes, found, strict=True) if not size.missing}
    summaries = {name: kind.summaries(one.gathered, kind.study.part(parts.by, name)) for name, one in used.items()}
    study = kind.plausible_study(local for _, local in summaries.values())
    found_means = study.estimate_parts(parts.by, summaries, single_group=single_group, ledger=ledger)
    estimates = {
        name: kind.told(found_means[name], local, counted=ledger is None) for name, (_, local) in summaries.items()
    }
    left_out = [size for size in sizes if size.missing]
    warnings = [
        *([warning] if warning else []),
        *_left_out_words(left_out, len(sizes)),
        *(f"{name}: {one.warning}" for name, one in used.items() if one.warning),
    ]
    return _released(kind, estimates, left_out, warnings)


def _left_out_words(left_out: Sequence[PartSize], n_parts: int) -> list[str]:
    if not left_out:
        return []
    named = ", ".join(one.name for one in left_out[:_LISTED])
    more = f" and {len(left_out) - _LISTED:,} more" if len(left_out) > _LISTED else ""
    verb = "is" if len(left_out) == 1 else "are"
    return [f"{len(left_out):,} of {n_parts:,} parts {verb} left out, since too few people took part: {named}{more}."]


def _released(
    kind: MeanKind, estimates: Mapping[str, Estimate], left_out: Sequence[PartSize], lead: Sequence[str]
) -> Released:
    """Return the result to publish, with one entry per part.

    Each entry is the same as in a study of that part alone.
    """
    published = {name: estimate.to_dict() for name, estimate in estimates.items()}
    warnings = [*lead, *(f"{name}: {one}" for name, told in published.items() for one in told["warnings"])]
    stated = max(estimates.values(), key=lambda estimate: estimate.privacy.released).privacy
    by = "" if kind.parts is None else kind.parts.by
    told = {
        "warnings": warnings,
        "study": kind.study.name,
        "digest": kind.study.digest,
        "by": by,
        "parts": list(published.values()),
        "left_out": [{"name": one.name, "n_trusted": one.trusted, "n_local": one.local} for one in left_out],
        "n_trusted": sum(estimate.n_trusted for estimate in estimates.values()),
        "n_local": sum(estimate.n_local for estimate in estimates.values()),
        "privacy": stated.to_dict(),
    }
    answer = f"{kind.study.title} by {by}, with 95 % intervals: {'; '.join(part_means(told))}."
    return Released(
        {"estimate": told, "answer": "\n".join([*warnings, answer])},
        parts_page(told, promise=str(stated)),
        curator_parts_page(told, list(estimates.values()), title=kind.study.title, warnings=lead),
    )
