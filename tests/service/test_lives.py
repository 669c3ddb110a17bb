"""A study of every kind over real sockets: its life, withdrawals, receipts, the real client, budgets, and its pages."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from hybriddp.client import Client, RejectedError, commitment, verify
from hybriddp.service.store.engine import reading
from hybriddp.service.store.schema import totals
from tests.service.attacking import refused
from tests.service.lives import CategoryLife, CodeLife, DistributionLife, Life, MeanLife, PartsLife
from tests.service.lives_in_steps import HeavyLife, KMeansLife
from tests.service.running import Running, running

LIVES: dict[str, type[Life]] = {
    "mean": MeanLife,
    "parts": PartsLife,
    "bits": CategoryLife,
    "codes": CodeLife,
    "distribution": DistributionLife,
    "heavy": HeavyLife,
    "kmeans": KMeansLife,
}
EVERY = pytest.mark.parametrize("kind", LIVES)
SLOW = ("heavy", "kmeans")  # many people take part in each of their steps
TO_THE_END = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] if kind in SLOW else []) for kind in LIVES]
)
WITH_REPORTS = pytest.mark.parametrize("kind", ["mean", "parts", "bits", "codes", "distribution"])
ON_BOTH = [
    *(pytest.param(kind, "sqlite", marks=pytest.mark.representative) for kind in LIVES),
    pytest.param("mean", "postgresql", marks=pytest.mark.representative),
    *(pytest.param(kind, "postgresql", marks=pytest.mark.slow) for kind in LIVES if kind != "mean"),
]


@pytest.mark.usefixtures("same_noise")
@pytest.mark.parametrize(("kind", "a_server"), ON_BOTH, indirect=["a_server"])
def test_a_study_from_its_creation_to_its_result(a_server: Running, kind: str) -> None:
    life = LIVES[kind](a_server, f"life-{kind}")
    made = life.create()
    assert made.status_code == 201, made.text
    document = made.json()
    assert (document["kind"], document["state"], document["counts"]) == (life.kind, "open", None)
    assert (document["question"], document["round"]) == (None, None)
    assert (document["title"], document["digest"]) == (life.id, life.study.digest)
    assert document["text"] == life.study.to_json()
    assert document["steps"] == [{"name": name, "state": "pending"} for name in life.steps]
    life.gather()
    assert life.shown().json()["counts"] is None
    assert refused(life.move("release")) == "refused"
    assert life.sums() == life.sums_of(len(life.values) + len(life.others))
    between = life.go_on()
    assert life.shown().json()["counts"] == {"trusted": len(life.values), "local": len(life.others)}
    assert refused(life.send(replace(life.trusted[0], who="late"))) == "closed"
    released = life.move("release")
    assert released.status_code == 200, released.text
    estimate, expected = released.json()["estimate"], json.loads(json.dumps(life.expected(between)))
    assert {name: estimate[name] for name in expected} == expected
    assert life.spent == life.charged(between)
    assert life.move("release").content == released.content == life.shown("/result").content
    curator = a_server.prepared.app.state.curator
    with reading(curator.engine) as connection:
        sealed = select(totals.c.sealed).where(totals.c.study == curator._read(life.id).stored.number)
        assert set(connection.scalars(sealed)) == {b""}  # nothing needs exact sums any more
    page, report = life.shown("/result.html"), life.shown("/report.html", admin=True)
    assert (page.status_code, report.status_code) == (200, 200)
    assert life.id in page.text
    assert life.on_page in page.text
    for words in life.for_curator:
        assert words in report.text
        assert words not in page.text + released.text
    assert refused(life.shown("/report.html")) == "bad-token"
    assert life.shown("/result.csv").status_code == 200
    assert refused(life.move("withdraw")) == "refused"
    assert life.shown().json()["state"] == "released"


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A curator on the data of one before it, which four people of each group of every kind gave something."""
    folder = tmp_path_factory.mktemp("restarted")
    with running(folder) as first:
        for kind, of in LIVES.items():
            life = of(first, f"withdrawals-{kind}")
            assert life.create().status_code == 201
            for one in [*life.trusted[:4], *life.local[:4]]:
                assert life.send(one).status_code == 201
    with running(folder) as second:
        yield second


