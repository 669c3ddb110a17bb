"""Files by their names: which there are, which format an ending says, and errors that name them but quote nothing."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from glob import glob
from hashlib import file_digest
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from hybriddp.errors import DataError, HybridDPError, raise_unchained

FORMATS = {ending: ending for ending in (".parquet", ".csv", ".tsv", ".jsonl", ".json")} | {".ndjson": ".jsonl"}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
"""Endings of compressed text files, after that of the format."""

_NO_PARQUET = re.compile(r"PAR1|magic|not a parquet file|too small to be a parquet|file out of specification", re.I)
_NO_UTF8 = re.compile(r"invalid utf-?8|not utf-?8", re.I)
_REASONS = {
    "NoDataError": "it is empty",
    "ColumnNotFoundError": "its files have different columns",
    "SchemaError": "its files have different columns or types",
    "SchemaFieldNotFoundError": "its files have different columns",
    "UnicodeDecodeError": "its text is in another encoding, which --encoding can name",
    "MemoryError": "it does not fit into memory",
}


@dataclass(frozen=True, slots=True)
class File:
    """A file that exists."""

    name: str  # a path, or an address with ://
    format: str  # .parquet, .csv, .tsv, .jsonl or .json
    compression: str | None = None  # gzip or zstd, for text files
    root: str | None = None  # the folder that was named: folders between it and the file may be Hive partitions

    @property
    def remote(self) -> bool:
        """Whether it is an address that the engine opens by itself."""
        return "://" in self.name

    @property
    def is_text(self) -> bool:
        """Whether its cells are texts, whose meaning has to be found out."""
        return self.format != ".parquet"

    @property
    def is_csv(self) -> bool:
        """Whether its cells stand between separators."""
        return self.format in (".csv", ".tsv")


def file_of(name: str, root: str | None = None) -> File:
    """Describe a file by its name; `DataError` if its ending is of no format that is read."""
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    ends = suffixes[:-1] if compression else suffixes
    kind = FORMATS.get(ends[-1]) if ends else None
    if kind is None:
        raise DataError(
            f"{PurePath(name).name} must end in one of {', '.join(FORMATS)}, text files also in .gz or .zst."
        )
    if compression and kind == ".parquet":
        raise DataError(f"{PurePath(name).name} must not be compressed as a whole: Parquet files are inside.")
    return File(name, kind, compression, root)


def output_format(path: PurePath) -> str:
    """Return the format that a file is written in; `DataError` if its ending has none."""
    kind = FORMATS.get(path.suffix.lower())
    if kind in (None, ".json"):
        raise DataError(f"{path.name} must end in one of .parquet, .csv, .tsv, .jsonl, .ndjson.")
    return str(kind)


def file_names(table: Any) -> list[str] | None:  # noqa: ANN401
    """Return the files that are meant by a table, if files are meant."""
    if isinstance(table, (str, Path)):
        return [str(table)]
    if isinstance(table, (list, tuple)) and table and all(isinstance(name, (str, Path)) for name in table):
        return [str(name) for name in table]
    return None


def expand(names: Sequence[str]) -> list[File]:
    """Find the files that are named: ``*`` stands for anything, a folder for its Parquet files.

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
    _refuse_copies([file for file in found if not file.remote])
    return found


def _refuse_copies(files: Sequence[File]) -> None:
    """Raise `DataError` if two files that have rows are the same to the byte. Only files of one size are read."""
    sizes: dict[int, list[File]] = {}
    for file in files:
        sizes.setdefault(Path(file.name).stat().st_size, []).append(file)
    for alike in sizes.values():
        known: dict[tuple[bytes, tuple[str, ...]], File] = {}
        for file in alike if len(alike) > 1 else ():
            keys = tuple(part for part in Path(file.name).parts if "=" in part)  # Hive partitions say who is in them
            with Path(file.name).open("rb") as content:
                digest = (file_digest(content, "sha256").digest(), keys)
            if digest in known and _has_rows(file):
                raise DataError(
                    f"{known[digest].name} and {file.name} are the same to the byte: their users would be counted "
                    "twice. Name one of them."
                )
            known[digest] = file


def _has_rows(file: File) -> bool:
    """Whether there is more than a header: empty shards are alike, and harmless."""
    if file.is_text:
        with Path(file.name).open("rb") as content:
            return len(list(islice(content, 2))) > file.is_csv
    from pyarrow.parquet import read_metadata

    return bool(read_metadata(file.name).num_rows)


def _identity(file: File) -> str | tuple[int, int]:
    """Identify a file: links, hard ones too, are other names of the same file."""
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
        file_of(pattern)  # an unknown ending is the better reason
        raise DataError(f"There is no file {pattern}.")
    return files


def _in_folder(folder: Path) -> list[File]:
    """Find the Parquet files of a folder; names that begin with . or _ are the writer's own notes."""
    paths = [path.relative_to(folder) for path in sorted(folder.rglob("*.parquet")) if path.is_file()]
    data = [path for path in paths if not any(part.startswith((".", "_")) for part in path.parts)]
    if not data:
        raise DataError(f"The folder {folder} has no .parquet files. Name other files one by one, or with *.")
    return [file_of(str(folder / path), str(folder)) for path in data]


def table_title(names: Sequence[str] | None) -> str:
    """Files in an error message, or the table if there are none."""
    if names is None:
        return "The table"
    return names[0] if len(names) == 1 else f"{names[0]} or one of {len(names) - 1:,} more"


# Errors: what engines and dataframes say quotes cells and rows


@contextmanager
def reading(names: Sequence[str] | None, explain: Callable[[], str | None] | None = None) -> Iterator[None]:
    """Turn whatever an engine raises into a `DataError` that names the files, or the table if there are none.

    The kind of error is told. What the engine said about it is not, neither in the message nor in a chained exception:
    it may be somebody's value, quoted or not. ``explain`` may look once more and find a better sentence.
    """
    try:
        yield
    except HybridDPError:
        raise
    except Exception as reason:
        sentence = None
        with suppress(Exception):
            sentence = explain() if explain is not None else None
        raise_unchained(DataError(sentence or f"{table_title(names)} cannot be read: {_in_words(reason)}."))


def writing_error(path: object, reason: Exception) -> DataError:
    """Make the error that a file cannot be written, without what the library said about its content."""
    return DataError(f"{path} cannot be written: {_in_words(reason)}.")


def _in_words(reason: Exception) -> str:
    """Describe the kind of an error, in words that do not depend on the data."""
    if isinstance(reason, OSError) and reason.errno is not None:
        return os.strerror(reason.errno)
    kind = type(reason)
    if _NO_PARQUET.search(str(reason)):
        return "it is not a Parquet file, or a broken one"
    if "found more fields than defined" in str(reason):
        return "a row has more cells than the header"
    if _NO_UTF8.search(str(reason)):
        return "its text is not UTF-8 throughout; --encoding names another encoding"
    library = kind.__module__.split(".")[0]
    raised = kind.__qualname__ if library == "builtins" else f"{library}'s {kind.__qualname__}"
    return f"{_REASONS.get(kind.__name__, 'its content does not fit its format or its columns')} ({raised})"
