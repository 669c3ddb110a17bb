"""A fitted model in plain words."""

from typing import TYPE_CHECKING

import numpy as np

from hybriddp.kmeans.study import NEIGHBOURS

if TYPE_CHECKING:
    from hybriddp.kmeans.hybrid import HybridKMeans

_UNCERTAIN = 0.1  # a centre is called uncertain if it may be off by this part of the distance to the next one


def story(model: "HybridKMeans") -> str:
    """What was spent where, how much each group had to say, and which centres are uncertain."""
    return "\n".join([_head(model), *_groups(model), "", *_spending(model), "", *_centres(model), "", *_promise(model)])


def _head(model: "HybridKMeans") -> str:
    k, d = model.cluster_centers_.shape
    return f"{model.study_.name}: {k} centre{'s' if k > 1 else ''} in {d} dimension{'s' if d > 1 else ''}."


def _groups(model: "HybridKMeans") -> list[str]:
    trusted, local = model.n_trusted_, model.n_local_
    about = "about " if model.study_.size_is_private and trusted else ""
    lines = [f"{about}{trusted:,} users trusted the curator and {local:,} reported locally.".capitalize()]
    if not trusted or not local:
        only = "local" if local else "trusted"
        lines.append(f"There was only the {only} group, so this is the answer of a single world, not a hybrid.")
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
        lines.append(f"The trusted group, {share:.2g} % of the users, decided {weight:.0f} % of where the centres are.")
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


def _centres(model: "HybridKMeans") -> list[str]:
    centres, errors = model.cluster_centers_, np.sqrt(np.sum(model.standard_errors_**2, axis=1))
    lines = []
    doubtful = []
    for k, centre in enumerate(centres):
        others = np.delete(centres, k, axis=0)
        apart = float(np.min(np.linalg.norm(others - centre, axis=1))) if len(others) else float("inf")
        shown = ", ".join(f"{x:.4g}" for x in centre[:6]) + (", …" if len(centre) > 6 else "")
        lines.append(f"centre {k}: ({shown}), give or take {errors[k]:.2g}, {100 * model.sizes_[k]:.0f} % of the users")
        if errors[k] > _UNCERTAIN * apart:
            doubtful.append(k)
    if doubtful:
        names = ", ".join(map(str, doubtful))
        lines.append(f"Uncertain, compared with the distance to the next centre: {names}.")
    else:
        lines.append("No centre is uncertain through noise, compared with the distance to the next one.")
    return lines


def _neighbours(model: "HybridKMeans") -> str:
    relation = NEIGHBOURS[model.study_.neighbours]
    local = "; of a local user, her point is replaced" if model.study_.size_is_private else ""
    return f"{relation.value}{local}"


def _promise(model: "HybridKMeans") -> list[str]:
    lines = [
        f"Every user is promised ε = {model.privacy_.epsilon}. Neighbours: {_neighbours(model)}.",
        "Local users report once, with all of ε; the steps of the trusted group add up to no more than ε.",
    ]
    if not model.private_release_:
        lines.append("A random_state was given: this is a simulation, not a private release.")
    elif not model.counted_:
        lines.append("No ledger has been told: whoever counts what these users have spent must add this study.")
    return lines
