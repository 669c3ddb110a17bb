"""The server's settings: flags before ``HYBRIDDP_*`` variables, these before a TOML file, that before the defaults.

Reading never fails. What is wrong is collected, so that `Settings.problems` can tell everything at once, each thing
in one sentence with its remedy. Nothing that could hold a password is shown.
"""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hybriddp.errors import DataError, HybridDPError, ParameterError
from hybriddp.service.keys import MasterKey, is_admin_key, is_inside
from hybriddp.service.private_files import is_open_to_others

__all__ = ["PREFIX", "Settings"]

PREFIX = "HYBRIDDP_"
"""How environment variables of the server begin."""

_CONFIG = f"{PREFIX}CONFIG"
_DATABASE_FILE = "hybriddp.sqlite"
_BESIDE = ("-wal", "-shm", "-journal")  # a killed server leaves these files, with a part of the database


@dataclass(frozen=True)
class Settings:
    """What the server is started with.

    Parameters
    ----------
    data : Path
        Folder of the embedded database.
    key_file : Path
        The master key, outside of the data folder.
    database : str
        URL of a PostgreSQL or SQLite database; SQLite in the data folder if empty.
    host : str
        Address to listen on.
    port : int
        Port to listen on; 0 for any that is free.
    token_public_key : Path, optional
        Ed25519 public key (PEM) of the backend that mints tokens with EdDSA.
    max_body : int
        Bytes of a request.
    max_batch : int
        Reports in a batch.
    requests_per_minute : int
        Of one participant's token; 0 for any number.
    admin_key, admin_key_file : str or Path, optional
        The admin key of the first start, or a file that holds it; one is made and shown if neither is given.
    operator_hours : int
        How long a login on the operator's page lasts.
    drain_seconds : float
        How long a stopping server finishes what it has begun.
    log : {"json", "text"}
        Form of the log's lines.
    """

    data: Path = Path("hybriddp-data")
    key_file: Path = Path("hybriddp.key")
    database: str = field(default="", repr=False)  # it may hold a password
    host: str = "127.0.0.1"
    port: int = 8421
    token_public_key: Path | None = None
    admin_key: str = field(default="", repr=False)
    admin_key_file: Path | None = None
    max_body: int = 1_000_000
    max_batch: int = 1000
    requests_per_minute: int = 60
    operator_hours: int = 12
    drain_seconds: float = 10.0
    log: str = "json"
    misread: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """What was wrong with the sources that these settings were read from."""
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """What to correct if a setting is wrong: its option, its variable, or its line in a file."""

    @classmethod
    def read(
        cls,
        flags: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        config: Path | None = None,
    ) -> "Settings":
        """Read the settings from all sources.

        A flag of None counts as not given, and an empty variable too.
        """
        environ = os.environ if environ is None else environ
        given = {name: value for name, value in (flags or {}).items() if value is not None}
        misread: list[str] = []
        if config is None and environ.get(_CONFIG):
            config = Path(environ[_CONFIG])
        values = dict(_from_file(config, misread)) if config is not None else {}
        sources = dict.fromkeys(values, f"it in {config}")
        values |= (found := _from_environment(environ, misread))
        sources |= {name: PREFIX + name.upper() for name in found}
        for name, value in given.items():
            if name not in _READERS:
                raise ParameterError("flags", f"settings: {', '.join(_READERS)}", name)
            try:
                values[name] = _READERS[name](value)
            except ValueError as needed:
                raise ParameterError(name, str(needed), value) from None
            sources[name] = f"--{name.replace('_', '-')}"
        return cls(**values, misread=tuple(misread), sources=sources)

    @property
    def database_url(self) -> str:
        """The database's URL, also where it is the embedded one."""
        return self.database or f"sqlite:///{(self.data / _DATABASE_FILE).absolute().as_posix()}"

    @property
    def sqlite_file(self) -> Path | None:
        """The file of an SQLite database, the embedded one or another; None for PostgreSQL."""
        url = self.database_url
        return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None

    def given_admin_key(self) -> str | None:
        """Return the admin key that these settings hold or name a file of; None if one is to be made."""
        if self.admin_key_file is None:
            return self.admin_key or None
        try:
            return self.admin_key_file.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            return ""  # no key has this form

    def problems(self) -> list[str]:
        """Everything that is wrong, one or two sentences each: what it is and what to do. Empty if all is fine."""
        return [
            *self.misread,
            *_number_problems(self),
            *_folder_problems(self),
            *_key_problems(self),
            *_database_problems(self),
            *_token_key_problems(self),
            *_admin_key_problems(self),
        ]


