"""Starting and stopping the server, with an app that stands in for the curator's."""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import uvicorn
from litestar import Litestar
from typer.testing import CliRunner, Result

from hybriddp import cli, service
from hybriddp.cli import serve as module
from hybriddp.errors import DataError, MissingExtraError, ParameterError
from hybriddp.service import demo
from hybriddp.service.keys import MasterKey
from hybriddp.service.protocol import LimitedProtocol
from hybriddp.service.settings import Settings

RUN = CliRunner()
SETTINGS_ARE_FINE = "Settings are fine (the key is compared with the database at the start).\n"


def _run(*arguments: object) -> Result:
    return RUN.invoke(cli.app, ["serve", *map(str, arguments)])


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("HYBRIDDP_")]:
        monkeypatch.delenv(name)
    root = logging.getLogger()
    before = root.handlers, root.level, logging.raiseExceptions, threading.excepthook
    yield
    logging.captureWarnings(False)
    root.handlers, root.level, logging.raiseExceptions, threading.excepthook = before


class Prepared:
    """What the app's room prepares, and what it was asked for."""

    def __init__(self, stop_by: signal.Signals) -> None:
        self.asked: list[Settings] = []
        self.new_admin_key = self.clock_ok = False
        self.stop_by, self.warning = stop_by, ""

    def prepare(self, settings: Settings, *, new_admin_key: bool = False, clock_ok: bool = False) -> SimpleNamespace:
        self.asked.append(settings)
        self.new_admin_key, self.clock_ok = new_admin_key, clock_ok
        if not settings.key_file.exists():
            MasterKey.create(settings.key_file, data=settings.data)
        return SimpleNamespace(
            app=Litestar(on_startup=[self._stop], openapi_config=None, logging_config=None),
            admin_key="hdpa_new",
            warning=self.warning,
        )

    def _stop(self) -> None:
        os.kill(os.getpid(), self.stop_by)


@pytest.fixture(params=[signal.SIGTERM, signal.SIGINT])
def prepared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    made = Prepared(request.param)
    room = ModuleType("hybriddp.service.app")
    room.prepare = made.prepare  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hybriddp.service.app", room)
    return made


def test_check_says_that_all_is_fine_and_creates_nothing(tmp_path: Path) -> None:
    result = _run("--check")
    assert (result.exit_code, result.stdout) == (0, SETTINGS_ARE_FINE)
    assert list(tmp_path.iterdir()) == []


def test_check_tells_all_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.toml").write_text("prot = 7\nport = 70000")
    monkeypatch.setenv("HYBRIDDP_DATABSE", "x")
    result = _run("--check", "--config", "c.toml", "--data", ".", "--log", "xml")
    assert result.exit_code == 2
    words = " ".join(result.stdout.split())
    for expected in (
        "'prot'. Did you mean port?",
        "Did you mean HYBRIDDP_DATABASE?",
        "port must be from 0 to 65,535, got port=70000. Correct it in c.toml.",
        "log must be one of 'json', 'text', got log='xml'. Correct --log.",
        "inside of the data folder",
    ):
        assert expected in words
    assert words.count("- ") == 5


def test_wrong_settings_do_not_start(prepared: Prepared) -> None:
    result = _run("--port", "70000")
    assert result.exit_code == 2
    assert "port must be" in result.stderr
    assert prepared.asked == []


def test_a_start_shows_the_admin_key_and_a_signal_ends_it_well(prepared: Prepared) -> None:
    before = signal.getsignal(signal.SIGTERM)
    result = _run("--port", 0, "--drain-seconds", "0.5", "--log", "text")
    assert result.exit_code == 0, (result.output, result.exception)
    assert "hdpa_new" in result.stdout.splitlines()
    assert "New key file: hybriddp.key." in result.stdout
    assert "/operator" in result.stdout
    assert "Stopped." in result.stderr
    assert "TLS" not in result.output
    (settings,) = prepared.asked
    assert (settings.port, settings.drain_seconds) == (0, 0.5)
    assert signal.getsignal(signal.SIGTERM) is before


