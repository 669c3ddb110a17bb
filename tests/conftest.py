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
