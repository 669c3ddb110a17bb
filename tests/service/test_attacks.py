"""Attacks over real sockets: every one is refused with a reason, and nothing of it stays or comes back."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier
from urllib.parse import quote

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sqlalchemy import func, select

from hybriddp.service.keys import new_key
from hybriddp.service.store.engine import reading
from hybriddp.service.store.ledger import ledger_events, ledgers
from hybriddp.service.tokens import mint
from tests.service.attacking import AWKWARD, NONCE, Target, new_target, operations, refused
from tests.service.running import CONSENT, Running, running

PUBLIC = {
    *(f"GET /studies/{{study_id}}{page}" for page in ("", "/round", "/result", "/result.html")),
    *(f"GET /studies/{{study_id}}/result.{form}" for form in ("csv", "svg")),
    *(f"GET /{name}" for name in ("health", "ready", ".well-known/hybriddp-receipts.json")),
}
FOR_PEOPLE = {
    *(f"POST /studies/{{study_id}}/{to}" for to in ("reports", "values", "enrollments", "answers", "batches")),
    *(f"POST /studies/{{study_id}}/{to}/withdraw" for to in ("reports", "values", "enrollments")),
    "GET /studies/{study_id}/receipt",
}


@pytest.fixture(scope="module")
def target(kept_server: Running) -> Target:
    """A study that nothing here gets into."""
    return new_target(kept_server)


def in_an_hour() -> int:
    return int((datetime.now(UTC) + timedelta(hours=1)).timestamp())


def encoded(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


# Tokens


def claims(target: Target, **changed: object) -> dict[str, object]:
    return {"sub": "mallory", "aud": target.id, "exp": in_an_hour()} | changed


def unsigned(target: Target, algorithm: object = "none") -> str:
    return f"{encoded({'alg': algorithm, 'typ': 'JWT'})}.{encoded(claims(target))}."


def forgeries(target: Target) -> dict[str, str]:
    secret = target.server.secret
    good = jwt.encode(claims(target), secret, "HS256")
    header, payload, signature = good.split(".")
    return {
        "another secret": jwt.encode(claims(target), b"x" * 32, "HS256"),
        "an expired one": jwt.encode(claims(target, exp=1_000_000), secret, "HS256"),
        "one for another study": jwt.encode(claims(target, aud="another"), secret, "HS256"),
        "one for many studies": jwt.encode(claims(target, aud=[target.id, "another"]), secret, "HS256"),
        "one that is not valid yet": jwt.encode(claims(target, nbf=in_an_hour()), secret, "HS256"),
        "one without end": jwt.encode({"sub": "mallory", "aud": target.id}, secret, "HS256"),
        "one without anybody": jwt.encode({"aud": target.id, "exp": in_an_hour()}, secret, "HS256"),
        "an empty subject": jwt.encode(claims(target, sub=""), secret, "HS256"),
        "a long subject": jwt.encode(claims(target, sub="m" * 257), secret, "HS256"),
        "alg none": unsigned(target),
        "alg None": unsigned(target, "None"),
        "alg null": unsigned(target, None),
        "no signature": f"{header}.{payload}.",
        "another algorithm's name": f"{encoded({'alg': 'EdDSA', 'typ': 'JWT'})}.{payload}.{signature}",
        "HS512": jwt.encode(claims(target), secret * 2, "HS512"),
        "another payload": f"{header}.{encoded(claims(target, sub='victim'))}.{signature}",
        "a cut one": good[:-1],
        "no token": "",
        "a text": "mallory",
        "dots": "...",
        "a long one": "a" * 9000,
        "the admin key": target.server.admin_key,
        "a new relay key": new_key("hdpr_"),
        "the secret": secret.decode(),
    }


def test_no_forged_token_takes_part(target: Target) -> None:
    for name, token in forgeries(target).items():
        for to, body in (("reports", target.report()), ("values", target.value()), ("values/withdraw", target.value())):
            answer = target.send(body, to=to, authorization=f"Bearer {token}".strip())
            assert (answer.status_code, refused(answer, *([token] if token else []))) == (401, "bad-token"), name
            assert answer.headers["www-authenticate"] == "Bearer"
        answer = target.server.http.get(
            f"/studies/{target.id}/receipt", headers={"authorization": f"Bearer {token}".strip()}
        )
        assert refused(answer) == "bad-token", name
    assert target.counts() == {"trusted": 0, "local": 0}


@pytest.mark.parametrize("scheme", ["Basic {}", "bearer", "Bearer", "Token {}", "{}", "Bearer {} {}"])
def test_a_token_must_come_as_a_bearer(target: Target, scheme: str) -> None:
    token = mint(target.server.secret, subject="a", study=target.id, lifetime=timedelta(hours=1))
    assert refused(target.send(target.report(), authorization=scheme.format(token, token)), token) == "bad-token"


@pytest.mark.slow
def test_a_public_key_is_no_secret(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "public.pem").write_bytes(public)
    with running(tmp_path, token_public_key=tmp_path / "public.pem") as server:
        target = new_target(server)
        swapped = f"{encoded({'alg': 'HS256', 'typ': 'JWT'})}.{encoded(claims(target))}"
        for secret in (public, public.strip(), key.public_key().public_bytes_raw()):
            signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(swapped.encode(), secret)
            token = f"{swapped}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
            assert refused(target.send(target.report(), authorization=f"Bearer {token}"), token) == "bad-token"
        assert refused(target.send(target.report())) == "bad-token"  # HS256 with the server's own secret
        good = mint(key, subject="a", study=target.id, lifetime=timedelta(hours=1))
        assert target.send(target.report(), authorization=f"Bearer {good}").status_code == 201


def test_a_token_used_again_counts_once(kept_server: Running) -> None:
    target = new_target(kept_server)
    assert target.send(target.report()).status_code == 201
    assert target.send(target.report()).status_code == 200
    for other in (target.report(8), target.report(nonce="f" * 32)):
        assert refused(target.send(other)) == "duplicate"
    assert refused(target.send(target.value(), to="values")) == "duplicate"
    assert refused(target.send(target.report(8), to="reports/withdraw")) == "duplicate"
    never = target.send(target.report(), who="b", to="reports/withdraw").json()["receipt"]
    assert (never["withdrawn"], never["opened"], never["commitment"]) == (True, False, "")
    assert refused(target.send(target.report(), who="b")) == "duplicate"
    assert target.send(target.report(), to="reports/withdraw").status_code == 200
    assert refused(target.send(target.report())) == "duplicate"
    assert target.counts() == {"trusted": 0, "local": 0}


# Keys at the wrong doors


def test_only_the_admin_key_opens_the_operator_s_routes(target: Target) -> None:
    server = target.server
    wrong = {
        "nothing": {},
        "a token": server.token("a", target.id),
        "a relay": server.relay("at the wrong door"),
        "another admin key": {"Authorization": f"Bearer {new_key('hdpa_')}"},
        "the hash": {"Authorization": f"Bearer {server.prepared.app.state.admin_hash}"},
        "a basic one": {"Authorization": f"Basic {server.admin_key}"},
    }
    documented = {f"{method} {path}": described for method, path, described in operations(server)}
    assert {name for name, described in documented.items() if "security" not in described} == PUBLIC
    people = {name for name, described in documented.items() if described["tags"] in (["participant"], ["relay"])}
    assert people == FOR_PEOPLE
    for name in documented:
        method, path = name.split()
        at = path.replace("{study_id}", target.id).replace("{name}", "x")
        if name in PUBLIC:  # what is asked is shown before the release, and nothing of its result
            hidden = path.endswith("/round") or "/result" in path
            assert server.http.request(method, at).status_code == (404 if hidden else 200), name
        elif name not in FOR_PEOPLE:  # those have keys of their own
            for key, headers in wrong.items():
                answer = server.http.request(method, at, headers=headers, json=None if method == "GET" else {})
                assert (answer.status_code, refused(answer)) == (401, "bad-token"), (key, name)
    assert server.http.get(f"/studies/{target.id}").json()["state"] == "open"


def test_only_a_relay_hands_over_batches(target: Target) -> None:
    server = target.server
    batch = {"digest": target.study.digest, "reports": [{"participant": "victim", "code": 1, "nonce": NONCE}]}
    gone = server.relay("gone")
    server.http.delete("/relays/gone", headers=server.admin)
    for headers in (
        {},
        server.admin,
        server.token("a", target.id),
        gone,
        {"Authorization": f"Bearer {new_key('hdpr_')}"},
    ):
        answer = server.http.post(f"/studies/{target.id}/batches", headers=headers, json=batch)
        assert (answer.status_code, refused(answer, "victim")) == (401, "bad-token")
    assert target.counts() == {"trusted": 0, "local": 0}


# Strings


@pytest.mark.slow
def test_awkward_strings_on_both_databases(server: Running) -> None:
    target, http = new_target(server), server.http
    for text in AWKWARD:
        for path, body in (
            ("/relays", {"name": text}),
            ("/budgets", {"name": text, "epsilon": "1"}),
            ("/budgets", {"name": "fine", "epsilon": text}),
        ):
            assert refused(http.post(path, headers=server.admin, json=body)) == "malformed"
        for field in ("id", "budget", "closes_at", "origins"):
            answer = server.create(target.study, **{"study_id": "fine", field: [text] if field == "origins" else text})
            assert refused(answer) == "malformed"
        for field in ("digest", "nonce", "code"):
            assert refused(target.send(target.report(**{field: text}))) == "malformed"
        quoted = quote(text, safe="")
        for method, path in (("GET", "studies"), ("GET", "budgets"), ("DELETE", "relays")):
            answer = http.request(method, f"/{path}/{quoted}", headers=server.admin)
            assert refused(answer) in ("malformed", "not-found")
        answer = http.get(f"/studies/{target.id}/receipt", headers=server.token("a"), params={"commitment": text})
        assert refused(answer) == "malformed"
    target.move("withdraw")


@pytest.mark.slow
def test_awkward_people_count_once_each_on_both_databases(server: Running) -> None:
    target = new_target(server, consent={**CONSENT, "purpose": "".join(AWKWARD)})
    assert server.http.get(f"/studies/{target.id}").json()["consent"]["purpose"] == "".join(AWKWARD)
    for text in AWKWARD:
        assert target.send(target.report(), who=text).status_code == 201
    reports = [{"participant": text, "code": 7, "nonce": NONCE} for text in AWKWARD]
    body = {"digest": target.study.digest, "reports": reports}
    told = server.http.post(f"/studies/{target.id}/batches", headers=server.relay(), json=body).json()
    assert (told["accepted"], told["repeated"], told["rejected"]) == (0, len(AWKWARD), [])
    assert target.counts() == {"trusted": 0, "local": len(AWKWARD)}


def test_lone_surrogates_are_no_text(target: Target) -> None:
    server = target.server
    body = json.dumps(
        {"digest": target.study.digest, "reports": [{"participant": "\ud800", "code": 7, "nonce": NONCE}]}
    )
    headers = server.relay("surrogates") | {"content-type": "application/json"}
    answer = server.http.post(f"/studies/{target.id}/batches", headers=headers, content=body)
    assert answer.json()["rejected"] == [{"index": 0, "reason": "malformed"}]


# The study's life


def test_no_release_before_a_study_is_closed(kept_server: Running) -> None:
    target = new_target(kept_server)
    for i in range(3):
        target.send(target.report(), who=f"l{i}")
        target.send(target.value(), who=f"t{i}", to="values")
    for _ in range(2):
        assert refused(target.move("release")) == "refused"
    assert refused(kept_server.http.get(f"/studies/{target.id}/result")) == "not-found"
    assert target.send(target.report(), who="still open").status_code == 201


def test_a_release_of_too_few_people_costs_nothing(kept_server: Running) -> None:
    target = new_target(kept_server)
    target.send(target.value(), to="values")
    target.move("close")
    assert refused(target.move("release")) == "refused"
    assert events_of(target) == 0


def events_of(target: Target) -> int:
    """How many events the study's own ledger has."""
    with reading(target.server.prepared.app.state.curator.engine) as connection:
        query = (
            select(func.count()).select_from(ledger_events.join(ledgers)).where(ledgers.c.name == f"study {target.id}")
        )
        return int(connection.execute(query).scalar_one())


