"""Studies of heavy hitters, from the client's side: trusted items first, then reports about a list that was checked."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from hybriddp import FrequencyStudy, HeavyHitterStudy
from hybriddp.client import Client, MockCurator, RejectedError, StudyOffer, commitment
from hybriddp.client.journal import FileJournal
from hybriddp.client.questions import ItemQuestion, question, read_study
from hybriddp.errors import DataError, ProtocolError
from hybriddp.items.records import integer_of, kept_item
from tests.client.mocking import Call

STUDY = HeavyHitterStudy("search word", epsilon=2, delta="0.000001")
LIST = ("weather", "news")


@pytest.fixture
def curator() -> MockCurator:
    return MockCurator(STUDY)


def test_trusted_items_then_a_list_then_reports(call: Call, curator: MockCurator, tmp_path: Path) -> None:
    with pytest.raises(RejectedError, match="takes no reports yet") as early:
        call("report", "weather", who="bob", journal="bob.json")
    assert early.value.reason == "closed"
    assert not (tmp_path / "bob.json").exists()  # nothing was drawn
    receipt = call("trust", "weather")
    made = curator.contributions["alice"]
    assert (made.integer, made.value) == (integer_of("weather"), "weather")
    assert (receipt.digest, receipt.epsilon, receipt.delta) == (STUDY.digest, "2", "0.000001")
    assert receipt.commitment == commitment(STUDY.digest, "trusted", int.from_bytes(b"\1weather"), made.nonce)
    asked = curator.release_list(LIST)
    curator.lose_answers(1)
    reported = call("report", "weather", who="bob", journal="bob.json")
    assert (reported.digest, reported.epsilon, reported.delta) == (asked.digest, "2", "0")
    assert 0 <= curator.contributions["bob"].integer < asked.n_codes
    again = call("report", "something else", who="bob", journal="bob.json")
    assert (again.resent, again.commitment) == (True, reported.commitment)
    sent = {body for method, path, body in curator.requests if path.endswith("/reports")}
    assert len(sent) == 1  # the lost answer and the later call sent the same bytes
    with pytest.raises(RejectedError, match="no more trusted items"):
        call("trust", "weather", who="carol", journal="carol.json")
    assert call("trust", "weather").resent  # the same as before the list
    assert call("withdraw", who="bob", journal="bob.json").opened
    with pytest.raises(RejectedError):
        call("withdraw")
    assert set(curator.contributions) == {"alice"}


def test_one_client_waits_for_the_list(curator: MockCurator) -> None:
    with curator.client("alice") as client:
        assert client.study.waits_for_list
        curator.release_list(LIST)
        assert client.study.question is not None
        fetched = len(curator.requests)
        client.report("kiwi")  # not on the list: other, in as many words as the rest
        assert curator.contributions["alice"].value is None
        assert [path for _, path, _ in curator.requests[fetched:]] == [
            "/.well-known/hybriddp-receipts.json",
            "/studies/mock-study/reports",
        ]


def test_a_pinned_study_and_its_journal(curator: MockCurator, tmp_path: Path) -> None:
    asked, path = curator.release_list(LIST), tmp_path / "j.json"

    def client(digest: str) -> Client:
        token = curator.token("alice")
        return Client("https://c.org", token, digest=digest, journal=path, transport=curator.transport)

    client(STUDY.digest).report("news")
    entry = FileJournal(path).read()
    assert entry is not None
    assert (entry.digest, entry.asked_in, entry.study_digest) == (asked.digest, STUDY.digest, STUDY.digest)
    assert client(STUDY.digest).report("news").resent
    with pytest.raises(ProtocolError, match="journal belongs to study"):
        client(asked.digest).report("news")
    text = path.read_text()
    path.write_text(text.replace(f'"asked_in": "{STUDY.digest}"', '"asked_in": 7'))
    with pytest.raises(DataError, match="not a journal"):
        client(STUDY.digest).report("news")


def _other(**changes: Any) -> str:
    given: dict[str, Any] = {"name": STUDY.name, "categories": LIST, "epsilon": 2, "other": True}
    return FrequencyStudy(**given | changes).to_json()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (_other(epsilon=3), "not one of study"),
        (_other(name="diagnosis"), "not one of study"),
        (_other(other=False), "not one of study"),
        (_other(min_group_size=1), "not one of study"),
        (_other(categories=[1, 2]), "not one of study"),
        (_other(categories=["news", "news\u200d"]), "no list shows"),
        (FrequencyStudy("search word", categories=LIST, epsilon=2, other=True).part("x", "y").to_json(), "not one of"),
        (_other().replace('"epsilon":"2"', '"epsilon":"1"'), "ε|epsilon|channel"),  # a channel that keeps only 2
        (STUDY.to_json(), "must be a study of frequencies"),
        (None, "a question that is none"),
    ],
)
@pytest.mark.parametrize("method", ["report", "trust", "promise"])
def test_a_question_of_another_kind_is_refused(
    curator: MockCurator, tmp_path: Path, text: str | None, words: str, method: str
) -> None:
    import hashlib

    def answer(request: httpx.Request) -> httpx.Response:
        response = curator.answer(request)
        if request.url.path != "/studies/mock-study":
            return response
        digest = hashlib.sha256((text or "").encode()).hexdigest()
        return httpx.Response(200, json=response.json() | {"question": {"digest": digest, "text": text}})

    curator.release_list(LIST)
    path, transport = tmp_path / "j.json", httpx.MockTransport(answer)
    with Client("https://c.org", curator.token("alice"), journal=path, transport=transport) as client:
        given = () if method == "promise" else ("weather",)
        with pytest.raises(ProtocolError, match=words):
            getattr(client, method)(*given)
    assert not path.exists()
    assert curator.contributions == {}


def test_a_question_with_another_digest_and_one_where_none_belongs(curator: MockCurator) -> None:
    curator.release_list(LIST)
    document = curator.document()
    forged = document | {"question": document["question"] | {"digest": "0" * 64}}
    with pytest.raises(ProtocolError, match="does not have the digest"):
        StudyOffer.from_document(forged)
    shares = FrequencyStudy("fruit", categories=["apple", "pear"], epsilon=2)
    with pytest.raises(ProtocolError, match="only heavy hitters have one"):
        StudyOffer.from_document(MockCurator(shares).document() | {"question": document["question"]})


def test_a_study_that_changes_under_a_waiting_client(curator: MockCurator) -> None:
    with curator.client("alice") as client:
        assert client.study.waits_for_list
        curator.study = HeavyHitterStudy("search word", epsilon=8, delta="0.000001")
        curator.release_list(LIST)
        with pytest.raises(ProtocolError, match="this app was made for"):
            client.report("weather")


@pytest.mark.parametrize("item", ["", "a\x00b", "é" * 33, "(other)", "tab\there"])
def test_what_cannot_be_shown_is_sent_as_other(curator: MockCurator, item: str) -> None:
    with curator.client("alice") as client:
        client.trust(item)
    made = curator.contributions["alice"]
    assert (made.value, made.integer) == ("(other)", integer_of("(other)"))
    assert kept_item(item) == "(other)"


@pytest.mark.parametrize("item", [1, 1.5, None, True, ["weather"], b"weather"])
def test_what_is_no_text_is_not_drawn_and_not_shown(curator: MockCurator, item: Any) -> None:
    offer = StudyOffer.from_text(STUDY.to_json())
    with pytest.raises(DataError, match="must be one text") as error:
        offer.draw(item, group="trusted")
    assert item is None or repr(item) not in str(error.value)
    curator.release_list(LIST)
    with curator.client("alice") as client, pytest.raises(DataError, match="must be one text"):
        client.report(item)
    assert curator.contributions == {}


def test_without_a_network(curator: MockCurator) -> None:
    offer = StudyOffer.from_text(STUDY.to_json(), digest=STUDY.digest)
    with pytest.raises(RejectedError, match="takes no reports yet"):
        offer.draw("weather")
    with curator.client("alice") as alice:
        assert alice.send(offer.draw("weather", group="trusted")).group == "trusted"
    asked = curator.release_list(LIST)
    with curator.client("bob") as bob:
        assert bob.send(StudyOffer.from_text(asked.to_json()).draw("weather")).group == "local"
    with curator.client("carol") as carol, pytest.raises(ProtocolError, match="belong to study"):
        carol.send(StudyOffer.from_text(_other(categories=("news", "maps"))).draw("news"))


def test_the_promise_before_and_after_the_list(curator: MockCurator) -> None:
    with curator.client("alice") as client:
        before = client.promise()
        assert "asks for one item, a text: search word. Items that enough of those who trust have" in before
        assert "shows an item only if enough people have it, and publishes only answers with noise" in before
        assert "but for a chance of 0.000001" in before
        asked = curator.release_list(LIST)
        after = client.promise()
    assert "A list of 2 has been released: weather; news. Anything else counts as other." in after
    assert after.splitlines()[-1] == f"Digest of the question about its list: {asked.digest}"


def test_a_study_that_no_server_takes() -> None:
    with pytest.raises(ProtocolError, match="by way of a list only"):
        read_study(HeavyHitterStudy("x", epsilon=1, domain=["a", "b"]).to_json())


def test_what_the_curator_takes_an_item_for() -> None:
    asked = question(STUDY)
    assert isinstance(asked, ItemQuestion)
    assert asked.received("fig") == integer_of("fig") == asked.trusted("fig").integer
    with pytest.raises(ProtocolError, match="a text"):
        asked.received(1.0)
    with pytest.raises(RejectedError):
        _ = asked.codes


def test_a_list_is_for_heavy_hitters_only() -> None:
    with pytest.raises(ProtocolError, match="has no list"):
        MockCurator(FrequencyStudy("fruit", categories=["apple", "pear"], epsilon=1)).release_list(LIST)


def test_a_mock_releases_only_what_clients_take(curator: MockCurator) -> None:
    for items in ([1, 2], ["news", "news\u3164"]):
        with pytest.raises(ProtocolError, match="The question is"):
            curator.release_list(items)
    assert curator.state == "open"


def test_a_relays_batch_is_about_the_question(curator: MockCurator) -> None:
    asked = curator.release_list(LIST)
    body = {"digest": asked.digest, "reports": [{"participant": "d", "code": 0, "nonce": "0" * 32}]}
    request = httpx.Request("POST", "https://c.org/studies/mock-study/batches", content=json.dumps(body))
    told = curator.answer(request).json()
    assert (told["accepted"], told["receipt"]["receipt"]["digest"]) == (1, asked.digest)
