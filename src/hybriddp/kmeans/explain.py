"""A fitted model in plain words, and as a small table of HTML for notebooks."""

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.study import NEIGHBORS

if TYPE_CHECKING:
    from hybriddp.kmeans.estimator import HybridKMeans

_UNCERTAIN = 0.1  # a center is called uncertain if it may be off by this part of the distance to the next one
_AT_BOUND = 0.005  # and at a bound if it is as near to it as this part of the range
_SHOWN = 6  # coordinates, or names, in a line
DOUBTFUL = "Doubtful: may cost over 1.2 times as much as the best centers"
_MOST_COLUMNS, _MOST_ROWS = 12, 50  # of the table


def story(model: "HybridKMeans") -> str:
    """What was spent where, how much each group decided, and which centers are uncertain."""
    k, d = model.cluster_centers_.shape
    head = f"{model.study_.name}: {k} center{'s' if k > 1 else ''} in {d} dimension{'s' if d > 1 else ''}."
    parts = [
        [head, *_groups(model), *_scaling(model)],
        _spending(model),
        _centers(model),
        _doubt(model),
        _promise(model),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts)


def html_table(model: "HybridKMeans") -> str:
    """The centers with their standard errors and fractions of users; the parameters if there are no centers yet."""
    if not model.__sklearn_is_fitted__():
        return f"<pre>{escape(repr(model))}</pre>"
    k, d = model.cluster_centers_.shape
    names = list(getattr(model, "feature_names_in_", [f"dimension {j}" for j in range(d)]))
    more = d > _MOST_COLUMNS
    heads = ["center", "fraction of users", *names[:_MOST_COLUMNS], *(["…"] if more else [])]
    rows = []
    for at in range(min(k, _MOST_ROWS)):
        cells = [*center_cells(model, at)[:_MOST_COLUMNS], *(["…"] if more else [])]
        rows.append(_row("td", [str(at), f"{100 * model.sizes_[at]:.0f} %", *cells]))
    if k > _MOST_ROWS:
        rows.append(_row("td", [f"and {k - _MOST_ROWS:,} more"]))
    seeded = "" if model.private_release_ else " A simulation, not a private release."
    doubtful = f" {DOUBTFUL}." if model.doubtful_ else ""
    caption = f"{model.study_.name}: {k} center{'s' if k > 1 else ''}, ε = {model.privacy_.epsilon}.{doubtful}{seeded}"
    return f"<table><caption>{escape(caption)}</caption>{_row('th', heads)}{''.join(rows)}</table>"


