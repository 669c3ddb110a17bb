"""Faults: a curator's server in a process of its own, to be killed and started again, and disks that are full."""

import asyncio
import json
import os
import re
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hybriddp.service.settings import Settings

PATIENCE = 300.0  # seconds until something that must happen has not: a busy machine starts a server in half a minute
PAUSE = 0.02  # between two looks at something that is about to happen
_PROGRAM = (sys.executable, "-c", "from hybriddp.cli import main; main()")
_MOUNT = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs"]


class UnheardError(Exception):
    """No answer came, or half of one: whoever asked does not know what became of it, if they could ask at all."""

    def __init__(self, *, asked: bool) -> None:
        super().__init__()
        self.asked = asked


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


async def ask(port: int | None, method: str, path: str, credential: str = "", body: object = None) -> Answer:
    """One request on a connection of its own."""
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {len(content)}\r\n"
    head += f"Authorization: Bearer {credential}\r\n" if credential else ""
    head += "Content-Type: application/json\r\n" if content else ""
    asked = False
    try:
        async with asyncio.timeout(PATIENCE):
            if port is None:
                raise ConnectionRefusedError
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            asked = True
            try:
                writer.write(f"{head}\r\n".encode() + content)
                answer = await reader.read()
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
    except OSError:
        raise UnheardError(asked=asked) from None
    told, _, found = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", told.lower())
    if length is None or len(found) != int(length[1]):
        raise UnheardError(asked=asked)
    return Answer(int(told[9:12]), found)


async def until(happens: Callable[[], bool] | Callable[[], Awaitable[bool]], what: str) -> None:
    """Look until something has happened, within `PATIENCE`."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = happens()
        if found if isinstance(found, bool) else await found:
            return
        await asyncio.sleep(PAUSE)
    raise TimeoutError(f"{what} did not happen within {PATIENCE:.0f} s.")


def tell(figures: object) -> None:
    print(figures)  # noqa: T201  (make faults shows it)


class ServerProcess:
    """`hybriddp serve` on a free port of this machine.

    Parameters
    ----------
    folder : Path
        For the key, the log and the admin key; several replicas share it.
    database : str
        The URL of a PostgreSQL database; empty for SQLite.
    data : Path
        For SQLite, if not in ``folder``.
    program : sequence of str
        The command `hybriddp`, if not this checkout's.
    """

    def __init__(
        self, folder: Path, database: str = "", *, data: Path | None = None, program: Sequence[str] = _PROGRAM
    ) -> None:
        self.folder, self.database, self.data, self._program = folder, database, data or folder / "data", program
        self.key_file, self._admin_file = folder / "hybriddp.key", folder / "admin"
        self.port: int | None = None
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def admin_key(self) -> str:
        return self._admin_file.read_text()

    @property
    def url(self) -> str:
        """Of the database."""
        return Settings(data=self.data, database=self.database).database_url

    def spawn(self) -> None:
        """Start the process and do not wait for it."""
        command = [*self._program, "serve", "--port", "0"]
        command += ["--data", str(self.data), "--key-file", str(self.key_file), "--requests-per-minute", "1000000"]
        given = {"HYBRIDDP_DATABASE": self.database} if self.database else {}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command, env=os.environ | given | {"OPENBLAS_NUM_THREADS": "1"}, stdout=subprocess.PIPE, stderr=log
            )

    def start(self) -> None:
        """Start the process, wait until it listens, and keep the admin key if this is the first start."""
        self.spawn()
        told = ""
        while not re.search(r"/operator\n" if self._admin_file.exists() else r"hdpa_\S+\n", told):
            told += self._heard()
        admin, port = re.search(r"hdpa_\S+", told), re.search(r"Curator at http://127.0.0.1:(\d+)\n", told)
        if admin:
            self._admin_file.write_text(admin[0])
        self.port = int(port[1]) if port else None

    def _heard(self) -> str:
        """The next words of the process."""
        if self.process is None or self.process.stdout is None:
            raise RuntimeError("The server was not started.")
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            words = os.read(self.process.stdout.fileno(), 65_536) if selector.select(PATIENCE) else b""
        if not words:
            raise RuntimeError(f"The server did not start: {(self.folder / 'log').read_text()[-2000:]}")
        return words.decode()

    def kill(self) -> None:
        """`kill -9`."""
        self.port = None
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            if self.process.stdout is not None:
                self.process.stdout.close()
            self.process = None


@contextmanager
def serving(*servers: ServerProcess) -> Iterator[None]:
    """Servers, until the end of the block."""
    try:
        for server in servers:
            server.start()
        yield
    finally:
        for server in servers:
            server.kill()


class SmallDisk:
    """A folder that can be full: a small file system of its own, or a limit on the size of the server's files."""

    def __init__(self, folder: Path, *, mounted: bool) -> None:
        self._folder, self._mounted = folder, mounted
        self._ballast = folder / "ballast"

    def fill(self, process: subprocess.Popen[bytes] | None) -> None:
        """Leave space for a few more contributions."""
        if self._mounted:
            free = os.statvfs(self._folder)
            with suppress(OSError):  # the server has just taken the rest
                self._ballast.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - 65_536)))
        elif process is not None:
            largest = max(path.stat().st_size for path in self._folder.rglob("*"))
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest + 65_536, resource.RLIM_INFINITY))

    def free(self, process: subprocess.Popen[bytes] | None) -> None:
        """Make space again."""
        if self._mounted:
            self._ballast.unlink()
        elif process is not None:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextmanager
def full_disk(folder: Path, *, mounted: bool) -> Iterator[SmallDisk]:
    """A folder that can be full, until the end of the block."""
    folder.mkdir()
    if mounted:
        subprocess.run([*_MOUNT, str(folder)], check=True, capture_output=True)
    try:
        yield SmallDisk(folder, mounted=mounted)
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)  # noqa: S607


@cache
def can_mount() -> bool:
    """Whether a small file system may be mounted here."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with full_disk(Path(folder) / "disk", mounted=True):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False
