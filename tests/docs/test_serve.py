"""The page about the server does what it says: its commands and scripts run in order, over real sockets."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

import hybriddp
from tests.postgresql import get_server

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
RESULTS = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
TASKS = [
    "Install",
    "Start",
    "Create",
    "tokens",
    "part",
    "Receipts",
    "Withdraw",
    "Batches",
    "release",
    "budget",
    "Pilots",
    "Categories",
    "Quantiles",
    "each part",
    "Items",
    "K-means",
]
BLOCK = re.compile(r"^```(py|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SERVE = "hybriddp serve\n"
ADDRESS = "http://127.0.0.1:8421"
CURL = "silent\nshow-error\nfail-with-body\nmax-time = 60\n"  # a refusal is an error here
DONE = "the block is done"


def test_in_the_order_of_the_work() -> None:
    headings = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    assert all(task in heading for task, heading in zip(TASKS, headings, strict=False))
    assert len(headings) > len(TASKS)


def test_what_is_shown_is_what_there_is() -> None:
    """Settings and reasons, all of them, each in its table."""
    from hybriddp.service.problems import REASONS
    from hybriddp.service.settings import _READERS

    for name in _READERS:
        # The admin key itself is no option: other users of the machine can see those of a program.
        option = "" if name == "admin_key" else f"`--{name.replace('_', '-')}` "
        variable = f"HYBRIDDP_{name.upper()}"
        assert re.search(rf"^\| {option}\| `{variable}` \| `{name}` \|", TEXT, re.MULTILINE), name
    for reason, meaning in REASONS.items():
        row = re.search(rf"^\|[^|]*`{reason}`[^|]*\|([^|]*)\|", TEXT, re.MULTILINE)
        assert row is not None, reason
        assert str(int(meaning.status)) in row[1], reason


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A shell's environment, with a free port and each kind of database."""
    if shutil.which("curl") is None:
        pytest.fail("curl is missing. The page is about it; on Debian run: apt-get install curl")
    (tmp_path / ".curlrc").write_text(CURL, encoding="utf-8")
    found = {name: value for name, value in os.environ.items() if not name.startswith("HYBRIDDP_")} | {
        "CURL_HOME": str(tmp_path),
        "HYBRIDDP_PORT": "0",
        "NO_PROXY": "127.0.0.1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(Path(hybriddp.__file__).parents[1]),
    }
    if request.param == "sqlite":
        yield found
        return
    with tempfile.TemporaryDirectory() as folder, get_server(folder) as server:
        yield found | {"HYBRIDDP_DATABASE": server.get_uri()}


class Shell:
    """A terminal: what one block sets, the next one knows; what fails ends it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._bash = subprocess.Popen(
            [str(shutil.which("bash")), "-e", "-o", "pipefail"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )

    def run(self, block: str) -> str:
        """What a block prints."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.write(f"{{\n{block}\n}} < /dev/null\nprintf '\\n%s\\n' '{DONE}'\n")
        self._bash.stdin.flush()
        printed: list[str] = []
        for line in self._bash.stdout:
            if line.strip() == DONE:
                return "".join(printed)
            printed.append(line)
        raise AssertionError("".join([block, *printed]))

    def close(self) -> None:
        self._bash.communicate()


