import csv
import io
from typing import Any

import pytest

from hybriddp.service.downloads import result_csv, result_png, result_rows

PEOPLE = {"study": "s $1", "n_trusted": 3, "n_local": 2000, "privacy": {"epsilon": "1"}}
MEAN = {"estimate": PEOPLE | {"value": 37.5, "interval_95": [35.0, 40.0]}}
QUANTILES = {"estimate": PEOPLE | {"quantiles": [{"q": 0.5, "value": 3.0, "interval_95": [2.0, 4.0]}]}}
ITEMS = ["=1+1", "plain", "a,b", ["query", "url"], "-5"]


def _shares(items: list[Any]) -> dict[str, Any]:
    n = len(items)
    shares = {"items": items, "shares": [i / n for i in range(n)], "lower_95": [0.0] * n, "upper_95": [1.0] * n}
    return {"estimate": PEOPLE | shares}


def _read(result: dict[str, Any]) -> list[list[str]]:
    return list(csv.reader(io.StringIO(result_csv(result))))


def test_every_kind_of_result_is_a_table() -> None:
    assert _read(MEAN) == [["", "value", "lower_95", "upper_95"], ["mean", "37.5", "35.0", "40.0"]]
    groups = [{"group": "local", "value": 36.0, "interval_95": [30.0, 42.0]}]
    assert _read(MEAN | {"groups": groups})[1:] == [
        ["mean", "37.5", "35.0", "40.0"],
        ["local group alone", "36.0", "30.0", "42.0"],
    ]
    assert _read(QUANTILES)[1] == ["p50", "3.0", "2.0", "4.0"]
    assert [row[0] for row in _read(_shares(ITEMS))[1:]] == ["'=1+1", "plain", "a,b", "query · url", "'-5"]


def test_no_label_is_computed_by_a_spreadsheet() -> None:
    for first in "=+-@\t\r":
        assert _read(_shares([f"{first}HYPERLINK()"]))[1][0].startswith("'")


@pytest.mark.parametrize("result", [MEAN, QUANTILES, _shares(ITEMS), _shares([f"item {i}" for i in range(100)])])
def test_every_kind_of_result_is_a_picture(result: dict[str, Any]) -> None:
    assert result_png(result).startswith(b"\x89PNG")
    assert len(result_rows(result)) == max(1, len(result["estimate"].get("items", [])))
