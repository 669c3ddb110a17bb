"""Commands that release something, on ledgers that are there."""

from collections.abc import Sequence
from pathlib import Path

from typer.testing import CliRunner, Result

from hybriddp import cli
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger


def invoke(arguments: Sequence[object]) -> Result:
    """Run the command; create the ledger that it names first, with enough for this study, unless there is one."""
    words = [str(argument) for argument in arguments]
    if "--ledger" in words:
        create(_after("--ledger", words), epsilon=_after("--epsilon", words), delta=_after("--delta", words))
    return CliRunner().invoke(cli.app, words)


def create(path: Path | str, *, epsilon: str, delta: str = "0") -> Path:
    """Create a ledger where there is a folder and no file."""
    path = Path(path)
    if path.parent.is_dir() and not path.exists():
        Ledger.create(path, Privacy(epsilon=epsilon, delta=delta))
    return path


def is_unspent(path: Path) -> bool:
    """Whether nothing was charged."""
    return not Ledger.open(path).events


def _after(option: str, words: list[str]) -> str:
    return words[words.index(option) + 1] if option in words else "0"
