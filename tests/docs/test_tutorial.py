"""The tutorial's commands and scripts run as printed, one after the other, in an empty folder."""

import re
import shlex
from pathlib import Path
from runpy import run_path

import pytest
from typer.testing import CliRunner

from hybriddp import cli
from hybriddp.errors import BudgetError

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
STEPS = ["bounds", "ε", "Plan", "Simulate", "Collect", "Release", "Explain"]
BLOCK = re.compile(r"^```(py|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_in_the_order_of_the_work() -> None:
    headings = re.findall(r"^## \d\. (.*)$", TEXT, re.MULTILINE)
    assert len(headings) == len(STEPS)
    assert all(step in heading for step, heading in zip(STEPS, headings, strict=True))


def test_from_files_to_an_answer_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = []
    for language, block in BLOCK.findall(TEXT):
        if language == "py":
            script = tmp_path / "script.py"
            script.write_text(block, encoding="utf-8")
            run_path(str(script))
            continue
        for line in block.replace("\\\n", "").splitlines():
            program, *arguments = shlex.split(line)
            quick = ["--processes", "1"] if arguments[0] == "simulate" else []
            result = CliRunner().invoke(cli.app, [*arguments, *quick])
            assert (program, result.exit_code) == ("hybriddp", 0), result.output
            ran.append(line)
    commands = [line.split()[1] for line in ran]
    assert commands == ["plan", "simulate", "mean", "randomize", "ledger", "mean", "ledger", "ledger"]
    assert "minutes" in (tmp_path / "answer.html").read_text(encoding="utf-8")
    again = CliRunner().invoke(cli.app, shlex.split(ran[5])[1:])
    assert isinstance(again.exception, BudgetError)
