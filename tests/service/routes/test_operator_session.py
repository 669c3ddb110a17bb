"""Sessions of the operator's page: a logout ends them everywhere."""

import re

import httpx
import pytest
from sqlalchemy import Engine, func, select

from hybriddp.service.pages.session import COOKIE
from hybriddp.service.store.engine import reading, writing
from hybriddp.service.store.schema import ended_sessions
from hybriddp.service.store.sessions import end_session, forget_sessions, has_ended
from tests.service.running import Running


def browser(server: Running, **cookies: str) -> httpx.Client:
    return httpx.Client(base_url=server.url, trust_env=False, cookies=cookies)


def log_in(server: Running) -> str:
    """The cookie of a new session."""
    with browser(server) as one:
        return str(one.post("/operator/login", data={"key": server.admin_key}).cookies[COOKIE])


def is_in(server: Running, cookie: str) -> bool:
    with browser(server, **{COOKIE: cookie}) as one:
        return "csrf" in one.get("/operator").text


def test_a_logout_ends_the_session_and_its_copies(kept_server: Running) -> None:
    cookie, other = log_in(kept_server), log_in(kept_server)
    assert is_in(kept_server, cookie)
    with browser(kept_server, **{COOKIE: cookie}) as one:
        form = re.search('name="csrf" value="([0-9a-f]+)"', one.get("/operator").text)
        assert form is not None
        assert one.post("/operator/logout", data={"csrf": "0" * 64}).status_code == 303
        assert is_in(kept_server, cookie)  # the form came from elsewhere
        for _ in range(2):
            assert one.post("/operator/logout", data={"csrf": form[1]}).status_code == 303
    assert not is_in(kept_server, cookie)  # a copy, as a browser or a proxy may have kept it
    assert is_in(kept_server, other)
    with browser(kept_server, **{COOKIE: cookie}) as one:
        assert 'action="/operator/login"' in one.get("/operator/new").text
        for path in ("/operator/studies/x", "/operator/studies/x/report"):
            assert one.get(path).headers["location"] == "/operator"
        assert one.get("/operator/studies/x/live").status_code == 401
        assert one.post("/operator/new", data={"csrf": form[1]}).headers["location"] == "/operator"
        assert one.post("/operator/studies/x/open", data={"csrf": form[1]}).headers["location"] == "/operator"


def test_ended_sessions_are_forgotten_when_their_cookies_have_ended(engine: Engine) -> None:
    with writing(engine) as connection:
        for cookie, ends_at in (("a", 10), ("b", 20), ("b", 20)):
            end_session(connection, cookie, ends_at)
        forget_sessions(connection, 10)
        assert [has_ended(connection, cookie) for cookie in "abc"] == [False, True, False]
    with reading(engine) as connection:
        assert connection.execute(select(func.count()).select_from(ended_sessions)).scalar() == 1


@pytest.mark.parametrize("cookie", ["", "\ud800", "x" * 10_000])
def test_names_of_sessions_are_hashes(sqlite_engine: Engine, cookie: str) -> None:
    with writing(sqlite_engine) as connection:
        end_session(connection, cookie, 10)
        names = [str(name) for name in connection.scalars(select(ended_sessions.c.name))]
    assert all(re.fullmatch("[0-9a-f]{64}", name) for name in names)
