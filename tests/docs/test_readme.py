"""The README's commands run as printed, one after the other, in an empty folder."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hybriddp import cli

TEXT = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^## On the command line\n.*?^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_from_files_to_an_answer_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = BLOCK.search(TEXT)
    assert block is not None
    ran = []
    for line in block[1].replace("\\\n", "").splitlines():
        program, *arguments = shlex.split(line)
        if program == "python":
            *arguments, arrow, name = arguments
            assert arrow == ">"
            made = subprocess.run([sys.executable, *arguments], capture_output=True, check=True, text=True)
            Path(name).write_text(made.stdout, encoding="utf-8")
            continue
        result = CliRunner().invoke(cli.app, arguments)
        assert (program, result.exit_code) == ("hybriddp", 0), result.output
        ran.append(arguments[0])
    assert ran == ["plan", "randomize", "ledger", "mean", "ledger"]
    assert "Left to every one of the trusted users: ε = 1" in result.output
