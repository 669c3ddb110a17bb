"""Looking at a ledger file as a whole: is every line in its place, and what to do with a last line that breaks off."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hybriddp.errors import DataError
from hybriddp.release.ledger_file import Reading, append, end_line, opened, read_after, resolved, whole

_SHOWN = 2000  # bytes of a torn line that a note keeps


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """What a check of all lines has found.

    Attributes
    ----------
    events, lines : int
        How many there are.
    checksum : str
        The checksum of the last line, which runs over all. Kept elsewhere, it shows later whether lines were cut off.
    old : bool
        Whether the file is one JSON text of before: it has no checksums before the next event is added.
    dropped : str
        What was left of a line that broke off, if it was dropped now.
    ended : bool
        Whether a line break was added now behind a last line that was whole but for it.
    """

    events: int
    lines: int
    checksum: str
    old: bool
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
    try:
        with opened(place, writing=False) as file:
            reading = whole(read_after(file, place, None), place)
            file.seek(0)
            text = file.read()
    except FileNotFoundError:
        raise DataError(f"There is no ledger {path}.") from None
    known = f'"chain":"{contains}"'.encode()
    if contains is not None and contains != reading.position.head and known not in text:
        raise DataError(
            f"{path} does not contain the checksum {contains!r}: lines have been lost, or it is another one."
        )
    return _found(reading)


def repair_ledger(path: Path | str) -> LedgerCheck:
    """Drop a last line that breaks off, and write down that it was; all whole lines stay, and stay spent.

    A last line that is whole, checksum and all, and lacks only its line break gets it and stays too.

    Only somebody who knows that a program stopped while it was writing may do this: its release was never drawn. If
    the file was cut by something else, restore it from a copy instead.
    """
    place = resolved(path)
    try:
        with opened(place, writing=True) as file:
            reading = read_after(file, place, None)
            if not reading.torn:
                return _found(reading)
            if reading.unended:
                return _found(end_line(file, place, reading), ended=True)
            dropped = reading.torn.decode("utf-8", "replace").strip()
            note = {
                "repair": "a last line that broke off was dropped",
                "when": datetime.now(UTC).isoformat(timespec="seconds"),
                "dropped": dropped[:_SHOWN],
                "bytes": len(reading.torn),
            }
            file.truncate(reading.position.offset)
            position = append(file, place, reading.position, [note], 0)
    except FileNotFoundError:
        raise DataError(f"There is no ledger {path}.") from None
    return _found(Reading(reading.events, position, b""), dropped)


def _found(reading: Reading, dropped: str = "", *, ended: bool = False) -> LedgerCheck:
    at = reading.position
    return LedgerCheck(at.events, at.lines, at.head, at.old, dropped, ended)
