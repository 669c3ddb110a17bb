"""Journals: where a device keeps what it has drawn, before it sends it.

A device that draws twice pays ε twice. So the contribution is on disk before the first byte leaves, and every later
call finds it there, after a crash, a power cut or a lost answer.

The file is JSON, for its owner's eyes only (mode 0600). It holds the code, or **for a trusted contribution the value in
units of the grid**: without it nobody could withdraw. A withdrawal deletes it from the journal.
"""

import contextlib
import json
import os
import secrets
import threading
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hybriddp.client.contribution import GROUPS, Contribution, is_digest
from hybriddp.client.journal_lock import locked
from hybriddp.errors import DataError, ProtocolError, raise_unchained

__all__ = ["FileJournal", "Journal", "JournalEntry", "MemoryJournal"]

_FORMAT = "hybriddp journal 1"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One person's part in one study, as far as it has come.

    Attributes
    ----------
    study, participant : str
        The study's id, and a hash of who takes part (empty without a token): nobody sends what another person drew.
    digest, group, epsilon, delta : str
        For which text, in which group, under which promise.
    contribution : Contribution or None
        What was drawn; None once it has been withdrawn.
    receipt, keys, withdrawal : dict or None
        The curator's signed answers, and the public keys that they were checked with.
    answer, answer_receipt : dict or None
        In a study that asks in rounds: the answer that was drawn, with its nonce, and the curator's receipt of it.
    turns : str
        The text of the turns that were seen last; later ones must begin with these.
    asked_in : str
        The digest of the study that the text in ``digest`` is a question of; empty if it is the study's own.
    """

    study: str
    participant: str
    digest: str
    group: str
    epsilon: str
    delta: str
    contribution: Contribution | None = field(repr=False)
    receipt: dict[str, Any] | None = field(default=None, repr=False)
    keys: dict[str, Any] | None = field(default=None, repr=False)
    withdrawal: dict[str, Any] | None = field(default=None, repr=False)
    asked_in: str = ""
    answer: dict[str, Any] | None = field(default=None, repr=False)
    answer_receipt: dict[str, Any] | None = field(default=None, repr=False)
    turns: str = ""

    def to_json(self) -> str:
        """Serialize the entry as text."""
        content = {"format": _FORMAT, **asdict(self)}
        content["contribution"] = None if self.contribution is None else self.contribution.to_dict()
        for name in ("asked_in", "answer", "answer_receipt", "turns"):
            if not content[name]:
                del content[name]  # so that journals of other studies are what they have always been
        return json.dumps(content, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "JournalEntry":
        """Restore an entry from a text that `to_json` wrote.

        Raises `ProtocolError` for anything else.
        """
        try:
            content = json.loads(text)
            if content.pop("format") != _FORMAT:
                raise ValueError
            stored = content.pop("contribution")
            entry = cls(**content, contribution=None if stored is None else Contribution.from_dict(stored))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ProtocolError):
            raise_unchained(ProtocolError("This is not a journal."))
        if not entry.consistent:
            raise ProtocolError("This is not a journal.")
        return entry

    @property
    def consistent(self) -> bool:
        """Whether the parts have the types they must have, and belong together."""
        texts = (self.study, self.participant, self.digest, self.group, self.epsilon, self.delta, self.turns)
        documents = (self.receipt, self.keys, self.withdrawal, self.answer, self.answer_receipt)
        right = all(isinstance(text, str) for text in texts) and is_digest(self.digest) and self.group in GROUPS
        right = right and (self.asked_in == "" or is_digest(self.asked_in))
        right = right and all(document is None or isinstance(document, dict) for document in documents)
        made = self.contribution
        if made is None:
            return right and self.withdrawal is not None
        return right and (made.digest, made.group) == (self.digest, self.group)

    @property
    def study_digest(self) -> str:
        """The digest of the study, which an app may have pinned."""
        return self.asked_in or self.digest


class Journal(ABC):
    """Where one entry is kept."""

    @abstractmethod
    def read(self) -> JournalEntry | None:
        """Return the entry, or None if nothing has been drawn yet."""

    @abstractmethod
    def create(self, entry: JournalEntry) -> JournalEntry:
        """Keep a new entry, unless there is one; the entry that is kept. It is safe once this returns."""

    @abstractmethod
    def update(self, before: JournalEntry, after: JournalEntry) -> JournalEntry:
        """Replace the entry, if it still is ``before`` and was not withdrawn; the entry that is kept then.

        Another process may have changed it since it was read. A withdrawal is final: what it deleted never comes back.
        """

    @abstractmethod
    def remove(self, before: JournalEntry) -> None:
        """Keep nothing any more, if the entry still is ``before``."""


class MemoryJournal(Journal):
    """A journal that ends with the program: after a restart nothing can be sent again, withdrawn or told apart."""

    def __init__(self) -> None:
        self._entry: JournalEntry | None = None
        self._lock = threading.Lock()

    def read(self) -> JournalEntry | None:
        """Return the entry, or None if nothing has been drawn yet."""
        return self._entry

    def create(self, entry: JournalEntry) -> JournalEntry:
        """Keep a new entry, unless there is one; the entry that is kept."""
        with self._lock:
            if self._entry is None:
                self._entry = entry
            return self._entry

    def update(self, before: JournalEntry, after: JournalEntry) -> JournalEntry:
        """Replace the entry, if it still is ``before`` and was not withdrawn; the entry that is kept then."""
        with self._lock:
            if self._entry is before and before.withdrawal is None:
                self._entry = after
            return self._entry or before

    def remove(self, before: JournalEntry) -> None:
        """Keep nothing any more, if the entry still is ``before``."""
        with self._lock:
            if self._entry is before:
                self._entry = None


class FileJournal(Journal):
    """A journal in a file: one for each person and study.

    Parameters
    ----------
    path : Path or str
        The file; created with the first contribution. Its folder must exist.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(os.path.realpath(path))  # links must not make two journals of one

    def __repr__(self) -> str:
        return f"FileJournal({str(self.path)!r})"

    def read(self) -> JournalEntry | None:
        """Read the entry, or return None if there is no file yet.

        A file that cannot be read is an error, never a new start.
        """
        try:
            text = self.path.read_text("utf-8")
        except FileNotFoundError:
            return None
        except OSError as reason:
            raise_unchained(DataError(f"The journal {self.path} cannot be read ({reason.strerror})."))
        except UnicodeDecodeError:
            text = ""
        try:
            return JournalEntry.from_json(text)
        except ProtocolError:
            raise_unchained(
                DataError(
                    f"{self.path} is not a journal, or is damaged. Nothing was sent. Restore it from a copy: drawing "
                    "anew would cost ε a second time if it has been sent before."
                )
            )

    def create(self, entry: JournalEntry) -> JournalEntry:
        """Put a new entry on disk, unless another process was first: then theirs is the one that counts."""
        try:
            written = self._write_beside(entry)
            try:
                self._name_exclusively(written, entry)
            finally:
                written.unlink(missing_ok=True)
            _sync_folder(self.path.parent)
        except FileExistsError:
            pass
        except OSError as reason:
            self._cannot_be_written(reason)
        kept = self.read()
        if kept is None:
            raise DataError(f"The journal {self.path} was removed while it was being written. Nothing was sent.")
        return kept

    def update(self, before: JournalEntry, after: JournalEntry) -> JournalEntry:
        """Replace the entry on disk, if it still is ``before`` and was not withdrawn; the entry that is kept then.

        There is always a whole one, the old or the new. A journal that was removed since is not made again.
        """
        try:
            with locked(self.path):
                now = self.read()
                if now is None:
                    raise DataError(f"The journal {self.path} was removed while it was in use.")
                if now.to_json() != before.to_json() or now.withdrawal is not None:  # as texts: NaN is not NaN
                    return now
                self._replace(after)
        except OSError as reason:
            self._cannot_be_written(reason)
        return after

    def remove(self, before: JournalEntry) -> None:
        """Remove the file, if the entry still is ``before``."""
        try:
            with locked(self.path):
                now = self.read()
                if now is not None and now.to_json() == before.to_json():
                    self.path.unlink()
                    _sync_folder(self.path.parent)
        except OSError as reason:
            self._cannot_be_written(reason)

    def _replace(self, entry: JournalEntry) -> None:
        written = self._write_beside(entry)
        try:
            written.replace(self.path)
        finally:
            written.unlink(missing_ok=True)
        _sync_folder(self.path.parent)

    def _write_beside(self, entry: JournalEntry) -> Path:
        """Write the entry to disk, in a file of another name in the same folder."""
        path = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}.tmp")
        _write_new(path, entry)
        return path

    def _name_exclusively(self, written: Path, entry: JournalEntry) -> None:
        """Give a written file its name; `FileExistsError` if the name is taken, also if it is taken at this moment."""
        try:
            os.link(written, self.path)
        except FileExistsError:
            raise
        except OSError:  # some file systems have no hard links
            _write_new(self.path, entry)

    def _cannot_be_written(self, reason: OSError) -> None:
        raise_unchained(DataError(f"The journal {self.path} cannot be written ({reason.strerror})."))


def _write_new(path: Path, entry: JournalEntry) -> None:
    """Write a file that was not there, for its owner only, and wait until it is on disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(entry.to_json().encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """Put a new name on disk too, where the system can be told to."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems cannot; the file itself is on disk
            os.fsync(handle)
    finally:
        os.close(handle)
