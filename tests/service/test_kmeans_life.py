"""The life of a K-means study on the server: enrollment, rounds, dropouts, restarts, and the release."""

import asyncio
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from hybriddp import MeanStudy
from hybriddp.client import verify
from hybriddp.client.contribution import answer_commitment, commitment
from hybriddp.kmeans import KMeansStudy
from hybriddp.service import answering
from hybriddp.service.answering import SentAnswer
from hybriddp.service.participation import Acknowledged
from hybriddp.service.problems import Refusal
from hybriddp.service.store import studies
from hybriddp.service.store.engine import reading
from hybriddp.service.store.schema import tallies, totals
from tests.service.attacking import refused
from tests.service.kmeans_people import DEADLINE, People, enrollment, in_memory, nonce_of, spent
from tests.service.running import Running, running

NONCE = "0" * 32


def study_of(d: int, name: str = "visits") -> KMeansStudy:
    return KMeansStudy(name, n_clusters=2, bounds=[(0, 10)] * d, epsilon=4)


def next_round(server: Running, study_id: str) -> Any:
    return server.http.post(f"/studies/{study_id}/round", headers=server.admin, json=DEADLINE)


def run_rounds(server: Running, people: People, *, fraction: float = 1.0) -> list[list[dict[str, Any]]]:
    """Ask rounds until the end; a part of the people answers each."""
    said = []
    document = next_round(server, people.id).json()
    while document["round"] is not None:
        asked = people.asked(server)
        names = asked.names[: round(fraction * len(asked.names))]
        messages = asked.messages(names)
        assert set(asked.send(server, messages)) <= {"accepted"}
        said.append(list(messages.values()))
        assert server.move("close", people.id).json()["state"] == "closed"
        document = next_round(server, people.id).json()
    return said


@pytest.mark.slow
@pytest.mark.usefixtures("same_noise")
def test_points_of_many_numbers_of_which_a_fifth_never_answers(kept_server: Running) -> None:
    server, d, people = kept_server, 8, People.of(study_of(8, "many"), "many", n_trusted=60, n_local=200)
    names = [f"number {j} <&>" for j in range(d)]
    assert people.create(server, dimensions=names).json()["dimensions"] == names
    people.enroll(server)
    server.move("close", "many")
    said = run_rounds(server, people, fraction=0.8)
    curator = server.prepared.app.state.curator
    number = curator._read("many").stored.number
    with reading(curator.engine) as connection:
        sealed = select(totals.c.sealed).where(totals.c.study == number)
        assert set(connection.scalars(sealed)) == {b""}  # the points are gone
        assert connection.scalars(select(tallies.c.code).where(tallies.c.study == number)).all() == [0]
    released = server.move("release", "many")
    assert released.status_code == 200, released.text
    estimate = released.json()["estimate"]
    assert estimate["centers"] == in_memory(people, said).cluster_centers.tolist()
    assert estimate["n_answered"] == sum(map(len, said)) < 170
    assert sum(map(float, spent(server, "many"))) <= 4
    page = server.http.get("/studies/many/result.html").text
    assert "<svg" in page
    assert "center" in page
    assert estimate["columns"] == names
    assert "number 1 &lt;&amp;&gt;" in page
    table = server.http.get("/studies/many/result.csv").text.splitlines()
    assert len(table) == 1 + 2 * d
    assert table[2].startswith(f'"center 0, {names[1]}",{estimate["centers"][0][1]}')
    assert server.http.get("/studies/many/result.svg").text.startswith("<svg xmlns=")


@pytest.mark.slow
@pytest.mark.usefixtures("same_noise")
def test_a_crash_between_any_two_steps_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = People.of(study_of(2), "visits", n_trusted=20, n_local=60)
    said, ended = [], False
    with running(tmp_path) as server:
        people.create(server)
        people.enroll(server)
        server.move("close", "visits")
    while not ended:
        with running(tmp_path) as server, monkeypatch.context() as patched:
            before = spent(server, "visits")
            patched.setattr(studies, "store_result", _crash)  # after the draw, before the commit
            assert next_round(server, "visits").status_code == 500
            assert spent(server, "visits") == before
            assert server.http.get("/studies/visits").json()["state"] == "closed"
        with running(tmp_path) as server:
            ended = next_round(server, "visits").json()["round"] is None
        if ended:
            break
        with running(tmp_path) as server:
            asked = people.asked(server)
            messages = asked.messages(asked.names)
            assert set(asked.send(server, messages)) == {"accepted"}
            said.append(list(messages.values()))
        with running(tmp_path) as server:
            assert set(asked.send(server, messages)) == {"repeated"}
            server.move("close", "visits")
    with running(tmp_path) as server:
        released = server.move("release", "visits").json()
        alone = in_memory(people, said)
        assert released["estimate"]["centers"] == alone.cluster_centers.tolist()
        costs = [step.trusted_epsilon for step in alone.spending if step.trusted_epsilon != "0"]
        assert spent(server, "visits") == costs


