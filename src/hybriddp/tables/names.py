"""Names of files: which there are, and which format their ending says."""

from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path, PurePath

from hybriddp.errors import DataError

KINDS = {
    ".parquet": ".parquet",
    ".csv": ".csv",
    ".tsv": ".tsv",
    ".jsonl": ".jsonl",
    ".ndjson": ".jsonl",
    ".json": ".json",
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
"""Endings of compressed text files, after that of the format."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that is there.

    Attributes
    ----------
    name : str
        Its path, or its address with ``://``.
    kind : str
        Its format: .parquet, .csv, .tsv, .jsonl or .json.
    compression : str or None
        gzip or zstd, for text files.
    root : str or None
        The folder that was named, if it was found in one: what stands between may be Hive partitions.
    """

    name: str
    kind: str
    compression: str | None = None
    root: str | None = None

    @property
    def remote(self) -> bool:
        """Whether it is an address that the engine opens by itself."""
        return "://" in self.name

    @property
    def is_text(self) -> bool:
        """Whether its cells are texts, so that somebody has to say what they mean."""
        return self.kind != ".parquet"


def file_of(name: str, root: str | None = None) -> File:
    """A file by its name; `DataError` if the ending says no format that we read."""
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    kind = (
        KINDS.get((suffixes[:-1] if compression else suffixes)[-1:][0]) if len(suffixes) > bool(compression) else None
    )
    if kind is None:
        raise DataError(f"{PurePath(name).name} must end in one of {', '.join(KINDS)}, text files also in .gz or .zst.")
    if compression and kind == ".parquet":
        raise DataError(f"{PurePath(name).name} must not be compressed as a whole: Parquet files are inside.")
    return File(name, kind, compression, root)


def ending(path: PurePath) -> str:
    """The format that a file is written in; `DataError` if it is none that we write."""
    kind = KINDS.get(path.suffix.lower())
    if kind in (None, ".json"):
        raise DataError(f"{path.name} must end in one of .parquet, .csv, .tsv, .jsonl, .ndjson.")
    return str(kind)


def expand(names: Sequence[str]) -> list[File]:
    """The files that are named: ``*`` stands for anything, a folder for the Parquet files in it.

    A file that is named twice would be counted twice, so that is refused.
    """
    found: list[File] = []
    for name in names:
        if "://" in name or Path(name).is_file():
            found.append(file_of(name))
        elif Path(name).is_dir():
            found += _in_folder(Path(name))
        else:
            found += _matching(name)
    if len({_identity(file) for file in found}) < len(found):
        raise DataError("The same file is named twice: its users would be counted twice.")
    return found


def _identity(file: File) -> str | tuple[int, int]:
    """What a file is, whatever it is called: links, hard ones too, are other names of the same file."""
    if file.remote:
        return file.name
    status = Path(file.name).stat()
    return (status.st_dev, status.st_ino) if status.st_ino else str(Path(file.name).resolve())


def _matching(pattern: str) -> list[File]:
    matches = sorted(glob(pattern, recursive=True))
    files = [file_of(match) for match in matches if Path(match).is_file()]
    if not files:
        files = [file for match in matches for file in _in_folder(Path(match))]
    if not files:
        file_of(pattern)  # an ending that nobody knows is the better reason
        raise DataError(f"There is no file {pattern}.")
    return files


def _in_folder(folder: Path) -> list[File]:
    """The Parquet files of a folder; names that begin with . or _ are those of the writer's own notes."""
    parts = [path.relative_to(folder) for path in sorted(folder.rglob("*.parquet")) if path.is_file()]
    shown_ones = [path for path in parts if not any(part.startswith((".", "_")) for part in path.parts)]
    if not shown_ones:
        raise DataError(f"The folder {folder} has no .parquet files. Name other files one by one, or with *.")
    return [file_of(str(folder / path), str(folder)) for path in shown_ones]


def shown(names: Sequence[str]) -> str:
    """Files in an error message."""
    return names[0] if len(names) == 1 else f"{names[0]} or one of {len(names) - 1:,} more"
