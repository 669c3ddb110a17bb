import pytest

from hybriddp.service.keys import key_hash
from hybriddp.service.pages.session import Sessions

SESSIONS = Sessions(b"k" * 32, key_hash("hdpa_1"), hours=2)
NOW = 1_800_000_000.5


def test_a_session_lasts_as_long_as_it_should() -> None:
    cookie = SESSIONS.start(NOW)
    assert SESSIONS.is_valid(cookie, NOW)
    assert SESSIONS.is_valid(cookie, NOW + 7199)
    assert not SESSIONS.is_valid(cookie, NOW + 7200)
    assert SESSIONS.start(NOW) != cookie


def test_another_key_or_admin_key_ends_it() -> None:
    cookie = SESSIONS.start(NOW)
    assert not Sessions(b"j" * 32, key_hash("hdpa_1")).is_valid(cookie, NOW)
    assert not Sessions(b"k" * 32, key_hash("hdpa_2")).is_valid(cookie, NOW)
    assert Sessions(b"k" * 32, key_hash("hdpa_1")).is_valid(cookie, NOW)  # another replica


@pytest.mark.parametrize("cookie", [None, "", "x", "1.2.3", "\ud800", "9" * 400, f"{2**60}.{'0' * 32}.{'0' * 64}"])
def test_what_is_no_session(cookie: str | None) -> None:
    assert not SESSIONS.is_valid(cookie, NOW)


def test_a_changed_session_is_none() -> None:
    end, name, mac = SESSIONS.start(NOW).split(".")
    for changed in (f"{int(end) + 1}.{name}.{mac}", f"{end}.{'0' * 32}.{mac}", f"{end}.{name}.{mac[::-1]}"):
        assert not SESSIONS.is_valid(changed, NOW)
    assert not SESSIONS.is_valid(f"{end}.{name}.{mac}\n", NOW)


def test_forms_belong_to_their_session() -> None:
    mine, other = SESSIONS.start(NOW), SESSIONS.start(NOW)
    assert SESSIONS.is_own_form(mine, SESSIONS.form_token(mine))
    for token in (SESSIONS.form_token(other), "", mine, "\ud800é", mine.rpartition(".")[2]):
        assert not SESSIONS.is_own_form(mine, token)


def test_nothing_is_shown() -> None:
    assert repr(SESSIONS) == "Sessions(hours=2)"
