"""What the results of all kinds of studies have in common."""

import io
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from hybriddp.errors import DataError, ParameterError
from hybriddp.kmeans.result import PublishedCenters
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.reporting.wording import ASSUMES_ALIKE, SINGLE_MODEL, UNTIED
from hybriddp.study.page import page, parts_table
from hybriddp.study.result import Result
from tests.study.results import KINDS

each_kind = pytest.mark.parametrize("kind", KINDS)
HAS_PARTS = ("mean", "shares", "quantiles")


@cache
def made(kind: str, title: str = "minutes", **how: Any) -> Result:
    """Estimate once for all tests."""
    return KINDS[kind].estimate(title, **how)


# JSON


@each_kind
def test_a_result_reads_what_it_wrote(kind: str) -> None:
    for result in (made(kind), made(kind, n_local=0), made(kind, n_trusted=0)):
        plain = result.to_dict(full=True)
        assert type(result).from_json(result.to_json(full=True)).to_dict() == plain
        assert type(result).from_json(json.dumps({"estimate": result.to_dict(), "answer": "…"})).curator is None
        again = type(result).from_json(result.to_json())
        assert again.to_dict() == result.to_dict() == {name: plain[name] for name in plain if name != "curator"}
        assert again.to_pandas().equals(result.to_pandas())
        assert len(repr(again)) < 200
    both = json.dumps({"by": "country", "parts": [made(kind).to_dict()] * 2})
    assert len(type(result).published_type.parts_from_json(both)) == 2
    with pytest.raises(DataError, match="2 parts of the users"):
        type(result).from_json(both)


TAMPERED: dict[str, Callable[[dict[str, Any]], object]] = {
    "another kind": lambda told: told.update(type="census"),
    "another version": lambda told: told.update(version=2),
    "no privacy": lambda told: told.pop("privacy"),
    "more of privacy": lambda told: told["privacy"].update(more=1),
    "half of a part": lambda told: told.update(users={"by": "country"}),
    "no warnings": lambda told: told.update(warnings=None),
    "strange parts": lambda told: told.update(parts=[7]),
    "a value outside of its interval": lambda told: told["rows"][0].update(value=1e9),
    "no number": lambda told: told["rows"][0].update(value=float("nan")),
    "a row without a level": lambda told: told["rows"][0].pop("level"),
}


@each_kind
def test_other_texts_are_refused(kind: str) -> None:
    read = type(made(kind)).from_json
    texts = ["no JSON", "[]", "{}", '{"estimate": 7}', "[" * 100_000, "\ud800"]
    texts += [made(other).to_json() for other in KINDS if other != kind]
    for tamper in TAMPERED.values():
        told = json.loads(made(kind).to_json())
        tamper(told)
        texts.append(json.dumps(told))
    for text in texts:
        with pytest.raises(DataError, match=f"no released result of type '{kind}', version 1"):
            read(text)


def test_the_same_facts_have_the_same_names_and_all_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text("utf-8")
    documented = {name for line in page.splitlines() if line.startswith("| `") for name in re.findall(r"`(\w+)`", line)}
    plain = {kind: made(kind).to_dict(full=True) for kind in KINDS}
    shared = set.intersection(*map(set, plain.values()))
    assert {"warnings", "digest", "rows", "assumes_groups_alike", "n_local", "tied", "implausible_reports"} <= shared
    for told in plain.values():
        assert list(told)[:3] == ["type", "version", "warnings"]
        assert (told["version"], told["privacy"]["seeded"], told["privacy"]["counted"]) == (1, True, False)
        names = {*told, *told["privacy"], *told["curator"], *told["rows"][0], *told["curator"]["rows"][0]}
        assert names <= documented
    assert {field.name for field in fields(PublishedCenters)} <= documented


