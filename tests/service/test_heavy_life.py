"""The life of a study of heavy hitters in two steps, over real sockets and on both databases."""

import json
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from hybriddp import FrequencyStudy, HeavyHitterStudy
from hybriddp.client import Client, RejectedError, StudyOffer, commitment, verify
from hybriddp.frequency.item_integers import integer_of
from hybriddp.release.ledger import Ledger
from hybriddp.release.mechanisms import Mechanism
from hybriddp.reports import Reports
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.engine import reading
from hybriddp.service.store.item_sums import ItemSums
from hybriddp.service.store.ledger import DatabaseLedgerStore
from hybriddp.service.store.schema import totals
from tests.service.attacking import refused
from tests.service.running import CLOSES, CONSENT, Running, running

STUDY = HeavyHitterStudy("search word", epsilon=4, delta="0.000001")
ITEMS = ["weather"] * 40 + ["news"] * 20 + ["ünïcode ☂"] * 15 + ["my own name"]
NONCE = "0" * 32


@pytest.fixture
def _no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mechanism, "draw", lambda _, shape, *__: np.zeros(shape, np.int64))


def create(server: Running, study: HeavyHitterStudy = STUDY, study_id: str = "words", **fields: object) -> Any:  # noqa: ANN401
    body: dict[str, object] = {"study": json.loads(study.to_json()), "id": study_id, "consent": CONSENT}
    return server.http.post("/studies", headers=server.admin, json=body | {"closes_at": CLOSES} | fields)


def trust(
    server: Running, who: str, item: object, *, nonce: str = "", to: str = "values", study_id: str = "words"
) -> Any:  # noqa: ANN401
    body = {"digest": STUDY.digest, "value": item, "nonce": nonce or secrets.token_hex(16)}
    return server.http.post(f"/studies/{study_id}/{to}", headers=server.token(who, study_id), json=body)


def counts(server: Running) -> dict[str, int]:
    curator = server.prepared.app.state.curator
    with reading(curator.engine) as connection:
        return ItemSums().counts(stored.total(connection, 1, STUDY.digest, curator.seal, ItemSums()))


@pytest.mark.usefixtures("_no_noise")
def test_list_question_reports_and_shares(server: Running) -> None:
    made = create(server).json()
    assert (made["kind"], made["state"], made["question"]) == ("heavy-hitters", "open", None)
    assert made["steps"] == [{"name": "list", "state": "pending"}, {"name": "release", "state": "pending"}]
    for i, item in enumerate(ITEMS):
        assert trust(server, f"t{i}", item).status_code == 201
    early = server.report(FrequencyStudy("x", categories=["a", "b"], epsilon=1.0), "l", 0, study_id="words")
    assert (early.status_code, refused(early)) == (409, "closed")
    assert refused(server.move("release", "words")) == "refused"
    assert counts(server) == {"weather": 40, "news": 20, "ünïcode ☂": 15, "my own name": 1}
    listed = server.move("list", "words").json()
    assert (listed["state"], listed["steps"][0]["state"]) == ("asking", "released")
    public = server.http.get("/studies/words").json()
    assert public["question"] == listed["question"]
    assert public["text"] == STUDY.to_json()  # what is promised does not change
    question = StudyOffer.from_text(public["question"]["text"], digest=public["question"]["digest"]).study
    assert isinstance(question, FrequencyStudy)
    assert question.categories == ("weather", "news", "ünïcode ☂")
    assert "my own name" not in server.http.get("/studies/words").text
    curator = server.prepared.app.state.curator
    with reading(curator.engine) as connection:
        assert set(connection.scalars(select(totals.c.sealed))) == {b""}
    late = trust(server, "late", "weather")
    assert (late.status_code, refused(late)) == (409, "closed")
    assert refused(server.move("list", "words")) == "refused"
    reports = send_reports(server, question)
    assert server.move("close", "words").json()["counts"] == {"trusted": 76, "local": 300}
    released = server.move("release", "words")
    assert released.status_code == 200, released.text
    items = STUDY.release(STUDY.summarize_trusted(ITEMS), ledger=Ledger(STUDY.privacy))
    expected = STUDY.estimate(trusted=items, local=Reports(np.array(reports), question.digest, False)).to_dict()
    assert released.json()["estimate"] == expected
    assert server.move("release", "words").content == released.content
    with reading(curator.engine) as connection:
        assert len(Ledger.open(DatabaseLedgerStore(connection, "study words")).events) == 1
    page = server.http.get("/studies/words/result.html").text
    assert "<svg" in page
    assert "ünïcode ☂" in page
    report = server.http.get("/studies/words/report.html", headers=server.admin).text
    assert "weight on trusted" in report


