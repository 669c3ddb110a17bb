"""A released result in other forms, from its stored JSON: a table as CSV, and a picture as PNG."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from hybriddp.figures.intervals import IntervalRow, draw
from hybriddp.figures.kmeans import DrawnCenters, draw_published

__all__ = ["result_csv", "result_png", "result_rows"]

_MOST_DRAWN = 30
_HALF_OF_95_PERCENT = 1.96  # standard errors
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets would compute


def result_rows(result: Mapping[str, Any]) -> list[IntervalRow]:
    """The numbers of a result of any kind, each with its 95 % interval.

    Examples
    --------
    >>> result_rows({"estimate": {"study": "minutes", "value": 37.0, "interval_95": [35.0, 39.0]}})
    [IntervalRow(label='mean', value=37.0, lower=35.0, upper=39.0)]
    """
    found = result["estimate"]
    if "value" in found:
        return [IntervalRow("mean", found["value"], *found["interval_95"])]
    if "quantiles" in found:
        return [IntervalRow(f"p{100 * one['q']:g}", one["value"], *one["interval_95"]) for one in found["quantiles"]]
    if "centers" in found:
        return _center_rows(DrawnCenters.published(found))
    columns = (found["items"], found["shares"], found["lower_95"], found["upper_95"])
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
    writer.writerow(["", "value", "lower_95", "upper_95"])
    for row in result_rows(result):
        label = f"'{row.label}" if row.label.startswith(_FORMULA) else row.label
        writer.writerow([label, row.value, row.lower, row.upper])
    return made.getvalue()


def result_png(result: Mapping[str, Any]) -> bytes:
    """A result as a picture: the number, the quantiles, the largest shares or the centers, with 95 % intervals."""
    found, made = result["estimate"], io.BytesIO()
    if "centers" in found:
        draw_published(found).savefig(made, format="png")
        return made.getvalue()
    rows = result_rows(result)
    people = f"{found['n_trusted']:,} trusted and {found['n_local']:,} local participants"
    below = f"95 % intervals; {people}; ε = {found['privacy']['epsilon']}"
    draw(_largest(rows), title=str(found["study"]), below=below).savefig(made, format="png")
    return made.getvalue()


def _largest(rows: Sequence[IntervalRow]) -> Sequence[IntervalRow]:
    if len(rows) <= _MOST_DRAWN:
        return rows
    return sorted(rows, key=lambda row: -row.value)[:_MOST_DRAWN]
