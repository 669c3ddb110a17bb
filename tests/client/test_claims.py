import base64
import json

import jwt
import pytest

from hybriddp.client.claims import check_study_id, read_claims
from hybriddp.errors import ParameterError, ProtocolError

SECRET = "s" * 32


def _token(**claims: object) -> str:
    return jwt.encode({"sub": "alice", "aud": "minutes", "exp": 4102444800} | claims, SECRET, algorithm="HS256")


def test_a_token_of_a_common_library_is_read() -> None:
    claims = read_claims(_token(), None)
    assert claims.study == "minutes"
    assert claims == read_claims(_token(aud=["minutes"], exp=1), "minutes")  # whether it has expired, the curator says
    assert claims != read_claims(_token(sub="bob"), None)
    assert "alice" not in repr(claims)


def test_two_spellings_of_a_name_are_one_person() -> None:
    composed, decomposed = "Am\u00e9lie", "Ame\u0301lie"
    assert read_claims(_token(sub=composed), None) == read_claims(_token(sub=decomposed), None)
    others = {
        read_claims(_token(sub=name), None).participant for name in ("Am\u00e9lie", "am\u00e9lie", "Am\u00e9lie ")
    }
    assert len(others) == 3  # case and spaces count


def test_without_a_token_the_study_must_be_named() -> None:
    assert read_claims(None, "minutes").participant == ""
    with pytest.raises(ParameterError, match="study must be the id of a study"):
        read_claims(None, None)


def test_a_token_of_another_study_is_refused() -> None:
    with pytest.raises(ProtocolError, match="for study 'minutes', not for 'hours'"):
        read_claims(_token(), "hours")


@pytest.mark.parametrize("audience", [None, "", "../admin", ["a", "b"], 5, "Minutes", "a" * 65])
def test_an_audience_that_is_no_study_is_refused(audience: object) -> None:
    token = ".".join([_token().split(".")[0], _part({"sub": "alice", "aud": audience}), "x"])
    with pytest.raises(ProtocolError, match="does not say for which study"):
        read_claims(token, None)


def test_a_token_without_a_subject_is_refused() -> None:
    with pytest.raises(ProtocolError, match="for whom"):
        read_claims(f"x.{_part({'aud': 'minutes'})}.x", None)


@pytest.mark.parametrize("token", ["", "secret", "a.b", "a.!.c", "a.\n.c", "a.bbbb.c", "é.é.é", f"a.{'W' * 9}.c", 5])
def test_what_is_no_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ProtocolError, match="not a JSON Web Token") as caught:
        read_claims(token, None)
    assert caught.value.__context__ is None
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("study", ["", "A", "a/b", "a" * 65, "ä", 5])
def test_ids_of_studies_are_plain(study: str) -> None:
    with pytest.raises(ParameterError, match="study must be 1 to 64"):
        check_study_id(study)


def _part(claims: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