def send_reports(server: Running, question: FrequencyStudy) -> list[int]:
    """Reports of local users, one of whom withdraws, and refusals."""
    items = np.random.default_rng(1).choice(["weather", "news", "something else"], 300)
    codes: list[int] = question.randomize(items.tolist()).codes.tolist()
    first = server.report(question, "l0", codes[0], nonce=NONCE, study_id="words")
    assert first.status_code == 201
    receipt = first.json()["receipt"]
    assert (receipt["digest"], receipt["delta"]) == (question.digest, "0")
    assert receipt["commitment"] == commitment(question.digest, "local", codes[0], NONCE)
    verify(first.json(), server.http.get("/.well-known/hybriddp-receipts.json").json())
    again = server.http.get("/studies/words/receipt", headers=server.token("l0", "words"))
    assert again.json() == first.json()
    assert refused(server.report(question, "t0", codes[0], study_id="words")) == "duplicate"  # trusted before
    wrong = {"digest": STUDY.digest, "code": 0, "nonce": NONCE}
    assert refused(server.http.post("/studies/words/reports", headers=server.token("x", "words"), json=wrong)) == (
        "wrong-digest"
    )
    assert refused(server.report(question, "y", question.oracle.n_codes, study_id="words")) == "out-of-range"
    gone = {"digest": question.digest, "code": codes[1], "nonce": NONCE}
    for to in ("reports", "reports/withdraw"):
        answer = server.http.post(f"/studies/words/{to}", headers=server.token("gone", "words"), json=gone)
        assert answer.is_success
    named = [{"participant": f"r{i}", "code": code, "nonce": NONCE} for i, code in enumerate(codes[1:])]
    body = {"digest": question.digest, "reports": named}
    told = server.http.post("/studies/words/batches", headers=server.relay("of words"), json=body).json()
    assert (told["accepted"], told["rejected"]) == (299, [])
    return codes


def test_withdrawals_and_restarts_before_the_list(database: str, tmp_path: Path) -> None:
    place = "" if database.startswith("sqlite") else database
    with running(tmp_path, place) as first:
        create(first)
        for i, item in enumerate(["fig", "pear", "fig"]):
            trust(first, f"t{i}", item, nonce=NONCE)
    with running(tmp_path, place) as second:
        trust(second, "t3", "a" * 64, nonce=NONCE)
        trust(second, "t4", "line\nbreak", nonce=NONCE)  # no study could show it
        assert counts(second) == {"fig": 2, "pear": 1, "a" * 64: 1, "(other)": 1}
        for who, item in (("t0", "fig"), ("t1", "pear"), ("t3", "a" * 64), ("t4", "(other)")):
            assert refused(trust(second, who, "plum", nonce=NONCE, to="values/withdraw")) == "duplicate"
            assert trust(second, who, item, nonce=NONCE, to="values/withdraw").json()["receipt"]["opened"]
        assert counts(second) == {"fig": 1}
        assert second.move("list", "words").json()["reason"] == "refused"  # one person is too few


def test_a_list_with_nothing_on_it_closes_the_study(kept_server: Running) -> None:
    study = HeavyHitterStudy("rare word", epsilon=1, delta="0.000001")
    create(kept_server, study, "rare")
    for i in range(3):
        body = {"digest": study.digest, "value": f"word {i}", "nonce": NONCE}
        kept_server.http.post("/studies/rare/values", headers=kept_server.token(f"t{i}", "rare"), json=body)
    listed = kept_server.move("list", "rare").json()
    assert (listed["state"], listed["question"]) == ("closed", None)
    assert [step["state"] for step in listed["steps"]] == ["released", "pending"]
    released = kept_server.move("release", "rare")
    assert released.status_code == 200, released.text
    assert released.json()["estimate"]["items"] == []
    assert kept_server.http.get("/studies/rare/result.html").status_code == 200


