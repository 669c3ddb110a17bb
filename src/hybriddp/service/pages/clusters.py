"""The released centers of K-means as pages: one for everybody, and the curator's own."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hybriddp.kmeans.published import STYLE, centers_table, picture_blocks, story_blocks
from hybriddp.reporting.html import Section, alerts, paragraphs, render_page
from hybriddp.reporting.wording import counted
from hybriddp.service.pages.result import downloads

if TYPE_CHECKING:
    from hybriddp.kmeans.estimator import HybridKMeans

__all__ = ["clusters_page", "curator_clusters_page"]


def clusters_page(model: "HybridKMeans", *, warnings: Iterable[str]) -> str:
    """The page for everybody: what may be published, and no more."""
    answered = sum(step.local_users for step in model.spending_)
    people = f"{counted(model.n_trusted_, 'trusted participant')} and the answers of {answered:,} of "
    people += counted(model.n_local_, "local participant")
    promise = f"Everybody is promised ε = {model.privacy_.epsilon}."
    told = paragraphs([f"Computed from the points of {people}.", promise])
    blocks = [*_head(model, warnings), *told, downloads()]
    return render_page(model.study_.name, [Section("", blocks)], style=STYLE)


def curator_clusters_page(model: "HybridKMeans", *, warnings: Iterable[str]) -> str:
    """The curator's page: also what each step cost whom, and how much each group decided."""
    sections = [Section("", _head(model, warnings)), Section("How it came about", story_blocks(model))]
    return render_page(model.study_.name, sections, style=STYLE)


def _head(model: "HybridKMeans", warnings: Iterable[str]) -> list[str]:
    return [*alerts(warnings), *picture_blocks(model), *centers_table(model)]