# Reading


def _path(value: object) -> Path:
    if isinstance(value, Path) or (isinstance(value, str) and value):
        return Path(value)
    raise ValueError("a path")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("a text")


def _integer(value: object) -> int:
    if isinstance(value, str) and value.strip().replace("_", "").isdecimal():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError("a whole number")


def _number(value: object) -> float:
    try:
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            return float(value)
    except ValueError:
        pass
    raise ValueError("a number")


_READERS: dict[str, Callable[[object], Any]] = {
    "data": _path,
    "key_file": _path,
    "database": _text,
    "host": _text,
    "port": _integer,
    "token_public_key": _path,
    "admin_key": _text,
    "admin_key_file": _path,
    "max_body": _integer,
    "max_batch": _integer,
    "requests_per_minute": _integer,
    "operator_hours": _integer,
    "drain_seconds": _number,
    "log": _text,
}
"""For each setting what reads it, from a TOML value or a text; the ValueError of each says what is needed."""


def _from_file(path: Path, misread: list[str]) -> Iterator[tuple[str, Any]]:
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        misread.append(f"The file of settings {path} cannot be read ({error.strerror}). Correct --config.")
        return
    except ValueError as error:  # what the parser says may quote a password; where it stopped does not
        place = re.search(r"\(at line ([0-9]+), column [0-9]+\)$", str(error))
        where = f" (line {place[1]})" if place else ""
        misread.append(f"The file of settings {path} is not TOML in UTF-8{where}. Write lines such as: port = 8421")
        return
    for name, value in content.items():
        if name not in _READERS and isinstance(value, dict | list):
            misread.append(
                f"{path} has a section, [{name}]. Settings stand in none: remove the line with the brackets."
            )
            continue
        if name not in _READERS:
            nearest = _nearest(name, list(_READERS))
            misread.append(f"{path} has a setting that does not exist, {name!r}. {nearest}")
            continue
        try:
            yield name, _READERS[name](value)
        except ValueError as needed:
            misread.append(f"{name} in {path} must be {needed}. Correct it there.")


def _from_environment(environ: Mapping[str, str], misread: list[str]) -> dict[str, Any]:
    values = {}
    variables = {PREFIX + name.upper(): name for name in _READERS}
    for variable, text in sorted(environ.items()):
        if not variable.startswith(PREFIX) or variable == _CONFIG:
            continue
        if variable not in variables:
            nearest = _nearest(variable.removeprefix(PREFIX).lower(), list(_READERS), PREFIX)
            misread.append(f"The environment has a setting that does not exist, {variable}. {nearest}")
        elif text:
            try:
                values[variables[variable]] = _READERS[variables[variable]](text)
            except ValueError as needed:
                misread.append(f"The variable {variable} must be {needed}. Correct it in the environment.")
    return values


def _nearest(name: str, known: list[str], prefix: str = "") -> str:
    found = get_close_matches(name, known, n=1, cutoff=0.7)  # further off, a guess misleads
    shown = [f"{prefix}{one.upper()}" if prefix else one for one in found or known]
    return f"Did you mean {shown[0]}?" if found else f"Remove it; there are {', '.join(shown)}."


# Checking


def _correct(settings: Settings, name: str) -> str:
    """Return the remedy of a wrong setting, if it was read from a known source."""
    return f" Correct {settings.sources[name]}." if name in settings.sources else ""


_LIMITS = {
    "port": (0, 65_535),
    "max_body": (1_000, 100_000_000),
    "max_batch": (1, 100_000),
    "requests_per_minute": (0, 1_000_000),
    "operator_hours": (1, 168),
    "drain_seconds": (0, 600),
}


