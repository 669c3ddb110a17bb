"""``hybriddp serve``: the curator as a server."""

import ctypes
import errno
import gc
import ipaddress
import math
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybriddp.cli.options import option
from hybriddp.cli.terminal import say
from hybriddp.errors import DataError, ParameterError, raise_unchained
from hybriddp.service import check_installed

if TYPE_CHECKING:
    from litestar import Litestar

    from hybriddp.service.settings import Settings

_PR_SET_DUMPABLE = 4
_DEMO_FOLDER = ("data", "key_file", "database", "admin_key_file")


def serve(
    data: Annotated[Path | None, option("Folder of the embedded database: hybriddp-data.")] = None,
    key_file: Annotated[Path | None, option("Master key, outside of the data folder: hybriddp.key.")] = None,
    database: Annotated[
        str | None, option("URL of a PostgreSQL database; if it has a password, set HYBRIDDP_DATABASE instead.")
    ] = None,
    host: Annotated[str | None, option("Address to listen on: 127.0.0.1.")] = None,
    port: Annotated[int | None, option("Port to listen on: 8421; 0 for any that is free.")] = None,
    token_public_key: Annotated[
        Path | None, option("Ed25519 public key (PEM) of the backend that signs tokens with EdDSA.")
    ] = None,
    admin_key_file: Annotated[
        Path | None, option("File with the admin key of the first start; or set HYBRIDDP_ADMIN_KEY.")
    ] = None,
    max_body: Annotated[int | None, option("Largest request in bytes: 1000000.")] = None,
    max_batch: Annotated[int | None, option("Most reports in a batch: 1000.")] = None,
    requests_per_minute: Annotated[
        int | None, option("Most requests of one participant in a minute: 60; 0 for any number.")
    ] = None,
    operator_hours: Annotated[int | None, option("Hours that a login on the operator's page lasts: 12.")] = None,
    drain_seconds: Annotated[float | None, option("Seconds to finish what has begun when stopping: 10.")] = None,
    log: Annotated[str | None, option("Form of the log, json or text: json.")] = None,
    config: Annotated[Path | None, option("TOML file of settings.")] = None,
    new_admin_key: Annotated[
        bool, option("Replace the admin key, if it is lost; the old one ends.", "--new-admin-key")
    ] = False,
    clock_ok: Annotated[
        bool, option("Take the machine's clock for right, though it is not where the last run left it.", "--clock-ok")
    ] = False,
    check: Annotated[bool, option("Say what is wrong with the settings and exit.", "--check")] = False,
    demo: Annotated[bool, option("Start with a study and simulated people; keeps nothing.", "--demo")] = False,
) -> None:
    """Start a curator: people send reports or values over HTTP, and one release comes out.

    Options come before HYBRIDDP_* environment variables (HYBRIDDP_PORT), these before the file of --config. The first
    start creates the data folder and the key file and prints the admin key, once.
    """
    flags = {
        name: value
        for name, value in locals().items()
        if name not in ("config", "new_admin_key", "clock_ok", "check", "demo")
    }
    check_installed()
    from hybriddp.service.settings import Settings

    if demo:
        _refuse_for_demo(flags)
        with tempfile.TemporaryDirectory(prefix="hybriddp-demo-") as folder:
            place = {"data": Path(folder) / "data", "key_file": Path(folder) / "hybriddp.key", "database": ""}
            environ = {name: text for name, text in os.environ.items() if not name.startswith("HYBRIDDP_ADMIN_KEY")}
            _run(Settings.read(flags | place, environ, config), check=check, demo=True)
        return
    _run(
        Settings.read(flags, os.environ, config),
        check=check,
        demo=False,
        new_admin_key=new_admin_key,
        clock_ok=clock_ok,
    )


def _refuse_for_demo(flags: dict[str, object]) -> None:
    for name in _DEMO_FOLDER:
        if flags[name] is not None:
            remedy = "The demo keeps nothing, so that simulated people never get into a real study."
            raise ParameterError(name, "left out with --demo", str(flags[name]), remedy=remedy)


