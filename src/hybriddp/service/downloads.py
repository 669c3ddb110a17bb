"""A released result in other forms: its stored JSON as a table (CSV), the drawing of its page as a picture (SVG)."""

import csv
import io
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["ResultRow", "result_csv", "result_rows", "result_svg"]

_HALF_OF_95_PERCENT = 1.96  # standard errors
_DRAWING = re.compile("<svg(.*?)</svg>", re.DOTALL)
_COLOR = re.compile(r"var\(--[a-z]+,(#[0-9a-f]+)\)")  # as `hybriddp.reporting.html.color` writes it
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets would compute


class ResultRow(NamedTuple):
    """A number of a result with the ends of its 95 % interval."""

    label: str
    value: float
    lower: float
    upper: float


def result_rows(result: Mapping[str, Any]) -> list[ResultRow]:
    """Return all numbers of a result of any kind, with their plain 95 % intervals.

    Examples
    --------
    >>> result_rows({"estimate": {"rows": [{"name": "mean", "value": 37.0, "lower": 35.0, "upper": 39.0}]}})
    [ResultRow(label='mean', value=37.0, lower=35.0, upper=39.0)]
    """
    found = result["estimate"]
    if "parts" in found:
        rows = [{**row, "name": one["users"]["key"]} for one in found["parts"] for row in one["rows"]]
    elif "centers" in found:
        return _center_rows(found)
    else:
        rows = [*found["rows"], *result.get("groups", [])]
    return [ResultRow(str(row["name"]), row["value"], row["lower"], row["upper"]) for row in rows]


def _center_rows(clusters: Mapping[str, Any]) -> list[ResultRow]:
    """Each coordinate of each center; where nothing is known of its error, the bounds are the interval."""
    names = clusters["columns"] or [f"dimension {j}" for j in range(len(clusters["bounds"]))]
    rows = []
    for k, (center, errors) in enumerate(zip(clusters["centers"], clusters["standard_errors"], strict=True)):
        for name, value, error, bounds in zip(names, center, errors, clusters["bounds"], strict=True):
            half = None if error is None else _HALF_OF_95_PERCENT * error
            lower, upper = bounds if half is None else (value - half, value + half)
            rows.append(ResultRow(f"center {k}, {name}", value, lower, upper))
    return rows


def result_csv(result: Mapping[str, Any]) -> str:
    """Format a result as CSV (RFC 4180).

    Labels that a spreadsheet would compute begin with an apostrophe.
    """
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


def result_svg(page: str) -> str | None:
    """Extract the drawing of a result's page as a separate SVG file.

    The file uses the light colors of the page. Return None if the page has no drawing.

    Examples
    --------
    >>> result_svg('<h1>shares</h1><svg fill="var(--ink,#22303c)"></svg>')
    '<svg xmlns="http://www.w3.org/2000/svg" fill="#22303c"></svg>'
    """
    drawing = _DRAWING.search(page)
    if drawing is None:
        return None
    colored = _COLOR.sub(r"\1", drawing[1])
    return f'<svg xmlns="http://www.w3.org/2000/svg"{colored}</svg>'
