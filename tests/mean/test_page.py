import io
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from hybriddp.mean import Estimate, MeanStudy
from hybriddp.mean.explain import parts_table
from hybriddp.mean.page import page

MINUTES = np.random.default_rng(0).gamma(2.0, 20.0, 5000)


def _estimate(name: str = "minutes", **options: object) -> Estimate:
    study = MeanStudy(name, bounds=(0, 240), epsilon=1)
    codes = study.randomize(MINUTES[500:], random_state=1)
    return study.estimate(**{"trusted": MINUTES[:500], "local": codes, "random_state": 2, **options})


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
        assert tag in ("line", "circle")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.seen += data


def _read(html: str) -> str:
    reader = _Text()
    reader.feed(html)
    assert reader.open == []
    return reader.seen


def test_a_notebook_shows_groups_answer_and_promise() -> None:
    seen = _read(_estimate()._repr_html_())
    for words in ("trusted alone", "local alone", "hybrid", "4,500", "NOT a private release"):
        assert words in seen


def test_a_page_stands_alone_and_escapes_names() -> None:
    estimate = _estimate("<b>minutes</b> & more")
    html = estimate.to_html()
    assert html == page([estimate])
    assert "<b>" not in html
    assert "&lt;b&gt;minutes" in html
    assert "http" not in html.replace("http://www.w3.org", "")
    assert "Of 5,000 users" in _read(html)


def test_a_page_names_the_study_once() -> None:
    body = _estimate("hours awake").to_html().split("<body>")[1]
    assert body.count("hours awake") == 1


def test_a_terminal_shows_a_table() -> None:
    stream = io.StringIO()
    Console(file=stream, width=100).print(_estimate())
    for words in ("minutes", "trusted alone", "hybrid", "95 % interval"):
        assert words in stream.getvalue()


def test_one_group_alone_is_named_so() -> None:
    stream = io.StringIO()
    Console(file=stream, width=100).print(_estimate(local=None, single_group=True))
    assert "trusted only" in stream.getvalue()
    assert "hybrid" not in stream.getvalue()
    Console(file=stream, width=100).print(_estimate(trusted=None, single_group=True))
    assert "local only" in stream.getvalue()


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_picture_has_one_bar_per_answer(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"estimate.{ending}"
    figure = _estimate().plot(path)
    assert path.stat().st_size > 1000
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["trusted alone", "local alone", "hybrid"]
    assert "a simulation" in axes.get_title(loc="left")
    assert _estimate().plot(str(path)).axes


def test_names_and_keys_are_no_markup() -> None:
    study = MeanStudy("minutes [bold]x[/b]", bounds=(0, 240), epsilon=1).part("country", "[/b]")
    estimate = study.estimate(trusted=[1.0, 2.0], local=[1, 2], random_state=1)
    stream = io.StringIO()
    console = Console(file=stream, width=120)
    console.print(estimate)
    console.print(parts_table([estimate]))
    assert "minutes [bold]x[/b] [country = [/b]]" in stream.getvalue()


def test_a_name_that_some_readers_would_break_into_lines_stays_one() -> None:
    plain, odd = page([_estimate("my minutes")]), page([_estimate("my\u2028minutes")])
    assert odd.replace("\u2028", " ") == plain
