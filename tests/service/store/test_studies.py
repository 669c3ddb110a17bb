"""Studies in the database: one per id and per text, their states, steps and results, and the hashes of keys."""

import json

import pytest
from sqlalchemy import Engine, select

from hybriddp.service.store import studies
from hybriddp.service.store.engine import reading, writing
from hybriddp.service.store.studies import CLOSED, CREATED, OPEN, RELEASED, WITHDRAWN
from tests.service.store.making import CLOSES, fields, make_study

AWKWARD = '\'; DROP TABLE studies; -- \x00\x1b[2J\r\n\t\u202e\\ "%s" {0} :name ? $1 💧'


def test_a_study_comes_back_as_it_was_stored(kept_engine: Engine) -> None:
    row = fields(
        text=json.dumps({"name": AWKWARD}),
        consent={"purpose": AWKWARD},
        origins=["https://example.org"],
        min_trusted=10**12,
        closes_at=253_402_300_799,
    )
    found = make_study(kept_engine, **row)
    for name, value in row.items():
        assert getattr(found, name) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize("column", ["id", "digest"])
def test_neither_an_id_nor_a_text_is_used_twice(kept_engine: Engine, column: str) -> None:
    first = make_study(kept_engine)
    with writing(kept_engine) as connection:
        assert studies.insert_study(connection, fields(**{column: getattr(first, column)}), ()) == column
        studies.erase(connection, first.number)
    with writing(kept_engine) as connection:  # not after it was withdrawn either
        assert studies.insert_study(connection, fields(**{column: getattr(first, column)}), ()) == column


def test_all_studies_the_newest_first(kept_engine: Engine) -> None:
    made = [make_study(kept_engine).id for _ in range(3)]
    with reading(kept_engine) as connection:
        assert [found.id for found in studies.all_studies(connection)][:3] == made[::-1]


@pytest.mark.parametrize("study_id", ["nothing", "", "' OR 1=1 --", "%", "_"])
def test_what_is_not_there(kept_engine: Engine, study_id: str) -> None:
    make_study(kept_engine)
    with reading(kept_engine) as connection:
        assert studies.study(connection, study_id) is None


@pytest.mark.parametrize(
    ("state", "before", "after"),
    [
        (CREATED, CREATED, CREATED),
        (OPEN, OPEN, CLOSED),
        (CLOSED, CLOSED, CLOSED),
        (RELEASED, RELEASED, RELEASED),
        (WITHDRAWN, WITHDRAWN, WITHDRAWN),
    ],
)
def test_an_open_study_is_closed_from_its_closing_time_on(
    sqlite_engine: Engine, state: str, before: str, after: str
) -> None:
    found = make_study(sqlite_engine, state=state)
    assert (found.state_at(CLOSES - 1), found.state_at(CLOSES)) == (before, after)


def test_results_come_back_byte_for_byte(kept_engine: Engine) -> None:
    of, other = make_study(kept_engine), make_study(kept_engine)
    result, page, report = bytes(range(256)), b"\x00<html>", b"more"
    with writing(kept_engine) as connection:
        studies.store_result(connection, of.number, 0, result=result, page=page, curator_page=report)
        studies.set_state(connection, of.number, RELEASED)
    with reading(kept_engine) as connection:
        (step,) = studies.study_steps(connection, of.number)
        assert (step.name, step.result, step.page, step.curator_page) == ("release", result, page, report)
        (untouched,) = studies.study_steps(connection, other.number)
        assert (untouched.result, untouched.page) == (None, None)
        released = studies.study(connection, of.id)
    assert released is not None
    assert released.state == RELEASED


def test_a_withdrawn_study_keeps_neither_words_nor_steps(kept_engine: Engine) -> None:
    of = make_study(kept_engine, consent={"purpose": "p"}, origins=["https://example.org"])
    with writing(kept_engine) as connection:
        studies.erase(connection, of.number)
        found = studies.study(connection, of.id)
        assert studies.study_steps(connection, of.number) == []
    assert found is not None
    assert (found.state, found.consent, found.origins) == (WITHDRAWN, {}, ())
    assert (found.id, found.digest) == (of.id, of.digest)


def test_the_first_hash_under_a_name_stays(kept_engine: Engine) -> None:
    with writing(kept_engine) as connection:
        assert studies.credential(connection, "admin", "a" * 64) == "a" * 64
        assert studies.credential(connection, "admin", "b" * 64) == "a" * 64
        assert studies.relay_name(connection, "a" * 64) is None  # it is no relay's key
        connection.rollback()


def test_relays_have_names_of_their_own(kept_engine: Engine) -> None:
    with writing(kept_engine) as connection:
        studies.credential(connection, "admin", "a" * 64)
        for name in ("admin", "relay admin", AWKWARD.replace("\x00", "")):
            hashed = name.encode().hex()
            assert studies.add_relay(connection, name, hashed)
            assert not studies.add_relay(connection, name, "another")
            assert not studies.add_relay(connection, f"{name} 2", hashed)  # nor is a key anybody else's
            assert studies.relay_name(connection, hashed) == name
            assert studies.remove_relay(connection, name)
            assert not studies.remove_relay(connection, name)
            assert studies.relay_name(connection, hashed) is None
        assert studies.credential(connection, "admin", "c") == "a" * 64
        connection.rollback()


def test_what_is_rolled_back_never_was(kept_engine: Engine) -> None:
    row = fields()

    def fail() -> None:
        with writing(kept_engine) as connection:
            studies.insert_study(connection, row, ("release",))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with reading(kept_engine) as connection:
        assert studies.study(connection, str(row["id"])) is None
        assert connection.execute(select(1)).scalar() == 1
