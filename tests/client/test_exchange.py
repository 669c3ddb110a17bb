from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.client.exchange import (
    HttpAnswer,
    HttpRequest,
    NoAnswer,
    Pause,
    RetryPolicy,
    Store,
    _retry_after,
    ask,
    stored,
)
from hybriddp.client.problems import RejectedError, UnavailableError
from hybriddp.errors import ParameterError

REQUEST = HttpRequest("POST", "/studies/x/values", b'{"value":123.456}', "a.token.here", "123.456")
GOOD = HttpAnswer(201, {}, b"{}")
BUSY = HttpAnswer(503, {}, b"")


def _steps(answers: list[Any], policy: RetryPolicy) -> tuple[list[Any], Any]:
    """What a conversation asked for, and what came of it."""
    talk, came = ask(REQUEST, policy), None
    asked: list[Any] = []
    feed = iter(answers)
    while True:
        try:
            step = talk.send(came)
        except StopIteration as done:
            return asked, done.value
        except Exception as error:
            return asked, error
        asked.append(step)
        came = next(feed) if isinstance(step, HttpRequest) else None


def test_the_same_request_is_sent_until_there_is_an_answer() -> None:
    asked, answer = _steps([NoAnswer("ConnectError"), BUSY, HttpAnswer(429, {}, b""), GOOD], RetryPolicy())
    assert answer is GOOD
    sent = [step for step in asked if isinstance(step, HttpRequest)]
    assert len(sent) == 4
    assert all(step is REQUEST for step in sent)
    waits = [step.seconds for step in asked if isinstance(step, Pause)]
    for wait, longest in zip(waits, (0.5, 1.0, 2.0), strict=True):
        assert longest / 2 <= wait <= longest


def test_tries_are_counted() -> None:
    asked, error = _steps([BUSY] * 9, RetryPolicy(attempts=3))
    assert isinstance(error, UnavailableError)
    assert len(asked) == 5  # three requests and two pauses
    asked, error = _steps([NoAnswer("ReadTimeout")], RetryPolicy(attempts=1))
    assert "cannot be reached (ReadTimeout)" in str(error)
    assert len(asked) == 1


def test_a_refusal_is_not_tried_again() -> None:
    asked, error = _steps([HttpAnswer(409, {}, b'{"reason":"duplicate"}')], RetryPolicy())
    assert isinstance(error, RejectedError)
    assert len(asked) == 1


def test_waits_do_not_grow_without_limit() -> None:
    policy = RetryPolicy(attempts=99, longest_wait=8)
    assert 4 <= (policy.wait(1000, None) or 0) <= 8


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("0", 0.0), ("nonsense", None), (format_datetime(datetime(2001, 1, 1, tzinfo=UTC), usegmt=True), 0.0)],
)
def test_a_curator_may_say_when_to_come_back(header: str, seconds: float | None) -> None:
    asked, answer = _steps([HttpAnswer(429, {"retry-after": header}, b""), GOOD], RetryPolicy(first_wait=0))
    assert answer is GOOD
    assert asked[1] == Pause(0.0 if seconds is None else seconds)


@pytest.mark.parametrize(
    "header",
    ["Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "Mon, 01 Jan 2020 00:00:00 +999999999999", "", "1 1 1", "(", "²"],
)
def test_a_date_that_is_none_is_not_kept(header: str) -> None:
    asked, answer = _steps([HttpAnswer(503, {"retry-after": header}, b""), GOOD], RetryPolicy(first_wait=0))
    assert answer is GOOD
    assert asked[1] == Pause(0.0)


@given(st.text(max_size=60) | st.from_regex(r"\A(Mon, )?\d+ Jan \d+ \d+:\d+:\d+ ([+-]\d+|GMT)?\Z"))
def test_any_retry_after_is_read_or_left_alone(header: str) -> None:
    seconds = _retry_after(header)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    "header",
    ["31", "9" * 400, format_datetime(datetime.now(UTC) + timedelta(days=2))],
    ids=["seconds", "many digits", "a date"],
)
def test_nobody_waits_for_days(header: str) -> None:
    asked, error = _steps([HttpAnswer(429, {"retry-after": header}, b"")], RetryPolicy())
    assert isinstance(error, UnavailableError)
    assert len(asked) == 1


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"first_wait": -1}, {"longest_wait": float("inf")}])
def test_policies_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        RetryPolicy(**wrong)


def test_a_request_shows_neither_token_nor_body() -> None:
    assert REQUEST.headers() == {"Content-Type": "application/json", "Authorization": "Bearer a.token.here"}
    assert HttpRequest("GET", "/").headers() == {}
    assert "123.456" not in repr(REQUEST)
    assert "token" not in repr(REQUEST)


def test_a_quoted_value_stays_behind() -> None:
    _, error = _steps([HttpAnswer(400, {}, b'{"detail":"got 123.456"}')], RetryPolicy())
    assert "123.456" not in str(error)


def test_work_is_left_to_the_driver() -> None:
    talk = stored(lambda: 5)
    step = next(talk)
    assert isinstance(step, Store)
    with pytest.raises(StopIteration) as done:
        talk.send(step.work())
    assert done.value.value == 5