@each_kind
def test_numbers_are_rounded_to_their_step_and_intervals_outwards(kind: str) -> None:
    result = made(kind)
    exact = result.to_dict(full=True)["curator"]["rows"]
    for level, step in ((0.95, None), (0.9, 0.01)):
        for row, unrounded in zip(result.published(level=level, step=step).rows, exact, strict=True):
            assert (row.name, row.level) == (unrounded["name"], level)
            assert row.step is not None
            size = float(row.step)
            assert abs(row.value - unrounded["value"]) <= size / 2 + 1e-9
            assert all(abs(x / size - round(x / size)) < 1e-6 for x in (row.value, row.lower, row.upper))
            assert row.lower <= row.value <= row.upper
            if level == 0.95:
                assert unrounded["lower"] - size < row.lower + 1e-9 <= unrounded["lower"] + 2e-9
                assert unrounded["upper"] - 2e-9 <= row.upper - 1e-9 < unrounded["upper"] + size
    for wrong in (0, -1, 6000, "many", math.nan, math.inf, True, [1]):
        with pytest.raises(ParameterError, match="^step must be"):
            result.published(step=wrong)
    for wrong in (0, 95):
        with pytest.raises(ParameterError, match="^level must be"):
            result.published(level=wrong)


@each_kind
def test_tables_are_rounded_unless_all_is_asked_for(kind: str) -> None:
    result = made(kind)
    plain = result.to_dict(full=True)
    short, full = result.to_pandas(), result.to_pandas(full=True)
    assert short["value"].tolist() == [row["value"] for row in plain["rows"]]
    assert full["value"].tolist() == [row["value"] for row in plain["curator"]["rows"]]
    assert short["value"].tolist() != full["value"].tolist()
    assert short["name"].tolist() == full["name"].tolist()
    assert {"lower", "upper", "level"} <= set(short) & set(full)


# What a reader must know


def _shown(result: Result) -> Iterator[str]:
    """The result wherever it is shown."""
    yield from (str(result), result.explain(), result.to_json(), result.to_html(), result._repr_html_())
    stream = io.StringIO()
    for view in (result, parts_table([result])):
        Console(file=stream, width=1000).print(view)
        yield " ".join(stream.getvalue().split())


@each_kind
@pytest.mark.parametrize("tied", [True, False])
def test_groups_far_apart_are_doubted_before_the_numbers(kind: str, tied: bool) -> None:
    result = made(kind, apart=True, tied=tied)
    assert result.groups_clearly_differ
    assert result.assumes_groups_alike is result.to_dict()["assumes_groups_alike"] is False
    assert ASSUMES_ALIKE not in result.explain()
    words = "check that both groups were asked the same" if tied else "do not use this result yet"
    assert words in result.warnings[0]
    for text in (str(result), result.explain()):
        assert text.splitlines()[0] == result.warnings[0]
    for text in _shown(result):
        assert words in text
    assert "nothing ties the reports to this study" in result.warnings[0] or tied
    assert "differ clearly" in result.explain()


@each_kind
def test_groups_that_agree_are_assumed_to_be_alike(kind: str) -> None:
    result = made(kind)
    assert not result.groups_differ
    assert result.assumes_groups_alike is True
    assert ASSUMES_ALIKE in result.explain()
    assert "agree within what chance explains" in result.explain()
    assert not any("groups" in warning for warning in (*result.warnings, *made(kind, tied=False).warnings))


@each_kind
def test_implausible_reports_are_told_wherever_the_answer_goes(kind: str) -> None:
    result = replace(made(kind), implausible_reports=3)
    for text in _shown(result):
        assert "WARNING: at least 3 of the 20,000 local reports cannot come from this study" in text
    assert result.warnings[0].startswith("WARNING: at least 3")
    assert str(result).startswith(result.warnings[0])
    for html in (result.to_html(), result._repr_html_()):
        assert '<p role="alert"><b>WARNING: at least 3' in html
    assert "at least 3 implausible reports" in repr(result)
    assert (result.to_dict()["implausible_reports"], made(kind).to_dict()["implausible_reports"]) == (3, 0)
    assert "implausible" not in repr(made(kind)) + made(kind).explain()


@each_kind
def test_untied_reports_and_single_groups_are_named(kind: str) -> None:
    untied, tied, alone = made(kind, tied=False), made(kind), made(kind, n_local=0)
    assert (untied.tied, tied.tied, alone.tied) == (False, True, True)
    assert untied.to_dict()["tied"] is False
    for text in (untied.explain(), untied.to_html(), untied._repr_html_()):
        assert UNTIED in text
    assert UNTIED not in tied.explain()
    assert SINGLE_MODEL in alone.explain()
    assert SINGLE_MODEL not in tied.explain()
    assert (alone.n_trusted, alone.n_local, alone.divergence) == (1000, 0, None)
    assert not alone.assumes_groups_alike
    assert "Of 21,000 users 1,000 trusted the curator and 20,000 reported locally." in tied.explain()


