from http import HTTPStatus

import pytest

from hybriddp.errors import (
    BudgetError,
    DataError,
    HybridDPError,
    MissingExtraError,
    NumericalError,
    ParameterError,
    ProtocolError,
)
from hybriddp.service.problems import REASONS, Refusal, problem
from hybriddp.service.tokens import TokenError


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_has_a_document(reason: str) -> None:
    told = problem(Refusal(reason))
    assert set(told) == {"type", "title", "status", "detail", "reason"}
    assert told["reason"] == reason
    assert told["status"] == REASONS[reason].status >= 400
    assert told["type"] == f"urn:hybriddp:problem:{reason}"
    assert told["detail"].endswith((".", "…"))


def test_the_reasons_are_those_of_the_contract() -> None:
    assert list(REASONS) == [
        "bad-token",
        "wrong-digest",
        "out-of-range",
        "early",
        "late",
        "closed",
        "duplicate",
        "full",
        "malformed",
        "too-large",
        "too-many",
        "not-found",
        "not-allowed",
        "refused",
        "unavailable",
    ]


@pytest.mark.parametrize(
    ("error", "reason", "status"),
    [
        (ParameterError("epsilon", "a number from 0.01 to 20", 99), "malformed", 400),
        (ProtocolError("The text does not describe a study."), "malformed", 400),
        (BudgetError("Nothing is left."), "refused", 409),
        (DataError("The trusted group has 1 user."), "refused", 409),
        (NumericalError("Not accurate enough."), "refused", 409),
        (MissingExtraError("psycopg", extra="postgres", purpose="PostgreSQL"), "unavailable", 503),
        (HybridDPError("Not now."), "unavailable", 503),
        (TokenError("The token has expired."), "bad-token", 401),
    ],
)
def test_our_exceptions_keep_their_words(error: HybridDPError, reason: str, status: int) -> None:
    told = problem(error)
    assert (told["reason"], told["status"], told["detail"]) == (reason, status, str(error))


def test_nothing_is_told_of_the_exceptions_of_others() -> None:
    told = problem(ValueError("could not convert 31337.125"))
    assert told["status"] == HTTPStatus.INTERNAL_SERVER_ERROR
    assert "31337" not in str(told)


def test_words_and_status_of_a_refusal_can_be_others() -> None:
    told = problem(Refusal("closed", "The study closed on Monday.", status=410))
    assert (told["detail"], told["status"], told["reason"]) == ("The study closed on Monday.", 410, "closed")
    with pytest.raises(KeyError):
        Refusal("unheard-of")
