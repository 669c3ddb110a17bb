import json

import pytest

from hybriddp.client.problems import RejectedError, UnavailableError, error_of, parse_object
from hybriddp.errors import BudgetError, DataError, HybridDPError, ProtocolError


def _problem(**fields: object) -> bytes:
    return json.dumps({"type": "about:blank", "title": "T", "detail": "Because.", **fields}).encode()


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (401, "bad-token", RejectedError),
        (409, "wrong-digest", RejectedError),
        (422, "out-of-range", DataError),
        (409, "closed", RejectedError),
        (409, "duplicate", RejectedError),
        (400, "malformed", RejectedError),
        (413, "too-large", RejectedError),
        (429, "too-many", UnavailableError),
        (404, "not-found", RejectedError),
        (403, "not-allowed", RejectedError),
        (409, "refused", BudgetError),
        (503, "unavailable", UnavailableError),
    ],
)
def test_every_reason_is_an_exception_with_the_curators_sentence(
    status: int, reason: str, kind: type[HybridDPError]
) -> None:
    error = error_of(status, _problem(reason=reason))
    assert type(error) is kind
    assert str(error) == "The curator says: Because."
    if isinstance(error, RejectedError):
        assert (error.reason, error.status) == (reason, status)
        assert isinstance(error, ProtocolError)


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [(401, "bad-token", RejectedError), (418, "malformed", RejectedError), (302, "malformed", RejectedError)],
)
def test_an_answer_without_a_problem_document_is_judged_by_its_status(
    status: int, reason: str, kind: type[HybridDPError]
) -> None:
    error = error_of(status, b"<html>")
    assert type(error) is kind
    assert f"HTTP status {status} ({reason})" in str(error)
    assert isinstance(error_of(502, b"<html>"), UnavailableError)


def test_sentences_are_short_and_plain() -> None:
    error = error_of(409, _problem(reason="closed", detail="a\x1b[31m\n\u202e" + "b" * 5000))
    assert "\x1b" not in str(error)
    assert "\u202e" not in str(error)
    assert len(str(error)) < 600
    assert "says: T" in str(error_of(409, _problem(detail=5)))


def test_a_sentence_that_quotes_the_value_is_not_passed_on() -> None:
    error = error_of(400, _problem(reason="malformed", detail="123.456 is wrong"), hide="123.456")
    assert "123.456" not in str(error)
    assert str(error) == "The curator answers with HTTP status 400 (malformed)."


def test_only_objects_are_answers() -> None:
    assert parse_object(b'{"a": 1}') == {"a": 1}
    for body in (b"", b"[]", b"\xff", b"[" * 100_000):
        with pytest.raises(ProtocolError, match="not a JSON object"):
            parse_object(body)