def _crash(*_: object, **__: object) -> None:
    raise RuntimeError("the power is gone")


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 8])
@pytest.mark.parametrize("n_trusted", [0, 60])
def test_rounds_that_nobody_answers(kept_server: Running, d: int, n_trusted: int) -> None:
    study_id = f"nobody-{d}-{n_trusted}"
    people = People.of(study_of(d, study_id), study_id, n_trusted=n_trusted, n_local=30)
    people.create(kept_server, single_group=True)
    people.enroll(kept_server)
    kept_server.move("close", study_id)
    run_rounds(kept_server, people, fraction=0.0)
    released = kept_server.move("release", study_id)
    assert not {"NaN", "Infinity"} & set(re.findall(r"\w+", released.text))
    assert not re.search(r"\b(nan|inf)\b", kept_server.http.get(f"/studies/{study_id}/result.html").text)
    estimate = released.json()["estimate"]
    assert estimate["n_answered"] == 0
    assert np.isfinite(estimate["centers"]).all()


def test_what_answers_are_refused(kept_server: Running) -> None:  # noqa: PLR0915
    server, study = kept_server, study_of(2, "refusals")
    people = People.of(study, "refusals", n_trusted=30, n_local=60)
    people.create(server)
    people.enroll(server)
    address, someone = "/studies/refusals/answers", next(iter(people.local))
    body: dict[str, object] = {"round": "0" * 64, "ask": 0, "variant": 0, "code": 0, "nonce": NONCE}

    def send(name: str, **changed: object) -> Any:
        sent = body | {"enrollment_nonce": nonce_of(name)} | changed
        return server.http.post(address, headers=server.token(name, "refusals"), json=sent)

    assert refused(send(someone)) == "early"
    assert refused(server.http.get("/studies/refusals/round")) == "not-found"
    server.move("close", "refusals")
    assert next_round(server, "refusals").json()["round"]["number"] == 1
    asked = people.asked(server)
    others = [name for name in people.local if name not in asked.names]
    messages = asked.messages(asked.names)
    first, second, third, *_ = asked.names
    assert refused(send(others[0], **messages[first])) == "early"
    assert refused(send(next(iter(people.trusted)), **messages[first])) == "not-allowed"
    assert refused(send("a stranger", **messages[first])) == "not-allowed"
    chosen = next(f"{i:032x}" for i in range(1000) if asked.turns.round_of(others[0], f"{i:032x}") == 1)
    assert refused(send(others[0], **messages[first], enrollment_nonce=chosen)) == "not-allowed"  # no choice any more
    assert refused(send(first)) == "wrong-digest"
    impossible: tuple[dict[str, object], ...] = ({"ask": 9}, {"variant": 10_000}, {"code": 1 << 40}, {"code": "zz"})
    for wrong in impossible:
        assert refused(send(first, **messages[first] | wrong)) == "out-of-range"
    malformed: tuple[dict[str, object], ...] = (
        {"ask": -1},
        {"variant": 0.5},
        {"code": None},
        {"nonce": "0"},
        {"n": 1},
        {"enrollment_nonce": "0"},
    )
    for wrong in malformed:
        assert refused(send(first, **messages[first] | wrong)) == "malformed"
    taken = send(first, **messages[first])
    assert taken.status_code == 201, taken.text
    receipt = taken.json()["receipt"]
    assert (receipt["round"], receipt["digest"]) == (1, study.digest)
    assert receipt["commitment"] == answer_commitment(messages[first], NONCE)
    verify(taken.json(), server.http.get("/.well-known/hybriddp-receipts.json").json())
    again = send(first, **messages[first])
    assert (again.status_code, again.json()) == (200, taken.json())
    assert refused(send(first, **messages[first] | {"nonce": "1" * 32})) == "duplicate"
    assert send(second, **messages[second]).status_code == 201
    assert refused(next_round(server, "refusals")) == "refused"  # the round is open
    server.move("close", "refusals")
    assert refused(send(third, **messages[third])) == "late"
    assert next_round(server, "refusals").json()["round"]["number"] == 2
    assert refused(send(third, **messages[third])) == "late"
    current = people.asked(server)
    answer = current.messages(current.names[:1])[current.names[0]]
    assert refused(send(third, **answer)) == "late"  # an answer to this round, by someone whose turn was the one before
    assert send(first, **messages[first]).json() == taken.json()  # whoever did not hear it hears it now
    metrics = server.http.get("/metrics", headers=server.admin).text
    assert 'hybriddp_rejected_total{reason="late"' in metrics
    assert 'hybriddp_rejected_total{reason="early"' in metrics
    by_round = server.prepared.app.state.metrics.round_rejections("refusals")
    assert by_round == {(1, "early"): 1, (1, "late"): 3}  # before the first round there is none to count them with
    rounds = server.http.get("/studies/refusals").json()["rounds"]
    assert [(one["number"], one["answered"]) for one in rounds] == [(1, 2), (2, None)]
    assert rounds[0]["asked_about"] == round(Fraction(rounds[0]["user_fraction"]) * 60)


