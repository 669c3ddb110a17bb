from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from hybriddp.distribution import DistributionEstimate, DistributionStudy
from hybriddp.distribution.page import figure, page

LOADS = np.random.default_rng(0).lognormal(6, 0.8, 30_000)


def _estimate(name: str = "load", *, n_trusted: int = 2000, single: bool = False) -> DistributionEstimate:
    study = DistributionStudy(name, bounds=(0, 10_000), epsilon=2, scale="log")
    reports = None if single else study.randomize(LOADS[n_trusted:], random_state=1)
    return study.estimate(trusted=LOADS[:n_trusted], local=reports, single_group=single, random_state=2)


class _Text(HTMLParser):
    """What a reader sees of a page, and whether its tags match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen = ""

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, _attributes: object) -> None:
        assert tag in ("line", "circle", "polygon", "polyline")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.seen += data


def _read(html: str) -> str:
    reader = _Text()
    reader.feed(html)
    assert reader.open == []
    return reader.seen


def test_a_notebook_shows_quantiles_curves_and_promise() -> None:
    estimate = _estimate()
    seen = _read(estimate._repr_html_())
    for words in ("p50", "p99", "trusted alone", "local alone", "both groups", "NOT a private release"):
        assert words in seen


def test_a_page_stands_alone_and_escapes_names() -> None:
    estimate = _estimate("<b>load</b> & more")
    html = estimate.to_html()
    assert html == page([estimate])
    assert "<b>load" not in html
    assert "&lt;b&gt;load&lt;/b&gt; &amp; more" in html
    for outside in ("http", "src=", "<script", "@import", "url("):
        assert outside not in html
    assert "28,000 reported locally" in _read(html)


def test_the_quantiles_that_are_asked_for_are_shown() -> None:
    seen = _read(_estimate().to_html(at=(0.25, 0.999)))
    assert "p25" in seen
    assert "p99.9" in seen
    assert "p50" not in seen


def test_parts_have_headings_and_warnings_come_first() -> None:
    study = DistributionStudy("load", bounds=(0, 10_000), epsilon=2, scale="log")
    pairs = {}
    for key, values in (("DE", LOADS[:15_000]), ("FR", LOADS[15_000:])):
        part = study.part("country", key)
        local = part.summarize_local(study.randomize(values[500:], random_state=1))
        pairs[key] = (part.summarize_trusted(values[:500]), local)
    parts = study.estimate_parts("country", pairs, random_state=1)
    html = page(list(parts.values()))
    assert html.count("<h2>") == 2
    doubtful = [part for part in parts.values() if part.warnings]
    assert html.count('role="alert"') == sum(len(part.warnings) for part in doubtful)


@pytest.mark.parametrize("single", [False, True])
def test_the_drawing_is_xml_within_its_frame(single: bool) -> None:
    root = ElementTree.fromstring(figure(_estimate(single=single)))  # noqa: S314  (ours)
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    lines = root.findall("polyline")
    assert len(lines) == (1 if single else 3)
    for line in [*lines, *root.findall("polygon")]:
        corners = np.array([list(map(float, corner.split(","))) for corner in line.attrib["points"].split()])
        assert np.all((corners >= 0) & (corners <= (width, height)))
    for line in lines:
        corners = np.array([list(map(float, corner.split(","))) for corner in line.attrib["points"].split()])
        assert np.all(np.diff(corners[:, 0]) >= 0)
        assert np.all(np.diff(corners[:, 1]) <= 0)  # a CDF rises


def test_a_name_that_some_readers_would_break_into_lines_stays_one() -> None:
    plain, odd = page([_estimate("page load")]), page([_estimate("page\u2028load")])
    assert odd.count("<p>") == plain.count("<p>")
    assert odd.replace("\u2028", " ") == plain
