import hashlib
import json

import httpx
import pytest

from hybriddp import MeanStudy
from hybriddp.client import MockCurator, StudyOffer, verify
from hybriddp.errors import ParameterError

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1)
OFFER = StudyOffer.from_text(STUDY.device_json())


def _post(curator: MockCurator, route: str, body: object, token: str | None = "") -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {} if token is None else {"Authorization": f"Bearer {token or curator.token('alice')}"}
    with httpx.Client(transport=curator.transport, base_url="https://c.org") as http:
        return http.post(f"/studies/mock-study/{route}", content=content, headers=headers)


def test_it_accepts_knows_again_and_refuses() -> None:
    curator = MockCurator(STUDY)
    made = OFFER.draw(30)
    assert _post(curator, "reports", made.body()).status_code == 201
    assert _post(curator, "reports", made.body()).status_code == 200
    again = _post(curator, "reports", OFFER.draw(30).body())
    assert (again.status_code, again.json()["reason"]) == (409, "duplicate")
    assert again.headers["Content-Type"] == "application/problem+json"


BODY = {"digest": STUDY.digest, "code": 7, "nonce": "0" * 32}


@pytest.mark.parametrize(
    ("route", "body", "status", "reason"),
    [
        ("reports", b"[]", 400, "malformed"),
        ("reports", BODY | {"code": 7.0}, 400, "malformed"),
        ("reports", BODY | {"code": True}, 400, "malformed"),
        ("reports", BODY | {"value": 7}, 400, "malformed"),
        ("reports", BODY | {"nonce": "x"}, 400, "malformed"),
        ("reports", BODY | {"code": 256}, 422, "out-of-range"),
        ("reports", BODY | {"digest": "0" * 64}, 409, "wrong-digest"),
        ("values", BODY, 400, "malformed"),
        ("values", b'{"digest":"%s","value":NaN,"nonce":"%s"}' % (STUDY.digest.encode(), b"0" * 32), 400, "malformed"),
        ("nothing", BODY, 404, "not-found"),
    ],
)
def test_it_refuses_what_the_curator_refuses(route: str, body: object, status: int, reason: str) -> None:
    answer = _post(MockCurator(STUDY), route, body)
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)


def test_tokens_are_read() -> None:
    curator = MockCurator(STUDY)
    for token in (None, "x", MockCurator(STUDY, id="other").token("alice")):
        assert _post(curator, "reports", BODY, token).json()["reason"] == "bad-token"


def test_another_contribution_does_not_open_the_commitment() -> None:
    curator = MockCurator(STUDY)
    _post(curator, "reports", BODY)
    assert _post(curator, "reports/withdraw", BODY | {"nonce": "1" * 32}).status_code == 409
    assert _post(curator, "reports/withdraw", BODY).json()["receipt"]["withdrawn"] is True
    assert _post(curator, "reports", BODY).json()["reason"] == "duplicate"


@pytest.mark.parametrize("joined", [True, False])
def test_a_withdrawal_may_be_repeated_and_leaves_a_tombstone(joined: bool) -> None:
    curator = MockCurator(STUDY)
    if joined:
        _post(curator, "reports", BODY)
    answers = [_post(curator, "reports/withdraw", BODY) for _ in range(2)]
    curator.state = "closed"
    answers.append(_post(curator, "reports/withdraw", BODY))
    assert [answer.status_code for answer in answers] == [200] * 3
    said = [answer.json()["receipt"] for answer in answers]
    assert [one["withdrawn"] for one in said] == [True] * 3
    assert [one["opened"] for one in said] == [joined, False, False]
    assert [len(one["commitment"]) for one in said] == [64 * joined, 0, 0]
    curator.state = "open"
    assert _post(curator, "reports", BODY).json()["reason"] == "duplicate"


def test_a_pilot_without_tokens_remembers_nobody_who_never_came() -> None:
    curator = MockCurator(STUDY, tokens=False)
    assert _post(curator, "reports/withdraw", BODY).json()["reason"] == "not-found"
    assert _post(curator, "reports", BODY).status_code == 201
    said = [_post(curator, "reports/withdraw", BODY).json()["receipt"] for _ in range(2)]
    assert [one["opened"] for one in said] == [True, False]


def test_a_closed_study_knows_what_it_has() -> None:
    curator = MockCurator(STUDY)
    _post(curator, "reports", BODY)
    curator.state = "closed"
    assert _post(curator, "reports", BODY).status_code == 200
    assert _post(curator, "values", {**BODY, "value": 7}).json()["reason"] == "malformed"
    other = curator.token("bob")
    assert _post(curator, "reports", BODY | {"nonce": "1" * 32}, other).json()["reason"] == "closed"
    assert _post(curator, "reports/withdraw", BODY).json()["reason"] == "closed"


def test_a_batch_of_a_relay() -> None:
    curator = MockCurator(STUDY)
    items = [{"participant": f"p{i}", "code": i, "nonce": f"{i:032x}"} for i in (3, 4, 5, 999)]
    batch = {"digest": STUDY.digest, "reports": [*items, items[0]]}
    answer = _post(curator, "batches", batch, "hdpr_key").json()
    assert (answer["accepted"], answer["repeated"]) == (3, 1)
    assert answer["rejected"] == [{"index": 3, "reason": "out-of-range"}]
    verify(answer["receipt"], curator.jwks())
    made = [curator.contributions[f"p{i}"].commitment for i in (3, 4, 5, 3)]
    hashed = hashlib.sha256(b"".join(bytes.fromhex(one) for one in made)).hexdigest()
    assert answer["receipt"]["receipt"]["commitments_sha256"] == hashed


def test_two_spellings_of_a_name_are_one_person() -> None:
    curator = MockCurator(STUDY)
    composed, decomposed = "Am\u00e9lie", "Ame\u0301lie"
    _post(curator, "reports", BODY, curator.token(composed))
    assert _post(curator, "reports", BODY, curator.token(decomposed)).status_code == 200
    other = {"participant": decomposed, "code": 8, "nonce": "1" * 32}
    answer = _post(curator, "batches", {"digest": STUDY.digest, "reports": [other]}, "hdpr_key").json()
    assert answer["rejected"] == [{"index": 0, "reason": "duplicate"}]


def test_troubles_are_told_in_order() -> None:
    curator = MockCurator(STUDY)
    curator.fail(1, status=429, retry_after=7)
    curator.fail(1, status=409)
    first, second = _post(curator, "reports", BODY), _post(curator, "reports", BODY)
    assert (first.status_code, first.headers["Retry-After"], first.json()["reason"]) == (429, "7", "too-many")
    assert (second.status_code, second.json()["reason"]) == (409, "duplicate")
    with pytest.raises(ParameterError, match="status must be"):
        curator.fail(1, status=200)
    for method in (curator.disconnect, curator.lose_answers, curator.fail):
        with pytest.raises(ParameterError, match="times must be"):
            method(0)