def test_answers_after_the_last_round(kept_server: Running) -> None:
    server, people = kept_server, People.of(study_of(2, "too late"), "too-late", n_trusted=30, n_local=60)
    people.create(server)
    people.enroll(server)
    curator = server.prepared.app.state.curator
    known = asyncio.run(curator.known("too-late"))  # as a replica may have it in memory: before the first round
    server.move("close", "too-late")
    next_round(server, "too-late")
    asked = people.asked(server)
    messages = asked.messages(asked.names[:2])
    (first, taken), (other, missed) = messages.items()

    def send(name: str, message: dict[str, Any]) -> Acknowledged:
        sent = SentAnswer(message, NONCE, nonce_of(name))
        return asyncio.run(answering.answer(curator, known, sent, people.token(server, name)))

    receipt = send(first, taken).receipt
    while server.http.get("/studies/too-late").json()["round"] is not None:
        server.move("close", "too-late")
        next_round(server, "too-late")
    curator._asked.clear()  # nor has it seen a round
    with pytest.raises(Refusal) as late:
        send(other, missed)
    assert (late.value.reason, late.value.round_number) == ("late", 1)
    assert send(first, taken) == Acknowledged(receipt, new=False)  # with its round, as before


def test_withdrawal_ends_before_the_first_round(kept_server: Running) -> None:
    server, study = kept_server, study_of(2, "withdrawals")
    people = People.of(study, "withdrawals", n_trusted=20, n_local=40)
    people.create(server)
    people.enroll(server)
    local, trusted = list(people.local)[:2], list(people.trusted)[:2]

    def leave(name: str, to: str, **fields: object) -> Any:
        body = {"digest": study.digest, "nonce": nonce_of(name)} | fields
        headers = server.token(name, "withdrawals")
        return server.http.post(f"/studies/withdrawals/{to}/withdraw", headers=headers, json=body)

    assert leave(local[0], "enrollments").json()["receipt"]["opened"]
    assert refused(leave(trusted[0], "values", value=[1.0, 1.0])) == "duplicate"
    assert leave(trusted[0], "values", value=people.trusted[trusted[0]]).json()["receipt"]["opened"]
    assert server.move("close", "withdrawals").json()["counts"] == {"trusted": 19, "local": 39}
    assert refused(leave(local[1], "enrollments")) == "closed"
    assert refused(leave(trusted[1], "values", value=people.trusted[trusted[1]])) == "closed"
    assert next_round(server, "withdrawals").status_code == 200
    asked = people.asked(server)
    gone = {local[0]: {"round": asked.round.digest, "ask": 0, "variant": 0, "code": 0}}
    assert asked.send(server, gone) == ["not-allowed"]


def test_each_number_has_a_name_of_its_own(kept_server: Running) -> None:
    people = People(study_of(2, "names"), "names", {}, {})
    names: tuple[object, ...] = (
        ["a"],
        ["a", "b", "c"],
        ["a", "a"],
        ["a", ""],
        "ab",
        ["a", "A"],
        ["\N{LATIN SMALL LETTER E WITH ACUTE}", "e\N{COMBINING ACUTE ACCENT}"],
        ["a", " "],
        ["a", "a "],
        ["a", "a\N{ZERO WIDTH SPACE}"],
        ["a", "b\N{RIGHT-TO-LEFT OVERRIDE}c"],
        ["a", "b\nc"],
        ["a", "b" * 101],
    )
    for wrong in names:
        assert refused(people.create(kept_server, dimensions=wrong)) == "malformed", wrong


def test_only_points_have_names(kept_server: Running) -> None:
    made = kept_server.create(MeanStudy("no names", bounds=(0, 1), epsilon=1), "no-names", dimensions=["a"])
    assert refused(made) == "malformed"
    assert "a name for each number of a point" in made.json()["detail"]