def _run(settings: "Settings", *, check: bool, demo: bool, new_admin_key: bool = False, clock_ok: bool = False) -> None:
    problems = settings.problems()
    for problem in problems:
        say(f"- {problem}", err=not check)
    if problems:
        raise typer.Exit(2)
    if check:
        say("Settings are fine (the key is compared with the database at the start).")
        _warn_if_reachable(settings.host)
        return
    from hybriddp.service.app import prepare
    from hybriddp.service.observe import set_up_logging

    listening = _listen(settings.host, settings.port)  # before anything is created
    with listening:
        _forbid_core_dumps()
        set_up_logging(settings.log, quiet=demo)  # the demo's people would push the admin key off the screen
        new_key_file = not settings.key_file.exists()
        prepared = prepare(settings, new_admin_key=new_admin_key, clock_ok=clock_ok)
        url = _url(listening, settings.host)
        if demo:
            say("Demo: all people are simulated, and nothing is kept.", bold=True)
        elif new_key_file:
            say(f"New key file: {settings.key_file}. Keep a copy of it, but never together with the data.")
        _greet(settings.host, url, prepared.admin_key)
        if prepared.warning:
            say(f"Warning: {prepared.warning}", err=True)
        if demo:
            _start_demo(settings, url, prepared.admin_key)
        _serve(prepared.app, settings, listening)


def _forbid_core_dumps() -> None:
    """Let a crash write no memory to disk: it may hold a value that has just arrived."""
    with suppress(ImportError, ValueError, OSError):  # Windows has neither
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # where dumps are piped to a program, the limit alone does not count
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _listen(host: str, port: int) -> socket.socket:
    """Open a socket that listens on this host and port."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise_unchained(DataError(f"Port {port} is in use. Choose another: --port."))
        reason = (error.strerror or "no such address").partition(" (while")[0]  # Python adds the address, in brackets
        raise DataError(f"Cannot listen on {host}, port {port} ({reason}). Choose others: --host, --port.") from None


def _url(listening: socket.socket, host: str) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listening.getsockname()[1]}"


def _greet(host: str, url: str, admin_key: str | None) -> None:
    say(f"Curator at {url}")
    say(f"Operator's page: {url}/operator")
    if admin_key is not None:
        say("Admin key, shown only this once:")
        typer.echo(admin_key)
    _warn_if_reachable(host)
    sys.stdout.flush()  # whoever started it from a program waits for these lines


def _warn_if_reachable(host: str) -> None:
    if not _is_loopback(host):
        say(
            f"Warning: {host} can be reached from other machines and this server speaks no TLS. Values and "
            "tokens must not travel in the clear: put a proxy with TLS in front of it.",
            err=True,
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _start_demo(settings: "Settings", url: str, admin_key: str | None) -> None:
    from hybriddp.service.demo import start_demo
    from hybriddp.service.keys import MasterKey

    if admin_key is None:
        raise DataError("The demo needs a new database.")
    start_demo(url, admin_key, MasterKey.load(settings.key_file).token_secret)


def _serve(app: "Litestar", settings: "Settings", listening: socket.socket) -> None:
    """Run until a signal comes; then finish what has begun."""
    import uvicorn

    gc.freeze()  # modules and routes stay: looking through them again and again costs a tenth of a request
    from hybriddp.service.protocol import LimitedProtocol

    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=LimitedProtocol,
            loop="uvloop" if find_spec("uvloop") else "asyncio",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # nothing here depends on anybody's address
            timeout_graceful_shutdown=math.ceil(settings.drain_seconds),
        )
    )
    with _ending_well(), suppress(SystemExit):  # uvicorn's own exit codes mean other things than ours
        server.run(sockets=[listening])
    if not server.started:
        raise DataError("The server did not start; the log says why.")
    say("Stopped.", err=True)


@contextmanager
def _ending_well() -> Iterator[None]:
    """Let a signal, which uvicorn raises again once it has stopped, end the program with exit code 0."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        pass  # asyncio may also swallow it, if nothing was left to wait for
    finally:
        signal.signal(signal.SIGTERM, before)
