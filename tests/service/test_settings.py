import os
from dataclasses import fields
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from hybriddp.errors import ParameterError
from hybriddp.service import settings as module
from hybriddp.service.keys import ADMIN, RELAY, MasterKey, new_key, write_secret
from hybriddp.service.settings import Settings


@pytest.fixture
def good(tmp_path: Path) -> dict[str, object]:
    return {"data": tmp_path / "data", "key_file": tmp_path / "hybriddp.key"}


def only(problems: list[str], *words: str) -> None:
    assert len(problems) == 1, problems
    for word in words:
        assert word in problems[0]


def test_the_defaults() -> None:
    settings = Settings.read({}, {}, None)
    assert settings == Settings()
    assert (settings.host, settings.port, settings.log) == ("127.0.0.1", 8421, "json")
    assert settings.database_url == f"sqlite:///{Path('hybriddp-data/hybriddp.sqlite').absolute().as_posix()}"


def test_every_setting_can_be_read() -> None:
    assert set(module._READERS) == {one.name for one in fields(Settings)} - {"misread", "sources"}


def test_flags_come_before_the_environment_before_the_file(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('port = 1\nmax_batch = 1\nmax_body = 1_000\nhost = "a"\ndrain_seconds = 2\ndata = "there"\n')
    environ = {"HYBRIDDP_PORT": "2", "HYBRIDDP_MAX_BATCH": "2", "HYBRIDDP_LOG": "", "PATH": "x"}
    settings = Settings.read({"port": 3, "host": None}, environ, config)
    assert (settings.port, settings.max_batch, settings.max_body, settings.host) == (3, 2, 1000, "a")
    assert (settings.drain_seconds, settings.data, settings.log) == (2.0, Path("there"), "json")
    assert settings.misread == ()
    assert Settings.read({}, {"HYBRIDDP_CONFIG": str(config)}).port == 1


def test_no_problems(good: dict[str, object], tmp_path: Path) -> None:
    assert Settings.read(good, {}).problems() == []
    MasterKey.create(tmp_path / "hybriddp.key")
    (tmp_path / "data").mkdir(mode=0o700)
    assert Settings.read(good | {"database": "postgresql://u:p@db/x"}, {}).problems() == []
    assert Settings.read(good | {"database": "sqlite:////var/x.sqlite"}, {}).problems() == []


def test_unknown_names_and_the_nearest(good: dict[str, object], tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text("max_bach = 7\nqqqq = 1\n")
    problems = Settings.read(good, {"HYBRIDDP_PROT": "8000"}, config).problems()
    assert len(problems) == 3
    assert "'max_bach'. Did you mean max_batch?" in problems[0]
    assert "'qqqq'. Remove it" in problems[1]
    assert "HYBRIDDP_PROT. Did you mean HYBRIDDP_PORT?" in problems[2]
    with pytest.raises(ParameterError, match="flags must be"):
        Settings.read({"prot": 1}, {})
    with pytest.raises(ParameterError, match="port must be a whole number, got port='x'"):
        Settings.read({"port": "x"}, {})


def test_values_of_the_wrong_kind(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('port = true\nmax_body = "x"\nhost = 7\ndrain_seconds = [1]\ndata = ""\nmax_batch = 1.5')
    problems = Settings.read({}, {"HYBRIDDP_DRAIN_SECONDS": "soon", "HYBRIDDP_PORT": "-1"}, config).misread
    assert len(problems) == 8
    assert all("must be a" in problem for problem in problems)


def test_files_of_settings_that_cannot_be_read(good: dict[str, object], tmp_path: Path) -> None:
    only(Settings.read(good, {}, tmp_path / "missing.toml").problems(), "cannot be read", "--config")
    for content in (b"database = postgresql://u:hunter2@db", b"\xff\xfe"):
        (tmp_path / "c.toml").write_bytes(content)
        problems = Settings.read(good, {}, tmp_path / "c.toml").problems()
        only(problems, "is not TOML", "(line 1)" if content[0] < 128 else "UTF-8. Write")
        assert "hunter2" not in problems[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", -1),
        ("port", 65_536),
        ("max_body", 10),
        ("max_batch", 0),
        ("requests_per_minute", -1),
        ("operator_hours", 0),
        ("drain_seconds", -1.0),
        ("drain_seconds", float("nan")),
        ("log", "xml"),
        ("host", " "),
    ],
)
def test_values_out_of_range(good: dict[str, object], name: str, value: object) -> None:
    only(Settings.read(good | {name: value}, {}).problems(), f"{name} must be")


def test_a_key_inside_of_the_data_folder(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "d", key_file=tmp_path / "d" / "k")
    only(settings.problems(), "inside of the data folder", "--key-file")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o777])
def test_a_key_that_others_may_read(good: dict[str, object], tmp_path: Path, mode: int) -> None:
    MasterKey.create(tmp_path / "hybriddp.key")
    (tmp_path / "hybriddp.key").chmod(mode)
    only(Settings.read(good, {}).problems(), "Others than its owner", "chmod 600")


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o711, 0o777])
def test_data_that_others_may_read(good: dict[str, object], tmp_path: Path, mode: int) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(mode)
    only(Settings.read(good, {}).problems(), "the data folder", "chmod 700")
    assert Settings.read(good | {"database": "postgresql://db/x"}, {}).problems() == []  # the data are elsewhere
    (tmp_path / "data").chmod(0o700)
    assert Settings.read(good, {}).problems() == []
    file = tmp_path / "data" / "other.sqlite"
    file.touch()
    file.chmod(mode)
    elsewhere = Settings.read(good | {"database": f"sqlite:///{file}"}, {})
    only(elsewhere.problems(), "the database", "chmod 600")
    for name in ("other.sqlite-wal", "other.sqlite-shm", "other.sqlite-journal"):  # left by a server that was killed
        file.chmod(0o600)
        file = tmp_path / "data" / name
        file.touch()
        file.chmod(mode)
        only(elsewhere.problems(), "the database", f"chmod 600 {file}")