@EVERY
def test_withdrawals_return_the_sums_to_the_unit(restarted: Running, kind: str) -> None:
    """Each start is another process, and another replica: its sums are added up, too."""
    life = LIVES[kind](restarted, f"withdrawals-{kind}")
    assert life.sums() == life.sums_of(4)
    for one in [*life.trusted[4:8], *life.local[4:8]]:
        assert life.send(one).status_code == 201
    assert life.sums() == life.sums_of(8)
    another = replace(life.trusted[0], sent=life.trusted[1].sent)  # opens no commitment
    assert refused(life.send(another, "/withdraw")) == "duplicate"
    for left, before in ((6, 8), (2, 6), (0, 2)):
        for one in [*life.trusted[left:before], *life.local[left:before]]:
            gone = life.send(one, "/withdraw")
            assert gone.status_code == 200, gone.text
            assert (gone.json()["receipt"]["withdrawn"], gone.json()["receipt"]["opened"]) == (True, True)
        assert life.sums() == life.sums_of(left)
    assert life.shown(admin=True).json()["counts"] == {"trusted": 0, "local": 0}
    assert refused(life.send(life.trusted[0])) == "duplicate"  # nobody comes back


@EVERY
def test_people_are_told_what_is_stored_of_them(kept_server: Running, kind: str) -> None:
    life = LIVES[kind](kept_server, f"told-{kind}")
    made = life.create().json()
    keys = kept_server.http.get("/.well-known/hybriddp-receipts.json").json()
    assert any(f"a hash of the {life.committed} and" in sentence for sentence in made["stored"]["trusted"])
    for group, people in (("trusted", life.trusted), ("local", life.local)):
        assert any(life.told[group] in sentence for sentence in made["stored"][group]), made["stored"][group]
        for one in people[:1]:
            integer = {"values": life.integer_of, "reports": int, "enrollments": lambda _: 0}[one.route](
                next(iter(one.sent.values()), 0)
            )
            answer = life.send(one).json()
            verify(answer, keys)
            receipt = answer["receipt"]
            assert (receipt["group"], receipt["stored"]) == (group, made["stored"][group])
            assert receipt["commitment"] == commitment(life.study.digest, group, integer, one.nonce)


@EVERY
def test_nobody_is_in_both_groups_or_twice(kept_server: Running, kind: str) -> None:
    life = LIVES[kind](kept_server, f"twice-{kind}")
    life.create()
    trusted, local = life.trusted[0], (life.local or [replace(life.trusted[1], who="l0")])[0]
    for one in (trusted, local):
        first, again = life.send(one), life.send(one)
        assert (first.status_code, again.status_code, again.json()) == (201, 200, first.json())
    for other in (
        replace(local, who=trusted.who),
        replace(trusted, who=local.who),
        replace(trusted, sent=life.trusted[1].sent),
        *(replace(one, nonce="1" * 32) for one in (trusted, local)),
    ):
        answer = life.send(other)
        assert (answer.status_code, refused(answer)) == (409, "duplicate")
    assert life.sums() == life.sums_of(1 if life.local else 2)


@WITH_REPORTS
def test_nobody_is_counted_twice_by_way_of_a_relay(kept_server: Running, kind: str) -> None:
    life = LIVES[kind](kept_server, f"relayed-{kind}")
    life.create()
    life.send(life.trusted[0])
    first = life.local[0]
    told = life.relay([replace(first, who=life.trusted[0].who), first, first])
    assert (told["accepted"], told["repeated"]) == (1, 1)
    assert told["rejected"] == [{"index": 0, "reason": "duplicate"}]
    assert life.sums() == life.sums_of(1)


