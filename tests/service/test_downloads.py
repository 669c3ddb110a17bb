import csv
import io
from typing import Any

import pytest

from hybriddp.reporting.html import Section, color, paragraphs, render_page
from hybriddp.service.downloads import result_csv, result_rows, result_svg

PEOPLE = {"study": "s $1", "n_trusted": 3, "n_local": 2000, "privacy": {"epsilon": "1"}}
MEAN = {"estimate": PEOPLE | {"rows": [{"name": "mean", "value": 37.5, "lower": 35.0, "upper": 40.0}]}}
QUANTILES = {"estimate": PEOPLE | {"rows": [{"name": "p50", "value": 3.0, "lower": 2.0, "upper": 4.0}]}}
ITEMS = ["=1+1", "plain", "a,b", "query", "-5"]


def _shares(items: list[Any]) -> dict[str, Any]:
    n = len(items)
    rows = [{"name": item, "value": i / n, "lower": 0.0, "upper": 1.0} for i, item in enumerate(items)]
    largest = [row | {"upper": 2.0, "level": 0.985} for row in rows[:-31:-1]]  # with wider intervals
    return {"estimate": PEOPLE | {"rows": rows, "largest": largest if n > 30 else None}}


def _centers(d: int, *, error: float | None = 0.5) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": "visits $1",
        "epsilon": "4",
        "bounds": [[0.0, 10.0]] * d,
        "columns": [],
        "warnings": ["Doubtful."],
    }
    found |= {"centers": [[2.0] * d, [7.0] * d], "standard_errors": [[0.5] * d, [error] * d], "sizes": [0.25, 0.75]}
    return {"estimate": found}


def _read(result: dict[str, Any]) -> list[list[str]]:
    return list(csv.reader(io.StringIO(result_csv(result))))


def test_every_kind_of_result_is_a_table() -> None:
    assert _read(MEAN) == [["name", "value", "lower_95", "upper_95"], ["mean", "37.5", "35.0", "40.0"]]
    groups = [{"name": "local alone", "value": 36.0, "lower": 30.0, "upper": 42.0}]
    assert _read(MEAN | {"groups": groups})[1:] == [
        ["mean", "37.5", "35.0", "40.0"],
        ["local alone", "36.0", "30.0", "42.0"],
    ]
    assert _read(QUANTILES)[1] == ["p50", "3.0", "2.0", "4.0"]
    assert [row[0] for row in _read(_shares(ITEMS))[1:]] == ["'=1+1", "plain", "a,b", "query", "'-5"]


def test_every_coordinate_of_a_center_has_its_interval() -> None:
    rows = result_rows(_centers(2, error=None))
    assert [row.label for row in rows[:2]] == ["center 0, dimension 0", "center 0, dimension 1"]
    assert (rows[0].lower, rows[0].upper) == (2 - 1.96 * 0.5, 2 + 1.96 * 0.5)
    assert (rows[3].value, rows[3].lower, rows[3].upper) == (7.0, 0.0, 10.0)  # nothing is known of its error


def test_no_label_is_computed_by_a_spreadsheet() -> None:
    for first in "=+-@\t\r":
        assert _read(_shares([f"{first}HYPERLINK()"]))[1][0].startswith("'")


@pytest.mark.parametrize("n", [5, 100])
def test_all_shares_are_in_the_table(n: int) -> None:
    assert len(result_rows(_shares([f"item {i}" for i in range(n)]))) == n


def test_the_drawing_of_a_page_stands_by_itself() -> None:
    page = render_page("t", [Section("", paragraphs(["3 < 4"])), Section("", [f'<svg fill="{color("ink")}">\n</svg>'])])
    assert result_svg(page) == '<svg xmlns="http://www.w3.org/2000/svg" fill="#22303c">\n</svg>'
    assert result_svg(render_page("t", [])) is None
