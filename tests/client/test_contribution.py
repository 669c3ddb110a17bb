import hashlib
import json

import pytest

from hybriddp import MeanStudy
from hybriddp.client import Contribution, StudyOffer, commitment
from hybriddp.errors import DataError, ParameterError, ProtocolError

DIGEST, NONCE = "ab" * 32, "0123456789abcdef" * 2


def test_a_commitment_is_this_hash() -> None:
    preimage = b"hybriddp contribution 1\n" + b"ab" * 32 + b"\ntrusted\n16777216\n0123456789abcdef0123456789abcdef"
    assert commitment(DIGEST, "trusted", 2**24, NONCE) == hashlib.sha256(preimage).hexdigest()
    assert Contribution(DIGEST, "trusted", 2**24, NONCE, 240.0).commitment == hashlib.sha256(preimage).hexdigest()


def test_a_negative_report_is_written_with_its_sign() -> None:
    preimage = f"hybriddp contribution 1\n{DIGEST}\nlocal\n-17\n{NONCE}".encode()
    assert Contribution(DIGEST, "local", -17, NONCE).commitment == hashlib.sha256(preimage).hexdigest()


def test_the_body_has_what_the_route_takes() -> None:
    local, trusted = Contribution(DIGEST, "local", 7, NONCE), Contribution(DIGEST, "trusted", 2**23, NONCE, 120.0)
    assert json.loads(local.body()) == {"digest": DIGEST, "code": 7, "nonce": NONCE}
    assert json.loads(trusted.body()) == {"digest": DIGEST, "value": 120.0, "nonce": NONCE}
    assert (local.route, trusted.route) == ("reports", "values")


@pytest.mark.parametrize("group", ["local", "trusted"])
def test_plain_data_and_back(group: str) -> None:
    offer = StudyOffer.from_text(MeanStudy("minutes", bounds=(0, 240), epsilon=1).device_json())
    made = offer.draw(37.123, group=group)
    assert Contribution.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    assert Contribution.from_dict(made.to_dict()).body() == made.body()


def test_nothing_of_it_is_shown() -> None:
    shown = repr(Contribution(DIGEST, "trusted", 8_765_432, NONCE, 125.390625))
    assert "8765432" not in shown
    assert "125" not in shown
    assert NONCE not in shown


def test_nonces_are_random() -> None:
    nonces = {Contribution.new(DIGEST, "local", 1).nonce for _ in range(100)}
    assert len(nonces) == 100
    assert {len(nonce) for nonce in nonces} == {32}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group": "both"}, ParameterError),
        ({"digest": "AB" * 32}, ParameterError),
        ({"integer": True}, DataError),
        ({"integer": 7.0}, DataError),
        ({"nonce": "0" * 31}, DataError),
        ({"value": 1.0}, DataError),
        ({"group": "trusted"}, DataError),
        ({"group": "trusted", "value": float("nan")}, DataError),
    ],
)
def test_what_is_none_is_refused(fields: dict[str, object], error: type[Exception]) -> None:
    given = {"digest": DIGEST, "group": "local", "integer": 7, "nonce": NONCE} | fields
    with pytest.raises(error):
        Contribution(**given)
    with pytest.raises(ProtocolError, match="not a stored contribution"):
        Contribution.from_dict(given)
