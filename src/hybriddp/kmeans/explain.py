"""A fitted model in plain words, and as a small table of HTML for notebooks."""

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.channels.plausible import implausible_words
from hybriddp.privacy import NEIGHBORS
from hybriddp.reporting.wording import significant

if TYPE_CHECKING:
    from hybriddp.kmeans.estimator import HybridKMeans

_UNCERTAIN = 0.1  # a center is called uncertain if it may be off by this part of the distance to the next one
_AT_BOUND = 0.005  # and at a bound if it is as near to it as this part of the range
_SHOWN = 6  # coordinates, or names, in a line
DOUBTFUL = "Doubtful: may cost over 1.2 times as much as the best centers"
_MOST_COLUMNS, _MOST_ROWS = 12, 50  # of the table
_MOST_NAMED = 8  # centers in a sentence


def story(model: "HybridKMeans") -> str:
    """What was spent where, how much each group decided, and which centers are uncertain."""
    k, d = model.cluster_centers_.shape
    head = f"{model.study_.name}: {k} center{'s' if k > 1 else ''} in {d} dimension{'s' if d > 1 else ''}."
    at_bounds, uncertain = _at_bounds(model), _uncertain(model)
    parts = [
        [*forgery_warning(model), head, *_groups(model), *_scaling(model)],
        _spending(model),
        [*_centers(model, uncertain, at_bounds), *at_bounds],
        _doubt(model, uncertain, at_bounds),
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
        rows.append(_row("td", [str(at), _size(model, at), *cells]))
    if k > _MOST_ROWS:
        rows.append(_row("td", [f"and {k - _MOST_ROWS:,} more"]))
    seeded = "" if model.private_release_ else " A simulation, not a private release."
    doubtful = f" {DOUBTFUL}: {doubt_words(model)}." if model.doubtful_ else ""
    forged = "".join(f"{words} " for words in forgery_warning(model))
    caption = f"{model.study_.name}: {k} center{'s' if k > 1 else ''}, ε = {model.privacy_.epsilon}.{doubtful}{seeded}"
    return f"<table><caption>{escape(forged + caption)}</caption>{_row('th', heads)}{''.join(rows)}</table>"


def _row(cell: str, texts: list[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(text)}</{cell}>" for text in texts) + "</tr>"


def n_answered(model: "HybridKMeans") -> int:
    """Count the local users who answered a round."""
    return sum(step.local_users for step in model.spending_)


def forgery_warning(model: "HybridKMeans") -> list[str]:
    """Warn of answers that no device has drawn; empty if all may be real."""
    return implausible_words(model.implausible_reports_, n_answered(model))


def _groups(model: "HybridKMeans") -> list[str]:
    trusted, local = model.n_trusted_, model.n_local_
    lines = [f"{trusted:,} users trusted the curator and {local:,} reported locally."]
    if not trusted or not local:
        only = "local" if local else "trusted"
        lines.append(f"There was only the {only} group, so this is the answer of a single model, not a hybrid.")
    elif not model.trusted_used_:
        lines.append(
            f"The trusted group was not used: at ε = {model.privacy_.epsilon} it is too small to help in "
            f"{model.n_features_in_} dimensions. It paid nothing, and this is the answer of the local group alone."
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


def _uncertain(model: "HybridKMeans") -> list[int]:
    """Centers that may be off by a good part of the distance to the next one.

    Told where distances are measured: years and dollars do not add up.
    """
    box = model.study_.box
    places, errors = box.scaled(model.cluster_centers_), np.linalg.norm(model.standard_errors_ / box.units, axis=1)
    found = []
    for k, place in enumerate(places):
        others = np.delete(places, k, axis=0)
        apart = float(np.min(np.linalg.norm(others - place, axis=1))) if len(others) else float("inf")
        if errors[k] > _UNCERTAIN * apart:
            found.append(k)
    return found


def _centers(model: "HybridKMeans", uncertain: list[int], at_bounds: list[str]) -> list[str]:
    lines = []
    for k in range(len(model.cluster_centers_)):
        numbers = zip(_names(model), center_cells(model, k), strict=True)
        shown = _first([f"{name} {number}" if name else number for name, number in numbers])
        empty = "; may be empty" if k in model.doubts_.empty else ""
        lines.append(f"center {k}: ({shown}), {_size(model, k)} of the users{empty}")
    lines.append("± is one standard error, of noise and sampling; an interval of 95 % is twice as wide on each side.")
    if model.n_features_in_ > _SHOWN:
        lines.append("All coordinates are in cluster_centers_ and standard_errors_.")
    if uncertain:
        lines.append(f"Uncertain, compared with the distance to the next center: {', '.join(map(str, uncertain))}.")
    elif not at_bounds and not model.doubtful_ and len(model.cluster_centers_) > 1:
        lines.append("No center is uncertain through noise, compared with the distance to the next one.")
    return lines


def doubt_words(model: "HybridKMeans") -> str:
    """Why a model is doubtful, in a few words: what fired first."""
    doubts = model.doubts_
    words = [f"{_numbered(doubts.empty)} may be empty"] if doubts.empty else []
    words += [f"the grid cannot tell {_numbered(doubts.close)} apart"] if doubts.close else []
    words += ["other first centers looked better"] if doubts.contested else []
    words += [f"much noise on {_numbered(doubts.noisy)}"] if doubts.noisy else []
    return "; ".join(words)


def _doubt(model: "HybridKMeans", uncertain: list[int], at_bounds: list[str]) -> list[str]:
    """How far the whole answer is to be believed, start included."""
    off = f"{significant(100 * math.sqrt(model.doubt_), 2)} %"
    typical = "of the typical distance of a user to their center"
    if not model.doubtful_:
        line = f"Not doubtful: noise puts no center off by more than {off} {typical}. The cost (WCSS) is likely to "
        line += "be less than 1.2 times the best."
        if uncertain:
            line += " Uncertain centers have another one near: where users are told apart may shift, at little cost."
        return [line]
    doubts, lines = model.doubts_, [f"{DOUBTFUL} (WCSS)."]
    if doubts.empty:
        one, whose = len(doubts.empty) == 1, "its size is" if len(doubts.empty) == 1 else "their sizes are"
        lines.append(
            f"{_numbered(doubts.empty).capitalize()} may be empty: {whose} not clearly above 0. What stands on noise "
            f"is missing where users are, so a cluster may be overlooked{'' if one else ', or several'}."
        )
    if doubts.close:
        lines.append(
            f"{_numbered(doubts.close).capitalize()} are closer to another one than a step of the grid that the first "
            "centers were found on. It cannot tell such clusters apart, so which are one and which are two was a guess."
        )
    if doubts.contested:
        lines.append("Other first centers looked even better than those chosen: a cluster may be overlooked.")
    if doubts.noisy:
        where = f"off, by up to {off} {typical}" if model.doubt_ < 1 else "anywhere in a cluster, or outside of it"
        lines.append(f"Noise may put {_numbered(doubts.noisy)} {where}.")
    start_in_doubt = bool(doubts.empty or doubts.close or doubts.contested)
    if not start_in_doubt and model.start_ is not None and model.start_.has_rival:
        start_in_doubt = True
        lines.append("Other first centers looked as good as those chosen.")
    if not start_in_doubt and len(doubts.noisy) < len(model.cluster_centers_):
        lines.append("The other centers are as certain as their standard errors say, unless a cluster was overlooked.")
    wide = bool(doubts.empty or doubts.close)
    check = "Check the units and the bounds first. " if at_bounds and not wide else ""
    check = "Check the bounds first: far wider ones than the points need can do this. " if wide else check
    return [*lines, f"{check}More users, a larger ε or fewer clusters would help."]


def _numbered(centers: tuple[int, ...]) -> str:
    """Centers by number: center 1, or centers 0, 2 and 3."""
    if len(centers) == 1:
        return f"center {centers[0]}"
    shown = [str(k) for k in centers[:_MOST_NAMED]]
    if len(centers) > _MOST_NAMED:
        return f"centers {', '.join(shown)} and {len(centers) - _MOST_NAMED:,} more"
    return f"centers {', '.join(shown[:-1])} and {shown[-1]}"


def _first(texts: list[str]) -> str:
    """The first few of them."""
    return ", ".join(texts[:_SHOWN]) + (", …" if len(texts) > _SHOWN else "")


def _names(model: "HybridKMeans") -> list[str]:
    """The names of the dimensions; empty ones if they have none."""
    return list(getattr(model, "feature_names_in_", [""] * model.n_features_in_))


def center_cells(model: "HybridKMeans", k: int) -> list[str]:
    """Each coordinate of a center and its standard error, with no more digits than the error leaves."""
    return [_give_or_take(x, e) for x, e in zip(model.cluster_centers_[k], model.standard_errors_[k], strict=True)]


def _size(model: "HybridKMeans", k: int) -> str:
    """The part of the users in a cluster and its standard error, to one digit of that: 3 ± 1 %."""
    size, error = 100 * float(model.sizes_[k]), 100 * float(model.size_errors_[k])
    digits = max(0, -math.floor(math.log10(max(error, 0.01))))
    return f"{size:.{digits}f} ± {error:.{digits}f} %"


def _give_or_take(value: float, error: float) -> str:
    """A number and its error, which has at least two digits: 23,863 ± 341 or 0.5012 ± 0.0031."""
    if not 1e-6 <= error <= 1e12:
        return f"{value:.4g} ± {error:.2g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:,.{digits}f} ± {error:,.{digits}f}"


def _at_bounds(model: "HybridKMeans") -> list[str]:
    """What a center at a wall of the box means, from what was released."""
    places = model.study_.box.scaled(model.cluster_centers_)
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
    lines = [
        f"Every user is promised ε = {model.privacy_.epsilon}. Neighbors: {NEIGHBORS}.",
        "Local users report once, with all of ε; the steps of the trusted group add up to no more than ε.",
    ]
    if not model.private_release_:
        lines.append("This is a simulation, not a private release.")  # by a random_state, or by --simulate-local
    elif not model.in_ledger_:
        lines.append("No ledger records this study: whoever counts what these users have spent must add it.")
    return lines
