"""What the demonstration proposes runs as printed."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hybriddp import cli
from hybriddp.cli import demo


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment whose activation puts a program named hybriddp on the path, and a shell that has none."""
    programs = tmp_path / "an environment" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").touch()
    (programs / "hybriddp").write_text('#!/bin/sh\necho "ran $1"\n')
    (programs / "hybriddp").chmod(0o755)
    (programs / "activate").write_text(f'PATH="{programs}:$PATH"\n')
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("SHELL", "/bin/sh")
    monkeypatch.chdir(tmp_path)
    return programs


def _commands(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


@pytest.mark.repeated
@pytest.mark.parametrize(
    "command",
    [pytest.param(command, marks=pytest.mark.slow if " plan " in command else ()) for _, command in demo.STEPS],
)
def test_every_command_runs(command: str) -> None:
    program, *arguments = shlex.split(command)
    quick = ["--trials", "2"] if arguments[0] == "demo" else []
    assert program == "hybriddp"
    assert CliRunner().invoke(cli.app, [*arguments, *quick]).exit_code == 0


@pytest.mark.usefixtures("environment")
def test_pasted_whole_into_a_shell_that_does_not_know_hybriddp() -> None:
    pasted = "\n".join(_commands(demo.next_steps()))
    ran = subprocess.run(["/bin/sh", "-e"], input=pasted, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["ran", "demo", "ran", "plan", "ran", "channel", "ran", "mean"]
    assert not ran.stderr


def test_without_activation_where_the_shell_finds_it(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert demo.activation() == ". 'an environment/bin/activate'"
    monkeypatch.setenv("PATH", str(environment), prepend=os.pathsep)
    assert demo.activation() is None
    assert _commands(demo.next_steps()) == [command for _, command in demo.STEPS]


def test_without_activation_where_there_is_no_environment(environment: Path) -> None:
    (environment / "activate").unlink()
    assert demo.activation() is None


def test_from_another_folder_the_path_is_whole(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (environment / "elsewhere").mkdir()
    monkeypatch.chdir(environment / "elsewhere")
    assert demo.activation() == f". {shlex.quote(str(environment / 'activate'))}"


@pytest.mark.usefixtures("environment")
def test_other_shells_have_scripts_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert demo.activation() == "source 'an environment/bin/activate.fish'"


@pytest.mark.usefixtures("environment")
def test_lines_fit_into_eighty_columns() -> None:
    assert max(map(len, demo.next_steps().splitlines())) <= 80
