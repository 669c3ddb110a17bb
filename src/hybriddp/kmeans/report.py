"""The result of a K-means study in words, as a table, and as a page with a drawing of the centers."""

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.reporting.html import Section, alerts, color, paragraphs, render_page, table, wide
from hybriddp.reporting.wording import counted, participation, percent, shortened, significant

if TYPE_CHECKING:
    from hybriddp.kmeans.result import KMeansResult

_UNCERTAIN = 0.1  # a center is called uncertain if it may be off by this part of the distance to the next one
_AT_BOUND = 0.005  # and at a bound if it is as near to it as this part of the range
_SHOWN = 6  # coordinates, or names, in a line
_MOST_COLUMNS, _MOST_ROWS = 12, 50  # of the table
_MOST_NAMED = 8  # centers in a sentence
DOUBTFUL = "Doubtful: may cost over 1.2 times as much as the best centers"
ERRORS = "Behind ± is a standard error, by noise and sampling. A 95 % interval reaches about twice as far."
HOW_TO_READ = (
    "Each number stands at a center. The shade around it is where the center is with 95 % confidence, by noise and "
    "sampling; the ring is the larger, the more people are nearest to it."
)
STYLE = """\
pre { white-space: pre-wrap; font: .85rem/1.5 ui-monospace, monospace; }
"""

# In words -------------------------------------------------------------------------------------------------------------


def answer(result: "KMeansResult") -> str:
    """Write the answer in one sentence."""
    largest = np.argsort(-result.sizes)[:3]
    places = (f"{percent(float(result.sizes[k]), 2)} of the people near ({_place(result, int(k))})" for k in largest)
    n = len(result.centers)
    return f"{counted(n, 'center')}; {'; '.join(places)}{'; and others' if n > 3 else ''}."


def _place(result: "KMeansResult", k: int) -> str:
    center = [significant(float(x)) for x in result.centers[k][:4]]
    return ", ".join(center) + (", …" if result.centers.shape[1] > 4 else "")


def story(result: "KMeansResult") -> list[str]:
    """Explain what was spent where, how much each group decided, and which centers are uncertain, line by line."""
    k, d = result.centers.shape
    head = f"{result.title}: {counted(k, 'center')} in {counted(d, 'dimension')}."
    at_bounds, uncertain = _at_bounds(result), _uncertain(result)
    steps = "Local users report once, with all of ε; the steps of the trusted group add up to no more than ε."
    parts = [
        [head, *_groups(result), *_scaling(result)],
        _spending(result),
        [*_centers(result, uncertain, at_bounds), *at_bounds],
        _doubt(result, uncertain, at_bounds),
        [str(result.privacy), steps],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts).split("\n")


def _groups(result: "KMeansResult") -> list[str]:
    trusted, local = result.n_trusted, result.n_local
    lines = [participation(trusted, local)]
    if not trusted or not local:
        only = "local" if local else "trusted"
        lines.append(f"There was only the {only} group, so this is the answer of a single model, not a hybrid.")
    elif not result.trusted_used:
        lines.append(
            f"The trusted group was not used: at ε = {result.privacy.epsilon} it is too small to help in "
            f"{result.centers.shape[1]} dimensions. It paid nothing, and this is the answer of the local group alone."
        )
    else:
        weight = 100 * float(np.average(result.trusted_weight, weights=np.maximum(result.sizes, 1e-12)))
        users = f"{100 * trusted / (trusted + local):.2g} % of the users"
        lines.append(f"The trusted group, {users}, decided {weight:.0f} % of where the centers are.")
    return lines


def _scaling(result: "KMeansResult") -> list[str]:
    """Explain what distances are measured by, where it makes a difference."""
    box = result.study.box
    sides = box.upper - box.lower
    if not isinstance(box.scale, str):
        weights = _first([f"{weight:g}" for weight in box.scale])
        return [f"Distances measure every dimension by its bounds, with the weights {weights}."]
    if np.ptp(sides) <= 1e-9 * sides.max():
        return []
    if box.scale == "bounds":
        return ["Distances measure every dimension by its bounds."]
    widest = result.names[int(np.argmax(sides))]
    return [f"Distances are in the units of the data as they are: {widest}, the widest dimension, can count most."]


