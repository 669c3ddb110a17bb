"""Scripts and styles that pages use: read once, and served from this server under a name that has their hash.

They are made from `js/pages` by ``make pages`` and are part of the wheel. A server without them works too: its pages
say in words what is missing, and do without.
"""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

__all__ = ["FOLDER", "StaticFile", "StaticFiles", "static_files"]

FOLDER = Path(__file__).with_name("static")
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".txt": "text/plain",
}


@dataclass(frozen=True, repr=False)
class StaticFile:
    """A file as it is sent."""

    name: str
    content: bytes

    @cached_property
    def digest(self) -> str:
        """The first 16 digits of its SHA-256: another content has another address, so browsers may keep it for ever."""
        return hashlib.sha256(self.content).hexdigest()[:16]

    @cached_property
    def compressed(self) -> bytes:
        """The same, with gzip."""
        return gzip.compress(self.content, 9, mtime=0)

    @property
    def media_type(self) -> str:
        """What it is, by its ending."""
        return _TYPES[Path(self.name).suffix]

    @property
    def address(self) -> str:
        """Its path on the server."""
        return f"/static/{self.digest}/{self.name}"


class StaticFiles:
    """The files of a folder, of the kinds that pages use.

    Parameters
    ----------
    folder : Path
        Where they are; it may be missing.
    """

    def __init__(self, folder: Path) -> None:
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        self._files = {path.name: StaticFile(path.name, path.read_bytes()) for path in found if path.suffix in _TYPES}

    def find(self, name: str, digest: str) -> StaticFile | None:
        """The file with this name, if it still has this content."""
        file = self._files.get(name)
        return file if file is not None and file.digest == digest else None

    def address(self, name: str) -> str | None:
        """Where a file is served; None if it has not been built."""
        file = self._files.get(name)
        return None if file is None else file.address


@lru_cache(maxsize=1)
def static_files() -> StaticFiles:
    """The files of this installation."""
    return StaticFiles(FOLDER)
