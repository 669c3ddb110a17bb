"""Means per part of the users: the part is in the token."""

import json
import secrets
from itertools import count
from pathlib import Path

import httpx
import jwt
import numpy as np
import pytest

from hybriddp import FrequencyStudy, MeanStudy
from hybriddp.client import verify
from hybriddp.release.mechanisms import Mechanism
from hybriddp.service.store import studies
from hybriddp.service.store.engine import reading
from hybriddp.service.store.schema import participants, tallies
from hybriddp.service.tokens import TokenKeys
from tests.service.running import Running, running

PARTS = {"by": "country", "names": ["DE", "FR", "other"]}
_numbers = count(1)


class Country:
    """A study by country on a server, and people who take part in it."""

    def __init__(self, server: Running, **fields: object) -> None:
        self.server, self.id = server, f"minutes-{next(_numbers)}"
        self.study = MeanStudy(self.id, bounds=(0, 240), epsilon=2.0)
        self.made = server.create(self.study, self.id, **({"parts": PARTS} | fields))

    def body(self, *, code: int | None = None, value: float | None = None) -> dict[str, object]:
        sent = {"value": value} if code is None else {"code": code}
        return {"digest": self.study.digest, **sent, "nonce": secrets.token_hex(16)}

    def send(self, who: str, part: str | None, body: dict[str, object], then: str = "") -> httpx.Response:
        route = ("reports" if "code" in body else "values") + then
        return self.server.http.post(
            f"/studies/{self.id}/{route}", headers=self.server.token(who, self.id, part=part), json=body
        )

    def crowd(self, sizes: dict[str, tuple[int, int]]) -> dict[str, tuple[list[float], list[int]]]:
        """So many trusted and local people in each part, and what they gave."""
        given = {}
        for k, (part, (n_trusted, n_local)) in enumerate(sizes.items()):
            values = [10.0 * k + i for i in range(n_trusted)]
            codes = self.study.randomize([40.0 * k] * n_local).codes.tolist() if n_local else []
            for i, value in enumerate(values):
                assert self.send(f"{part} t{i}", part, self.body(value=value)).status_code == 201
            for i, code in enumerate(codes):
                assert self.send(f"{part} l{i}", part, self.body(code=code)).status_code == 201
            given[part] = values, codes
        return given

    def counts(self) -> list[tuple[str, int, int]]:
        told = self.server.http.get(f"/studies/{self.id}", headers=self.server.admin).json()["part_counts"]
        return [(one["name"], one["trusted"], one["local"]) for one in told]

    def released(self) -> httpx.Response:
        self.server.move("close", self.id)
        return self.server.move("release", self.id)


def reason(response: httpx.Response) -> str:
    return str(response.json()["reason"])


# Identities


def test_counts_of_parts_add_up_and_a_withdrawal_restores_them(kept_server: Running) -> None:
    server = kept_server
    of = Country(server)
    curator = server.prepared.app.state.curator
    number = curator._read(of.id).stored.number
    sums_of = tallies.select().where(tallies.c.study == number)
    of.crowd({"DE": (2, 1), "other": (1, 2)})
    before = of.counts()
    assert before == [("DE", 2, 1), ("FR", 0, 0), ("other", 1, 2)]
    with reading(curator.engine) as connection:
        sums = set(connection.execute(sums_of).all())
    bodies = {"ann": of.body(code=200), "bob": of.body(value=239.0)}
    for who, body in bodies.items():
        assert of.send(who, "FR", body).json()["receipt"]["part"] == "FR"
    assert of.counts() == [("DE", 2, 1), ("FR", 1, 1), ("other", 1, 2)]
    totals = server.http.get(f"/studies/{of.id}", headers=server.admin).json()["counts"]
    assert totals == {"trusted": 4, "local": 4}
    for who, body in bodies.items():
        told = of.send(who, "FR", body, "/withdraw").json()["receipt"]
        assert (told["withdrawn"], told["opened"], "part" in told) == (True, True, False)
    assert of.counts() == before
    with reading(curator.engine) as connection:
        assert set(connection.execute(sums_of).all()) == sums
        rows = connection.execute(participants.select().where(participants.c.study == number)).all()
    assert sorted(row.part for row in rows if row.commitment) == [0, 0, 0, 2, 2, 2]
    assert [row.part for row in rows if not row.commitment] == [None, None]