@contextmanager
def serving(environment: dict[str, str], folder: Path) -> Iterator[tuple[str, str]]:
    """The server in a terminal of its own: its address, and the admin key that it shows once."""
    program = str(shutil.which("hybriddp", path=environment["PATH"]))
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen([program, "serve"], env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
    assert server.stdout is not None
    try:
        printed: list[str] = []
        for line in server.stdout:
            printed.append(line.strip())
            if line.startswith("hdpa_"):
                break
        address = next(line.split()[-1] for line in printed if line.startswith("Curator at"))
        yield address, printed[-1]
        server.terminate()
        assert server.wait(60) == 0
    finally:
        server.kill()
        server.communicate()


@pytest.mark.slow
def test_a_study_from_the_start_to_the_result(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    blocks = iter(BLOCK.findall(TEXT))
    assert next(blocks) == ("sh", SERVE)
    shell = Shell(environment)
    printed, ran = "", []
    known: dict[str, Any] = {}
    with serving(environment, tmp_path) as (address, admin_key):
        for language, text in blocks:
            assert SERVE not in text
            block = text.replace(ADDRESS, address).replace("hdpa_…", admin_key)
            ran.append(language)
            if language == "sh":
                printed += shell.run(block)
                continue
            script = tmp_path / "script.py"
            script.write_text(block, encoding="utf-8")
            known = run_path(str(script), init_globals=known)
    shell.close()
    assert (ran.count("sh"), ran.count("py")) == (24, 24)
    check_what_came_out(tmp_path, printed, capsys.readouterr().out, known)


def check_what_came_out(folder: Path, in_the_shell: str, in_python: str, known: dict[str, Any]) -> None:
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    estimate = result["estimate"]
    assert (estimate["n_trusted"], estimate["n_local"]) == (2, 3 + 5000)  # Alice and Carol have withdrawn
    assert estimate["rows"][0]["lower"] <= estimate["rows"][0]["value"] <= estimate["rows"][0]["upper"]
    assert estimate["privacy"]["counted"] is True
    assert "session minutes, week 47" in (folder / "result.html").read_text(encoding="utf-8")
    for words in ("you gave a randomized report", "you gave a value, in trust", "you withdrew", "3 0 []", "nobody"):
        assert words in in_python
    for words in ('"withdrawn":true', '"state":"closed"', '"left":{"epsilon":"0"', "week 49", '"warning":"This'):
        assert words in in_the_shell
    shares = json.loads((folder / "colors.result").read_text(encoding="utf-8"))["estimate"]
    assert (shares["n_trusted"], shares["n_local"]) == (1 + 200, 1 + 1800)
    assert shares["rows"][0]["value"] == max(row["value"] for row in shares["rows"])
    assert "(other)" in in_python
    load = json.loads((folder / "load.result").read_text(encoding="utf-8"))["estimate"]
    assert (load["n_trusted"], load["n_local"], len(load["rows"])) == (200, 1800, 4)
    countries = json.loads((folder / "countries.result").read_text(encoding="utf-8"))["estimate"]
    assert [one["users"]["key"] for one in countries["parts"]] == ["DE", "FR"]
    assert (countries["n_trusted"], countries["n_local"]) == (100, 1 + 900)
    assert countries["left_out"] == [{"name": "other", "n_trusted": 0, "n_local": 0}]
    words = json.loads((folder / "words.result").read_text(encoding="utf-8"))["estimate"]
    assert ([row["name"] for row in words["rows"]], words["n_trusted"], words["n_local"]) == (["weather"], 40, 30)
    assert '"state":"asking"' in in_the_shell
    visits = json.loads((folder / "visits.result").read_text(encoding="utf-8"))["estimate"]
    assert (visits["n_trusted"], visits["n_local"], visits["n_answered"]) == (6, 10, 10)
    assert len(visits["centers"]) == 2
    metrics = (folder / "metrics.txt").read_text(encoding="utf-8")
    assert 'hybriddp_contributions_total{group="local",outcome="withdrawn"} 2.0' in metrics
    assert known["receipt"]["receipt"]["group"] == "local"
    for name in ("admin.header", "tokens.txt", "relay.json"):  # umask 077
        assert (folder / name).stat().st_mode & 0o077 == 0, name
    for name in estimate | shares | load | countries:  # each is explained
        assert re.search(rf"^\|[^|]*`{name}`[^|]*\|", TEXT + RESULTS, re.MULTILINE), name
    log = (folder / "server.log").read_text(encoding="utf-8")
    assert "alice" not in log
    assert all(token not in log for token in (folder / "tokens.txt").read_text().split())