@each_kind
def test_a_release_states_its_promise_and_whether_a_ledger_counts(kind: str) -> None:
    for ledger in (Ledger(Privacy(epsilon=1)), None):
        result = made(kind, ledger=ledger) if ledger is None else KINDS[kind].estimate(ledger=ledger)
        last = result.explain().splitlines()[-1]
        assert last.startswith("Every user, trusted or local, is promised ε = 1, δ = 0 for this one release")
        assert ("Nobody is counting: give a ledger" in last) == (ledger is None)
        assert result.to_dict()["privacy"]["seeded"] is False
        assert result.to_dict()["privacy"]["counted"] is (ledger is not None)
        assert "simulation" not in repr(result) + str(result)
    for text in (str(made(kind)), made(kind).explain(), made(kind)._repr_html_()):
        assert "A simulation: NOT a private release." in text
    assert repr(made(kind)).endswith(", ε = 1, a simulation)")
    assert len(repr(made(kind, "a long name " * 9))) < 200


@pytest.mark.parametrize("kind", HAS_PARTS)
def test_a_part_of_the_users_is_named(kind: str) -> None:
    part = made(kind, key="DE")
    assert part.title == part.published().title == "minutes [country = DE]"
    assert part.to_dict()["users"] == {"by": "country", "key": "DE"}
    assert type(part).from_json(part.to_json()).to_dict() == part.to_dict()
    assert part.explain().endswith("Who has which country is public.")
    html = page([part, made(kind, key="FR")])
    assert html.count("<h2>") == 2
    assert html.count('role="alert"') == len(part.warnings) + len(made(kind, key="FR").warnings)


# Pages, terminals, pictures


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


@each_kind
def test_pages_stand_alone_and_escape_names(kind: str) -> None:
    result = made(kind, "<b>minutes</b> & more")
    html = result.to_html()
    for outside in ("<b>minutes", "http", "src=", "<script", "@import", "url("):
        assert outside not in html
    assert "&lt;b&gt;minutes" in html
    seen = _read(html)
    assert "20,000 reported locally" in seen
    for cell in (*result.headings, *(cell for row in result.cells() for cell in row)):
        assert cell in seen
        assert cell in _read(result._repr_html_())
    assert made(kind, "hours awake").to_html().split("<body>")[1].count("hours awake") == 1
    plain, odd = made(kind, "my minutes").to_html(), made(kind, "my\u2028minutes").to_html()
    assert odd.replace("\u2028", " ") == plain


@each_kind
def test_drawings_are_xml_within_their_frames(kind: str) -> None:
    for result in (made(kind), made(kind, n_local=0)):
        root = ElementTree.fromstring(result.drawing())  # noqa: S314  (ours)
        width, height = map(float, root.attrib["viewBox"].split()[2:])
        for circle in root.findall("circle"):
            assert 0 <= float(circle.attrib["cx"]) <= width
            assert 0 <= float(circle.attrib["cy"]) <= height
        assert len(root.findall("circle")) >= len(result.published().rows)


@each_kind
def test_a_terminal_shows_names_as_they_are(kind: str) -> None:
    result = made(kind, "minutes [bold]x[/b]")
    stream = io.StringIO()
    console = Console(file=stream, width=140)
    console.print(result)
    console.print(parts_table([result]))
    assert stream.getvalue().count("minutes [bold]x[/b]") >= 2
    assert all(heading in stream.getvalue() for heading in result.headings)
    assert "NOT a private release" in stream.getvalue()
    assert "agree" in stream.getvalue()


@pytest.mark.repeated
@each_kind
def test_a_picture_is_written(kind: str, tmp_path: Path) -> None:
    for name, magic in (("picture.png", b"\x89PNG"), ("picture.svg", b"<?xml")):
        figure = made(kind, r"cost in $, $x_{").plot(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(magic)
    assert "a simulation" in (tmp_path / "picture.svg").read_text("utf-8") + str(figure.axes)
    assert made(kind).plot(str(tmp_path / "other.svg")).axes


def test_kinds_are_deterministic() -> None:
    assert np.isfinite([row.value for kind in KINDS for row in made(kind).published().rows]).all()
