import json
from html.parser import HTMLParser
from typing import Any

import pytest

from hybriddp.mean import MeanStudy
from hybriddp.service.pages.operator import front_page, login_page, message_page, studies_page, study_page
from hybriddp.service.receipts import stored

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1)
EVIL = "<script>alert('\"x')</script>"


def document(**changes: object) -> dict[str, Any]:
    return {
        "id": "minutes",
        "kind": "mean",
        "digest": STUDY.digest,
        "text": STUDY.device_json(),
        "epsilon": "1",
        "delta": "0",
        "promise": "Whatever you send, little can be learned about you.",
        "consent": {"organization": "Example", "purpose": "Better sessions", "contact": "privacy@example.org"},
        "stored": {group: stored(group) for group in ("local", "trusted")},
        "tokens": True,
        "warning": None,
        "state": "open",
        "closes_at": "2026-12-01T00:00:00Z",
        "min_trusted": 10,
        "min_local": 1000,
        "counts": {"trusted": 12, "local": 34_567},
    } | changes


class Read(HTMLParser):
    """The tags, attributes and words of a page, as a browser would see them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "input", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data

    def all(self, name: str) -> list[str]:
        return [value or "" for key, value in self.attributes if key == name]


def pages(study: dict[str, Any]) -> list[str]:
    more = {
        "rejections": {"closed": 3, EVIL: 1},
        "result": {"estimate": {"type": "mean", "rows": [{"value": 40.5, "lower": 39.0, "upper": 41.5}]}},
    }
    return [
        front_page(),
        login_page(failed=True),
        message_page(EVIL, EVIL),
        studies_page([study, study], form_token="t", notice=EVIL),  # noqa: S106
        study_page(study, form_token="t", budget=EVIL, obstacle=EVIL, notice=EVIL, problem=EVIL, **more),  # noqa: S106
    ]


def test_the_list_shows_what_an_operator_needs() -> None:
    page = Read(studies_page([document(), document(id="b", state="closed", counts=None)], form_token="f00"))  # noqa: S106
    for word in ("session minutes", "open", "closed", "12", "34,567", "2026-12-01 00:00:00"):
        assert word in page.words
    assert {"/operator/studies/minutes", "/operator/studies/b"} <= set(page.all("href"))
    assert page.all("value").count("f00") == page.tags.count("form") == 1  # nothing is done from the list
    assert set(page.all("method")) == {"post"}
    assert "no study yet" in Read(studies_page([], form_token="")).words


@pytest.mark.parametrize(
    ("state", "actions", "can_be_withdrawn"),
    [
        ("created", ["open"], True),
        ("open", ["close"], True),
        ("closed", ["release"], True),
        ("released", [], False),
        ("withdrawn", [], False),
    ],
)
def test_what_can_be_done_depends_on_the_state(state: str, actions: list[str], can_be_withdrawn: bool) -> None:
    page = Read(study_page(document(state=state), form_token="f00"))  # noqa: S106
    steps = [address for address in page.all("action") if not address.endswith("/withdraw")]
    assert steps == [f"/operator/studies/minutes/{action}" for action in actions]
    assert ("sure" in page.all("name")) is bool({"close", "release"} & set(actions))
    assert page.all("value").count("f00") == page.tags.count("form")  # every form has the field
    assert ("/operator/studies/minutes/withdraw" in page.all("action")) is can_be_withdrawn
    assert ("confirm" in page.all("name")) is can_be_withdrawn
    assert ("/studies/minutes/result.html" in page.all("href")) is (state == "released")


def test_a_study_says_what_people_are_told_and_why_requests_were_refused() -> None:
    told = study_page(document(warning="A pilot."), form_token="", rejections={"closed": 1200, "duplicate": 1})
    page = Read(told)
    for word in (
        "Example",
        "Better sessions",
        "privacy@example.org",
        "little can be learned",
        "keyed hash",
        "A pilot.",
    ):
        assert word in page.words
    for word in ("duplicate", "Already taken part", "1,200", "1,201 requests in all", STUDY.digest):
        assert word in page.words
    assert json.dumps(json.loads(STUDY.device_json()), separators=(",", ":")) in page.words
    assert "None since this server started." in Read(study_page(document(), form_token="")).words


@pytest.mark.parametrize("nested", [True, False])
def test_a_released_study_shows_its_result(nested: bool) -> None:
    estimate = {"type": "mean", "rows": [{"value": 40.25, "lower": 39.0, "upper": 41.5}]}
    page = study_page(document(state="released"), form_token="", result={"estimate": estimate} if nested else estimate)
    assert "Result: 40.25, 95\N{NO-BREAK SPACE}% interval 39 to 41.5" in Read(page).words
    assert "Result:" not in Read(study_page(document(state="released"), form_token="")).words


def test_nothing_that_is_told_becomes_markup() -> None:
    evil = MeanStudy(EVIL, bounds=(0, 1), epsilon=1)
    for changes in (
        {"text": evil.device_json()},
        {"id": EVIL, "text": EVIL},
        {"consent": dict.fromkeys(("organization", "purpose", "contact"), EVIL), "promise": EVIL, "warning": EVIL},
        {"stored": {"local": [EVIL], "trusted": [EVIL]}, "epsilon": EVIL, "delta": EVIL, "closes_at": EVIL},
        {"state": EVIL, "digest": EVIL},
        {"state": "released", "id": EVIL},
    ):
        for html in pages(document(**changes)):
            page = Read(html)
            assert page.tags.count("script") == len(page.all("src"))  # ours
            assert all(source.startswith("/static/") for source in page.all("src"))
            assert not any(name.startswith("on") for name, _ in page.attributes)
            assert not any("<" in value for value in page.all("href") + page.all("formaction") + page.all("action"))
            assert page.open == []


def test_pages_load_nothing_and_run_nothing() -> None:
    for html in pages(document()):
        page = Read(html)
        assert not {"link", "img", "iframe"} & set(page.tags)
        assert page.tags.count("script") == len(page.all("src"))
        assert all(source.startswith("/static/") for source in page.all("src"))
        assert page.all("style") == []
        assert all(address.startswith("/") for address in page.all("href"))


def test_a_study_without_a_name_has_its_id() -> None:
    for text in ("", "[]", '{"name": 7}', '{"name": " "}', "[" * 100_000):
        assert "<h1>minutes</h1>" in study_page(document(text=text), form_token="")


def test_the_login_asks_for_the_key_and_says_when_it_is_wrong() -> None:
    page = Read(login_page())
    assert "/operator/login" in page.all("action")
    assert "password" in page.all("type")
    assert "not the admin key" not in page.words
    assert "not the admin key" in Read(login_page(failed=True)).words


def test_the_front_page_leads_to_all_others() -> None:
    """Not to what has an id or a key of its own: studies' pages, and what is behind the login."""
    assert set(Read(front_page()).all("href")) == {"/", "/plan", "/operator", "/schema/openapi.json", "/health"}


