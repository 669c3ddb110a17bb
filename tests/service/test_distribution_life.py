"""A distribution study's life, over real sockets and on both databases: exact sums, one release, and what is told."""

import secrets
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from hybriddp import DistributionStudy, MeanStudy
from hybriddp.client import Client, RejectedError, commitment, verify
from hybriddp.distribution import release
from hybriddp.release.ledger import Ledger
from hybriddp.release.mechanisms import release_vector
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.engine import reading
from hybriddp.service.store.ledger import DatabaseLedgerStore
from hybriddp.service.store.schema import totals
from hybriddp.service.store.sums import CategorySums
from tests.service.running import Running, running

LOAD = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1.0, scale="log")
VALUES = np.random.default_rng(3).lognormal(6.0, 0.8, 430).tolist()
NONCE = "0" * 32


@pytest.fixture
def _repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that can be drawn again."""

    def repeatable(*given: object, **more: object) -> object:
        return release_vector(*given, **more | {"random_state": 5})

    monkeypatch.setattr(release, "release_vector", repeatable)


def named(name: str) -> DistributionStudy:
    return DistributionStudy(name, bounds=(0, 10_000), epsilon=1.0, scale="log")


def sums(server: Running, study: DistributionStudy, study_id: str) -> tuple[dict[int, int], dict[int, int]]:
    """What whoever has database and key reads: how many sent each report, and how many have each bin."""
    curator = server.prepared.app.state.curator
    with reading(curator.engine) as connection:
        number = int(curator._read(study_id).stored.number)
        total = stored.total(connection, number, study.digest, curator.seal)
        tally = stored.tally(connection, number)
    counts = enumerate(CategorySums(256).counts(total))
    return {entry: n for entry, n in tally.items() if n}, {number: n for number, n in counts if n}


def bins(study: DistributionStudy, values: list[float]) -> dict[int, int]:
    return {number: n for number, n in enumerate(study.summarize_trusted(values).counts) if n}


def batch(server: Running, study: DistributionStudy, study_id: str, codes: list[int]) -> dict[str, Any]:
    reports = [{"participant": f"r{i}", "code": code, "nonce": f"{i:032x}"} for i, code in enumerate(codes)]
    body = {"digest": study.digest, "reports": reports}
    relay = server.relay(f"of {study_id}")
    found: dict[str, Any] = server.http.post(f"/studies/{study_id}/batches", headers=relay, json=body).json()
    return found


@pytest.mark.usefixtures("_repeatable")
def test_a_life_is_that_of_the_study_itself(server: Running) -> None:
    values, codes = VALUES[:30], LOAD.randomize(VALUES[30:]).codes.tolist()
    assert server.create(LOAD, "q").status_code == 201
    for i, value in enumerate(values):
        assert server.trust(LOAD, f"t{i}", value, study_id="q").status_code == 201
    for i, code in enumerate(codes[:10]):
        assert server.report(LOAD, f"l{i}", code, study_id="q").status_code == 201
    told = batch(server, LOAD, "q", [*codes[10:], LOAD.channel.n_codes])
    assert (told["accepted"], told["rejected"]) == (390, [{"index": 390, "reason": "out-of-range"}])
    assert sums(server, LOAD, "q") == (Counter(codes), bins(LOAD, values))
    assert server.move("close", "q").json()["counts"] == {"trusted": 30, "local": 400}
    first = server.move("release", "q")
    assert first.status_code == 200, first.text
    expected = LOAD.estimate(trusted=values, local=codes).to_dict()
    expected["tied"], expected["privacy"]["counted"] = True, True
    expected["warnings"] = first.json()["estimate"]["warnings"]
    assert first.json()["estimate"] == expected
    assert server.move("release", "q").content == first.content == server.http.get("/studies/q/result").content
    with reading(server.prepared.app.state.curator.engine) as connection:
        assert set(connection.scalars(select(totals.c.sealed))) == {b""}  # the exact counts are gone
        assert len(Ledger.open(DatabaseLedgerStore(connection, "study q")).events) == 1
    page = server.http.get("/studies/q/result.html")
    report = server.http.get("/studies/q/report.html", headers=server.admin)
    assert (page.status_code, report.status_code) == (200, 200)
    assert "<svg" in page.text
    assert "trusted alone" in report.text
    assert "trusted alone" not in page.text
    assert server.http.get("/studies/q/report.html").status_code == 401


def test_what_people_are_told(kept_server: Running) -> None:
    study = named("told")
    made = kept_server.create(study, "told").json()
    assert (made["kind"], made["title"], made["text"]) == ("distribution", "told", study.to_json())
    assert made["steps"] == [{"name": "release", "state": "pending"}]
    assert any("each of 256 bins, encrypted" in sentence for sentence in made["stored"]["trusted"])
    assert any("a hash of the value's bin" in sentence for sentence in made["stored"]["trusted"])
    assert any("a pattern and a code" in sentence for sentence in made["stored"]["local"])
    answer = kept_server.trust(study, "a", 480, nonce=NONCE, study_id="told").json()
    keys = kept_server.http.get("/.well-known/hybriddp-receipts.json").json()
    verify(answer, keys)
    assert answer["receipt"]["stored"] == made["stored"]["trusted"]
    assert answer["receipt"]["commitment"] == commitment(study.digest, "trusted", study.bins.of_value(480), NONCE)


def test_nobody_is_in_both_groups_or_twice(kept_server: Running) -> None:
    study = named("twice")
    kept_server.create(study, "twice")
    first = kept_server.trust(study, "a", 480, nonce=NONCE, study_id="twice")
    again = kept_server.trust(study, "a", 480, nonce=NONCE, study_id="twice")
    assert (first.status_code, again.status_code, again.json()) == (201, 200, first.json())
    kept_server.report(study, "b", 7, nonce=NONCE, study_id="twice")
    for answer in (
        kept_server.report(study, "a", 7, nonce=NONCE, study_id="twice"),  # trusted, then local
        kept_server.trust(study, "b", 480, nonce=NONCE, study_id="twice"),  # local, then trusted
        kept_server.trust(study, "a", 5000, nonce=NONCE, study_id="twice"),
        kept_server.trust(study, "a", 480, nonce="1" * 32, study_id="twice"),
        kept_server.report(study, "b", 8, nonce=NONCE, study_id="twice"),
    ):
        assert (answer.status_code, answer.json()["reason"]) == (409, "duplicate")
    reports = [{"participant": "a", "code": 3, "nonce": NONCE}, {"participant": "c", "code": 3, "nonce": NONCE}]
    headers, body = kept_server.relay("of twice"), {"digest": study.digest, "reports": [*reports, reports[1]]}
    told = kept_server.http.post("/studies/twice/batches", headers=headers, json=body).json()
    assert (told["accepted"], told["repeated"]) == (1, 1)
    assert told["rejected"] == [{"index": 0, "reason": "duplicate"}]
    assert sums(kept_server, study, "twice") == ({3: 1, 7: 1}, bins(study, [480.0]))


@pytest.mark.parametrize(
    ("to", "field", "number", "reason"),
    [
        ("reports", "code", "1996", "out-of-range"),
        ("reports", "code", "-1", "out-of-range"),
        ("reports", "code", "7.5", "malformed"),
        ("reports", "code", '"7"', "malformed"),
        ("values", "value", '"480"', "malformed"),
        ("values", "value", "NaN", "malformed"),
        ("values", "value", "1e999", "malformed"),
        ("values", "value", "null", "malformed"),
    ],
)
def test_what_is_refused_is_not_counted(kept_server: Running, to: str, field: str, number: str, reason: str) -> None:
    kept_server.create(LOAD, "refused")  # once
    assert LOAD.channel.n_codes == 1996
    body = f'{{"digest":"{LOAD.digest}","{field}":{number},"nonce":"{NONCE}"}}'
    headers = kept_server.token("a", "refused") | {"content-type": "application/json"}
    answer = kept_server.http.post(f"/studies/refused/{to}", headers=headers, content=body)
    assert answer.json()["reason"] == reason
    assert sums(kept_server, LOAD, "refused") == ({}, {})


def test_nothing_of_a_value_can_be_read_without_the_key(tmp_path: Path) -> None:
    """Neither the value nor, by the length of what is encrypted, how many people are in which bins."""
    value, lengths = 4242.4242, set()
    with running(tmp_path) as server:
        for name, times in (("one", 1), ("many", 30)):
            study = named(name)
            server.create(study, name)
            for i in range(times):
                assert server.trust(study, f"t{i}", value + 9 * i, study_id=name).status_code == 201
        with reading(server.prepared.app.state.curator.engine) as connection:
            lengths |= {len(sealed) for sealed in connection.scalars(select(totals.c.sealed))}
    assert lengths == {1309}
    files = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert any(b'"distribution"' in content for content in files)  # the study's text can be read
    planted = (b"4242.4242", struct.pack("<d", value), struct.pack(">d", value))
    assert not any(form in content for content in files for form in planted)


def test_studies_that_cannot_be_created(kept_server: Running) -> None:
    of_mean = DistributionStudy.from_mean_study(MeanStudy("minutes", bounds=(0, 240), epsilon=1))
    for study, words in ((of_mean, "keeps the total only"), (LOAD.part("country", "DE"), "of everybody")):
        answer = kept_server.create(study, "no")
        assert answer.status_code == 400
        assert words in answer.json()["detail"]


def test_withdrawals_return_the_sums_to_the_unit(database: str, tmp_path: Path) -> None:
    """Each start is another process, and another replica: its sums are added up, too."""
    place = "" if database.startswith("sqlite") else database
    values, codes = [*VALUES[:6], -3.0, 1e6], LOAD.randomize(VALUES[:8]).codes.tolist()
    nonces = [secrets.token_hex(16) for _ in values]

    def join(server: Running, i: int) -> None:
        server.trust(LOAD, f"t{i}", values[i], nonce=nonces[i], study_id="q")
        server.report(LOAD, f"l{i}", codes[i], nonce=nonces[i], study_id="q")

    with running(tmp_path, place) as first:
        first.create(LOAD, "q")
        for i in range(4):
            join(first, i)
    with running(tmp_path, place) as second:
        for i in range(4, 8):
            join(second, i)
        assert sums(second, LOAD, "q") == (Counter(codes), bins(LOAD, values))
        wrong = {"digest": LOAD.digest, "value": 9999, "nonce": nonces[7]}  # another bin: opens no commitment
        refused = second.http.post("/studies/q/values/withdraw", headers=second.token("t0", "q"), json=wrong)
        assert refused.json()["reason"] == "duplicate"
        for left in (6, 2, 0):
            for i in range(left, 8):
                value = {"digest": LOAD.digest, "value": values[i], "nonce": nonces[i]}
                code = {"digest": LOAD.digest, "code": codes[i], "nonce": nonces[i]}
                for who, to, body in ((f"t{i}", "values", value), (f"l{i}", "reports", code)):
                    gone = second.http.post(f"/studies/q/{to}/withdraw", headers=second.token(who, "q"), json=body)
                    assert gone.status_code == 200
            assert sums(second, LOAD, "q") == (Counter(codes[:left]), bins(LOAD, values[:left]))
        assert second.http.get("/studies/q", headers=second.admin).json()["counts"] == {"trusted": 0, "local": 0}


def test_the_real_client(server: Running, tmp_path: Path) -> None:
    server.create(LOAD, "load")

    def client(who: str) -> Client:
        token = server.token(who, "load")["Authorization"].removeprefix("Bearer ")
        return Client(server.url, token, journal=tmp_path / f"{who}.json", digest=LOAD.digest)

    with client("l") as local, client("t") as trusted:
        assert "asks for one number: page load ms, from 0 to 10,000." in local.promise()
        receipt = local.report(480)
        assert (receipt.group, local.report(99).commitment) == ("local", receipt.commitment)
        trusted.trust(481.25)
        assert sums(server, LOAD, "load")[1] == bins(LOAD, [481.25])
        assert trusted.withdraw().opened
        assert local.withdraw().opened
    assert sums(server, LOAD, "load") == ({}, {})
    token = server.token("t", "load")["Authorization"].removeprefix("Bearer ")
    with pytest.raises(RejectedError, match="already taken part"), Client(server.url, token) as back:
        back.report(3)


def test_a_pilot_and_a_shared_budget(kept_server: Running) -> None:
    pilot = named("a pilot")
    kept_server.create(pilot, "pilot", tokens=False, single_group=True)
    for code in (0, 1, 1):
        kept_server.report(pilot, "x", code, study_id="pilot")
    kept_server.move("close", "pilot")
    assert "without tokens" in kept_server.move("release", "pilot").json()["estimate"]["warnings"][0]
    assert "without tokens" in kept_server.http.get("/studies/pilot/result.html").text
    kept_server.http.post("/budgets", headers=kept_server.admin, json={"name": "loads", "epsilon": "1.5"})
    assert kept_server.create(named("a panel"), "panel-1", budget="loads").status_code == 201
    left = kept_server.http.get("/budgets/loads", headers=kept_server.admin).json()["left"]
    assert left == {"epsilon": "0.5", "delta": "0"}
    mean = MeanStudy("a panel's mean", bounds=(0, 10_000), epsilon=1.0)
    assert kept_server.create(mean, "panel-2", budget="loads").json()["reason"] == "refused"


def test_the_operator_sees_the_quantiles(kept_server: Running) -> None:
    study = DistributionStudy("<b>how long</b>", bounds=(0, 100), epsilon=5.0)
    kept_server.create(study, "operator-quantiles")
    for i, code in enumerate(study.randomize([30.0] * 6).codes.tolist()):
        kept_server.trust(study, f"t{i}", 30, study_id="operator-quantiles")
        kept_server.report(study, f"l{i}", code, study_id="operator-quantiles")
    kept_server.move("close", "operator-quantiles")
    assert kept_server.move("release", "operator-quantiles").status_code == 200
    kept_server.http.post("/operator/login", data={"key": kept_server.admin_key})
    page = kept_server.http.get("/operator/studies/operator-quantiles").text
    assert "Result: p50 " in page
    assert "&lt;b&gt;how long&lt;/b&gt;" in page
    assert "the groups' own distributions" in page
    assert "<b>how" not in page
