import io
from threading import active_count
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress

from hybriddp.cli import terminal
from hybriddp.cli.terminal import waiting


class _Now:
    """A clock whose time has come as soon as it is started."""

    def __init__(self, _seconds: float, action: Any) -> None:  # noqa: ANN401
        self.action = action

    def start(self) -> None:
        self.action()

    def cancel(self) -> None:
        pass

    def join(self) -> None:
        pass


def _terminal(text: io.StringIO) -> Console:
    return Console(file=text, force_terminal=True, width=80)


def test_whoever_waits_long_sees_how_far_it_is_and_then_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "Timer", _Now)
    shown: list[tuple[float | None, float]] = []
    real = Progress.update

    def update(self: Progress, task: Any, **fields: Any) -> None:  # noqa: ANN401
        real(self, task, **fields)
        shown.append((self.tasks[0].total, self.tasks[0].completed))

    monkeypatch.setattr(Progress, "update", update)
    text = io.StringIO()
    with waiting("counting", console=_terminal(text)) as tell:
        tell(None)
        tell(0.25)
        tell(1.0)
    assert shown == [(None, 0.0), (1.0, 0.25), (1.0, 1.0)]
    assert "counting" in text.getvalue()
    assert text.getvalue().endswith("\x1b[2K")  # the line is erased


def test_whoever_does_not_wait_sees_nothing() -> None:
    text = io.StringIO()
    with waiting("counting", console=_terminal(text)) as tell:
        tell(1.0)
    assert text.getvalue() == ""


def test_a_file_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "Timer", _Now)
    text = io.StringIO()
    with waiting("counting", console=Console(file=text)) as tell:
        tell(0.5)
    assert text.getvalue() == ""


def test_an_error_stops_the_clock() -> None:
    before = active_count()
    with pytest.raises(ValueError, match="broken"), waiting("counting", console=_terminal(io.StringIO())):
        raise ValueError("broken")
    assert active_count() == before
