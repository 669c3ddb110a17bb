"""A released distribution as pages: one for everybody, and the curator's own."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hybriddp.distribution.drawing import draw_cdf
from hybriddp.distribution.explain import HONEST
from hybriddp.reporting.html import Section, alerts, paragraphs, render_page, table, wide
from hybriddp.reporting.wording import counted
from hybriddp.service.pages.result import downloads

if TYPE_CHECKING:
    from hybriddp.distribution.estimate import DistributionEstimate

__all__ = ["curator_quantiles_page", "quantiles_page"]

_STYLE = """\
.wide svg { min-width: 28rem; }
td:nth-child(3) { white-space: nowrap; }
"""  # on a telephone the curve is as wide as the screen, and the labels beside it, which the table has too, scroll
_HOW_TO_READ = (
    "The line shows which share of people have at most the value below it; the shade around it is its 95 % band. Dots "
    "are quantiles, with their 95 % intervals: half of all people are below p50, 95 % are below p95."
)
_ALIKE = "The intervals assume that those who trust are like those who do not."


def quantiles_page(estimate: "DistributionEstimate", *, warnings: Iterable[str]) -> str:
    """Return the page for everybody, which contains only what may be published."""
    people = (
        f"{counted(estimate.n_trusted, 'trusted participant')} and {counted(estimate.n_local, 'local participant')}"
    )
    blocks = [
        *_head(estimate, warnings, groups_alone=False),
        *paragraphs([_HOW_TO_READ, *([_ALIKE] if estimate.assumes_groups_alike else [])]),
        *paragraphs([f"Computed from the contributions of {people}.", str(estimate.privacy)]),
        downloads(),
    ]
    return render_page(estimate.study.title, [Section("", blocks)], style=_STYLE)


def curator_quantiles_page(estimate: "DistributionEstimate", *, warnings: Iterable[str]) -> str:
    """Return the curator's page, with each group's own estimate and an explanation.

    The page also contains the answer that assumes less.
    """
    told = list(warnings)
    blocks = [*_head(estimate, told, groups_alone=True), *paragraphs(estimate.sentences())]
    sections, honest = [Section("", blocks)], estimate.if_groups_may_differ
    if honest is not None:
        cells = wide(table(honest.headings, honest.cells()), "Quantiles if the groups may differ")
        sections.append(Section("If the groups may differ", [*paragraphs([HONEST]), cells]))
    return render_page(estimate.study.title, sections, style=_STYLE)


def _head(estimate: "DistributionEstimate", warnings: Iterable[str], *, groups_alone: bool) -> list[str]:
    return [
        *alerts(warnings),
        *paragraphs([estimate.answer], style="answer"),
        wide(draw_cdf(estimate, groups_alone=groups_alone), "The distribution"),
        wide(table(estimate.headings, estimate.cells()), "Quantiles"),
    ]
