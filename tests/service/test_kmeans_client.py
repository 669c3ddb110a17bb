"""People who take part in a K-means study with `Client`, on a curator over real sockets."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from hybriddp import MeanStudy
from hybriddp.client import AsyncClient, Client, RejectedError, StudyOffer
from hybriddp.client.contribution import Contribution
from hybriddp.client.journal import FileJournal, JournalEntry
from hybriddp.client.rounds import turn_of
from hybriddp.errors import DataError, ProtocolError
from hybriddp.kmeans import KMeansStudy
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.service.store.point_sums import PointSums
from tests.service.kmeans_people import DEADLINE, People
from tests.service.running import Running


def study_of(name: str) -> KMeansStudy:
    return KMeansStudy(name, n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=4)


Maker = Callable[..., Client]


@pytest.fixture
def client_of() -> Iterator[Maker]:
    """Makes clients, which are closed in the end."""
    with ExitStack() as opened:

        def make(server: Running, people: People, name: str, journal: Path | None = None, **more: Any) -> Client:
            token = server.token(name, people.id)["Authorization"].removeprefix("Bearer ")
            client = Client(server.url, token, journal=journal, **{"digest": people.study.digest} | more)
            return opened.enter_context(client)

        yield make


def test_a_full_trusted_group(
    kept_server: Running, client_of: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is too many may join the others."""
    people = People.of(study_of("full"), "full", n_trusted=2, n_local=2)
    people.create(kept_server)
    people.enroll(kept_server)
    monkeypatch.setattr(PointSums, "most_people", 2)
    client = client_of(kept_server, people, "one more", tmp_path / "journal.json")
    with pytest.raises(RejectedError, match="as many as it has room for") as refusal:
        client.trust([1, 2])
    assert refusal.value.reason == "full"
    assert client.enroll().group == "local"
    counts = kept_server.http.get("/studies/full", headers=kept_server.admin).json()["counts"]
    assert counts == {"trusted": 2, "local": 3}


def started(server: Running, people: People) -> Turns:
    """The first round, and whose turn it is."""
    server.move("close", people.id)
    answer = server.http.post(f"/studies/{people.id}/round", headers=server.admin, json=DEADLINE)
    assert answer.status_code == 200, answer.text
    return Turns.from_json(server.http.get(f"/studies/{people.id}/round").json()["turns"])


@pytest.mark.slow
def test_enroll_and_answer_once(kept_server: Running, tmp_path: Path, client_of: Maker) -> None:
    server, people = kept_server, People.of(study_of("clients"), "clients", n_trusted=6, n_local=14)
    people.create(server)
    names = list(people.local)
    clients = {name: client_of(server, people, name, tmp_path / f"{name}.json") for name in names}
    assert "asks for a point of 2 numbers" in clients[names[0]].promise()
    assert "until the study ends" in clients[names[0]].promise()
    with pytest.raises(ProtocolError, match=r"enroll\(\)"):
        clients[names[0]].report(1.0)
    with pytest.raises(ProtocolError, match="enroll"):
        clients[names[0]].answer([1.0, 1.0])
    for name in names:
        assert not clients[name].enroll().resent
    assert clients[names[0]].enroll().resent
    with pytest.raises(ProtocolError, match="local group"):
        clients[names[0]].trust([1.0, 1.0])
    for name, point in people.trusted.items():
        assert client_of(server, people, name).trust(point).group == "trusted"
    assert clients[names[1]].withdraw().opened
    turns = started(server, people)
    rounds = {name: turn_of(clients[name]._participant, turns) for name in names if name != names[1]}
    mine = [name for name, number in rounds.items() if number == 1]
    later = next(name for name, number in rounds.items() if number != 1)
    with pytest.raises(RejectedError) as early:
        clients[later].answer([1.0, 1.0])
    assert early.value.reason == "early"
    kept = FileJournal(tmp_path / f"{later}.json").read()
    assert kept is not None
    assert kept.turns == turns.to_json()
    first = clients[mine[0]].answer(people.local[mine[0]])
    assert not first.resent
    again = client_of(server, people, mine[0], tmp_path / f"{mine[0]}.json").answer([9.0, 9.0])
    assert (again.resent, again.commitment) == (True, first.commitment)
    assert asyncio.run(_async_answer(server, people, mine[1], tmp_path)).group == "local"
    with pytest.raises(ProtocolError, match=r"withdrawn|enrolled"):
        clients[names[1]].answer([1.0, 1.0])
    server.move("close", people.id)
    server.http.post(f"/studies/{people.id}/round", headers=server.admin, json=DEADLINE)
    with pytest.raises(RejectedError) as late:
        clients[mine[2]].answer([1.0, 1.0])
    assert late.value.reason == "late"


async def _async_answer(server: Running, people: People, name: str, folder: Path) -> Any:
    token = server.token(name, people.id)["Authorization"].removeprefix("Bearer ")
    async with AsyncClient(server.url, token, journal=folder / f"{name}.json") as client:
        await client.enroll()  # again
        return await client.answer(people.local[name])


