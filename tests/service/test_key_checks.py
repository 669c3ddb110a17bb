"""A start compares whatever is derived from the key with what the first start derived, functions included."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event, inspect, select, text
from sqlalchemy.exc import OperationalError

from hybriddp.errors import DataError
from hybriddp.service import key_checks
from hybriddp.service.app import prepare
from hybriddp.service.key_checks import CHECKS, require_same_keys
from hybriddp.service.keys import MasterKey, participant_hash
from hybriddp.service.settings import Settings
from hybriddp.service.store import engine as engines
from hybriddp.service.store import seal
from hybriddp.service.store.engine import reading, writing
from hybriddp.service.store.facts import first_fact, known_fact, set_fact
from hybriddp.service.store.schema import facts
from tests.service.test_keys import hkdf

KEY_FILE = Path("hybriddp.key")


def start(engine: Engine, master: MasterKey) -> None:
    with writing(engine) as connection:
        require_same_keys(connection, master, KEY_FILE)


def stored(engine: Engine) -> dict[str, str]:
    with reading(engine) as connection:
        return {row.name: row.content for row in connection.execute(select(facts)) if row.name.startswith("check ")}


def test_check_values_by_their_definition() -> None:
    master, zero = MasterKey(bytes(32)), "0" * 64

    def derived(purpose: str) -> bytes:
        return hkdf(bytes(32), f"hybriddp service 1\n{purpose}".encode())

    people = hashlib.blake2b(f"{zero}\nsub\ncheck".encode(), key=derived("participants"), digest_size=16)
    texts = [f"hybriddp contribution 1\n{zero}\n{group}\n7\n{'f' * 32}" for group in ("local", "trusted")]
    texts.append(f'hybriddp answer 1\n{{"round":"{zero}","ask":0,"variant":1,"code":2}}\n{"f" * 32}')
    sealed = "token secret", "operator sessions"
    secret, sessions = derived(sealed[0]).hex().encode(), derived(sealed[1])
    accented = f"{zero}\nsub\ncheck \N{LATIN SMALL LETTER E WITH ACUTE}".encode()
    accents = hashlib.blake2b(accented, key=derived("participants"), digest_size=16)
    assert CHECKS["participants"](master) == people.hexdigest()
    assert CHECKS["spellings"](master) == accents.hexdigest()
    assert CHECKS["commitments"](master) == " ".join(hashlib.sha256(text.encode()).hexdigest() for text in texts)
    assert CHECKS["token secret"](master) == hashlib.sha256(b"check\n" + secret).hexdigest()
    assert CHECKS["sessions"](master) == hashlib.sha256(b"check\n" + sessions).hexdigest()
    assert len(bytes.fromhex(CHECKS["receipts"](master))) == 32


def test_two_spellings_of_a_letter_are_one_person() -> None:
    assert participant_hash(b"k" * 32, "d", "sub\nJosé") == participant_hash(b"k" * 32, "d", "sub\nJose\u0301")
    assert participant_hash(b"k" * 32, "d", "sub\nJosé") != participant_hash(b"k" * 32, "d", "sub\nJose")


def test_the_same_key_is_accepted_at_every_start(engine: Engine) -> None:
    master = MasterKey(bytes(range(32)))
    start(engine, master)
    values = stored(engine)
    start(engine, master)
    assert stored(engine) == values
    assert set(values) == {f"check {name}" for name in (*CHECKS, "master key", "totals")}
    assert not any(key.hex() in "".join(values.values()) for key in (master.participants, master.sessions))


def test_another_key_is_refused(engine: Engine) -> None:
    start(engine, MasterKey(bytes(32)))
    with pytest.raises(DataError, match=r"hybriddp\.key is not the key that this database was used with"):
        start(engine, MasterKey(bytes(range(32))))


@pytest.mark.parametrize("name", CHECKS)
def test_a_function_that_gives_another_value_is_refused(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    start(sqlite_engine, MasterKey(bytes(32)))
    before = stored(sqlite_engine)
    with monkeypatch.context() as patched:
        patched.setitem(CHECKS, name, lambda _: "another")
        with pytest.raises(DataError, match=f"computes {name} differently"):
            start(sqlite_engine, MasterKey(bytes(32)))
    assert stored(sqlite_engine) == before
    start(sqlite_engine, MasterKey(bytes(32)))


Patch = Callable[[pytest.MonkeyPatch], None]


def _hash(patched: pytest.MonkeyPatch) -> None:
    """The change that let everybody take part again."""
    patched.setattr(key_checks, "participant_hash", lambda key, *_: hashlib.sha256(key).digest()[:16])


def _normal(patched: pytest.MonkeyPatch) -> None:
    patched.setattr("unicodedata.normalize", lambda _, text: text)


def _seal(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(seal, "_context", lambda *_: b"another")


@pytest.mark.parametrize(
    ("change", "harm"), [(_hash, "everybody could take part"), (_normal, "names have accents"), (_seal, "no total")]
)
def test_what_would_go_wrong_is_said(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, change: Patch, harm: str
) -> None:
    start(sqlite_engine, MasterKey(bytes(32)))
    change(monkeypatch)
    with pytest.raises(DataError, match=harm) as refusal:
        start(sqlite_engine, MasterKey(bytes(32)))
    assert refusal.value.__context__ is None


def started_and_stopped(settings: Settings) -> list[str]:
    """Return the names of the tables of a server that was started and stopped."""
    prepared = prepare(settings)
    names: list[str] = inspect(prepared.app.state.curator.engine).get_table_names()
    prepared.app.state.curator.close()
    return names


@pytest.fixture
def settings(address: str, tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", key_file=tmp_path / "hybriddp.key", database=address)


def test_a_missing_key_is_not_replaced(settings: Settings) -> None:
    started_and_stopped(settings)
    lost = settings.key_file.rename(settings.key_file.with_name("elsewhere"))
    with pytest.raises(DataError, match=r"its key file .*hybriddp\.key is missing. Restore the key"):
        prepare(settings)
    assert not settings.key_file.exists()
    lost.rename(settings.key_file)
    started_and_stopped(settings)


def test_a_first_start_that_failed_is_tried_again(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise OperationalError(None, None, OSError("the disk is full"))

    with monkeypatch.context() as patched:
        patched.setattr(engines, "_migrate", fail)
        with pytest.raises(DataError, match=r"could not be brought up to date \(OSError\)"):
            prepare(settings)
    assert not settings.key_file.exists()
    started_and_stopped(settings)


def test_a_start_that_is_refused_leaves_the_tables_of_the_version_before(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    started_and_stopped(settings)
    migrate = engines._migrate

    def migrate_further(connection: Connection) -> None:
        migrate(connection)
        connection.execute(text("CREATE TABLE later (x INTEGER)"))
        connection.execute(text("UPDATE alembic_version SET version_num = '9.9.9'"))

    with monkeypatch.context() as patched:
        patched.setattr(engines, "_migrate", migrate_further)
        patched.setitem(CHECKS, "participants", lambda _: "another")
        with pytest.raises(DataError, match="Nothing was changed. Install the version that wrote it"):
            prepare(settings)
    assert "later" not in started_and_stopped(settings)


def test_facts_are_kept_until_they_are_replaced(engine: Engine) -> None:
    failed: list[object] = []
    event.listen(engine, "handle_error", failed.append)
    with writing(engine) as connection:
        assert known_fact(connection, "a") is None
        assert first_fact(connection, "a", "1") == "1"
        assert first_fact(connection, "a", "2") == "1"
        set_fact(connection, "a", "3")
        set_fact(connection, "b", "4")
    with reading(engine) as connection:
        assert [known_fact(connection, name) for name in "ab"] == ["3", "4"]
    assert not failed  # PostgreSQL would log every statement that fails, one a minute
