"""A fitted model in plain words."""

import math
from typing import TYPE_CHECKING

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.study import NEIGHBORS

if TYPE_CHECKING:
    from hybriddp.kmeans.estimator import HybridKMeans

_UNCERTAIN = 0.1  # a center is called uncertain if it may be off by this part of the distance to the next one
_AT_BOUND = 0.005  # and at a bound if it is as near to it as this part of the range
_SHOWN = 6  # coordinates, or names, in a line


def story(model: "HybridKMeans") -> str:
    """What was spent where, how much each group had to say, and which centers are uncertain."""
    return "\n".join(
        [
            _head(model),
            *_groups(model),
            *_scaling(model),
            "",
            *_spending(model),
            "",
            *_centers(model),
            "",
            *_promise(model),
        ]
    )


def _head(model: "HybridKMeans") -> str:
    k, d = model.cluster_centers_.shape
    return f"{model.study_.name}: {k} center{'s' if k > 1 else ''} in {d} dimension{'s' if d > 1 else ''}."


def _groups(model: "HybridKMeans") -> list[str]:
    trusted, local = model.n_trusted_, model.n_local_
    about = "about " if model.study_.size_is_private and trusted else ""
    lines = [f"{about}{trusted:,} users trusted the curator and {local:,} reported locally.".capitalize()]
    if not trusted or not local:
        only = "local" if local else "trusted"
        lines.append(f"There was only the {only} group, so this is the answer of a single model, not a hybrid.")
    if model.joined_local_:
        reason = (
            "is too small to help in this many dimensions by noisy sums" if local else "has too small an ε to share"
        )
        lines.append(
            f"The trusted group {reason}, so its points were reported through the channel of the local users: this is "
            "the answer of the local world."
        )
    elif trusted and local and not model.trusted_weight_.any():
        lines.append("The trusted group is too small to help in this many dimensions, and was not used.")
    elif trusted and local:
        weight = 100 * float(np.average(model.trusted_weight_, weights=np.maximum(model.sizes_, 1e-12)))
        share = 100 * trusted / (trusted + local)
        lines.append(f"The trusted group, {share:.2g} % of the users, decided {weight:.0f} % of where the centers are.")
    return lines


def _spending(model: "HybridKMeans") -> list[str]:
    width = max(len(step.what) for step in model.spending_)
    joined = "  trusted reports" if model.joined_local_ else ""
    lines = [f"{'step':{width}}  trusted ε  local reports{joined}"]
    for step in model.spending_:
        cost = "-" if float(step.trusted_epsilon) == 0 else step.trusted_epsilon
        users = f"{step.local_users:,}" if step.local_users else "-"
        own = f"  {step.trusted_users:>15,}" if step.trusted_users else f"  {'-':>15}"
        lines.append(f"{step.what:{width}}  {cost:>9}  {users:>13}{own if joined else ''}")
    return lines


def _centers(model: "HybridKMeans") -> list[str]:
    # Uncertain or not is told where distances are measured: years and dollars do not add up.
    box = model.study_.box
    places, errors = box.scaled(model.cluster_centers_), np.linalg.norm(model.standard_errors_ / box.units, axis=1)
    lines = []
    doubtful = []
    for k, place in enumerate(places):
        others = np.delete(places, k, axis=0)
        apart = float(np.min(np.linalg.norm(others - place, axis=1))) if len(others) else float("inf")
        lines.append(f"center {k}: ({_coordinates(model, k)}), {100 * model.sizes_[k]:.0f} % of the users")
        if errors[k] > _UNCERTAIN * apart:
            doubtful.append(k)
    at_bounds = _at_bounds(model, places)
    if doubtful:
        names = ", ".join(map(str, doubtful))
        lines.append(f"Uncertain, compared with the distance to the next center: {names}.")
    elif not at_bounds:
        lines.append("No center is uncertain through noise, compared with the distance to the next one.")
    return lines + at_bounds


def _coordinates(model: "HybridKMeans", k: int) -> str:
    """The coordinates of a center with their standard errors, the first few of them."""
    shown = [
        f"{name} {number}" if name else number
        for name, number in zip(_names(model), coordinates(model, k), strict=True)
    ]
    return ", ".join(shown[:_SHOWN]) + (", …" if len(shown) > _SHOWN else "")


def _names(model: "HybridKMeans") -> list[str]:
    """The names of the dimensions; empty ones if they have none."""
    return list(getattr(model, "feature_names_in_", [""] * model.n_features_in_))


def coordinates(model: "HybridKMeans", k: int) -> list[str]:
    """Each coordinate of a center and its standard error, with no more digits than the error leaves."""
    return [_give_or_take(x, e) for x, e in zip(model.cluster_centers_[k], model.standard_errors_[k], strict=True)]


def _give_or_take(value: float, error: float) -> str:
    """A number and its error, which has two digits.

    Examples
    --------
    >>> _give_or_take(23862.93, 341.2), _give_or_take(0.50123, 0.00312)
    ('23,863 ± 341', '0.5012 ± 0.0031')
    """
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
    shown = ", ".join(found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
    return [f"At a bound: {shown}. Check the units and the bounds, or take it for noise."]


def _scaling(model: "HybridKMeans") -> list[str]:
    """What distances are measured by, where it makes a difference."""
    box = model.study_.box
    sides = box.upper - box.lower
    if not isinstance(box.scale, str):
        weights = ", ".join(f"{weight:g}" for weight in box.scale[:_SHOWN]) + (", …" if len(sides) > _SHOWN else "")
        return [f"Distances measure every dimension by its bounds, with the weights {weights}."]
    if np.ptp(sides) <= 1e-9 * sides.max():
        return []
    if box.scale == "bounds":
        return ["Distances measure every dimension by its bounds."]
    widest = int(np.argmax(sides))
    name = _names(model)[widest] or f"dimension {widest}"
    return [f"Distances are in the units of the data as they are: {name}, the widest dimension, can count most."]


def _neighbors(model: "HybridKMeans") -> str:
    relation = NEIGHBORS[model.study_.neighbors]
    local = "; of a local user, her point is replaced" if model.study_.size_is_private else ""
    return f"{relation.value}{local}"


def _promise(model: "HybridKMeans") -> list[str]:
    lines = [
        f"Every user is promised ε = {model.privacy_.epsilon}. Neighbors: {_neighbors(model)}.",
        "Local users report once, with all of ε; the steps of the trusted group add up to no more than ε.",
    ]
    if not model.private_release_:
        lines.append("A random_state was given: this is a simulation, not a private release.")
    elif not model.counted_:
        lines.append("No ledger has been told: whoever counts what these users have spent must add this study.")
    return lines
