"""Checking and repairing a ledger file."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hybriddp.errors import DataError
from hybriddp.release.ledger.file import append, read_after, read_all, read_lines, resolved, write
from hybriddp.release.ledger.lock import opened
from hybriddp.release.ledger.text import Position

_SHOWN = 2000  # bytes of an unfinished line that a note keeps


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """What a check of all lines has found.

    Attributes
    ----------
    events, lines : int
        How many there are.
    checksum : str
        The checksum of the last line, which runs over all. Kept elsewhere, it shows later whether lines were lost.
    dropped : str
        The unfinished line that was dropped now, if any.
    ended : bool
        Whether a line break was added now behind a last line that lacked it.
    """

    events: int
    lines: int
    checksum: str
    dropped: str = ""
    ended: bool = False


def check_ledger(path: Path | str, *, contains: str | None = None) -> LedgerCheck:
    """Check every line of a ledger file, and change nothing.

    Parameters
    ----------
    path : Path or str
        The file.
    contains : str, optional
        A checksum that this ledger had before: `DataError` if it is not there any more.
    """
    place = resolved(path)
    with _existing(path), opened(place, writing=False) as file:
        position = read_after(file, place, None).position
        text = read_all(file, place, 0)
    known = f'"chain":"{contains}"'.encode()
    if contains is not None and contains != position.head and known not in text:
        raise DataError(f"{path} does not contain the checksum {contains!r}: it has lost lines, or is another ledger.")
    return _found(position)


def repair_ledger(path: Path | str) -> LedgerCheck:
    """Drop an unfinished last line, and write down that it was; all complete lines stay, and stay spent.

    A last line that is complete, checksum and all, and lacks only its line break gets it and stays too.

    Only somebody who knows that a program stopped while it was writing may do this: its release was never drawn. If
    the file was truncated by something else, restore it from a copy instead.
    """
    place = resolved(path)
    with _existing(path), opened(place, writing=True) as file:
        contents = read_lines(file, place, None)
        if not contents.torn:
            return _found(contents.position)
        if contents.unended:
            write(file, place, contents.position.offset + len(contents.torn), b"\n")
            return _found(read_after(file, place, None).position, ended=True)
        dropped = contents.torn.decode("utf-8", "replace").strip()
        note = {
            "repair": "a last line that broke off was dropped",
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "dropped": dropped[:_SHOWN],
            "bytes": len(contents.torn),
        }
        file.truncate(contents.position.offset)
        return _found(append(file, place, contents.position, [note], 0), dropped)


@contextmanager
def _existing(path: Path | str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"There is no ledger {path}.") from None


def _found(at: Position, dropped: str = "", *, ended: bool = False) -> LedgerCheck:
    return LedgerCheck(at.events, at.lines, at.head, dropped, ended)
