"""A released result in other forms, from its stored JSON: a table as CSV, and a picture as PNG."""

import csv
import io
import math
from collections.abc import Mapping
from typing import Any

from hybriddp.figures.intervals import IntervalRow, draw
from hybriddp.figures.kmeans import DrawnCenters, draw_published
from hybriddp.frequency.published import MOST_LARGEST
from hybriddp.frequency.selection import LEVEL, level_words

__all__ = ["result_csv", "result_png", "result_rows"]

_MOST_DRAWN = MOST_LARGEST
_HALF_OF_95_PERCENT = 1.96  # standard errors
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets would compute


def result_rows(result: Mapping[str, Any]) -> list[IntervalRow]:
    """The numbers of a result of any kind, all of them, each with its plain 95 % interval.

    Examples
    --------
    >>> result_rows({"estimate": {"study": "minutes", "value": 37.0, "interval_95": [35.0, 39.0]}})
    [IntervalRow(label='mean', value=37.0, lower=35.0, upper=39.0)]
    """
    found = result["estimate"]
    if "value" in found:
        alone = [
            IntervalRow(f"{one['group']} group alone", one["value"], *one["interval_95"])
            for one in result.get("groups", [])  # results of before have none
        ]
        return [IntervalRow("mean", found["value"], *found["interval_95"]), *alone]
    if "parts" in found:
        return [IntervalRow(str(one["users"]["key"]), one["value"], *one["interval_95"]) for one in found["parts"]]
    if "quantiles" in found:
        return [IntervalRow(f"p{100 * one['q']:g}", one["value"], *one["interval_95"]) for one in found["quantiles"]]
    if "centers" in found:
        return _center_rows(DrawnCenters.published(found))
    return _share_rows(found)


def _share_rows(shares: Mapping[str, Any]) -> list[IntervalRow]:
    columns = (shares["items"], shares["shares"], shares["lower"], shares["upper"])
    return [IntervalRow(_name(item), *numbers) for item, *numbers in zip(*columns, strict=True)]


def _center_rows(drawn: DrawnCenters) -> list[IntervalRow]:
    """Each coordinate of each center; where nothing is known of its error, the bounds are the interval."""
    rows = []
    for k, (center, errors) in enumerate(zip(drawn.centers.tolist(), drawn.errors.tolist(), strict=True)):
        for name, value, error, bounds in zip(drawn.names, center, errors, drawn.bounds, strict=True):
            half = _HALF_OF_95_PERCENT * error
            lower, upper = (value - half, value + half) if math.isfinite(half) else bounds
            rows.append(IntervalRow(f"center {k}, {name}", value, lower, upper))
    return rows


def _name(item: object) -> str:
    return " · ".join(map(str, item)) if isinstance(item, list) else str(item)


def result_csv(result: Mapping[str, Any]) -> str:
    """A result as CSV (RFC 4180). A label that a spreadsheet would compute begins with an apostrophe."""
    made = io.StringIO()
    writer = csv.writer(made)
    found = result["estimate"]
    sizes = [[one["n_trusted"], one["n_local"]] for one in found.get("parts", [])]
    writer.writerow(["name", "value", "lower_95", "upper_95", *(["n_trusted", "n_local"] if sizes else [])])
    for i, row in enumerate(result_rows(result)):
        writer.writerow([_label(row.label), row.value, row.lower, row.upper, *(sizes[i] if sizes else [])])
    for one in found.get("left_out", []):
        writer.writerow([_label(one["name"]), "", "", "", one["n_trusted"], one["n_local"]])
    return made.getvalue()


def _label(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def result_png(result: Mapping[str, Any]) -> bytes:
    """A result as a picture: the number, the quantiles, parts, the largest shares or centers, with intervals."""
    found, made = result["estimate"], io.BytesIO()
    if "centers" in found:
        draw_published(found).savefig(made, format="png")
        return made.getvalue()
    # The largest shares have been selected, and have intervals of their own.
    selected = found.get("largest")
    rows = _share_rows(selected) if selected else result_rows(result)
    people = f"{found['n_trusted']:,} trusted and {found['n_local']:,} local participants"
    level = level_words(selected["level"][0] if selected else LEVEL)
    below = f"{level} intervals; {people}; ε = {found['privacy']['epsilon']}"
    draw(rows[:_MOST_DRAWN], title=str(found["study"]), below=below).savefig(made, format="png")
    return made.getvalue()
