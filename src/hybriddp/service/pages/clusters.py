"""The released centers of K-means as pages: one for everybody, and the curator's own."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hybriddp.kmeans.report import STYLE, answer_blocks, story_blocks
from hybriddp.reporting.html import Section, alerts, paragraphs, render_page
from hybriddp.reporting.wording import counted
from hybriddp.service.pages.result import downloads

if TYPE_CHECKING:
    from hybriddp.kmeans.result import KMeansResult

__all__ = ["clusters_page", "curator_clusters_page"]


def clusters_page(result: "KMeansResult", *, warnings: Iterable[str]) -> str:
    """Make the page for everybody: what may be published, and no more."""
    people = f"{counted(result.n_trusted, 'trusted participant')} and the answers of {result.n_answered:,} of "
    people += counted(result.n_local, "local participant")
    promise = f"Everybody is promised ε = {result.privacy.epsilon}."
    origin = paragraphs([f"Computed from the points of {people}.", promise])
    blocks = [*alerts(warnings), *answer_blocks(result), *origin, downloads()]
    return render_page(result.title, [Section("", blocks)], style=STYLE)


def curator_clusters_page(result: "KMeansResult", *, warnings: Iterable[str]) -> str:
    """Make the curator's page: also what each step cost whom, and how much each group decided."""
    answer = Section("", [*alerts(warnings), *answer_blocks(result)])
    return render_page(result.title, [answer, Section("How it came about", story_blocks(result))], style=STYLE)
