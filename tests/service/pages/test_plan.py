import re

from hybriddp.service.pages.curves import LINES, axis_range
from hybriddp.service.pages.plan import plan_page
from hybriddp.service.planner import EXAMPLE, PlanRequest, plan_now
from tests.service.pages.test_operator import EVIL, Read

PLANNED = plan_now(PlanRequest.read({}))


def test_a_page_has_everything_without_its_script() -> None:
    page = Read(plan_page(PLANNED))
    assert "this page's script has not run" in page.words
    assert {"svg", "table", "form", "button"} <= set(page.tags)
    assert page.tags.count("script") == 1
    assert [source.partition("/")[0] for source in page.all("src")] == [""]


def test_every_estimator_is_drawn_and_listed() -> None:
    html = plan_page(PLANNED)
    assert html.count("<polyline") == len(LINES)
    assert html.count('class="swatch"') == len(LINES)
    assert html.count('class="ours"') == 1
    assert PLANNED.curves is not None
    low, high = axis_range(PLANNED.curves)
    points = re.findall(r"[\d.]+,([\d.]+)", " ".join(re.findall('points="(.*?)"', html)))
    assert all(12 <= float(y) <= 268 for y in points)
    assert low < min(PLANNED.curves.worst["adaptive"]) < high


def test_the_smallest_study_has_a_page_too() -> None:
    html = plan_page(plan_now(PlanRequest.read(EXAMPLE | {"users": "4", "opt_ins": "50"})))
    assert html.count("<polyline") == len(LINES)
    assert "nan" not in html


def test_every_field_has_a_label_and_what_is_wrong_with_it() -> None:
    page = Read(plan_page(plan_now(PlanRequest.read(EXAMPLE | {"users": EVIL, "against": "epsilon"}))))
    assert {*page.all("for")} == {*EXAMPLE} <= {*page.all("id")}
    assert {*" ".join(page.all("aria-describedby")).split()} <= {*page.all("id")}
    assert page.all("aria-invalid") == ["true"]
    assert "correct the marked fields" in page.words
    assert "b" in page.tags
    assert "svg" not in page.tags
