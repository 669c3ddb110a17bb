"""What tests in all rooms share."""

from collections.abc import Iterator
from functools import cache

import pytest
from typer import main, testing


@pytest.fixture(scope="session", autouse=True)
def _one_parser() -> Iterator[None]:
    """The command line's parser is made once, not for every command that a test runs."""
    made = cache(main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(main, "get_command", made)
        patch.setattr(testing, "_get_command", made)
        yield


@pytest.fixture(scope="session", autouse=True)
def _usual_terminal() -> Iterator[None]:
    """Hide from rich and typer what the terminal or editor of whoever runs the tests is like."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm")
        for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            patch.delenv(name, raising=False)
        yield
