"""Names of files: which there are, and which format their ending says."""

from collections.abc import Sequence
from glob import glob
from pathlib import Path, PurePath

from hybriddp.errors import DataError

ENDINGS = (".parquet", ".csv", ".jsonl", ".ndjson")


def ending(name: str | PurePath) -> str:
    """The format of a file, by the ending of its name; `DataError` if it is none that we read and write."""
    path = PurePath(name)
    if path.suffix.lower() not in ENDINGS:
        raise DataError(f"{path.name} must end in one of {', '.join(ENDINGS)}.")
    return path.suffix.lower()


def expand(names: Sequence[str]) -> list[str]:
    """The files that are named, ``*`` standing for anything; names with ``://`` are left to the engine.

    A file that is named twice would be counted twice, so that is refused.
    """
    found: list[str] = []
    for name in names:
        ending(name)
        if "://" in name or Path(name).is_file():
            found.append(name)
            continue
        matches = sorted(match for match in glob(name, recursive=True) if Path(match).is_file())
        if not matches:
            raise DataError(f"There is no file {name}.")
        found += matches
    distinct = {name if "://" in name else str(Path(name).resolve()) for name in found}
    if len(distinct) < len(found):
        raise DataError("The same file is named twice: its users would be counted twice.")
    return found


def shown(names: Sequence[str]) -> str:
    """Files in an error message."""
    return names[0] if len(names) == 1 else f"{names[0]} or one of {len(names) - 1:,} more"