def test_a_study_that_closes_before_its_list(kept_server: Running) -> None:
    study = HeavyHitterStudy("late word", epsilon=4, delta="0.000001")
    create(kept_server, study, "late", single_group=True)
    for i in range(40):
        body = {"digest": study.digest, "value": "word", "nonce": NONCE}
        kept_server.http.post("/studies/late/values", headers=kept_server.token(f"t{i}", "late"), json=body)
    kept_server.move("close", "late")
    assert refused(kept_server.move("list", "late")) == "refused"
    assert kept_server.move("release", "late").json()["estimate"]["items"] == ["word"]


def test_what_is_refused(kept_server: Running) -> None:
    study = HeavyHitterStudy("refused word", epsilon=1, delta="0.000001")
    create(kept_server, study, "refused")
    for value in (1, 1.5, True, None, ["word"], "w" * 1001):
        body = {"digest": study.digest, "value": value, "nonce": NONCE}
        headers = kept_server.token("a", "refused")
        assert refused(kept_server.http.post("/studies/refused/values", headers=headers, json=body)) == "malformed"
    for other in (
        HeavyHitterStudy("dictionary", epsilon=1, domain=["a", "b"]),
        HeavyHitterStudy("pairs", epsilon=1, delta="0.000001", levels=2),
        HeavyHitterStudy("many", epsilon=1, delta="0.000001", max_records=2),
    ):
        assert refused(create(kept_server, other, other.name)) == "malformed"
    mean = FrequencyStudy("one step", categories=["a", "b"], epsilon=1.0)
    kept_server.create(mean, "one-step")
    assert refused(kept_server.move("list", "one-step")) == "refused"


def test_the_operator_releases_the_list_by_a_button(kept_server: Running) -> None:
    study = HeavyHitterStudy("button word", epsilon=4, delta="0.000001")
    create(kept_server, study, "button")
    kept_server.http.post("/operator/login", data={"key": kept_server.admin_key})
    page = kept_server.http.get("/operator/studies/button").text
    assert "Release the list" in page
    assert 'action="/operator/studies/button/list"' in page


def test_a_commitment_to_an_item(kept_server: Running) -> None:
    study = HeavyHitterStudy("committed word", epsilon=1, delta="0.000001")
    create(kept_server, study, "committed")
    body = {"digest": study.digest, "value": "fig", "nonce": NONCE}
    answer = kept_server.http.post("/studies/committed/values", headers=kept_server.token("a", "committed"), json=body)
    expected = commitment(study.digest, "trusted", int.from_bytes(b"\1fig"), NONCE)
    assert answer.json()["receipt"]["commitment"] == expected
    assert integer_of("fig") == int.from_bytes(b"\1fig")


def test_the_real_client(server: Running, tmp_path: Path) -> None:
    create(server)

    def client(who: str, digest: str | None = STUDY.digest) -> Client:
        token = server.token(who, "words")["Authorization"].removeprefix("Bearer ")
        return Client(server.url, token, journal=tmp_path / f"{who}.json", digest=digest)

    for i in range(4):
        with client(f"t{i}") as trusted:
            receipt = trusted.trust("weather" if i else "a word that is far too long for a server to keep it, é" * 2)
    for i in range(4, 60):
        assert server.trust(STUDY, f"t{i}", "weather", study_id="words").is_success
    assert (receipt.digest, receipt.delta) == (STUDY.digest, "0.000001")
    with client("t1") as leaving:
        assert leaving.withdraw().opened
    assert counts(server) == {"weather": 58, "(other)": 1}
    with client("l") as early, pytest.raises(RejectedError, match="takes no reports yet"):
        early.report("weather")
    server.move("list", "words")
    with client("l") as local, client("o") as other:
        assert local.study.state == "asking"
        asked = local.study.question
        assert asked is not None
        assert asked.categories == ("weather",)
        receipt = local.report("weather")
        assert (receipt.digest, receipt.epsilon, receipt.delta) == (asked.digest, "4", "0")
        assert (local.report("news").commitment, local.receipt().document) == (receipt.commitment, receipt.document)
        other.report("a word that nobody has on a list")
        assert other.withdraw().opened
    with client("t2") as again, client("t3") as late:
        assert again.trust("weather").resent  # the list is out, and the contribution is still the same
        with pytest.raises(RejectedError, match="closed"):
            late.withdraw()
    with client("x") as new, pytest.raises(RejectedError, match="no more trusted items"):
        new.trust("weather")
    assert server.move("close", "words").json()["counts"] == {"trusted": 59, "local": 1}
