"""Sessions of operators that were ended by a logout, known by a hash until their cookies would have ended."""

from hashlib import sha256

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from hybriddp.service.store.schema import ended_sessions

__all__ = ["end_session", "forget_sessions", "has_ended"]


def end_session(connection: Connection, cookie: str, ends_at: int) -> None:
    """Write down that a cookie is no longer valid, on any replica."""
    try:
        with connection.begin_nested():
            connection.execute(insert(ended_sessions).values(name=_name(cookie), ends_at=ends_at))
    except IntegrityError:
        pass  # a second logout


def has_ended(connection: Connection, cookie: str) -> bool:
    """Whether a cookie was ended by a logout."""
    query = select(ended_sessions.c.name).where(ended_sessions.c.name == _name(cookie))
    return connection.execute(query).first() is not None


def forget_sessions(connection: Connection, now: int) -> None:
    """Delete the sessions whose cookies have ended by themselves."""
    connection.execute(delete(ended_sessions).where(ended_sessions.c.ends_at <= now))


def _name(cookie: str) -> str:
    return sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()
