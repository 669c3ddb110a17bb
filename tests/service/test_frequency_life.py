"""A frequency study's life, over real sockets and on both databases: exact sums, one release, and what is told."""

import secrets
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from hybriddp import FrequencyStudy
from hybriddp.client import Client, RejectedError, commitment, verify
from hybriddp.errors import DataError
from hybriddp.frequency import answer
from hybriddp.release.mechanisms import release_vector
from hybriddp.service.kinds import FrequencyKind
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.engine import reading
from hybriddp.service.store.schema import totals
from tests.service.running import Running, running

COLORS = [f"color {i}" for i in range(20)]
UNARY = FrequencyStudy("favorite color", categories=COLORS, epsilon=2.0, other=True)
PAGES = FrequencyStudy("page", categories=list(range(60)), epsilon=2.0)
NONCE = "0" * 32


@pytest.fixture
def _repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that can be drawn again."""

    def repeatable(*given: object, **more: object) -> object:
        return release_vector(*given, **more | {"random_state": 5})

    monkeypatch.setattr(answer, "release_vector", repeatable)


def sums(server: Running, study: FrequencyStudy, study_id: str) -> tuple[dict[int, int], tuple[int, ...]]:
    """What whoever has database and key reads: the tally, and how many people have each category."""
    curator = server.prepared.app.state.curator
    with reading(curator.engine) as connection:
        number = stored_number(server, study_id)
        total = stored.total(connection, number, study.digest, curator.seal)
        tally = stored.tally(connection, number)
    return {entry: n for entry, n in tally.items() if n}, FrequencyKind(study).sums.counts(total)


def stored_number(server: Running, study_id: str) -> int:
    return int(server.prepared.app.state.curator._read(study_id).stored.number)


def batch(server: Running, study: FrequencyStudy, study_id: str, codes: list[int]) -> dict[str, Any]:
    reports = [{"participant": f"r{i}", "code": code, "nonce": f"{i:032x}"} for i, code in enumerate(codes)]
    body = {"digest": study.digest, "reports": reports}
    found: dict[str, Any] = server.http.post(
        f"/studies/{study_id}/batches", headers=server.relay(f"of {study_id}"), json=body
    ).json()
    return found


@pytest.mark.usefixtures("_repeatable")
@pytest.mark.parametrize("study", [UNARY, PAGES], ids=["bits", "codes"])
def test_a_life_is_that_of_the_study_itself(server: Running, study: FrequencyStudy) -> None:
    rng, names = np.random.default_rng(3), list(study.categories)
    items = [names[i] for i in rng.integers(0, 4, 30)]
    codes = study.randomize([names[i] for i in rng.integers(0, 4, 400)]).codes.tolist()
    assert server.create(study, "q").status_code == 201
    for i, item in enumerate(items):
        assert server.trust(study, f"t{i}", item, study_id="q").status_code == 201
    for i, code in enumerate(codes[:10]):
        assert server.report(study, f"l{i}", code, study_id="q").status_code == 201
    told = batch(server, study, "q", codes[10:])
    assert (told["accepted"], told["rejected"]) == (390, [])
    assert server.move("close", "q").json()["counts"] == {"trusted": 30, "local": 400}
    first = server.move("release", "q")
    assert first.status_code == 200, first.text
    expected = study.estimate(trusted=items, local=codes).to_dict()
    expected["tied"], expected["privacy"]["counted"] = True, True
    assert first.json()["estimate"] == expected
    assert server.move("release", "q").content == first.content == server.http.get("/studies/q/result").content
    curator = server.prepared.app.state.curator
    with reading(curator.engine) as connection:
        assert set(connection.scalars(select(totals.c.sealed))) == {b""}  # the exact counts are gone
        events = curator_events(connection)
    assert events == 1
    page, report = (
        server.http.get("/studies/q/result.html"),
        server.http.get("/studies/q/report.html", headers=server.admin),
    )
    assert (page.status_code, report.status_code) == (200, 200)
    assert "<svg" in page.text
    assert "weight on trusted" in report.text
    assert "weight on trusted" not in page.text


def curator_events(connection: Any) -> int:  # noqa: ANN401
    from hybriddp.release.ledger import Ledger
    from hybriddp.service.store.ledger import DatabaseLedgerStore

    return len(Ledger.open(DatabaseLedgerStore(connection, "study q")).events)


def test_what_people_are_told(kept_server: Running) -> None:
    study = FrequencyStudy("opened the app", categories=["yes", "no"], epsilon=1.0)
    made = kept_server.create(study, "told").json()
    assert (made["kind"], made["title"], made["text"]) == ("frequency", "opened the app", study.to_json())
    assert any("each category, encrypted" in sentence for sentence in made["stored"]["trusted"])
    assert any("each bit" in sentence for sentence in made["stored"]["local"])
    answer = kept_server.trust(study, "a", "no", nonce=NONCE, study_id="told").json()
    keys = kept_server.http.get("/.well-known/hybriddp-receipts.json").json()
    verify(answer, keys)
    assert answer["receipt"]["stored"] == made["stored"]["trusted"]
    assert answer["receipt"]["commitment"] == commitment(study.digest, "trusted", 1, NONCE)  # "no" is category 1


def test_repeating_and_changing_one_s_mind(kept_server: Running) -> None:
    study = FrequencyStudy("opened it again", categories=["yes", "no"], epsilon=1.0, other=True)
    kept_server.create(study, "again")
    first = kept_server.trust(study, "a", "no", nonce=NONCE, study_id="again")
    again = kept_server.trust(study, "a", "no", nonce=NONCE, study_id="again")
    assert (first.status_code, again.status_code, again.json()) == (201, 200, first.json())
    for value, nonce in (("yes", NONCE), ("no", "1" * 32), ("something else", NONCE)):
        changed = kept_server.trust(study, "a", value, nonce=nonce, study_id="again")
        assert (changed.status_code, changed.json()["reason"]) == (409, "duplicate")
    crossed = kept_server.report(study, "a", 1, nonce=NONCE, study_id="again")
    assert crossed.json()["reason"] == "duplicate"
    assert sums(kept_server, study, "again") == ({}, (0, 1, 0))
    for value in ("something else", "(other)"):  # both are the same category
        other = kept_server.trust(study, "b", value, nonce=NONCE, study_id="again")
        assert other.status_code in (200, 201)
    assert sums(kept_server, study, "again") == ({}, (0, 1, 1))


@pytest.mark.parametrize("study", [UNARY, PAGES], ids=["bits", "codes"])
def test_withdrawals_return_the_sums_to_the_unit(database: str, tmp_path: Path, study: FrequencyStudy) -> None:
    """Each start is another process, and another replica: its sums are added up, too."""
    place = "" if database.startswith("sqlite") else database
    rng, names = np.random.default_rng(4), list(study.categories)
    items = [names[i] for i in rng.integers(0, 4, 8)]
    codes = study.randomize(items).codes.tolist()
    kind, nonces = FrequencyKind(study), [secrets.token_hex(16) for _ in items]
    with running(tmp_path, place) as first:
        first.create(study, "q")
        for i in range(4):
            first.trust(study, f"t{i}", items[i], nonce=nonces[i], study_id="q")
            first.report(study, f"l{i}", codes[i], nonce=nonces[i], study_id="q")
    with running(tmp_path, place) as second:
        for i in range(4, 8):
            second.trust(study, f"t{i}", items[i], nonce=nonces[i], study_id="q")
            second.report(study, f"l{i}", codes[i], nonce=nonces[i], study_id="q")
        counted = Counter(items)
        assert sums(second, study, "q")[1] == tuple(counted[name] for name in study.names)
        for left in (6, 2, 0):
            for i in range(left, 8):
                value = {"digest": study.digest, "value": items[i], "nonce": nonces[i]}
                code = {"digest": study.digest, "code": codes[i], "nonce": nonces[i]}
                for who, to, body in ((f"t{i}", "values", value), (f"l{i}", "reports", code)):
                    gone = second.http.post(f"/studies/q/{to}/withdraw", headers=second.token(who, "q"), json=body)
                    assert gone.status_code == 200
            counted, entries = Counter(items[:left]), Counter(e for c in codes[:left] for e in kind.sums.entries(c))
            assert sums(second, study, "q") == (dict(entries), tuple(counted[name] for name in study.names))
        assert second.http.get("/studies/q", headers=second.admin).json()["counts"] == {"trusted": 0, "local": 0}


def test_the_real_client(server: Running, tmp_path: Path) -> None:
    server.create(UNARY, "colors")

    def client(who: str) -> Client:
        token = server.token(who, "colors")["Authorization"].removeprefix("Bearer ")
        return Client(server.url, token, journal=tmp_path / f"{who}.json", digest=UNARY.digest)

    with client("l") as local, client("t") as trusted, client("o") as other:
        assert "asks for one of 20 categories: favorite color. They are color 0; color 1" in local.promise()
        receipt = local.report("color 3")
        assert (receipt.group, local.report("color 4").commitment) == ("local", receipt.commitment)
        trusted.trust("color 3")
        other.trust("a color that nobody has thought of")
        counts = dict(zip(UNARY.names, sums(server, UNARY, "colors")[1], strict=True))
        assert {name: n for name, n in counts.items() if n} == {"color 3": 1, "(other)": 1}
        assert trusted.withdraw().opened
        assert local.withdraw().opened
    with client("x") as wrong, pytest.raises(DataError, match="one text"):
        wrong.report(3)
    assert sums(server, UNARY, "colors") == ({}, (0,) * 20 + (1,))
    with (
        pytest.raises(RejectedError, match="already taken part"),
        Client(server.url, server.token("t", "colors")["Authorization"].removeprefix("Bearer ")) as back,
    ):
        back.report("color 1")


def test_a_pilot_and_a_shared_budget(kept_server: Running) -> None:
    study = FrequencyStudy("a pilot's app", categories=["yes", "no"], epsilon=1.0)
    kept_server.create(study, "pilot", tokens=False, single_group=True)
    for code in (0, 1, 1):
        kept_server.report(study, "x", code, study_id="pilot")
    kept_server.move("close", "pilot")
    assert "without tokens" in kept_server.move("release", "pilot").json()["estimate"]["warnings"][0]
    assert "without tokens" in kept_server.http.get("/studies/pilot/result.html").text
    kept_server.http.post("/budgets", headers=kept_server.admin, json={"name": "shares", "epsilon": "1.5"})
    again = FrequencyStudy("a panel's app", categories=["yes", "no"], epsilon=1.0)
    assert kept_server.create(again, "panel-1", budget="shares").status_code == 201
    left = kept_server.http.get("/budgets/shares", headers=kept_server.admin).json()["left"]
    assert left == {"epsilon": "0.5", "delta": "0"}
    third = FrequencyStudy("a panel's other app", categories=["yes", "no"], epsilon=1.0)
    assert kept_server.create(third, "panel-2", budget="shares").json()["reason"] == "refused"


def test_the_operator_sees_the_largest_shares(kept_server: Running) -> None:
    study = FrequencyStudy("<b>which</b>", categories=[f"<i>{i}</i>" for i in range(8)], epsilon=5.0)
    kept_server.create(study, "operator-shares")
    for i in range(6):
        kept_server.trust(study, f"t{i}", "<i>3</i>", study_id="operator-shares")
        kept_server.report(study, f"l{i}", 3, study_id="operator-shares")
    kept_server.move("close", "operator-shares")
    assert kept_server.move("release", "operator-shares").status_code == 200
    kept_server.http.post("/operator/login", data={"key": kept_server.admin_key})
    page = kept_server.http.get("/operator/studies/operator-shares").text
    assert "Result, with 95 % intervals: &lt;i&gt;3&lt;/i&gt;" in page.replace("\N{NO-BREAK SPACE}", " ")
    assert "; 3 more" in page
    assert "shares and the weights" in page
    assert "<i>" not in page