@WITH_REPORTS
def test_the_real_client(kept_server: Running, tmp_path: Path, kind: str) -> None:
    life = LIVES[kind](kept_server, f"client-{kind}")
    life.create()

    def client(who: str, journal: str = "") -> Client:
        token = kept_server.token(who, life.id, part=life.trusted[0].part)["Authorization"].removeprefix("Bearer ")
        return Client(kept_server.url, token, journal=tmp_path / (journal or who), digest=life.study.digest)

    with client("l") as local, client("t") as trusted:
        assert life.asked.format(life.id) in local.promise()
        assert f"ε = {life.study.privacy.epsilon}" in local.promise()
        receipt = local.report(life.others[0])
        assert (receipt.group, local.receipt()) == ("local", receipt)
        trusted.trust(life.values[0])
        assert life.sums()[1] == life.sums_of(1)[1]
        assert trusted.withdraw().opened
    with client("l") as again:
        repeated = again.report(life.others[1])  # what was drawn is what is sent
        assert (repeated.resent, repeated.commitment) == (True, receipt.commitment)
        assert again.withdraw().opened
    assert life.sums() == life.sums_of(0)
    with client("t", "a new device") as back, pytest.raises(RejectedError, match="already taken part"):
        back.report(life.others[0])


@pytest.mark.parametrize("kind", ["mean", "bits", "codes", "distribution"])
def test_a_pilot_warns_in_its_result_and_takes_no_shared_budget(kept_server: Running, kind: str) -> None:
    kept_server.http.post("/budgets", headers=kept_server.admin, json={"name": "of pilots", "epsilon": "9"})
    life = LIVES[kind](kept_server, f"pilot-{kind}")
    with_budget = life.create(tokens=False, budget="of pilots")
    assert (with_budget.status_code, refused(with_budget)) == (400, "malformed")
    assert life.create(tokens=False, single_group=True).status_code == 201
    for one in life.local[:3]:
        assert life.send(replace(one, who="x", nonce=f"{len(one.who):032x}")).is_success
    life.move("close")
    assert "without tokens" in life.move("release").json()["estimate"]["warnings"][0]
    assert "without tokens" in life.shown("/result.html").text


@TO_THE_END
def test_a_shared_budget_charges_everybody_when_a_study_opens(kept_server: Running, kind: str) -> None:
    life, panel = LIVES[kind](kept_server, f"budget-{kind}"), f"panel of {kind}"
    privacy = life.study.privacy
    half = f"{float(privacy.epsilon) / 2:g}"
    given = {"name": panel, "epsilon": f"{3 * float(half):g}", "delta": privacy.delta}
    made = kept_server.http.post("/budgets", headers=kept_server.admin, json=given)
    assert (made.status_code, made.json()["epsilon"]) == (201, given["epsilon"])
    assert life.create(budget=panel).status_code == 201

    def left() -> object:
        return kept_server.http.get(f"/budgets/{panel}", headers=kept_server.admin).json()["left"]

    assert left() == {"epsilon": half, "delta": "0"}
    other = replace(life, id=f"{life.id}-2")
    refusal = other.create(budget=panel)
    assert (refusal.status_code, refused(refusal)) == (409, "refused")
    assert other.shown().status_code == 404
    life.gather()
    life.go_on()
    assert life.counted(life.move("release").json()["estimate"])
    assert left() == {"epsilon": half, "delta": "0"}


@TO_THE_END
def test_the_operator_sees_the_result(kept_server: Running, kind: str) -> None:
    life = LIVES[kind](kept_server, f"operator-{kind}", f"<b>{kind}</b>")
    life.create()
    life.gather()
    life.go_on()
    assert life.move("release").status_code == 200
    kept_server.http.post("/operator/login", data={"key": kept_server.admin_key})
    page = kept_server.http.get(f"/operator/studies/{life.id}").text
    assert re.search(life.for_operator, page.replace("\N{NO-BREAK SPACE}", " "), re.DOTALL)
    assert f"&lt;b&gt;{kind}&lt;/b&gt;" in page
    assert not re.search("<[bi&]>", page)