def _row(cell: str, texts: list[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(text)}</{cell}>" for text in texts) + "</tr>"


def _groups(model: "HybridKMeans") -> list[str]:
    trusted, local = model.n_trusted_, model.n_local_
    about = "about " if model.study_.size_is_private and trusted else ""
    lines = [f"{about}{trusted:,} users trusted the curator and {local:,} reported locally.".capitalize()]
    if not trusted or not local:
        only = "local" if local else "trusted"
        lines.append(f"There was only the {only} group, so this is the answer of a single model, not a hybrid.")
    elif not model.trusted_used_:
        size = model.study_.size_is_private
        lines.append(
            f"The trusted group was not used: at ε = {model.privacy_.epsilon} it is too small to help in "
            f"{model.n_features_in_} dimensions. It paid {'for its size only' if size else 'nothing'}, and this is the "
            "answer of the local group alone."
        )
    else:
        weight = 100 * float(np.average(model.trusted_weight_, weights=np.maximum(model.sizes_, 1e-12)))
        percent = 100 * trusted / (trusted + local)
        users = f"{percent:.2g} % of the users"
        lines.append(f"The trusted group, {users}, decided {weight:.0f} % of where the centers are.")
    return lines


def _spending(model: "HybridKMeans") -> list[str]:
    width = max(len(step.purpose) for step in model.spending_)
    lines = [f"{'step':{width}}  trusted ε  local reports"]
    for step in model.spending_:
        cost = "-" if float(step.trusted_epsilon) == 0 else step.trusted_epsilon
        users = f"{step.local_users:,}" if step.local_users else "-"
        lines.append(f"{step.purpose:{width}}  {cost:>9}  {users:>13}")
    return lines


def _centers(model: "HybridKMeans") -> list[str]:
    # Uncertain or not is told where distances are measured: years and dollars do not add up.
    box = model.study_.box
    places, errors = box.scaled(model.cluster_centers_), np.linalg.norm(model.standard_errors_ / box.units, axis=1)
    lines, doubtful = [], []
    for k, place in enumerate(places):
        numbers = zip(_names(model), center_cells(model, k), strict=True)
        shown = _first([f"{name} {number}" if name else number for name, number in numbers])
        lines.append(f"center {k}: ({shown}), {100 * model.sizes_[k]:.0f} % of the users")
        others = np.delete(places, k, axis=0)
        apart = float(np.min(np.linalg.norm(others - place, axis=1))) if len(others) else float("inf")
        if errors[k] > _UNCERTAIN * apart:
            doubtful.append(k)
    at_bounds = _at_bounds(model, places)
    if doubtful:
        lines.append(f"Uncertain, compared with the distance to the next center: {', '.join(map(str, doubtful))}.")
    elif not at_bounds and not model.doubtful_ and len(places) > 1:
        lines.append("No center is uncertain through noise, compared with the distance to the next one.")
    return lines + at_bounds


def _doubt(model: "HybridKMeans") -> list[str]:
    """How far the whole answer is to be believed, start included."""
    off = f"{100 * math.sqrt(model.doubt_):.2g} %"
    typical = "of the typical distance of a user to their center"
    if not model.doubtful_:
        line = f"Not doubtful: noise puts no center off by more than {off} {typical}. The cost (WCSS) is likely to "
        return [line + "be less than 1.2 times the best."]
    where = f"off by {off} {typical}" if model.doubt_ < 1 else "anywhere in its cluster, or outside of it"
    lines = [f"{DOUBTFUL} (WCSS): noise may put a center {where}."]
    if model.start_ is not None and model.start_.is_contested:
        lines.append("Other first centers looked even better than those chosen: a cluster may be overlooked.")
    elif model.start_ is not None and model.start_.has_rival:
        lines.append("Other first centers looked as good as those chosen.")
    return [*lines, "More users, a larger ε or fewer clusters would help."]


def _first(texts: list[str]) -> str:
    """The first few of them."""
    return ", ".join(texts[:_SHOWN]) + (", …" if len(texts) > _SHOWN else "")


def _names(model: "HybridKMeans") -> list[str]:
    """The names of the dimensions; empty ones if they have none."""
    return list(getattr(model, "feature_names_in_", [""] * model.n_features_in_))


def center_cells(model: "HybridKMeans", k: int) -> list[str]:
    """Each coordinate of a center and its standard error, with no more digits than the error leaves."""
    return [_give_or_take(x, e) for x, e in zip(model.cluster_centers_[k], model.standard_errors_[k], strict=True)]


def _give_or_take(value: float, error: float) -> str:
    """A number and its error, which has at least two digits: 23,863 ± 341 or 0.5012 ± 0.0031."""
    if not 1e-6 <= error <= 1e12:
        return f"{value:.4g} ± {error:.2g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:,.{digits}f} ± {error:,.{digits}f}"


def _at_bounds(model: "HybridKMeans", places: FloatArray) -> list[str]:
    """What a center at a wall of the box means, from what was released."""
    off = np.minimum(np.abs(places), np.abs(model.study_.box.widths - places)) / model.study_.box.widths
    found = [
        f"{name or f'dimension {j}'} of center {k}"
        for k, row in enumerate(off)
        for j, name in enumerate(_names(model))
        if row[j] < _AT_BOUND
    ]
    if not found:
        return []
    return [f"At a bound: {_first(found)}. Check the units and the bounds, or take it for noise."]


def _scaling(model: "HybridKMeans") -> list[str]:
    """What distances are measured by, where it makes a difference."""
    box = model.study_.box
    sides = box.upper - box.lower
    if not isinstance(box.scale, str):
        weights = _first([f"{weight:g}" for weight in box.scale])
        return [f"Distances measure every dimension by its bounds, with the weights {weights}."]
    if np.ptp(sides) <= 1e-9 * sides.max():
        return []
    if box.scale == "bounds":
        return ["Distances measure every dimension by its bounds."]
    widest = int(np.argmax(sides))
    name = _names(model)[widest] or f"dimension {widest}"
    return [f"Distances are in the units of the data as they are: {name}, the widest dimension, can count most."]


def _promise(model: "HybridKMeans") -> list[str]:
    local = "; of a local user, their point is replaced" if model.study_.size_is_private else ""
    neighbors = NEIGHBORS[model.study_.neighbors].value
    lines = [
        f"Every user is promised ε = {model.privacy_.epsilon}. Neighbors: {neighbors}{local}.",
        "Local users report once, with all of ε; the steps of the trusted group add up to no more than ε.",
    ]
    if not model.private_release_:
        lines.append("A random_state was given: this is a simulation, not a private release.")
    elif not model.in_ledger_:
        lines.append("No ledger records this study: whoever counts what these users have spent must add it.")
    return lines