def test_a_relay_names_parts_and_each_person_gets_a_receipt_of_theirs(kept_server: Running) -> None:
    server = kept_server
    of, relay = Country(server), server.relay("by-country")
    items = [{"participant": f"p{i}", "code": 7, "nonce": f"{i:032x}"} for i in range(4)]
    named = [items[0] | {"part": "DE"}, items[1] | {"part": "FR"}, items[2] | {"part": "fr"}, items[3]]
    body = {"digest": of.study.digest, "reports": named}
    told = server.http.post(f"/studies/{of.id}/batches", headers=relay, json=body).json()
    assert told["accepted"] == 2
    assert told["rejected"] == [{"index": 2, "reason": "malformed"}, {"index": 3, "reason": "malformed"}]
    assert of.counts() == [("DE", 0, 1), ("FR", 0, 1), ("other", 0, 0)]
    mine = server.http.get(f"/studies/{of.id}/receipt", headers=server.token("p1", of.id)).json()
    assert (mine["receipt"]["part"], mine["receipt"]["part_by"]) == ("FR", "country")
    verify(mine, server.http.get("/.well-known/hybriddp-receipts.json").json())
    assert any("part that the participant is counted in (country)" in text for text in mine["receipt"]["stored"])


# Edges


@pytest.mark.parametrize("part", [None, "ES", "de", " DE", "\N{CYRILLIC SMALL LETTER IE}"])
def test_a_token_without_a_part_of_the_study_is_refused(kept_server: Running, part: str | None) -> None:
    of = Country(kept_server)
    if part == " DE":  # which mint refuses, and another language may not
        claims = {"sub": "ann", "aud": of.id, "exp": 2**33, "part": part}
        headers = {"Authorization": f"Bearer {jwt.encode(claims, kept_server.secret, 'HS256')}"}
        told = kept_server.http.post(f"/studies/{of.id}/reports", headers=headers, json=of.body(code=1))
    else:
        told = of.send("ann", part, of.body(code=1))
    assert (told.status_code, reason(told)) == (401, "bad-token")
    assert "which country the person counts in, DE, FR, other" in told.json()["detail"]
    assert of.counts() == [("DE", 0, 0), ("FR", 0, 0), ("other", 0, 0)]
    assert of.send("ann", "DE", of.body(code=1)).status_code == 201  # a better token, the same person


def test_a_claim_that_is_no_text_is_no_part(kept_server: Running) -> None:
    of = Country(kept_server)
    for part in (7, ["DE"], {"DE": 1}, True):
        token = jwt.encode({"sub": "ann", "aud": of.id, "exp": 2**33, "part": part}, kept_server.secret, "HS256")
        headers = {"Authorization": f"Bearer {token}"}
        told = kept_server.http.post(f"/studies/{of.id}/reports", headers=headers, json=of.body(code=1))
        assert reason(told) == "bad-token", part
        assert TokenKeys(kept_server.secret).subject(token, of.id) == "ann"


def test_two_spellings_of_a_letter_are_one_part(kept_server: Running) -> None:
    of = Country(kept_server, parts={"by": "city", "names": ["K\u00f6ln", "Paris"]})
    assert of.send("ann", "Ko\u0308ln", of.body(code=1)).json()["receipt"]["part"] == "K\u00f6ln"


