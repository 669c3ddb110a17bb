"""Facts that a start of the server leaves for the next: check values of keys, and the last certain time."""

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from hybriddp.service.store.schema import facts

__all__ = ["TIME", "first_fact", "known_fact", "set_fact"]

TIME = "time"
"""Name of the last certain time."""


def known_fact(connection: Connection, name: str) -> str | None:
    """Return the value that is stored under a name; None if there is none."""
    value = connection.execute(select(facts.c.content).where(facts.c.name == name)).scalar()
    return None if value is None else str(value)


def first_fact(connection: Connection, name: str, value: str) -> str:
    """Return the value that is stored under a name, after storing this one if there was none."""
    known = known_fact(connection, name)
    if known is not None:
        return known
    try:
        with connection.begin_nested():
            connection.execute(insert(facts).values(name=name, content=value))
    except IntegrityError:
        pass  # another start was first
    return known_fact(connection, name) or ""


def set_fact(connection: Connection, name: str, value: str) -> None:
    """Store a value under a name in place of the one before."""
    replace = update(facts).where(facts.c.name == name).values(content=value)
    if not connection.execute(replace).rowcount and first_fact(connection, name, value) != value:
        connection.execute(replace)  # another start was first
