from typing import Any

import pytest

from hybriddp import DistributionStudy, FrequencyStudy, HeavyHitterStudy, MeanStudy
from hybriddp.service.pages.take_part import no_study_page, receipt_page, take_part_page
from tests.service.pages.test_operator import EVIL, Read

NONCE, TOKEN = "ab" * 16, "a.b.c"
RECEIPT = {
    "receipt": {
        "version": 1,
        "study": "minutes",
        "digest": "0" * 64,
        "group": "trusted",
        "epsilon": "1",
        "delta": "0",
        "commitment": "1" * 64,
        "asserted_by": "participant",
        "stored": [EVIL],
        "day": "2026-11-17",
    },
    "signature": EVIL,
    "kid": "k",
}


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
    text = take_part_page(document(warning=EVIL), nonce=NONCE, typed={"value": EVIL}, problem=EVIL)
    page = Read(text)
    assert EVIL not in text
    assert "img" not in page.tags
    labels = set(page.all("for"))
    assert {"token", "value", "given"} <= labels <= set(page.all("id"))
    assert page.all("action") == ["/studies/minutes/take-part/trust", "/studies/minutes/take-part/withdraw"]
    assert page.tags.count("h1") == 1


def test_a_token_is_hidden_and_a_pilot_needs_none() -> None:
    with_token = take_part_page(document(), nonce=NONCE, token=TOKEN)
    assert with_token.count('type="hidden" name="token" value="a.b.c"') == 2
    assert "<textarea" not in with_token
    pilot = take_part_page(document(tokens=False), nonce=NONCE)
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
    text = take_part_page(document(kind=kind, text=study.to_json()), nonce=NONCE, typed={"value": "1"})
    assert words in text
    assert EVIL not in text
    assert ('<option value="1" selected>' in text) == (kind == "frequency")
    assert ("something else" in text) == (kind == "frequency")


def items(state: str, listed: list[str] | None = None) -> dict[str, Any]:
    """The document of a study of items."""
    study = HeavyHitterStudy("words", epsilon=1, delta="0.000001")
    asked = None if listed is None else study.question_about(listed)
    question = asked and {"text": asked.to_json(), "digest": asked.digest}
    return document(kind="heavy-hitters", state=state, text=study.to_json(), digest=study.digest, question=question)


def test_items_are_asked_for_while_the_list_is_made() -> None:
    text = take_part_page(items("open"), nonce=NONCE, token=TOKEN, typed={"value": EVIL})
    page = Read(text)
    assert EVIL not in text
    assert "one item: a text of your own" in text
    assert 'id="value" name="value" type="text"' in text
    assert 'value="report" required disabled data-later' in text
    assert 'value="trust" required aria' in text
    assert "Not yet: those who do not trust are asked about a list" in text
    assert page.all("action") == ["/studies/minutes/take-part/trust", "/studies/minutes/take-part/withdraw"]


def test_items_are_reported_about_the_list() -> None:
    listed = ["weather", EVIL, *(f"item {i}" for i in range(60))]
    text = take_part_page(items("asking", listed), nonce=NONCE, token=TOKEN)
    page = Read(text)
    assert EVIL not in text
    assert "The list that was released: 62 items" in text
    assert "<li>item 47</li><li>… and 12 more</li>" in text
    assert 'value="report" required disabled aria' in text  # until the script has checked the study
    assert 'value="trust" required disabled data-later' in text
    assert "Not any more" in text
    assert page.all("action") == ["/studies/minutes/take-part/trust"]  # what made the list cannot be withdrawn
    ended = take_part_page(items("closed", listed), nonce=NONCE)
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
    text = take_part_page(document(state=state), nonce=NONCE)
    assert words in text
    assert "<form" not in text
    assert ("Open until" in text) == (state in ("created", "asking"))
    assert 'id="take-part"' in text  # where the script finds what it has to delete


def test_a_receipt_says_how_to_withdraw_and_that_of_a_withdrawal_does_not() -> None:
    text = receipt_page(document(), RECEIPT, token=TOKEN, value=EVIL, nonce=NONCE)
    assert EVIL not in text
    page = Read(text)
    assert page.all("action") == ["/studies/minutes/take-part/withdraw"]
    assert {TOKEN, EVIL, NONCE} <= set(page.all("value"))
    withdrawn = RECEIPT | {"receipt": RECEIPT["receipt"] | {"withdrawn": True, "opened": True}}
    after = receipt_page(document(), withdrawn, token=TOKEN, value="3", nonce=NONCE)
    assert "<form" not in after
    assert NONCE not in after


@pytest.mark.parametrize("state", ["created", "open", "closed", "released", "withdrawn"])
def test_no_page_for_people_leads_to_those_who_run_studies(state: str) -> None:
    pages = [
        take_part_page(document(state=state), nonce=NONCE),
        receipt_page(document(state=state), RECEIPT, token=TOKEN, value="3", nonce=NONCE),
        no_study_page("There is none."),
    ]
    links = {link for page in pages for link in Read(page).all("href")}
    assert links <= {"/studies/minutes/take-part", "/studies/minutes/result.html"}


def test_without_a_script_the_page_says_who_made_the_number() -> None:
    text = receipt_page(document(), RECEIPT, token=TOKEN, value="3", nonce=NONCE)
    assert "This server made the number for you" in text
    assert "never sees" not in text  # whoever made it, it travels with the contribution


def test_what_is_not_there_is_said_on_a_page() -> None:
    assert "There is &lt;no&gt; study." in no_study_page("There is <no> study.")