def test_a_part_in_a_study_of_everybody_is_ignored_in_tokens_and_refused_in_batches(kept_server: Running) -> None:
    of = Country(kept_server, parts=None)
    told = of.send("ann", "DE", of.body(code=1))
    assert told.status_code == 201
    assert "part" not in told.json()["receipt"]
    item = {"participant": "p", "code": 7, "nonce": "0" * 32, "part": "DE"}
    body = {"digest": of.study.digest, "reports": [item]}
    relay = kept_server.relay("everybody")
    told = kept_server.http.post(f"/studies/{of.id}/batches", headers=relay, json=body)
    assert told.json()["rejected"] == [{"index": 0, "reason": "malformed"}]
    public = kept_server.http.get(f"/studies/{of.id}", headers=kept_server.admin).json()
    assert (public["parts"], public["part_counts"]) == (None, None)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"by": "country", "names": ["DE"]}, "2 to 300 names"),
        ({"by": "country", "names": [f"n{i}" for i in range(301)]}, "2 to 300 names"),
        ({"by": "country", "names": ["DE", "de"]}, "DE and de are the same"),
        ({"by": "country", "names": ["DE", "DE"]}, "DE and DE are the same"),
        ({"by": "country", "names": ["DE", " FR"]}, "with single spaces between words"),
        ({"by": "country", "names": ["DE", "F\u202eR"]}, "a readable text"),
        ({"by": " ", "names": ["DE", "FR"]}, "a readable text"),
        ({"by": "x" * 101, "names": ["DE", "FR"]}, "1 to 100 characters"),
        ({"names": ["DE", "FR"]}, "$.parts.by: required"),
        ({"by": "country", "names": ["DE", 3]}, "text"),
    ],
)
def test_parts_that_no_study_has(kept_server: Running, parts: dict[str, object], words: str) -> None:
    made = Country(kept_server, parts=parts).made
    assert (made.status_code, reason(made)) == (400, "malformed")
    assert words in made.json()["detail"]


def test_parts_need_tokens_and_a_mean(kept_server: Running) -> None:
    pilot = Country(kept_server, tokens=False).made
    assert reason(pilot) == "malformed"
    assert "Parts need tokens" in pilot.json()["detail"]
    shares = FrequencyStudy("fruit", categories=["fig", "pear"], epsilon=1)
    told = kept_server.create(shares, "fruit", parts=PARTS)
    assert reason(told) == "malformed"
    assert "Only a study of a mean can have parts" in told.json()["detail"]


def test_a_part_that_is_too_small_is_left_out_and_says_so(kept_server: Running) -> None:
    of = Country(kept_server)
    of.crowd({"DE": (2, 2), "FR": (1, 9)})
    assert kept_server.http.get(f"/studies/{of.id}").json()["part_counts"] is None  # before it closes, for nobody
    result = of.released().json()
    public = kept_server.http.get(f"/studies/{of.id}").json()
    assert public["part_counts"][1] == {"name": "FR", "trusted": 1, "local": 9}
    assert public["parts"] == PARTS
    estimate = result["estimate"]
    assert [one["users"]["key"] for one in estimate["parts"]] == ["DE"]
    left_out = [{"name": "FR", "n_trusted": 1, "n_local": 9}, {"name": "other", "n_trusted": 0, "n_local": 0}]
    assert estimate["left_out"] == left_out
    assert estimate["warnings"][0].startswith("2 of 3 parts are left out, since too few people took part: FR, other")
    assert (estimate["n_trusted"], estimate["n_local"]) == (2, 2)
    with reading(kept_server.prepared.app.state.curator.engine) as connection:
        lines = [row.line for row in connection.exec_driver_sql("SELECT line FROM ledger_events")]
    paid = [json.loads(line) for line in lines if of.study.digest in line]
    assert [(one["who"], one["part"]["key"]) for one in paid] == [("trusted", "DE")]
    table = kept_server.http.get(f"/studies/{of.id}/result.csv").text.splitlines()
    assert table[0] == "name,value,lower_95,upper_95,n_trusted,n_local"
    assert [row.split(",")[0] for row in table[1:]] == ["DE", "FR", "other"]
    assert table[2] == "FR,,,,1,9"
    assert kept_server.http.get(f"/studies/{of.id}/result.svg").text.startswith("<svg xmlns=")
    page = kept_server.http.get(f"/studies/{of.id}/result.html").text
    assert page.count("no answer: too few") == 2
    assert kept_server.http.get(f"/studies/{of.id}/report.html", headers=kept_server.admin).status_code == 200


