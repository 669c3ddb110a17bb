"""Studies of heavy hitters on a server: the list, reports about it, and what comes too early or too late."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from hybriddp import FrequencyStudy, HeavyHitterStudy
from hybriddp.client import Client, RejectedError, StudyOffer, commitment, verify
from hybriddp.service.store.engine import reading
from hybriddp.service.store.schema import totals
from tests.service.attacking import NONCE, refused
from tests.service.lives import Contribution
from tests.service.lives_in_steps import HeavyLife
from tests.service.running import CLOSES, CONSENT, Running

STUDY = HeavyHitterStudy("search word", epsilon=4, delta="0.000001")


def create(server: Running, study: HeavyHitterStudy = STUDY, study_id: str = "words", **fields: object) -> Any:
    body: dict[str, object] = {"study": json.loads(study.to_json()), "id": study_id, "consent": CONSENT}
    return server.http.post("/studies", headers=server.admin, json=body | {"closes_at": CLOSES} | fields)


@pytest.mark.usefixtures("same_noise")
def test_the_list_and_reports_about_it(kept_server: Running) -> None:
    life = HeavyLife(kept_server, "words")
    life.create()
    life.gather()
    listed = life.move("list").json()
    assert (listed["state"], listed["steps"][0]["state"]) == ("asking", "released")
    public = life.shown().json()
    assert public["question"] == listed["question"]
    assert public["text"] == life.study.to_json()  # what is promised does not change
    question = StudyOffer.from_text(public["question"]["text"], digest=public["question"]["digest"]).study
    assert isinstance(question, FrequencyStudy)
    assert question.categories == ("weather", "news", "ünïcode ☂")
    assert "my own name" not in life.shown().text
    curator = kept_server.prepared.app.state.curator
    with reading(curator.engine) as connection:
        sealed = select(totals.c.sealed).where(totals.c.study == curator._read("words").stored.number)
        assert set(connection.scalars(sealed)) == {b""}  # nothing needs the exact counts any more
    late = life.send(Contribution("late", "values", {"value": "weather"}))
    assert (late.status_code, refused(late)) == (409, "closed")
    assert refused(life.move("list")) == "refused"
    require_reports(life, question)


def require_reports(life: HeavyLife, question: FrequencyStudy) -> None:
    """Reports about the list have receipts of their own, and are refused like those of any study."""
    server = life.server
    codes: list[int] = question.randomize(["weather", "something else"]).codes.tolist()
    first = server.report(question, "l0", codes[0], nonce=NONCE, study_id="words")
    assert first.status_code == 201
    receipt = first.json()["receipt"]
    assert (receipt["digest"], receipt["delta"]) == (question.digest, "0")
    assert receipt["commitment"] == commitment(question.digest, "local", codes[0], NONCE)
    verify(first.json(), server.http.get("/.well-known/hybriddp-receipts.json").json())
    again = server.http.get("/studies/words/receipt", headers=server.token("l0", "words"))
    assert again.json() == first.json()
    assert refused(server.report(question, "t0", codes[0], study_id="words")) == "duplicate"  # trusted before
    assert refused(life.send(Contribution("x", "reports", {"code": 0}))) == "wrong-digest"
    assert refused(server.report(question, "y", question.n_codes, study_id="words")) == "out-of-range"
    gone = {"digest": question.digest, "code": codes[1], "nonce": NONCE}
    for to in ("reports", "reports/withdraw"):
        answer = server.http.post(f"/studies/words/{to}", headers=server.token("gone", "words"), json=gone)
        assert answer.is_success
    assert life.move("close").json()["counts"] == {"trusted": len(life.values), "local": 1}


def test_an_item_that_no_study_could_show_is_another(kept_server: Running) -> None:
    life = HeavyLife(kept_server, "others")
    life.create()
    long, broken = (
        Contribution(who, "values", {"value": item}) for who, item in (("a", "a" * 64), ("b", "line\nbreak"))
    )
    for one in (long, broken):
        assert life.send(one).status_code == 201
    assert life.sums() == ({}, {"a" * 64: 1, "(other)": 1})
    other = Contribution("b", "values", {"value": "(other)"})
    for one in (long, other):
        assert life.send(one, "/withdraw").json()["receipt"]["opened"]
    assert life.send(Contribution("c", "values", {"value": "fig"})).status_code == 201
    assert life.sums() == ({}, {"fig": 1})
    assert refused(life.move("list")) == "refused"  # one person is too few


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
    assert released.json()["estimate"]["rows"] == []
    assert kept_server.http.get("/studies/rare/result.html").status_code == 200


def test_a_study_that_closes_before_its_list(kept_server: Running) -> None:
    study = HeavyHitterStudy("late word", epsilon=4, delta="0.000001")
    create(kept_server, study, "late", single_group=True)
    for i in range(20):
        body = {"digest": study.digest, "value": "word", "nonce": NONCE}
        kept_server.http.post("/studies/late/values", headers=kept_server.token(f"t{i}", "late"), json=body)
    kept_server.move("close", "late")
    assert refused(kept_server.move("list", "late")) == "refused"
    assert kept_server.move("release", "late").json()["estimate"]["rows"][0]["name"] == "word"


def test_what_is_refused(kept_server: Running) -> None:
    study = HeavyHitterStudy("refused word", epsilon=1, delta="0.000001")
    create(kept_server, study, "refused")
    for value in (1, 1.5, True, None, ["word"], "w" * 1001):
        body = {"digest": study.digest, "value": value, "nonce": NONCE}
        headers = kept_server.token("a", "refused")
        assert refused(kept_server.http.post("/studies/refused/values", headers=headers, json=body)) == "malformed"
    other = HeavyHitterStudy("dictionary", epsilon=1, domain=["a", "b"])
    assert refused(create(kept_server, other, other.name)) == "malformed"
    many = {"study": json.loads(study.to_json()) | {"max_records": 2}, "id": "many", "consent": CONSENT}
    posted = kept_server.http.post("/studies", headers=kept_server.admin, json=many | {"closes_at": CLOSES})
    assert refused(posted) == "malformed"
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


def test_the_real_client(kept_server: Running, tmp_path: Path) -> None:
    server, life = kept_server, HeavyLife(kept_server, "client")
    life.create()

    def client(who: str) -> Client:
        token = server.token(who, life.id)["Authorization"].removeprefix("Bearer ")
        return Client(server.url, token, journal=tmp_path / f"{who}.json", digest=life.study.digest)

    for i in range(20):
        assert life.send(Contribution(f"p{i}", "values", {"value": "weather"})).is_success
    with client("t0") as trusted, client("t1") as leaving:
        receipt = trusted.trust("a word that is far too long for a server to keep it, é" * 2)
        assert (receipt.digest, receipt.delta) == (life.study.digest, "0.000001")
        leaving.trust("weather")
        assert leaving.withdraw().opened
    assert life.sums()[1] == {"weather": 20, "(other)": 1}
    with client("l") as early, pytest.raises(RejectedError, match="takes no reports yet"):
        early.report("weather")
    life.move("list")
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
    with client("t0") as again:
        assert again.trust("weather").resent  # the list is out, and the contribution is still the same
        with pytest.raises(RejectedError, match="closed"):
            again.withdraw()
    with client("x") as new, pytest.raises(RejectedError, match="no more trusted items"):
        new.trust("weather")
    assert life.move("close").json()["counts"] == {"trusted": 21, "local": 1}
