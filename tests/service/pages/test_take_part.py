import re
from typing import Any

import pytest

from hybriddp import DistributionStudy, FrequencyStudy, HeavyHitterStudy, MeanStudy
from hybriddp.service.pages.take_part import no_study_page, take_part_page
from tests.service.pages.test_operator import EVIL, Read

JWT = "a.b.c"


def document(**changes: object) -> dict[str, Any]:
    study = MeanStudy(EVIL, bounds=(0, 240), epsilon=1)
    return {
        "id": "minutes",
        "kind": "mean",
        "title": EVIL,
        "text": study.device_json(),
        "digest": study.digest,
        "state": "open",
        "promise": EVIL,
        "consent": dict.fromkeys(("organization", "purpose", "contact"), EVIL),
        "stored": {"local": [EVIL], "trusted": [EVIL]},
        "tokens": True,
        "warning": None,
        "closes_at": "2099-01-01T00:00:00Z",
        **changes,
    }


def test_everything_is_escaped_and_each_field_has_its_label() -> None:
    text = take_part_page(document(warning=EVIL), problem=EVIL)
    page = Read(text)
    assert EVIL not in text
    assert "img" not in page.tags
    assert {"token", "value"} == set(page.all("for")) <= set(page.all("id"))
    assert page.tags.count("h1") == 1


def test_only_the_script_can_send_the_form() -> None:
    text = take_part_page(document())
    page = Read(text)
    assert page.all("method") == ["dialog"]  # sends nothing
    assert not {"action", "formaction", "formmethod"} & {name for name, _ in page.attributes}
    assert re.findall("<(?:button|input type=.radio)[^>]*>", text) == [
        '<input type="radio" name="choice" value="report" required disabled aria-describedby="report-words">',
        '<input type="radio" name="choice" value="trust" required disabled aria-describedby="trust-words">',
        '<button class="next" disabled>',
    ]
    assert "It needs JavaScript, because your own device checks the study and draws what leaves it." in page.words


def test_a_token_is_hidden_and_a_pilot_needs_none() -> None:
    with_token = take_part_page(document(), token=JWT)
    assert with_token.count('type="hidden" name="token" value="a.b.c"') == 1
    assert "<textarea" not in with_token
    pilot = take_part_page(document(tokens=False))
    assert 'name="token"' not in pilot
    assert 'data-tokens="no"' in pilot


@pytest.mark.parametrize(
    ("study", "words"),
    [
        (DistributionStudy("d", bounds=(0, 10), epsilon=1), "one number, from 0 to 10"),
        (FrequencyStudy("f", categories=["a", EVIL], epsilon=1, other=True), "one of 3 answers"),
    ],
)
def test_other_kinds_are_asked_for(study: DistributionStudy | FrequencyStudy, words: str) -> None:
    kind = "distribution" if isinstance(study, DistributionStudy) else "frequency"
    text = take_part_page(document(kind=kind, text=study.to_json()))
    assert words in text
    assert EVIL not in text
    assert ('<option value="2">' in text) == (kind == "frequency")
    assert ("something else" in text) == (kind == "frequency")


def items(state: str, listed: list[str] | None = None) -> dict[str, Any]:
    """The document of a study of items."""
    study = HeavyHitterStudy("words", epsilon=1, delta="0.000001")
    asked = None if listed is None else study.question_about(listed)
    question = asked and {"text": asked.to_json(), "digest": asked.digest}
    return document(kind="heavy-hitters", state=state, text=study.to_json(), digest=study.digest, question=question)


def test_items_are_asked_for_while_the_list_is_made() -> None:
    text = take_part_page(items("open"), token=JWT)
    assert "one item: a text of your own" in text
    assert 'id="value" name="value" type="text"' in text
    assert 'value="report" required disabled data-later' in text
    assert 'value="trust" required disabled aria' in text
    assert "Not yet: those who do not trust are asked about a list" in text


def test_items_are_reported_about_the_list() -> None:
    listed = ["weather", EVIL, *(f"item {i}" for i in range(60))]
    text = take_part_page(items("asking", listed), token=JWT)
    assert EVIL not in text
    assert "The list that was released: 62 items" in text
    assert "<li>item 47</li><li>… and 12 more</li>" in text
    assert 'value="report" required disabled aria' in text  # until the script has checked the study
    assert 'value="trust" required disabled data-later' in text
    assert "Not any more" in text
    ended = take_part_page(items("closed", listed))
    assert "People were asked for one item" in ended
    assert "item 47" not in ended


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("created", "not open yet"),
        ("asking", "what this page cannot ask"),
        ("closed", "People were asked for one number"),
        ("released", "See the result"),
        ("withdrawn", "was withdrawn by the people who run it"),
    ],
)
def test_a_study_that_is_not_open_asks_for_nothing(state: str, words: str) -> None:
    text = take_part_page(document(state=state))
    assert words in text
    assert not {"form", "button"} & set(Read(text).tags)
    assert "This page does not work now" not in text  # nobody needs its script
    assert ("Open until" in text) == (state in ("created", "asking"))
    assert 'id="take-part"' in text  # where the script finds what it has to delete


@pytest.mark.parametrize("state", ["created", "open", "closed", "released", "withdrawn"])
def test_no_page_for_people_leads_to_those_who_run_studies(state: str) -> None:
    pages = [take_part_page(document(state=state)), no_study_page("There is none.")]
    links = {link for page in pages for link in Read(page).all("href")}
    assert links <= {"/studies/minutes/result.html"}


def test_what_is_not_there_is_said_on_a_page() -> None:
    assert "There is &lt;no&gt; study." in no_study_page("There is <no> study.")