def test_a_study_without_a_part_that_is_large_enough_is_refused_and_spends_nothing(kept_server: Running) -> None:
    of = Country(kept_server, min_local=3)
    of.crowd({"DE": (2, 2), "FR": (0, 3)})
    told = of.released()
    assert (told.status_code, reason(told)) == (409, "refused")
    assert told.json()["detail"].startswith("None of the 3 parts has as many contributions as the study asks for")
    assert "withdraw it" in told.json()["detail"]


def test_with_a_single_group_a_part_is_answered_by_the_group_that_is_large_enough(kept_server: Running) -> None:
    of = Country(kept_server, single_group=True, min_trusted=2)
    of.crowd({"DE": (1, 4), "FR": (3, 0)})
    estimate = of.released().json()["estimate"]
    assert [(one["n_trusted"], one["n_local"]) for one in estimate["parts"]] == [(0, 4), (3, 0)]
    assert [one["name"] for one in estimate["left_out"]] == ["other"]
    assert "DE: The trusted group's 1 contribution was left out" in " ".join(estimate["warnings"])


# Attacks


def test_another_token_moves_nobody_to_another_part(kept_server: Running) -> None:
    of = Country(kept_server)
    of.crowd({"DE": (1, 1), "FR": (1, 1)})
    for who, body in (("ann", of.body(code=9)), ("bob", of.body(value=120.0))):
        assert of.send(who, "DE", body).status_code == 201
        again = of.send(who, "FR", body)  # the same contribution with a token of another part
        assert (again.status_code, again.json()["receipt"]["part"]) == (200, "DE")
        other = of.send(who, "FR", body | {"nonce": secrets.token_hex(16)})
        assert reason(other) == "duplicate"
    assert of.counts() == [("DE", 2, 2), ("FR", 1, 1), ("other", 0, 0)]


def test_whoever_withdraws_with_a_token_of_another_part_leaves_their_own(kept_server: Running) -> None:
    of = Country(kept_server)
    of.crowd({"DE": (1, 1), "FR": (1, 1)})
    before = of.counts()
    for part, (who, body) in zip(
        ["FR", None], {"ann": of.body(code=9), "bob": of.body(value=120.0)}.items(), strict=True
    ):
        of.send(who, "DE", body)
        assert of.send(who, part, body, "/withdraw").json()["receipt"]["opened"]
        assert of.counts() == before
        assert reason(of.send(who, "FR", body)) == "duplicate"  # nobody comes back


# Restarts


@pytest.mark.slow
def test_parts_survive_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mechanism, "draw", lambda *_: np.int64(0))
    with running(tmp_path) as server:
        of = Country(server)
        of.crowd({"DE": (2, 2), "other": (2, 2)})
        before = of.counts()
    with running(tmp_path) as server:
        of.server = server
        assert of.counts() == before
        first = of.released()
        assert [one["rows"][0]["value"] for one in first.json()["estimate"]["parts"]]
    with running(tmp_path) as server:
        of.server = server
        assert server.move("release", of.id).content == first.content
        assert of.counts() == before
        assert json.loads(first.content)["estimate"]["by"] == "country"


def test_a_crash_before_the_commit_of_a_release_costs_nothing(
    kept_server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = Country(kept_server)
    of.crowd({"DE": (2, 2), "FR": (2, 2)})
    with monkeypatch.context() as patched:
        patched.setattr(studies, "store_result", _crash)  # after the draw and the payment
        assert of.released().status_code == 500
    with reading(kept_server.prepared.app.state.curator.engine) as connection:
        lines = [row.line for row in connection.exec_driver_sql("SELECT line FROM ledger_events")]
    assert not any(of.study.digest in line for line in lines)
    assert [one["users"]["key"] for one in of.released().json()["estimate"]["parts"]] == ["DE", "FR"]


def _crash(*_: object, **__: object) -> None:
    raise ZeroDivisionError