def _spending(result: "KMeansResult") -> list[str]:
    width = max(len(step.purpose) for step in result.steps)
    lines = [f"{'step':{width}}  trusted ε  local reports"]
    for step in result.steps:
        cost = "-" if float(step.trusted_epsilon) == 0 else step.trusted_epsilon
        users = f"{step.local_users:,}" if step.local_users else "-"
        lines.append(f"{step.purpose:{width}}  {cost:>9}  {users:>13}")
    return lines


def _uncertain(result: "KMeansResult") -> list[int]:
    """List centers that may be off by a good part of the distance to the next one, where distances are measured."""
    box = result.study.box
    places, errors = box.scaled(result.centers), np.linalg.norm(result.standard_errors / box.units, axis=1)
    if len(places) == 1:
        return []
    apart = [np.linalg.norm(np.delete(places, k, axis=0) - place, axis=1).min() for k, place in enumerate(places)]
    return np.flatnonzero(errors > _UNCERTAIN * np.array(apart)).tolist()


def _at_bounds(result: "KMeansResult") -> list[str]:
    """Warn of centers at a wall of the box."""
    box = result.study.box
    places = box.scaled(result.centers)
    off = np.minimum(np.abs(places), np.abs(box.widths - places)) / box.widths
    at = [f"{result.names[j]} of center {k}" for k, j in np.argwhere(off < _AT_BOUND).tolist()]
    return [f"At a bound: {_first(at)}. Check the units and the bounds, or take it for noise."] if at else []


def _centers(result: "KMeansResult", uncertain: list[int], at_bounds: list[str]) -> list[str]:
    lines = []
    for k in range(len(result.centers)):
        numbers = coordinates(result, k)
        if result.columns:
            numbers = [f"{name} {number}" for name, number in zip(result.columns, numbers, strict=True)]
        empty = "; may be empty" if k in result.doubts.empty else ""
        lines.append(f"center {k}: ({_first(numbers)}), {_size(result, k)} of the users{empty}")
    lines.append("± is one standard error, of noise and sampling; an interval of 95 % is twice as wide on each side.")
    if result.centers.shape[1] > _SHOWN:
        lines.append("All coordinates are in centers and standard_errors.")
    if uncertain:
        lines.append(f"Uncertain, compared with the distance to the next center: {', '.join(map(str, uncertain))}.")
    elif not at_bounds and not result.doubtful and len(result.centers) > 1:
        lines.append("No center is uncertain through noise, compared with the distance to the next one.")
    return lines


def doubt_words(result: "KMeansResult") -> str:
    """Name the reasons why a result is doubtful, in a few words."""
    doubts = result.doubts
    words = [f"{_numbered(doubts.empty)} may be empty"] if doubts.empty else []
    words += [f"the grid cannot tell {_numbered(doubts.close)} apart"] if doubts.close else []
    words += ["other first centers looked better"] if doubts.contested else []
    words += [f"much noise on {_numbered(doubts.noisy)}"] if doubts.noisy else []
    return "; ".join(words)


def _doubt(result: "KMeansResult", uncertain: list[int], at_bounds: list[str]) -> list[str]:
    """Explain how far the whole answer is to be believed, start included."""
    off = f"{significant(100 * math.sqrt(result.doubt), 2)} %"
    typical = "of the typical distance of a user to their center"
    if not result.doubtful:
        line = f"Not doubtful: noise puts no center off by more than {off} {typical}. The cost (WCSS) is likely to "
        line += "be less than 1.2 times the best."
        if uncertain:
            line += " Uncertain centers have another one near: where users are told apart may shift, at little cost."
        return [line]
    doubts, lines = result.doubts, [f"{DOUBTFUL} (WCSS)."]
    if doubts.empty:
        single = len(doubts.empty) == 1
        lines.append(
            f"{_numbered(doubts.empty).capitalize()} may be empty: {'its size is' if single else 'their sizes are'} "
            "not clearly above 0. What stands on noise is missing where users are, so a cluster may be "
            f"overlooked{'' if single else ', or several'}."
        )
    if doubts.close:
        lines.append(
            f"{_numbered(doubts.close).capitalize()} are closer to another one than a step of the grid that the first "
            "centers were found on. It cannot tell such clusters apart, so which are one and which are two was a guess."
        )
    if doubts.contested:
        lines.append("Other first centers looked even better than those chosen: a cluster may be overlooked.")
    if doubts.noisy:
        where = f"off, by up to {off} {typical}" if result.doubt < 1 else "anywhere in a cluster, or outside of it"
        lines.append(f"Noise may put {_numbered(doubts.noisy)} {where}.")
    start_in_doubt = bool(doubts.empty or doubts.close or doubts.contested)
    if not start_in_doubt and result.start is not None and result.start.has_rival:
        start_in_doubt = True
        lines.append("Other first centers looked as good as those chosen.")
    if not start_in_doubt and len(doubts.noisy) < len(result.centers):
        lines.append("The other centers are as certain as their standard errors say, unless a cluster was overlooked.")
    check = "Check the units and the bounds first. " if at_bounds else ""
    if doubts.empty or doubts.close:
        check = "Check the bounds first: far wider ones than the points need can do this. "
    return [*lines, f"{check}More users, a larger ε or fewer clusters would help."]