def test_an_admin_key_from_outside(good: dict[str, object], tmp_path: Path) -> None:
    key, path = new_key(ADMIN), tmp_path / "admin"
    settings = Settings.read(good, {"HYBRIDDP_ADMIN_KEY": key})
    assert (settings.problems(), settings.given_admin_key()) == ([], key)
    assert key not in repr(settings)
    write_secret(path, f"{key}\n")
    settings = Settings.read(good | {"admin_key_file": path}, {})
    assert (settings.problems(), settings.given_admin_key()) == ([], key)
    only(Settings.read(good | {"admin_key_file": path}, {"HYBRIDDP_ADMIN_KEY": key}).problems(), "given twice")
    path.chmod(0o640)
    only(settings.problems(), "the file of the admin key", "chmod 600")
    path.chmod(0o600)
    for content in ("", key[:-1], f"{key}\n{key}", new_key(RELAY), "hunter2", "é"):
        path.write_text(content)
        only(settings.problems(), "must hold an admin key", "Correct --admin-key-file.")
        if content:
            wrong = Settings.read(good, {"HYBRIDDP_ADMIN_KEY": content})
            only(wrong.problems(), "must hold an admin key", "Correct HYBRIDDP_ADMIN_KEY.")
            assert content not in wrong.problems()[0]
    path.unlink()
    only(settings.problems(), "must hold an admin key")
    assert Settings.read(good, {}).given_admin_key() is None


def test_a_key_that_is_none(good: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "hybriddp.key"
    path.touch(0o600)
    only(Settings.read(good, {}).problems(), "is not a key file")
    path.unlink()
    path.mkdir()
    only(Settings.read(good, {}).problems(), "is a folder")
    path.rmdir()


def test_folders_that_cannot_be_written(
    good: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").touch()
    only(Settings.read(good, {}).problems(), "is a file", "--data")
    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to(tmp_path / "missing")
    only(Settings.read(good, {}).problems(), "a link to nothing", "--data")
    (tmp_path / "data").unlink()
    monkeypatch.setattr(os, "access", lambda *_: False)  # the superuser may write everywhere
    problems = Settings.read(good, {}).problems()
    assert len(problems) == 2
    assert "cannot be written to" in problems[0]
    assert "cannot be created" in problems[1]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://u:hunter2@db/x", "must be a URL"),
        ("hunter2", "must be a URL"),
        ("http://[::1:hunter2", "must be a URL"),
        ("postgres://u:hunter2@db/x", "Write postgresql://"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
    ],
)
def test_databases_of_another_kind(good: dict[str, object], url: str, words: str) -> None:
    settings = Settings.read(good | {"database": url}, {})
    only(settings.problems(), words)
    assert "hunter2" not in settings.problems()[0] + repr(settings)


def test_a_driver_that_is_missing(good: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    settings = Settings.read(good | {"database": "postgresql://db/x"}, {})
    only(settings.problems(), 'pip install "hybriddp[postgres]"')


def test_public_keys(good: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "public.pem"
    settings = Settings.read(good | {"token_public_key": path}, {})
    only(settings.problems(), "cannot be read")
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    other = generate_private_key(SECP256R1()).public_key()
    path.write_bytes(public)
    assert settings.problems() == []
    for content in (b"", b"x", public[:-40], other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)):
        path.write_bytes(content)
        only(settings.problems(), "is not an Ed25519 public key in PEM")
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    only(settings.problems(), "holds a private key")


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    flags = {"port": 99_999, "data": tmp_path, "key_file": tmp_path / "k", "database": "x", "log": "xml"}
    problems = Settings.read(flags, {"HYBRIDDP_X": "1"}).problems()
    assert len(problems) == 5
    assert all(problem[-1] in ".?" for problem in problems)


def test_what_is_wrong_is_corrected_where_it_came_from(good: dict[str, object], tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('port = 70000\ndatabase = "hunter2"\nhost = " "\ntoken_public_key = "none.pem"\n')
    in_file = Settings.read(good, {}, config).problems()
    assert len(in_file) == 4
    assert all(problem.endswith(f" Correct it in {config}.") for problem in in_file)
    only(Settings.read(good, {"HYBRIDDP_PORT": "70000"}).problems(), "got port=70000. Correct HYBRIDDP_PORT.")
    only(Settings.read(good | {"max_batch": 0}, {"HYBRIDDP_MAX_BATCH": "0"}).problems(), " Correct --max-batch.")
    only(Settings.read(good | {"database": "sqlite://"}, {}).problems(), "path/to/file. Correct --database.")
    made = Settings(data=tmp_path / "data", key_file=tmp_path / "hybriddp.key", port=-1)  # in Python
    assert made.problems() == ["port must be from 0 to 65,535, got port=-1."]


def test_no_guess_where_nothing_is_near(good: dict[str, object], tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text("section = 3\n[part]\nport = 1\n[[hosts]]\n")
    problems = Settings.read(good, {"HYBRIDDP_COLOR": "red"}, config).problems()
    assert len(problems) == 4
    assert "'section'. Remove it; there are data, key_file," in problems[0]
    assert "has a section, [part]. Settings stand in none" in problems[1]
    assert "has a section, [hosts]" in problems[2]
    assert "HYBRIDDP_COLOR. Remove it; there are HYBRIDDP_DATA, HYBRIDDP_KEY_FILE," in problems[3]
