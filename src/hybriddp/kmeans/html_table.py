"""A fitted model as a small table of HTML, for notebooks."""

from html import escape
from typing import TYPE_CHECKING

from hybriddp.kmeans.explain import coordinates

if TYPE_CHECKING:
    from hybriddp.kmeans.estimator import HybridKMeans

_MOST_COLUMNS, _MOST_ROWS = 12, 50


def html_table(model: "HybridKMeans") -> str:
    """The centers with their standard errors and the shares of users; the parameters if there are no centers yet."""
    if not model.__sklearn_is_fitted__():
        return f"<pre>{escape(repr(model))}</pre>"
    k, d = model.cluster_centers_.shape
    names = list(getattr(model, "feature_names_in_", [f"dimension {j}" for j in range(d)]))
    more = d > _MOST_COLUMNS
    heads = ["center", "share of users", *names[:_MOST_COLUMNS], *(["…"] if more else [])]
    rows = []
    for at in range(min(k, _MOST_ROWS)):
        cells = [*coordinates(model, at)[:_MOST_COLUMNS], *(["…"] if more else [])]
        rows.append(_row("td", [str(at), f"{100 * model.sizes_[at]:.0f} %", *cells]))
    if k > _MOST_ROWS:
        rows.append(_row("td", [f"and {k - _MOST_ROWS:,} more"]))
    seeded = "" if model.private_release_ else " A simulation, not a private release."
    caption = f"{model.study_.name}: {k} center{'s' if k > 1 else ''}, ε = {model.privacy_.epsilon}.{seeded}"
    return f"<table><caption>{escape(caption)}</caption>{_row('th', heads)}{''.join(rows)}</table>"


def _row(cell: str, texts: list[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(text)}</{cell}>" for text in texts) + "</tr>"
