"""What a participant's client does, over the mock curator: once with the blocking driver, once with the other."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from hybriddp import MeanStudy
from hybriddp.client import (
    Client,
    MockCurator,
    RejectedError,
    StudyOffer,
    UnavailableError,
    verify,
)
from hybriddp.client.exchange import HttpAnswer
from hybriddp.client.journal import FileJournal
from hybriddp.client.mock_problems import MockTrouble
from hybriddp.errors import DataError, ProtocolError
from tests.client.mocking import PLANTED, STUDY, Call, _forged


def _posts(curator: MockCurator) -> list[tuple[str, bytes]]:
    return [(path, body) for method, path, body in curator.requests if method == "POST"]


@pytest.mark.parametrize(("method", "group"), [("report", "local"), ("trust", "trusted")])
def test_a_contribution_and_its_receipt(call: Call, curator: MockCurator, method: str, group: str) -> None:
    receipt = call(method, 30)
    made = curator.contributions["alice"]
    assert (receipt.study, receipt.digest, receipt.group) == ("mock-study", STUDY.digest, group)
    assert (receipt.commitment, receipt.resent, receipt.withdrawn) == (made.commitment, False, False)
    verify(receipt.document, curator.jwks())
    assert made.group == group
    if group == "trusted":
        assert made.integer == 2_097_152


def test_the_raw_value_of_a_local_user_never_leaves(call: Call, curator: MockCurator, tmp_path: Path) -> None:
    call("report", PLANTED)
    everything = b"".join(body for _, _, body in curator.requests) + (tmp_path / "j.json").read_bytes()
    assert b"123.4" not in everything
    assert set(json.loads(_posts(curator)[0][1])) == {"digest", "code", "nonce"}


def test_the_public_parts_are_asked_for_without_the_token(curator: MockCurator) -> None:
    seen = []

    def note(request: httpx.Request) -> httpx.Response:
        seen.append((request.url.path, "Authorization" in request.headers))
        return curator.answer(request)

    with Client("https://c.org/", curator.token("alice"), transport=httpx.MockTransport(note)) as client:
        client.report(30)
    assert seen == [
        ("/studies/mock-study", False),
        ("/.well-known/hybriddp-receipts.json", False),
        ("/studies/mock-study/reports", True),
    ]


def test_retries_send_the_same_bytes(call: Call, curator: MockCurator) -> None:
    call("promise")
    curator.lose_answers(2)
    receipt = call("report", 30)
    sent = _posts(curator)
    assert len(sent) == 3
    assert len(set(sent)) == 1
    assert receipt.commitment == curator.contributions["alice"].commitment


@pytest.mark.parametrize("trouble", [{"status": 503}, {"status": 500}, {"status": 429, "retry_after": 0}])
def test_a_busy_curator_is_asked_again(call: Call, curator: MockCurator, trouble: dict[str, int]) -> None:
    curator.fail(3, **trouble)
    curator.disconnect(1)
    assert call("report", 30).group == "local"


@pytest.mark.parametrize("method", ["report", "trust"])
def test_a_second_call_sends_the_first_contribution_again(call: Call, curator: MockCurator, method: str) -> None:
    first = call(method, 30)
    second = call(method, 222)
    assert second.resent
    assert not first.resent
    assert "was not used" in str(second)
    sent = _posts(curator)
    assert len(sent) == 2
    assert len(set(sent)) == 1
    assert second.document == first.document


def _full(curator: MockCurator, journal: Path) -> Client:
    """A client whose curator says that the trusted group is full, whatever is sent."""

    def answer(request: httpx.Request) -> httpx.Response:
        return MockTrouble(409, "full").response() if request.method == "POST" else curator.answer(request)

    return Client("https://c.org/", curator.token("alice"), journal=journal, transport=httpx.MockTransport(answer))


def test_whoever_finds_the_trusted_group_full_may_choose_again(
    call: Call, curator: MockCurator, tmp_path: Path
) -> None:
    with _full(curator, tmp_path / "j.json") as client, pytest.raises(RejectedError) as refusal:
        client.trust(30)
    assert refusal.value.reason == "full"
    assert not (tmp_path / "j.json").exists()
    assert call("report", 30).group == "local"


@pytest.mark.parametrize(("method", "heard"), [("report", False), ("report", True), ("trust", True)])
def test_a_curator_that_says_full_gets_no_second_draw(
    call: Call, curator: MockCurator, tmp_path: Path, method: str, heard: bool
) -> None:
    if heard:
        call(method, 30)
    with _full(curator, tmp_path / "j.json") as client, pytest.raises(RejectedError):
        getattr(client, method)(30)
    kept = FileJournal(tmp_path / "j.json").read()
    assert kept is not None
    call(method, 222)
    assert curator.contributions["alice"] == kept.contribution


class KilledError(BaseException):
    """Ends the program at this place."""


@pytest.mark.parametrize("method", ["report", "trust"])
def test_a_crash_between_the_journal_and_the_network_costs_nothing(
    curator: MockCurator, tmp_path: Path, method: str
) -> None:
    def kill(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            raise KilledError
        return curator.answer(request)

    path = tmp_path / "j.json"
    with (
        pytest.raises(KilledError),
        Client("https://c.org", curator.token("alice"), journal=path, transport=httpx.MockTransport(kill)) as client,
    ):
        getattr(client, method)(30)
    drawn = FileJournal(path).read()
    assert drawn is not None
    assert curator.contributions == {}
    receipt = getattr(curator.client("alice", journal=path), method)(30)
    assert receipt.resent
    assert curator.contributions["alice"] == drawn.contribution


def test_a_crash_before_the_receipt_is_stored_costs_nothing(call: Call, curator: MockCurator, tmp_path: Path) -> None:
    call("promise")
    curator.lose_answers(99)
    with pytest.raises(UnavailableError, match="cannot be reached \\(ReadError\\)"):
        call("report", 30)
    curator._troubles.clear()
    taken = curator.contributions["alice"]
    assert call("report", 99).commitment == taken.commitment
    entry = FileJournal(tmp_path / "j.json").read()
    assert entry is not None
    assert entry.receipt is not None
    assert entry.keys == curator.jwks()


def test_nothing_is_drawn_if_the_journal_cannot_be_written(call: Call, curator: MockCurator) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        call("report", 30, journal="no/such/folder/j.json")
    assert _posts(curator) == []


def test_another_group_is_refused_here(call: Call, curator: MockCurator) -> None:
    call("report", 30)
    before = len(curator.requests)
    with pytest.raises(ProtocolError, match="in the local group of this study, and nobody can be in both"):
        call("trust", 30)
    assert len(curator.requests) == before


def test_without_a_file_one_client_still_draws_once(curator: MockCurator) -> None:
    with curator.client("alice") as client:
        assert client.report(30).commitment == client.report(99).commitment
    with pytest.raises(RejectedError, match="already taken part") as caught:
        curator.client("alice").trust(99)
    assert caught.value.reason == "duplicate"


def test_who_loses_the_race_for_a_journal_sends_what_won(curator: MockCurator, tmp_path: Path) -> None:
    path = tmp_path / "j.json"
    slow, fast = curator.client("alice", journal=path), curator.client("alice", journal=path)
    talk = slow._participant.contribute("local", 30)
    assert next(talk).work() is None  # type: ignore[union-attr]
    step = talk.send(None)  # slow has seen an empty journal
    won = fast.report(99)
    offer = httpx.Response(200, json=curator.document())
    assert step.path == "/studies/mock-study"  # type: ignore[union-attr]
    offer_answer = _answer(offer)
    assert talk.send(offer_answer).path == "/.well-known/hybriddp-receipts.json"  # type: ignore[union-attr]
    keep = talk.send(_answer(httpx.Response(200, json=curator.jwks())))
    sent = talk.send(keep.work())  # type: ignore[union-attr]
    assert sent.body == curator.contributions["alice"].body()  # type: ignore[union-attr]
    assert won.commitment == curator.contributions["alice"].commitment


@pytest.mark.parametrize("method", ["trust", "receipt"])
def test_a_withdrawal_by_another_process_is_not_undone(curator: MockCurator, tmp_path: Path, method: str) -> None:
    path = tmp_path / "j.json"
    first = curator.client("alice", journal=path)
    first.trust(PLANTED)

    def answer(request: httpx.Request) -> httpx.Response:
        response = curator.answer(request)
        if "Authorization" in request.headers:
            first.withdraw()  # while the answer is on its way
        return response

    made: dict[str, Any] = {"journal": path, "transport": httpx.MockTransport(answer)}
    with Client("https://c.org", curator.token("alice"), **made) as second:
        assert not (second.trust(PLANTED) if method == "trust" else second.receipt()).withdrawn
    left = json.loads(path.read_text())
    assert left["contribution"] is None
    assert left["withdrawal"]["receipt"]["opened"] is True


def test_a_withdrawal_finds_what_another_process_changed(curator: MockCurator, tmp_path: Path) -> None:
    path = tmp_path / "j.json"
    first = curator.client("alice", journal=path)
    first.trust(PLANTED)
    entry = FileJournal(path).read()
    assert entry is not None

    def answer(request: httpx.Request) -> httpx.Response:
        if "Authorization" in request.headers:
            FileJournal(path).update(entry, replace(entry, receipt={"another": 1}))
        return curator.answer(request)

    made: dict[str, Any] = {"journal": path, "transport": httpx.MockTransport(answer)}
    assert Client("https://c.org", curator.token("alice"), **made).withdraw().withdrawn
    left = json.loads(path.read_text())
    assert (left["contribution"], left["receipt"]) == (None, {"another": 1})


def test_a_journal_that_was_exchanged_is_left_alone(curator: MockCurator, tmp_path: Path) -> None:
    path = tmp_path / "j.json"
    curator.client("alice", journal=path).trust(PLANTED)
    entry = FileJournal(path).read()
    assert entry is not None
    other = replace(entry, contribution=StudyOffer.from_text(STUDY.device_json()).draw(1, group="trusted"))

    def answer(request: httpx.Request) -> httpx.Response:
        if "Authorization" in request.headers:
            path.write_text(other.to_json())
        return curator.answer(request)

    made: dict[str, Any] = {"journal": path, "transport": httpx.MockTransport(answer)}
    with pytest.raises(ProtocolError, match="another contribution than the one that was sent"):
        Client("https://c.org", curator.token("alice"), **made).trust(PLANTED)
    assert FileJournal(path).read() == other


def _answer(response: httpx.Response) -> HttpAnswer:
    return HttpAnswer(response.status_code, {}, response.content)


def test_a_journal_belongs_to_one_person_and_one_study(call: Call, tmp_path: Path) -> None:
    call("report", 30)
    with pytest.raises(ProtocolError, match="another participant"):
        call("report", 30, who="bob")
    other = MockCurator(STUDY, id="other")
    with pytest.raises(ProtocolError, match="belongs to study 'mock-study'"):
        other.client("alice", journal=tmp_path / "j.json").report(30)


def test_withdrawing_opens_the_commitment_and_forgets(call: Call, curator: MockCurator, tmp_path: Path) -> None:
    call("trust", PLANTED)
    body = _posts(curator)[0][1]
    receipt = call("withdraw")
    assert receipt.withdrawn
    assert _posts(curator)[1] == ("/studies/mock-study/values/withdraw", body)
    assert curator.contributions == {}
    left = (tmp_path / "j.json").read_text()
    assert "123.4" not in left
    assert json.loads(left)["contribution"] is None
    assert call("withdraw").document == receipt.document  # from the journal
    for method in ("report", "trust"):
        with pytest.raises(ProtocolError, match="withdrawn"):
            call(method, 1)
    assert len(_posts(curator)) == 2


def test_withdrawing_what_is_not_there(call: Call, curator: MockCurator) -> None:
    with pytest.raises(ProtocolError, match="nothing to withdraw"):
        call("withdraw")
    call("report", 30)
    curator.fail(1, status=404)  # of an older curator
    curator._troubles.insert(0, "lose")  # which waits for a POST, and lets the keys through
    with pytest.raises(RejectedError, match="never arrived, or an earlier withdrawal") as caught:
        call("withdraw")
    assert caught.value.reason == "not-found"
    curator._withdrawn.clear()
    curator.state = "closed"
    with pytest.raises(RejectedError, match="does not take contributions now"):
        call("withdraw")


@pytest.mark.parametrize("method", ["report", "trust"])
def test_a_withdrawal_whose_answer_was_lost_is_repeated(
    call: Call, curator: MockCurator, tmp_path: Path, method: str
) -> None:
    call(method, PLANTED)
    curator.lose_answers(1)
    receipt = call("withdraw")
    assert (receipt.withdrawn, receipt.opened, receipt.commitment) == (True, False, "")
    assert "had nothing of yours to subtract" in str(receipt)
    left = json.loads((tmp_path / "j.json").read_text())
    assert (left["contribution"], left["withdrawal"]) == (None, receipt.document)
    assert call("withdraw").document == receipt.document


def test_what_never_arrived_can_be_withdrawn(call: Call, curator: MockCurator, tmp_path: Path) -> None:
    call("trust", PLANTED)
    curator.contributions.clear()
    assert not call("withdraw").opened
    assert "123.4" not in (tmp_path / "j.json").read_text()
    with pytest.raises(RejectedError, match="they have withdrawn"):
        call("report", 30, journal=None)


@pytest.mark.parametrize("said", [{"opened": False}, {"opened": True, "commitment": ""}, {"commitment": ""}])
def test_a_withdrawal_that_contradicts_itself_is_refused(
    curator: MockCurator, tmp_path: Path, said: dict[str, Any]
) -> None:
    path = tmp_path / "j.json"
    curator.client("alice", journal=path).report(30)

    def change(document: dict[str, Any]) -> dict[str, Any]:
        older = {name: value for name, value in document["receipt"].items() if name != "opened"}
        return curator.sign(older | said)

    made: dict[str, Any] = {"journal": path, "transport": _forged(curator, change)}
    with pytest.raises(ProtocolError, match="not about this contribution"):
        Client("https://c.org", curator.token("alice"), **made).withdraw()
    assert '"contribution": null' not in path.read_text()


def test_a_withdrawal_of_an_older_curator_is_one(curator: MockCurator, tmp_path: Path) -> None:
    path = tmp_path / "j.json"
    curator.client("alice", journal=path).report(30)

    def older(document: dict[str, Any]) -> dict[str, Any]:
        return curator.sign({name: value for name, value in document["receipt"].items() if name != "opened"})

    transport = _forged(curator, older)
    receipt = Client("https://c.org", curator.token("alice"), journal=path, transport=transport).withdraw()
    assert (receipt.withdrawn, receipt.opened) == (True, True)
    assert '"contribution": null' in path.read_text()


def test_the_receipt_is_given_again(call: Call) -> None:
    with pytest.raises(RejectedError, match="nothing at this address"):
        call("receipt")
    given = call("report", 30)
    assert call("receipt").document == given.document
    assert call("receipt", journal=None).document == given.document


def test_a_pilot_without_tokens(tmp_path: Path) -> None:
    curator = MockCurator(STUDY, tokens=False)
    made: dict[str, Any] = {"study": "mock-study", "transport": curator.transport}
    with pytest.raises(ProtocolError, match="Without a token"):
        Client("https://c.org", **made).receipt()
    with Client("https://c.org", journal=tmp_path / "j.json", **made) as client:
        receipt = client.trust(30)
        assert receipt.asserted_by == "nobody"
        assert "Nobody vouches" in client.promise()
        assert client.receipt().document == receipt.document
    with pytest.raises(ProtocolError, match="needs a participant's token"):
        Client("https://c.org", study="mock-study", transport=MockCurator(STUDY).transport).report(30)


def test_a_closed_study_is_not_drawn_for(call: Call, curator: MockCurator, tmp_path: Path) -> None:
    curator.state = "closed"
    with pytest.raises(RejectedError, match="The study is closed, not open. Nothing was drawn.") as caught:
        call("report", 30)
    assert caught.value.reason == "closed"
    assert not (tmp_path / "j.json").exists()


def test_what_was_drawn_without_a_network_is_sent_later(call: Call) -> None:
    offer = StudyOffer.from_text(call("promise") and STUDY.device_json())
    made = offer.draw(30)
    assert call("send", made).commitment == made.commitment
    assert call("send", made).resent
    with pytest.raises(ProtocolError, match="another contribution"):
        call("send", offer.draw(30))
    other = StudyOffer.from_text(MeanStudy("x", bounds=(0, 1), epsilon=1).device_json())
    with pytest.raises(ProtocolError, match="belong to study"):
        call("send", other.draw(0.5), who="bob", journal="b.json")
