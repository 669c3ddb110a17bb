"""K-means at a mock curator: enrollment, rounds and answers, for the tests of apps."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from hybriddp import MeanStudy
from hybriddp.client import Client, MockCurator, RejectedError
from hybriddp.client.contribution import answer_commitment, commitment
from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.kmeans import KMeansStudy

STUDY = KMeansStudy("visits", n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=4)
NAMES = [f"person {i}" for i in range(12)]
NONCE = "0" * 32


@pytest.fixture
def curator() -> MockCurator:
    return MockCurator(STUDY)


def _post(curator: MockCurator, route: str, body: object, who: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {curator.token(who)}"}
    with httpx.Client(transport=curator.transport, base_url="https://c.org") as http:
        return http.post(f"/studies/mock-study/{route}", content=json.dumps(body).encode(), headers=headers)


def _reason(answer: httpx.Response) -> str:
    return str(answer.json()["reason"])


def _enrolled(curator: MockCurator, folder: Path) -> dict[str, Client]:
    """The clients of all, who have enrolled."""
    clients = {name: curator.client(name, journal=folder / f"{name}.json") for name in NAMES}
    for client in clients.values():
        client.enroll()
    return clients


def _nonce(client: Client) -> str:
    entry = client._participant.journal.read()
    assert entry is not None
    assert entry.contribution is not None
    return entry.contribution.nonce


def test_everybody_is_asked_once(curator: MockCurator, tmp_path: Path) -> None:
    for i in range(6):
        assert curator.client(f"trusting {i}").trust([2.0 + 5 * (i % 2), 7.0]).group == "trusted"
    clients = {name: curator.client(name, journal=tmp_path / f"{name}.json") for name in NAMES}
    for client in clients.values():
        assert not client.enroll().resent
        assert client.enroll().resent
    numbers = []
    while (asked := curator.next_round()) is not None:
        numbers.append(asked.number)
        assert curator.state == "asking"
        for i, client in enumerate(clients.values()):
            if curator.is_turn_of(client):
                receipt = client.answer([2.0 + 5 * (i % 2), 7.0])
                assert (receipt.resent, receipt.document["receipt"]["round"]) == (False, asked.number)
                assert client.answer([1.0, 1.0]).commitment == receipt.commitment
    assert numbers == [*range(1, len(numbers) + 1)]
    assert set(curator.answers) == set(NAMES)
    assert curator.state == "closed"
    server = curator._its_rounds.server
    assert server is not None
    assert np.isfinite(server.cluster_centers).all()
    with pytest.raises(ProtocolError, match="ended"):
        curator.next_round()


def test_early_late_and_lost_answers(curator: MockCurator, tmp_path: Path) -> None:
    clients = _enrolled(curator, tmp_path)
    waiting = curator.client("waiting", journal=tmp_path / "waiting.json")
    waiting.enroll()
    with pytest.raises(RejectedError) as none_yet:
        waiting.answer([1.0, 1.0])
    assert none_yet.value.status == 404
    asked = curator.next_round()
    assert asked is not None
    now = next(name for name in NAMES if curator.is_turn_of(clients[name]))
    later = next(name for name in NAMES if not curator.is_turn_of(clients[name]))
    with pytest.raises(ProtocolError, match="enroll"):
        curator.client("a stranger").answer([1.0, 1.0])
    body: dict[str, object] = {"round": asked.digest, "ask": 0, "variant": 0, "code": 0, "nonce": NONCE}
    assert _reason(_post(curator, "answers", body, now)) == "malformed"
    body |= {"enrollment_nonce": _nonce(clients[now])}
    assert _reason(_post(curator, "answers", body | {"enrollment_nonce": _nonce(clients[later])}, later)) == "early"
    assert _reason(_post(curator, "answers", body, later)) == "not-allowed"  # another one than it committed to
    assert _reason(_post(curator, "answers", body, "a stranger")) == "not-allowed"
    assert _reason(_post(curator, "answers", body | {"round": "0" * 64}, now)) == "wrong-digest"
    assert _reason(_post(curator, "answers", body | {"ask": 9}, now)) == "out-of-range"
    assert _reason(_post(curator, "answers", body | {"more": 9}, now)) == "malformed"
    taken = _post(curator, "answers", body, now)
    assert taken.status_code == 201
    message = {name: body[name] for name in ("round", "ask", "variant", "code")}
    assert taken.json()["receipt"]["commitment"] == answer_commitment(message, NONCE)
    assert _post(curator, "answers", body, now).json() == taken.json()
    assert _reason(_post(curator, "answers", body | {"nonce": "1" * 32}, now)) == "duplicate"
    missed = next(name for name in NAMES if curator.is_turn_of(clients[name]) and name != now)
    curator.next_round()
    late = body | {"enrollment_nonce": _nonce(clients[missed])}
    assert _reason(_post(curator, "answers", late, missed)) == "late"


def test_a_lost_answer_is_sent_again(curator: MockCurator) -> None:
    client = curator.client("alice")
    client.enroll()
    while curator.next_round() is not None and not curator.is_turn_of(client):
        continue
    curator.lose_answers(1)
    client.answer([2.0, 3.0])
    sent = [body for method, path, body in curator.requests if path.endswith("/answers")]
    assert len(sent) == 2
    assert sent[0] == sent[1]


def test_with_await(curator: MockCurator) -> None:
    async def take_part() -> Any:
        async with curator.async_client("alice") as client:
            await client.enroll()
            while curator.next_round() is not None and not curator.is_turn_of(client):
                continue
            return await client.answer([2.0, 3.0])

    assert asyncio.run(take_part()).group == "local"


def test_enrollment_and_withdrawal_end_with_the_first_round(curator: MockCurator, tmp_path: Path) -> None:
    _enrolled(curator, tmp_path)
    leaving = curator.client("leaving")
    leaving.enroll()
    assert leaving.withdraw().opened
    body = {"digest": STUDY.digest, "nonce": NONCE}
    joins = {"digest": STUDY.digest, "commitment": commitment(STUDY.digest, "local", 0, NONCE)}
    assert _post(curator, "enrollments", joins, "staying").status_code == 201
    curator.next_round()
    assert _reason(_post(curator, "enrollments/withdraw", body, "staying")) == "closed"
    assert _reason(_post(curator, "enrollments", joins, "coming")) == "closed"


@pytest.mark.parametrize(
    ("route", "changed", "reason"),
    [
        ("enrollments", {}, "malformed"),
        ("enrollments", {"commitment": "0" * 64}, "malformed"),
        ("enrollments/withdraw", {"code": 1}, "malformed"),
        ("enrollments/withdraw", {"nonce": "x"}, "malformed"),
        ("enrollments/withdraw", {"digest": "0" * 64}, "wrong-digest"),
        ("reports", {"code": 0}, "malformed"),
        ("values", {"value": 1.0}, "malformed"),
        ("values", {"value": [1.0]}, "malformed"),
        ("values", {"value": [1.0, True]}, "malformed"),
        ("values", {"value": [1.0, 10**400]}, "malformed"),
    ],
)
def test_what_is_refused(curator: MockCurator, route: str, changed: dict[str, object], reason: str) -> None:
    body = {"digest": STUDY.digest, "nonce": NONCE} | changed
    assert _reason(_post(curator, route, body, "alice")) == reason


@pytest.mark.parametrize(
    ("changed", "reason"),
    [({"commitment": "0" * 63}, "malformed"), ({"commitment": 7}, "malformed"), ({"digest": "0" * 64}, "wrong-digest")],
)
def test_enrollments_that_are_refused(curator: MockCurator, changed: dict[str, object], reason: str) -> None:
    body = {"digest": STUDY.digest, "commitment": "0" * 64} | changed
    assert _reason(_post(curator, "enrollments", body, "alice")) == reason


def test_other_studies_have_no_rounds() -> None:
    mean = MockCurator(MeanStudy("minutes", bounds=(0, 240), epsilon=1))
    with pytest.raises(ProtocolError, match="no rounds"):
        mean.next_round()
    enrollment = {"digest": mean.study.digest, "commitment": "0" * 64}
    assert _reason(_post(mean, "enrollments", enrollment, "alice")) == "malformed"
    assert _reason(_post(mean, "answers", {}, "alice")) == "not-found"
    with pytest.raises(ParameterError, match="tokens"):
        MockCurator(STUDY, tokens=False)


def test_no_round_is_early_before_the_first_one_and_late_after_the_last(curator: MockCurator) -> None:
    client = curator.client("alice")
    client.enroll()
    with pytest.raises(RejectedError, match="No round is asked now") as before:
        client.answer([1.0, 1.0])
    while curator.next_round() is not None:
        pass
    with pytest.raises(RejectedError, match="rounds have ended") as after:
        client.answer([1.0, 1.0])
    assert (before.value.reason, after.value.reason) == ("early", "late")


def test_receipts_tell_enrollments_and_answers_apart(curator: MockCurator) -> None:
    alice, bob = curator.client("alice"), curator.client("bob")
    joined, left = alice.enroll(), bob.enroll() and bob.withdraw()
    assert "you enrolled, and will be asked once." in str(joined)
    assert "you withdrew your enrollment." in str(left)
    assert "you enrolled" in str(alice.receipt())
    while curator.next_round() is not None:
        if curator.is_turn_of(alice):
            answered = alice.answer([1.0, 1.0])
            assert (answered.enrolled, f"you answered round {answered.round}." in str(answered)) == (False, True)
    assert list(curator.answers) == ["alice"]


def test_turns_are_the_same_in_every_spelling_of_a_name(curator: MockCurator) -> None:
    names = [f"{e}va {i}" for i, e in enumerate(4 * ["\u00e9", "e\N{COMBINING ACUTE ACCENT}"])]
    clients = {name: curator.client(name) for name in names}
    for client in clients.values():
        client.enroll()
    while curator.next_round() is not None:
        for client in clients.values():
            if curator.is_turn_of(client):
                assert not client.answer([1.0, 1.0]).resent
    assert len(curator.answers) == len(names)