def test_a_study_that_cannot_be_released_says_why_in_place_of_the_button() -> None:
    page = Read(study_page(document(state="closed"), form_token="", obstacle="The local group has 3 of the 10."))
    assert "The local group has 3 of the 10. A closed study cannot be opened again: withdraw it." in page.words
    assert [address.rpartition("/")[2] for address in page.all("action")] == ["withdraw"]
    assert "sure" not in page.all("name")


@pytest.mark.parametrize(
    ("state", "said", "unsaid"),
    [
        ("open", "Closes at (UTC)2026-12-01 00:00:00", "or before"),
        ("closed", "Closed2026-12-01 00:00:00 UTC or before", "Closes at"),
        ("released", "Closed2026-12-01 00:00:00 UTC or before", "Closes at"),
        ("withdrawn", "withdrawn", "2026-12-01"),
    ],
)
def test_the_closing_time_depends_on_the_state(state: str, said: str, unsaid: str) -> None:
    words = Read(study_page(document(state=state), form_token="")).words
    assert said in words
    assert unsaid not in words


def test_of_a_withdrawn_study_nothing_is_told_to_people() -> None:
    page = study_page(document(state="withdrawn", consent={}), form_token="")
    assert "What people are told" not in page
    assert "What people are told" in study_page(document(), form_token="")


def test_the_budget_has_a_row_if_there_is_one() -> None:
    shown = Read(study_page(document(), form_token="", budget="panel, ε = 0.25 left")).words
    assert "Budgetpanel, ε = 0.25 left" in shown
    assert "Budget" not in Read(study_page(document(), form_token="")).words


def test_percent_signs_stay_with_their_numbers_but_not_in_the_text() -> None:
    page = study_page(document(promise="Right 88 % of the time.", text="88 %"), form_token="")
    assert "Right 88\N{NO-BREAK SPACE}% of the time." in page
    assert ">88 %</textarea>" in page


def test_whoever_closes_or_releases_says_that_they_know() -> None:
    for state in ("open", "closed"):
        assert "I know that this cannot be undone." in study_page(document(state=state), form_token="")


def test_refused_moves_are_explained() -> None:
    words = Read(study_page(document(), form_token="", rejections={"refused": 2})).words
    assert "Not possible: the study's state" in words