def test_enrolling(kept_server: Running) -> None:
    server, study = kept_server, study_of(3, "enrolling")
    People(study, "enrolling", {}, {}).create(server)
    headers = server.token("a", "enrolling")
    body, joins = {"digest": study.digest, "nonce": NONCE}, enrollment(study, "a")
    told = server.http.post("/studies/enrolling/enrollments", headers=headers, json=joins)
    assert told.status_code == 201
    for more in (body, joins | {"nonce": NONCE}, joins | {"commitment": "0" * 63}):  # a nonce is not sent so early
        assert refused(server.http.post("/studies/enrolling/enrollments", headers=headers, json=more)) == "malformed"
    again = server.http.post("/studies/enrolling/enrollments", headers=headers, json=enrollment(study, "b"))
    assert refused(again) == "duplicate"
    point = body | {"value": [1.0, 2.0, 3.0]}
    other = server.token("b", "enrolling")
    for value in (1.5, "x", [1.0], [1.0] * 4, [1.0, None, 2.0]):
        wrong = body | {"value": value}
        assert refused(server.http.post("/studies/enrolling/values", headers=other, json=wrong)) == "malformed"
    units = b"\1" + b"".join(int(x / 10 * (1 << 24) + 0.5).to_bytes(4) for x in (1.0, 2.0, 3.0))
    trusted = server.http.post("/studies/enrolling/values", headers=other, json=point).json()["receipt"]
    assert trusted["commitment"] == commitment(study.digest, "trusted", int.from_bytes(units), NONCE)
    report = body | {"code": 0}
    assert refused(server.http.post("/studies/enrolling/reports", headers=other, json=report)) == "malformed"
    batch = {"digest": study.digest, "reports": [{"participant": "c", "code": 0, "nonce": NONCE}]}
    relayed = server.http.post("/studies/enrolling/batches", headers=server.relay("rounds"), json=batch).json()
    assert relayed["rejected"] == [{"index": 0, "reason": "malformed"}]


def test_one_group_alone(kept_server: Running) -> None:
    server = kept_server
    people = People.of(study_of(2, "alone"), "alone", n_trusted=60, n_local=1)
    people.create(server, single_group=True)
    people.enroll(server)
    server.move("close", "alone")
    assert next_round(server, "alone").json()["round"] is None  # one local person is too few, and is left out
    assert refused(next_round(server, "alone")) == "refused"
    released = server.move("release", "alone").json()
    assert released["estimate"]["n_local"] == 0
    assert "left out" in released["estimate"]["warnings"][0]


def test_studies_that_the_server_does_not_take(kept_server: Running) -> None:
    assert refused(People(study_of(1, "pilot"), "pilot", {}, {}).create(kept_server, tokens=False)) == "malformed"
    small = People.of(study_of(2, "small"), "small", n_trusted=1, n_local=1)
    small.create(kept_server)
    small.enroll(kept_server)
    kept_server.move("close", "small")
    assert refused(next_round(kept_server, "small")) == "refused"
    kept_server.create(MeanStudy("no rounds", bounds=(0, 1), epsilon=1.0), "no-rounds")
    assert refused(next_round(kept_server, "no-rounds")) == "refused"
    headers = kept_server.token("a", "no-rounds")
    body = {"digest": "0" * 64, "commitment": "0" * 64}
    assert refused(kept_server.http.post("/studies/no-rounds/enrollments", headers=headers, json=body)) == "refused"


def test_the_operator_asks_rounds_by_a_button(kept_server: Running) -> None:
    server, people = kept_server, People.of(study_of(2, "buttons"), "buttons", n_trusted=30, n_local=40)
    people.create(server)
    people.enroll(server)
    server.move("close", "buttons")
    server.http.post("/operator/login", data={"key": server.admin_key})
    page = server.http.get("/operator/studies/buttons").text
    assert "Publish the next round" in page
    token = re.search(r'type="hidden" name="(.+?)" value="(.+?)"', page)
    assert token is not None
    form = {token[1]: token[2], "sure": "yes"}
    for hours in ("", "0", "1e3", "9999999"):
        refusal = server.http.post("/operator/studies/buttons/round", data=form | {"hours": hours})
        assert (refusal.status_code, "Hours must be" in refusal.text) == (409, True)
    done = server.http.post("/operator/studies/buttons/round", data=form | {"hours": "24"}).text
    assert "Round 1 is published." in done
    assert "refinement" in done
    server.move("close", "buttons")
    run_rounds(server, people)
    assert "Publish the next round" not in server.http.get("/operator/studies/buttons").text
    released = server.http.post("/operator/studies/buttons/release", data=form).text
    assert "Result: 2 centers" in released