def _number_problems(settings: Settings) -> Iterator[str]:
    for name, (least, most) in _LIMITS.items():
        value = getattr(settings, name)
        if not least <= value <= most:
            yield f"{name} must be from {least:,} to {most:,}, got {name}={value!r}.{_correct(settings, name)}"
    if settings.log not in ("json", "text"):
        yield f"log must be one of 'json', 'text', got log={settings.log!r}.{_correct(settings, 'log')}"
    if not settings.host.strip():
        yield f"host must be an address to listen on, such as 127.0.0.1, got host=''.{_correct(settings, 'host')}"


def _folder_problems(settings: Settings) -> Iterator[str]:
    folder = settings.data
    if os.path.lexists(folder) and not folder.is_dir():
        yield f"The data folder {folder} is a file, or a link to nothing. Name a folder with --data."
    elif not _is_writable(folder):
        yield f"The data folder {folder} cannot be written to. Change its permissions or name another with --data."
    elif not settings.database and is_open_to_others(folder):
        yield f"Others than its owner may read or write the data folder {folder}. Run: chmod 700 {folder}"


def _is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, or else the folder itself in the nearest one that exists."""
    there = next((place for place in (folder, *folder.absolute().parents) if place.exists()), folder)
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _key_problems(settings: Settings) -> Iterator[str]:
    path, folder = settings.key_file, settings.data
    if is_inside(path, folder):
        yield (
            f"The key file {path} is inside of the data folder {folder}, so every backup of the data would hold "
            "the key that protects it. Name another place with --key-file."
        )
    elif settings.database and settings.sqlite_file is not None and is_inside(path, settings.sqlite_file.parent):
        yield f"The key file {path} is in the database's folder, and so in its backups. Name another with --key-file."
    if path.is_dir():
        yield f"The key file {path} is a folder. Name a file with --key-file."
    elif path.exists():
        if is_open_to_others(path):
            yield f"Others than its owner may read or write the key file {path}. Run: chmod 600 {path}"
        try:
            MasterKey.load(path)
        except DataError as error:
            yield str(error)
    elif not _is_writable(path.parent):
        yield f"The key file {path} cannot be created in its folder. Name another place with --key-file."


def _database_problems(settings: Settings) -> Iterator[str]:
    database, correct = settings.database, _correct(settings, "database")
    if not database:
        return
    try:
        parts = urlsplit(database)
        kind = parts.scheme
    except ValueError:
        kind = ""
    if kind == "postgres":
        yield f"The database URL begins with postgres://, which is not a name that drivers know. Write postgresql://.{correct}"
    elif kind in ("postgresql", "postgresql+psycopg"):
        if find_spec("psycopg") is None:
            yield 'The database is PostgreSQL, whose driver is not installed. Run: pip install "hybriddp[postgres]"'
    elif kind != "sqlite":
        # The URL itself stays unsaid: it may hold a password.
        yield f"The database must be a URL that begins with sqlite:/// or postgresql://.{correct}"
    elif parts.path.strip("/") in ("", ":memory:"):
        yield (
            "The database is in memory, so a restart would forget everybody. Name a file: sqlite:///path/to/file."
            f"{correct}"
        )
    elif (file := settings.sqlite_file) is not None:
        for one in (file, *(file.with_name(file.name + end) for end in _BESIDE)):
            if is_open_to_others(one):
                yield f"Others than its owner may read or write the database {one}. Run: chmod 600 {one}"


def _token_key_problems(settings: Settings) -> Iterator[str]:
    path, given = settings.token_public_key, settings.sources.get("token_public_key")
    if path is None:
        return
    from hybriddp.service.tokens import read_public_key

    try:
        read_public_key(path)
    except HybridDPError as error:
        yield str(error).replace("--token-public-key", given or "--token-public-key")


def _admin_key_problems(settings: Settings) -> Iterator[str]:
    path, given = settings.admin_key_file, settings.given_admin_key()
    if path is not None and settings.admin_key:
        yield "The admin key is given twice, by itself and in a file. Remove admin_key or admin_key_file."
    elif path is not None and is_open_to_others(path):
        yield f"Others than its owner may read or write the file of the admin key {path}. Run: chmod 600 {path}"
    elif given is not None and not is_admin_key(given):
        where = f"The file {path}" if path is not None else "The setting admin_key"  # the key itself stays unsaid
        name = "admin_key" if path is None else "admin_key_file"
        yield f"{where} must hold an admin key: hdpa_ and 43 letters, digits, - or _.{_correct(settings, name)}"
