"""Pages of means per part: a row for each, a figure, and words that stay words."""

import re

import pytest

from hybriddp import MeanStudy
from hybriddp.mean.estimate import Estimate
from hybriddp.service.pages.parts import curator_parts_page, live_parts, part_means, part_rows, parts_page

EVIL = "<i>&"
STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=1.0)


def told(names: list[str]) -> tuple[dict[str, object], list[Estimate]]:
    """What is published of parts with these names, and the estimates."""
    found = []
    for name in names:
        part = STUDY.part(EVIL, name)
        codes = part.randomize([60.0] * 500, random_state=1)
        found.append(part.estimate(trusted=[60.0] * 20, local=codes, random_state=2))
    sizes = {"n_trusted": 20 * len(names), "n_local": 500 * len(names)}
    left_out = [{"name": "other", "n_trusted": 1, "n_local": 1_234}]
    parts = [estimate.to_dict() for estimate in found]
    return {"study": EVIL, "by": EVIL, "parts": parts, "left_out": left_out, "warnings": [EVIL], **sizes}, found


def test_a_row_for_each_part_and_what_is_left_out_at_the_end() -> None:
    published, found = told(["DE", EVIL])
    rows = part_rows(published)
    assert [row[0] for row in rows] == ["DE", EVIL, "other"]
    mean = found[0].published().row
    assert rows[0][1:3] == [mean.number(mean.value), " … ".join(map(mean.number, mean.interval)) + " *"]
    assert rows[0][3:] == ["20", "500"]
    assert rows[2] == ["other", "", "no answer: too few", "1", "1,234"]
    assert part_means(published)[0].startswith(f"DE {rows[0][1]} (")
    page = parts_page(published, promise="ε = 1.")
    assert EVIL not in page
    assert page.count("<circle") == 2
    assert "Which part somebody is in" in page


def test_the_curator_s_page_explains_a_few_parts_and_lists_many(monkeypatch: pytest.MonkeyPatch) -> None:
    published, found = told(["DE", EVIL])
    page = curator_parts_page(published, found, title="minutes", warnings=[EVIL])
    assert EVIL not in page
    assert page.count("<h2") == 2
    monkeypatch.setattr("hybriddp.service.pages.parts._EXPLAINED", 1)
    short = curator_parts_page(published, found, title="minutes", warnings=[])
    assert "<h2" not in short
    assert "weight on trusted" in short


def test_a_long_figure_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybriddp.service.pages.parts._DRAWN", 1)
    page = parts_page(told(["DE", "FR"])[0], promise="")
    assert page.count("<circle") == 1
    assert "The 1 first of 2 parts are in the figure." in page


def test_live_rows_are_where_the_script_finds_them() -> None:
    (block, hint) = live_parts(EVIL, [["DE", "1", "2", "too few to say", "too few"]])
    assert block.startswith('<div id="parts">')
    assert EVIL not in block
    assert "left out" in hint


def test_the_scale_of_the_figure_has_round_numbers() -> None:
    published = told(["DE", "FR"])[0] | {}
    for part, interval in zip(published["parts"], ([16.0, 56.0], [18.0, 58.5]), strict=True):  # type: ignore[call-overload]
        part["rows"][0]["lower"], part["rows"][0]["upper"] = interval
    shown = re.findall(r'text-anchor="middle">([^<]*)<', parts_page(published, promise=""))
    assert shown == ["20", "30", "40", "50"]
