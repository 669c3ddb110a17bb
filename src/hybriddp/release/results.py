"""Results of releases, in files beside the ledger file that was charged for them.

A result that is drawn and lost cannot be drawn again without another charge. So its file, in the folder
``LEDGER.results``, is there before anything is charged, with room for the result. The order is: check; `reserve` the
file, or fail with nothing charged; charge; draw; write to disk; note the file's SHA-256 in the ledger; rename;
only then show. The ledger's events name the file.

What a program that was killed leaves says how far it came:

- an empty ``.part`` file that no event names: nothing was charged;
- an event whose file has no note: it was charged, maybe drawn, and never shown;
- an event and a note: the result is complete. If it still has its first name, it gets its last one now.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from hashlib import sha256
from pathlib import Path

from hybriddp.errors import DataError
from hybriddp.release.event import Event
from hybriddp.release.ledger.file import append, read_after, resolved, sync_folder
from hybriddp.release.ledger.lock import opened
from hybriddp.release.ledger.text import SAVED

_FOLDER, _PART = ".results", ".part"
_ROOM = 1 << 20  # bytes that a result has for certain
_LONGEST_NAME = 40
_BLANK = b"\0" * (1 << 16)


class State(Enum):
    """What has become of the result of a charge."""

    COMPLETE = "complete"
    UNFINISHED = "unfinished"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class KeptResult:
    """The file of a result, and what has become of it."""

    path: Path
    state: State


@dataclass(frozen=True, slots=True)
class ResultFile:
    """The file of a result that is still to be drawn.

    Attributes
    ----------
    ledger : Path
        The ledger file.
    path : Path
        The file once it is complete.
    """

    ledger: Path
    path: Path

    @classmethod
    def reserve(cls, ledger: Path | str, name: str, digest: str, *, room: int = _ROOM) -> "ResultFile":
        """Create the file of a study's next result, for nobody else to read; `DataError` if that is not possible."""
        place = resolved(ledger)
        folder = results_folder(place)
        title = f"{re.sub(r'[^A-Za-z0-9_-]+', '-', name)[:_LONGEST_NAME]}-{digest[:12]}"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            file, handle = _first_free(place, folder, title)
        except OSError as reason:
            raise _not_created(folder, reason) from None
        try:
            with os.fdopen(handle, "wb", buffering=0) as opening:
                for _ in range(-(-room // len(_BLANK))):
                    _write_all(opening.fileno(), _BLANK)
                os.fsync(handle)
            sync_folder(folder)
        except OSError as reason:
            file.discard()
            raise _not_created(file.path, reason) from None
        except DataError:
            file.discard()
            raise
        return file

    @property
    def part(self) -> Path:
        """The file until it is complete."""
        return self.path.with_name(self.path.name + _PART)

    def keep(self, text: str) -> None:
        """Write the result: on disk and noted in the ledger before it gets its name."""
        data = text.encode()
        try:
            self._write(data)
        except OSError as reason:
            raise DataError(f"{self.part} cannot be written ({reason.strerror}).") from None
        note_saved(self.ledger, self.path.name, sha256(data).hexdigest())
        self._rename()

    def _write(self, data: bytes) -> None:
        handle = os.open(self.part, os.O_WRONLY)
        try:
            _write_all(handle, data)  # into the room that is there, and only then cut
            os.ftruncate(handle, len(data))
            os.fsync(handle)
        finally:
            os.close(handle)

    def _rename(self) -> None:
        try:
            os.replace(self.part, self.path)
        except FileNotFoundError:
            if not self.path.exists():  # unless another program that was asked for it was faster
                raise
        sync_folder(self.path.parent)

    def discard(self) -> None:
        """Remove the file: nothing was charged for it."""
        with suppress(OSError):
            self.part.unlink()
            self.path.parent.rmdir()  # if it is empty


def results_folder(ledger: Path) -> Path:
    """Name the folder of a ledger's results."""
    return ledger.with_name(ledger.name + _FOLDER)


def find_results(ledger: Path | str, events: Iterable[Event]) -> list[KeptResult]:
    """Find the results that these events of a ledger file were charged for."""
    place = resolved(ledger)
    names = dict.fromkeys(event.result for event in events if event.result is not None)
    noted = saved_results(place) if names else {}
    return [_result(ResultFile(place, results_folder(place) / name), noted.get(name)) for name in names]


def read_result(path: Path | str) -> str:
    """Read a complete result; `DataError` unless it is as the ledger beside it says."""
    file = resolved(path)
    ledger = file.parent.with_name(file.parent.name.removesuffix(_FOLDER))
    if not file.parent.name.endswith(_FOLDER) or not ledger.is_file():
        raise DataError(f"{path} is not beside a ledger: results are in the folder LEDGER{_FOLDER}.")
    noted = saved_results(ledger).get(file.name)
    state = _result(ResultFile(ledger, file), noted).state
    if noted is None:
        raise DataError(f"The ledger {ledger} has no result {file.name}: it was never complete, or is another file.")
    if state is State.UNFINISHED:
        raise DataError(f"There is no file {path}. Restore it from a copy.")
    if state is State.CHANGED:
        raise DataError(
            f"{path} is not as it was written: its SHA-256 is not the one in {ledger}. Restore it from a copy."
        )
    return file.read_text("utf-8")


def saved_results(ledger: Path) -> dict[str, str]:
    """Read the SHA-256 of each result that a ledger file has noted."""
    with opened(ledger, writing=False) as file:
        notes = read_after(file, ledger, None).notes
    return {str(note[SAVED]): str(note["sha256"]) for note in notes if SAVED in note}


def note_saved(ledger: Path, name: str, digest: str) -> None:
    """Note in the ledger that a result is on disk, and which."""
    note = {SAVED: name, "sha256": digest, "when": datetime.now(UTC).isoformat(timespec="seconds")}
    with opened(ledger, writing=True) as file:
        append(file, ledger, read_after(file, ledger, None).position, [note], 0)


def _result(file: ResultFile, noted: str | None) -> KeptResult:
    if noted is None:
        return KeptResult(file.path, State.UNFINISHED)
    if not file.path.exists() and _digest(file.part) == noted:  # killed between note and name
        file._rename()  # noqa: SLF001  (of this module)
    found = _digest(file.path)
    if found is None:
        return KeptResult(file.path, State.UNFINISHED)
    return KeptResult(file.path, State.COMPLETE if found == noted else State.CHANGED)


def _digest(path: Path) -> str | None:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
    except OSError as reason:
        raise DataError(f"{path} cannot be read ({reason.strerror}).") from None


def _first_free(ledger: Path, folder: Path, title: str) -> tuple[ResultFile, int]:
    """Create the first file that nobody has: two programs at once get two."""
    number = 1
    while True:
        file = ResultFile(ledger, folder / f"{title}{'' if number == 1 else f'-{number}'}.json")
        number += 1
        if file.path.exists():
            continue
        with suppress(FileExistsError):
            return file, os.open(file.part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _not_created(path: Path, reason: OSError) -> DataError:
    return DataError(f"The result would be lost: {path} cannot be created ({reason.strerror}). Nothing was charged.")