@pytest.mark.slow
def test_two_releases_at_once_are_one(server: Running) -> None:
    target = new_target(server)
    for i in range(3):
        target.send(target.report(), who=f"l{i}")
        target.send(target.value(), who=f"t{i}", to="values")
    target.move("close")
    together = Barrier(4)

    def release(_: int) -> bytes:
        with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as http:
            http.get("/health")
            together.wait()
            return http.post(f"/studies/{target.id}/release", headers=server.admin).content

    with ThreadPoolExecutor(4) as pool:
        results = set(pool.map(release, range(4)))
    assert len(results) == 1
    assert results == {server.http.get(f"/studies/{target.id}/result").content}
    assert events_of(target) == 1


def test_a_study_created_twice_at_once_is_one(kept_server: Running) -> None:
    target = new_target(kept_server)
    twin = Target(kept_server, type(target.study)("the twin", bounds=(0, 240), epsilon=1.0), "twin")
    together = Barrier(4)

    def create(i: int) -> int:
        together.wait()
        return kept_server.create(twin.study, f"twin-{i % 2}").status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(create, range(4))) == [201, 409, 409, 409]


@pytest.mark.parametrize(
    "closes_at", ["9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00+14:00"]
)
def test_closing_times_at_the_end_of_the_calendar(target: Target, closes_at: str) -> None:
    other = type(target.study)("at the end", bounds=(0, 240), epsilon=1.0)
    assert refused(target.server.create(other, "at-the-end", closes_at=closes_at)) == "malformed"
    assert target.server.http.get("/studies", headers=target.server.admin).status_code == 200


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("min_trusted", 10**13),
        ("min_local", 0),
        ("min_local", 2.0),
        ("min_local", True),
        ("tokens", 1),
        ("open", "false"),
    ],
)
def test_fields_of_a_study_out_of_their_range(target: Target, field: str, value: object) -> None:
    other = type(target.study)("out of range", bounds=(0, 240), epsilon=1.0)
    assert refused(target.server.create(other, "out-of-range", **{field: value})) == "malformed"


def test_a_study_that_asks_for_more_people_than_any_number_holds(target: Target) -> None:
    other = type(target.study)("everybody", bounds=(0, 240), epsilon=1.0, min_group_size=10**30)
    assert refused(target.server.create(other, "everybody")) == "malformed"


def test_a_study_whose_channel_promises_too_much(target: Target) -> None:
    changed = json.loads(target.study.to_json())
    changed["name"], changed["channel"]["extra"] = "changed", changed["channel"]["extra"] + 10**6
    body = {"study": changed, "consent": CONSENT, "closes_at": "2099-01-01T00:00:00Z"}
    assert refused(target.server.http.post("/studies", headers=target.server.admin, json=body)) == "malformed"