def _numbered(centers: tuple[int, ...]) -> str:
    """Name centers by number: center 1, or centers 0, 2 and 3."""
    if len(centers) == 1:
        return f"center {centers[0]}"
    shown = [str(k) for k in centers[:_MOST_NAMED]]
    if len(centers) > _MOST_NAMED:
        return f"centers {', '.join(shown)} and {len(centers) - _MOST_NAMED:,} more"
    return f"centers {', '.join(shown[:-1])} and {shown[-1]}"


def _first(texts: list[str]) -> str:
    return ", ".join(texts[:_SHOWN]) + (", …" if len(texts) > _SHOWN else "")


# As a table -----------------------------------------------------------------------------------------------------------


def headings(result: "KMeansResult") -> tuple[str, ...]:
    """Name the columns of the table; of many dimensions only the first ones."""
    more = ("…",) if len(result.names) > _MOST_COLUMNS else ()
    return ("center", "fraction of users", *result.names[:_MOST_COLUMNS], *more)


def cells(result: "KMeansResult") -> list[tuple[str, ...]]:
    """Write the centers with their standard errors and fractions of users; of many centers only the first ones."""
    more = ("…",) if len(result.names) > _MOST_COLUMNS else ()
    rows: list[tuple[str, ...]] = [
        (str(k), _size(result, k), *coordinates(result, k)[:_MOST_COLUMNS], *more)
        for k in range(min(len(result.centers), _MOST_ROWS))
    ]
    left = len(result.centers) - _MOST_ROWS
    return [*rows, (f"and {left:,} more",)] if left > 0 else rows


def coordinates(result: "KMeansResult", k: int) -> list[str]:
    """Write the coordinates of a center with their standard errors, and no more digits than the errors leave."""
    return [give_or_take(x, e) for x, e in zip(result.centers[k], result.standard_errors[k], strict=True)]


def give_or_take(value: float, error: float) -> str:
    """Write a number and its error, which has at least two digits: 23,863 ± 341 or 0.5012 ± 0.0031."""
    if not 1e-6 <= error <= 1e12:
        return f"{value:.4g} ± {error:.2g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:,.{digits}f} ± {error:,.{digits}f}"


def _size(result: "KMeansResult", k: int) -> str:
    """Write the part of the users in a cluster and its standard error, to one digit of that: 3 ± 1 %."""
    size, error = 100 * float(result.sizes[k]), 100 * float(result.size_errors[k])
    digits = max(0, -math.floor(math.log10(max(error, 0.01))))
    return f"{size:.{digits}f} ± {error:.{digits}f} %"


# As a page ------------------------------------------------------------------------------------------------------------


def page(result: "KMeansResult") -> str:
    """Make a page that stands alone: warnings, the answer, the drawing, the centers, and the explanation."""
    sections = [Section("", [*alerts(result.warnings), *answer_blocks(result)])]
    return render_page(result.title, [*sections, Section("How it came about", story_blocks(result))], style=STYLE)


def answer_blocks(result: "KMeansResult") -> list[str]:
    """Make the answer, the drawing and how to read it, and the table of the centers."""
    blocks = [*paragraphs([result.answer], style="answer"), drawing(result), *paragraphs([HOW_TO_READ])]
    return [*blocks, wide(table(headings(result), cells(result)), "Centers"), *paragraphs([ERRORS])]


def story_blocks(result: "KMeansResult") -> list[str]:
    """Make the explanation as it is in a terminal."""
    return [f"<pre>{escape(result.explain())}</pre>"]


