"""How many contributions per second the server acknowledges after they are on disk, with millions stored already.

    python -m benchmarks.service_load                          # both databases, batches and single reports
    python -m benchmarks.service_load --databases sqlite --stored 100000 --seconds 5
    python -m benchmarks.service_load --memory 10000000        # one long run of batches, with the server's memory

The server is `hybriddp serve` in a process of its own, durable as it always is (SQLite: synchronous=FULL). The
generator runs beside it on the same machine, and its processor time is in the figures: it makes JSON, nonces and tokens
as it goes. Only loopback is talked to, for a bounded time.
"""

import argparse
import asyncio
import json
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from hybriddp import MeanStudy
from hybriddp.service.keys import MasterKey
from hybriddp.service.tokens import mint
from tests.postgresql import get_server

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)
_BATCH = 100
_PORT = 8429
_KEY_CACHE = 20_000  # tokens that are minted before the clock runs


@dataclass
class Served:
    """A server in a process of its own."""

    url: str
    admin_key: str
    secret: bytes
    process: subprocess.Popen[str]

    @property
    def processor(self) -> float:
        """Its processor time in seconds."""
        times = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def resident(self) -> float:
        """Its memory in MB."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@dataclass
class Load:
    """What a run of load measured."""

    reports: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    processor: float = 0.0

    def __str__(self) -> str:
        p50, p99 = np.percentile(self.latencies, [50, 99]) * 1000
        return (
            f"{self.reports / self.seconds:,.0f} reports/s over {self.seconds:.0f} s; a request took {p50:.0f} ms "
            f"(median), {p99:.0f} ms (p99); of the server: "
            f"{1e6 * self.processor / self.reports:.0f} µs of processor time a report, "
            f"memory {min(self.memory):.0f}–{max(self.memory):.0f} MB"
        )


@contextmanager
def serving(folder: Path, database: str) -> Iterator[Served]:
    """`hybriddp serve`, until the end of the block."""
    key = folder / "hybriddp.key"
    command = [sys.executable, "-c", "from hybriddp.cli import main; main()", "serve", "--port", str(_PORT)]
    command += ["--data", str(folder / "data"), "--key-file", str(key), "--requests-per-minute", "1000000"]
    quiet = {"HYBRIDDP_DATABASE": database, "OPENBLAS_NUM_THREADS": "1"}
    log = (folder / "log").open("w")
    process = subprocess.Popen(command, env=os.environ | quiet, stdout=subprocess.PIPE, stderr=log, text=True)  # noqa: S603
    try:
        admin_key = ""
        for line in process.stdout or ():
            if line.startswith("hdpa_"):
                admin_key = line.strip()
                break
        url = f"http://127.0.0.1:{_PORT}"
        _wait(lambda: httpx.get(f"{url}/ready", trust_env=False).status_code == 200)
        yield Served(url, admin_key, MasterKey.load(key).token_secret, process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        log.close()


def _wait(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if ready():
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.05)
    raise TimeoutError("The server did not come up.")


def fill(folder: Path, database: str, stored: int) -> None:
    """Store participants as if they had reported before: sorted, in bulk, around the server."""
    people = sorted(secrets.token_bytes(16) for _ in range(stored))
    day = int(time.time()) // 86_400
    if not database:
        with sqlite3.connect(folder / "data" / "hybriddp.sqlite") as connection:
            connection.execute("PRAGMA synchronous=OFF")
            connection.executemany(
                "INSERT INTO participants (study, who, trusted, asserted, day, commitment) VALUES (1, ?, 0, 1, ?, ?)",
                ((who, day, secrets.token_bytes(32)) for who in people),
            )
        with sqlite3.connect(folder / "data" / "hybriddp.sqlite") as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return
    import psycopg

    with psycopg.connect(database) as server, server.cursor() as cursor:
        names = "(study, who, trusted, asserted, day, commitment)"
        with cursor.copy(f"COPY participants {names} FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(("int4", "bytea", "bool", "int2", "int4", "bytea"))
            for who in people:
                copy.write_row((1, who, False, 1, day, secrets.token_bytes(32)))


@asynccontextmanager
async def _connection(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def _post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, credential: str, body: bytes
) -> tuple[int, bytes]:
    """One request on a connection that stays open; ``path`` may be followed by lines of headers."""
    path, _, more = path.partition("\r\n")
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}Authorization: Bearer {credential}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = int(answer.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
    return int(answer[9:12]), await reader.readexactly(length)


async def _run(served: Served, load: Load, stop: Callable[[Load], bool], workers: int, one: Any) -> None:  # noqa: ANN401
    started, processor = time.perf_counter(), served.processor
    codes = STUDY.randomize(np.random.default_rng().gamma(2.0, 20.0, 100_000)).tolist()

    async def work() -> None:
        async with _connection(_PORT) as (reader, writer):
            while not stop(load):
                path, credential, body, size = one(codes)
                before = time.perf_counter()
                status, answer = await _post(reader, writer, path, credential, body)
                load.latencies.append(time.perf_counter() - before)
                if status not in (200, 201) or (status == 200 and json.loads(answer)["accepted"] != size):
                    raise RuntimeError(f"Refused with {status}: {answer.decode()}")
                load.reports += size
                load.seconds = time.perf_counter() - started

    async def watch() -> None:
        while not stop(load):
            load.memory.append(served.resident)
            load.seconds = time.perf_counter() - started
            await asyncio.sleep(0.5)

    await asyncio.gather(watch(), *(work() for _ in range(workers)))
    load.processor = served.processor - processor


def batches(served: Served, stop: Callable[[Load], bool], relay: str, *, workers: int = 6) -> Load:
    """Reports in batches of 100 from a relay."""

    def one(codes: list[int]) -> tuple[str, str, bytes, int]:
        noise, start = secrets.token_hex(24 * _BATCH), secrets.randbelow(len(codes) - _BATCH)
        reports = ",".join(
            f'{{"participant":"{noise[48 * i : 48 * i + 16]}","code":{codes[start + i]},'
            f'"nonce":"{noise[48 * i + 16 : 48 * i + 48]}"}}'
            for i in range(_BATCH)
        )
        body = f'{{"digest":"{STUDY.digest}","reports":[{reports}]}}'.encode()
        return "/studies/load/batches", relay, body, _BATCH

    load = Load()
    asyncio.run(_run(served, load, stop, workers, one))
    return load


def singles(served: Served, stop: Callable[[Load], bool], *, more: str = "", workers: int = 128) -> Load:
    """Single reports, each with a token of its own, which the server verifies."""
    lifetime = timedelta(hours=1)
    tokens = [
        mint(served.secret, subject=secrets.token_hex(8), study="load", lifetime=lifetime) for _ in range(_KEY_CACHE)
    ]

    def one(codes: list[int]) -> tuple[str, str, bytes, int]:
        token = (
            tokens.pop()
            if tokens
            else mint(served.secret, subject=secrets.token_hex(8), study="load", lifetime=lifetime)
        )
        code = codes[secrets.randbelow(len(codes))]
        body = f'{{"digest":"{STUDY.digest}","code":{code},"nonce":"{secrets.token_hex(16)}"}}'.encode()
        return f"/studies/load/reports\r\n{more}", token, body, 1

    load = Load()
    asyncio.run(_run(served, load, stop, workers, one))
    return load


@contextmanager
def _database(kind: str) -> Iterator[str]:
    """The URL of an empty database; empty for the embedded one."""
    if kind == "sqlite":
        yield ""
        return
    with tempfile.TemporaryDirectory() as folder, get_server(folder) as server:
        yield server.get_uri()


def measure(kind: str, *, stored: int, seconds: float, memory: int) -> None:
    """Fill a database, load it, and print."""
    with _database(kind) as database, tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with serving(folder, database) as served:
            admin = {"Authorization": f"Bearer {served.admin_key}"}
            consent = {"organization": "Benchmark", "purpose": "To measure.", "contact": "nobody"}
            body = {"study": json.loads(STUDY.to_json()), "id": "load", "consent": consent}
            body["closes_at"] = "2099-01-01T00:00:00Z"
            with httpx.Client(base_url=served.url, headers=admin, trust_env=False) as http:
                http.post("/studies", json=body).raise_for_status()
                relay = http.post("/relays", json={"name": "generator"}).raise_for_status().json()["key"]
            fill(folder, database, stored)
            print(f"{kind}, {stored:,} participants stored")
            if memory:
                print(f"  {memory:,} in batches of {_BATCH}: {batches(served, lambda at: at.reports >= memory, relay)}")
                return
            print(f"  batches of {_BATCH}: {batches(served, lambda at: at.seconds >= seconds, relay)}", flush=True)
            for name, more in (("signed receipts", ""), ("receipts when asked for", "Prefer: return=minimal\r\n")):
                found = singles(served, lambda at: at.seconds >= seconds, more=more)
                print(f"  single reports, HS256, {name}: {found}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"], choices=["sqlite", "postgresql"])
    parser.add_argument("--stored", type=int, default=5_000_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--memory", type=int, default=0, help="so many reports in batches instead, watching memory")
    given = parser.parse_args()
    for kind in given.databases:
        measure(kind, stored=given.stored, seconds=given.seconds, memory=given.memory)


if __name__ == "__main__":
    main()