@pytest.mark.slow
def test_an_answer_that_was_lost_is_sent_again_as_it_was(
    kept_server: Running, tmp_path: Path, client_of: Maker
) -> None:
    server, people = kept_server, People.of(study_of("lost"), "lost", n_trusted=20, n_local=20)
    people.create(server)
    sent: list[bytes] = []

    class Losing(httpx.HTTPTransport):
        """Loses what the curator says to the first answer."""

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            found = super().handle_request(request)
            if request.url.path.endswith("/answers"):
                sent.append(request.content)
                if len(sent) == 1:
                    raise httpx.ReadTimeout("lost")
            return found

    people.enroll(server)  # others
    names = [f"somebody {i}" for i in range(20)]
    for name in names:
        client_of(server, people, name, tmp_path / f"{name}.json").enroll()
    turns = started(server, people)
    devices = {name: client_of(server, people, name, tmp_path / f"{name}.json") for name in names}
    mine = next(name for name in names if turn_of(devices[name]._participant, turns) == 1)
    receipt = client_of(server, people, mine, tmp_path / f"{mine}.json", transport=Losing()).answer([2.0, 3.0])
    assert len(sent) == 2
    assert sent[0] == sent[1]
    entry = FileJournal(tmp_path / f"{mine}.json").read()
    assert entry is not None
    assert entry.answer_receipt == receipt.document
    assert entry.answer is not None
    assert entry.contribution is not None
    opened = {"nonce": entry.answer["nonce"], "enrollment_nonce": entry.contribution.nonce}
    assert json.loads(sent[0]) == {**entry.answer["message"], **opened}
    assert JournalEntry.from_json(entry.to_json()) == entry


@pytest.mark.slow
def test_a_curator_who_lies_is_not_answered(kept_server: Running, tmp_path: Path, client_of: Maker) -> None:
    server, people = kept_server, People.of(study_of("lies"), "lies", n_trusted=20, n_local=20)
    people.create(server)
    people.enroll(server)
    names = [f"somebody {i}" for i in range(20)]
    for name in names:
        client_of(server, people, name, tmp_path / f"{name}.json").enroll()
    turns = started(server, people)
    devices = {name: client_of(server, people, name, tmp_path / f"{name}.json") for name in names}
    mine = next(name for name in names if turn_of(devices[name]._participant, turns) == 1)
    told = server.http.get("/studies/lies/round").json()
    other = KMeansStudy("lies", n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=8)
    asked = Round.from_json(told["text"], study=people.study)
    lies: list[dict[str, object]] = [
        {"text": told["text"].replace(people.study.to_json(), other.to_json())},
        {"text": asked.to_json().replace('"number":1', '"number":2')},
        {"turns": Turns(people.study.digest, (turns.fractions[0] / 2,)).to_json()},
        {"turns": Turns(other.digest, turns.fractions).to_json()},
        {"text": None},
        {"turns": "{}"},
    ]
    for lie in lies:

        class Lying(httpx.HTTPTransport):
            """Answers with another round."""

            def handle_request(self, request: httpx.Request, lie: dict[str, object] = lie) -> httpx.Response:
                if request.url.path.endswith("/round"):
                    return httpx.Response(200, json=told | lie)
                assert not request.url.path.endswith("/answers")
                return super().handle_request(request)

        with pytest.raises(ProtocolError):
            client_of(server, people, mine, tmp_path / f"{mine}.json", transport=Lying()).answer([1.0, 1.0])


def test_turns_that_changed_are_refused(kept_server: Running, tmp_path: Path, client_of: Maker) -> None:
    server, people = kept_server, People.of(study_of("changed"), "changed", n_trusted=20, n_local=20)
    people.create(server)
    people.enroll(server)
    path = tmp_path / "me.json"
    client = client_of(server, people, "me", path)
    client.enroll()
    turns = started(server, people)
    journal = FileJournal(path)
    before = journal.read()
    assert before is not None
    seen = Turns(people.study.digest, (turns.fractions[0] / 2,)).to_json()
    journal.update(
        before,
        JournalEntry.from_json(
            before.to_json().replace('"withdrawal"', f'"turns": {json.dumps(seen)},\n "withdrawal"')
        ),
    )
    with pytest.raises(ProtocolError, match="changed whose turn"):
        client.answer([1.0, 1.0])


def test_contributions_with_points_and_without_anything() -> None:
    made = Contribution.new("0" * 64, "trusted", 7, (1.0, 2.0))
    assert Contribution.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    assert json.loads(made.body())["value"] == [1.0, 2.0]
    enrolls = Contribution.enrollment("0" * 64)
    assert Contribution.from_dict(enrolls.to_dict()) == enrolls
    assert json.loads(enrolls.body()) == {"digest": "0" * 64, "commitment": enrolls.commitment}
    assert json.loads(enrolls.opening()) == {"digest": "0" * 64, "nonce": enrolls.nonce}
    assert enrolls.route == "enrollments"
    for wrong in ({"integer": 1}, {"group": "trusted"}, {"enrolls": 1}):
        with pytest.raises(ProtocolError):
            Contribution.from_dict(enrolls.to_dict() | wrong)
    with pytest.raises(DataError):
        Contribution.new("0" * 64, "trusted", 7, (float("nan"),))
    with pytest.raises(ProtocolError, match="no rounds"):
        StudyOffer.from_text(MeanStudy("x", bounds=(0, 1), epsilon=1).device_json()).enrollment()