_CENTER, _INK, _MUTED, _GRID = color("both"), color("ink"), color("axis"), color("line")
_LEFT, _TOP, _WIDTH, _HEIGHT = 64, 14, 500, 300  # of the axes, in pixels of the drawing
_GAP = 52  # below the axes, for numbers and a name
_MOST_PANELS = 4
_HOLDS_95_PERCENT = 2.448  # radius that holds 95 % of a normal variable in two dimensions: sqrt(-2 log 0.05)


def drawing(result: "KMeansResult") -> str:
    """Draw the centers with their uncertainty, two dimensions in each panel, as SVG that needs nothing else."""
    d = result.centers.shape[1]
    pairs = [(x, x + 1 if x + 1 < d else None) for x in range(0, d, 2)][:_MOST_PANELS]
    step = _TOP + _HEIGHT + _GAP
    panels = [_panel(result, x, y, at * step) for at, (x, y) in enumerate(pairs)]
    more = f", {2 * len(pairs)} of {d} dimensions" if 2 * len(pairs) < d else ""
    return (
        f'<svg viewBox="0 0 600 {step * len(pairs)}" role="img" aria-label="Centers with 95 % regions{more}" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{_INK}">{"".join(panels)}</svg>'
    )


def _panel(result: "KMeansResult", x: int, y: int | None, top: int) -> str:
    """Draw two dimensions, or one: axes, and for each center its region, a ring for its size, and its number."""
    names, base, middle = [escape(shortened(name, 40)) for name in result.names], top + _TOP + _HEIGHT, top + _TOP + 150
    bounds = result.study.box.bounds
    frame = f'x="{_LEFT}" y="{top + _TOP}" width="{_WIDTH}" height="{_HEIGHT}"'

    def across(value: float) -> float:
        lower, upper = bounds[x]
        return _LEFT + _WIDTH * (value - lower) / (upper - lower)

    def down(value: float) -> float:
        lower, upper = bounds[x if y is None else y]
        return base - _HEIGHT * (value - lower) / (upper - lower)

    marks = [
        f'<rect {frame} fill="none" stroke="{_GRID}"/><clipPath id="panel{x}"><rect {frame}/></clipPath>',
        f'<text x="{_LEFT + _WIDTH / 2}" y="{base + 36}" text-anchor="middle">{names[x]}</text>',
    ]
    marks += [
        f'<text x="{across(value):.1f}" y="{base + 18}" text-anchor="middle">{significant(value)}</text>'
        for value in np.linspace(*bounds[x], 3).tolist()
    ]
    if y is not None:
        marks += [
            f'<text x="{_LEFT - 6}" y="{down(value) + 4:.1f}" text-anchor="end">{significant(value)}</text>'
            for value in np.linspace(*bounds[y], 3).tolist()
        ]
        turned = f'x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})"'
        marks.append(f"<text {turned}>{names[y]}</text>")
    for k, (center, error) in enumerate(zip(result.centers, result.standard_errors, strict=True)):
        radius = _radius(_WIDTH * _HOLDS_95_PERCENT * error[x] / (bounds[x][1] - bounds[x][0]))
        high = 12.0 if y is None else _radius(_HEIGHT * _HOLDS_95_PERCENT * error[y] / (bounds[y][1] - bounds[y][0]))
        cx, cy = across(center[x]), middle if y is None else down(center[y])
        circle, ring = f'<circle cx="{cx:.1f}" cy="{cy:.1f}"', 5 + 30 * math.sqrt(float(result.sizes[k]))
        marks.append(
            f'<g clip-path="url(#panel{x})"><ellipse cx="{cx:.1f}" cy="{cy:.1f}" rx="{radius:.1f}" ry="{high:.1f}" '
            f'fill="{_CENTER}" fill-opacity="0.25"/></g>{circle} r="{ring:.1f}" fill="none" stroke="{_MUTED}"/>'
            f'{circle} r="2.5" fill="{_CENTER}"/><text x="{cx + 6:.1f}" y="{cy - 6:.1f}">{k}</text>'
        )
    return "".join(marks)


def _radius(pixels: float) -> float:
    """Limit the radius of a region to what can be seen; one that may be anywhere fills the panel."""
    return max(min(pixels, 2.0 * _WIDTH), 1.0) if math.isfinite(pixels) else 2.0 * _WIDTH