def test_requests_have_limits(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    class Config(uvicorn.Config):
        def load(self) -> None:
            used.append(self.http)
            super().load()

    monkeypatch.setattr(uvicorn, "Config", Config)
    assert _run("--port", 0).exit_code == 0
    assert used == [LimitedProtocol]
    assert len(prepared.asked) == 1


def test_a_key_file_is_called_new_only_if_it_is(prepared: Prepared) -> None:
    MasterKey.create(Path("hybriddp.key"))
    result = _run("--port", 0)
    assert len(prepared.asked) == 1
    assert "hdpa_new" in result.stdout
    assert "New key file" not in result.stdout


def test_the_demo_keeps_nothing(prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[str, str, bytes]] = []
    monkeypatch.setattr(demo, "start_demo", lambda *given: started.append(given))
    monkeypatch.setenv("HYBRIDDP_DATABASE", "postgresql://db/real")
    monkeypatch.setenv("HYBRIDDP_ADMIN_KEY", "of the real server")
    result = _run("--port", 0, "--demo")
    assert result.exit_code == 0, (result.output, result.exception)
    assert "simulated" in result.stdout
    (settings,) = prepared.asked
    assert (settings.database, settings.given_admin_key()) == ("", None)
    assert not settings.data.parent.exists()
    assert list(tmp_path.iterdir()) == []
    ((url, key, secret),) = started
    assert url.startswith("http://127.0.0.1:")
    assert (key, len(secret)) == ("hdpa_new", 64)


@pytest.mark.parametrize("option", ["--data", "--key-file", "--database", "--admin-key-file"])
def test_the_demo_never_touches_real_data(option: str) -> None:
    error = _run("--demo", option, "x").exception
    assert isinstance(error, ParameterError)
    assert "must be left out with --demo" in str(error)


def test_an_address_that_is_taken(prepared: Prepared) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = _run("--port", port).exception
    assert isinstance(error, DataError)
    assert str(error) == f"Port {port} is in use. Choose another: --port."
    assert prepared.asked == []


def test_an_address_of_another_machine(prepared: Prepared) -> None:
    error = _run("--host", "192.0.2.1", "--port", 0).exception  # RFC 5737: nobody has it
    assert isinstance(error, DataError)
    assert str(error).startswith("Cannot listen on 192.0.2.1, port 0 (")
    assert "while attempting" not in str(error)
    assert prepared.asked == []


def test_check_warns_of_an_address_that_others_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRIDDP_HOST", "0.0.0.0")  # noqa: S104
    result = _run("--check")
    assert (result.exit_code, result.stdout) == (0, SETTINGS_ARE_FINE)
    assert "Warning: 0.0.0.0 can be reached from other machines" in result.stderr


def test_hosts() -> None:
    assert all(map(module._is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "localhost")))
    assert not any(map(module._is_loopback, ("0.0.0.0", "::", "192.168.0.1", "example.org")))  # noqa: S104
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert module._url(listening, "::1") == f"http://[::1]:{port}"
        assert module._url(listening, "localhost") == f"http://localhost:{port}"


def test_other_machines_need_tls(capsys: pytest.CaptureFixture[str]) -> None:
    module._greet("0.0.0.0", "http://0.0.0.0:8421", None)  # noqa: S104
    shown = capsys.readouterr()
    assert "TLS" in shown.err
    assert "Admin key" not in shown.out


def test_an_app_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("31337.125")

    room = ModuleType("hybriddp.service.app")
    app = Litestar(on_startup=[fail], openapi_config=None, logging_config=None)
    room.prepare = lambda _, **__: SimpleNamespace(app=app, admin_key=None, warning="")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hybriddp.service.app", room)
    result = _run("--port", 0)
    assert isinstance(result.exception, DataError)
    assert "31337" not in result.output


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "find_spec", lambda _: None)
    error = _run("--check").exception
    assert isinstance(error, MissingExtraError)
    assert 'pip install "hybriddp[service]"' in str(error)


@pytest.mark.slow
def test_a_crash_writes_no_memory_to_disk() -> None:
    program = (
        "import ctypes, resource; from hybriddp.cli.serve import _forbid_core_dumps; _forbid_core_dumps(); "
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "0 (0, 0)"


def test_a_lost_admin_key_is_asked_to_be_replaced(prepared: Prepared) -> None:
    _run("--port", 0, "--new-admin-key")
    assert prepared.new_admin_key
    _run("--port", 0)
    assert not prepared.new_admin_key


def test_a_clock_in_doubt_is_warned_of(prepared: Prepared) -> None:
    prepared.warning = "The clock is 10.0 days ahead."
    assert "Warning: The clock is 10.0 days ahead." in _run("--port", 0).stderr
    assert not prepared.clock_ok
    prepared.warning = ""
    assert "Warning" not in _run("--port", 0, "--clock-ok").output
    assert prepared.clock_ok


def test_the_help_has_the_defaults() -> None:
    words = " ".join(_run("--help").output.replace("│", " ").split())
    assert "8421; 0 for any that is free" in words
    assert "json or text: json." in words
