"""Scripts and styles that pages use: read once, and served from this server under a name that has their hash.

``make pages`` builds them from `js/pages`, and they are part of every installation. A server does not start without
them: nobody can take part on a page without its script.
"""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from hybriddp.errors import DataError

__all__ = ["FOLDER", "NAMES", "StaticFile", "StaticFiles", "static_files"]

FOLDER = Path(__file__).with_name("static")
NAMES = ("plan.js", "points.js", "study.js", "take_part.js", "uplot-license.txt", "uplot.css")
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
        """First 16 digits of its SHA-256: another content has another address, so browsers may keep it for ever."""
        return hashlib.sha256(self.content).hexdigest()[:16]

    @cached_property
    def compressed(self) -> bytes:
        """Content, compressed with gzip."""
        return gzip.compress(self.content, 9, mtime=0)

    @property
    def media_type(self) -> str:
        """Media type of its ending."""
        return _TYPES[Path(self.name).suffix]

    @property
    def address(self) -> str:
        """Path on the server."""
        return f"/static/{self.digest}/{self.name}"


class StaticFiles:
    """Files of a folder that pages use.

    Parameters
    ----------
    folder : Path
        Where they are. `DataError` if one of them is missing, cannot be read or is empty.
    """

    def __init__(self, folder: Path) -> None:
        contents = {name: _content(folder / name) for name in NAMES}
        if missing := [name for name, content in contents.items() if not content]:
            raise DataError(
                f"Files of the server's pages are missing from this installation: {', '.join(missing)}. Install "
                "hybriddp again; in a checkout, restore src/hybriddp/service/static with git, or run: make pages"
            )
        self._files = {name: StaticFile(name, content) for name, content in contents.items()}

    def find(self, name: str, digest: str) -> StaticFile | None:
        """Return the file with this name, if it has this content."""
        file = self._files.get(name)
        return file if file is not None and file.digest == digest else None

    def address(self, name: str) -> str:
        """Return the path on the server of one of ``NAMES``."""
        return self._files[name].address


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@lru_cache(maxsize=1)
def static_files() -> StaticFiles:
    """Return the files of this installation."""
    return StaticFiles(FOLDER)
