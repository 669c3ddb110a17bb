"""Count the files of hybriddp in which a function runs during two everyday walks.

    python scripts/files_touched.py

The walks are `HybridKMeans.fit` in five dimensions, and ``hybriddp mean`` on a small CSV file. What an import runs is
not counted: a reader who follows a call meets functions.
"""

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

import hybriddp
from hybriddp import HybridKMeans, Ledger, Privacy
from hybriddp.cli import app

ROOT = Path(hybriddp.__file__).parent
QUIET = contextlib.redirect_stderr(io.StringIO())
POINTS = np.random.default_rng(0).random((4000, 5))


def touched(walk: Callable[[], object]) -> list[str]:
    """The files, below the package, of all functions that a walk calls."""
    found: set[str] = set()

    def trace(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and frame.f_code.co_name != "<module>" and path.is_relative_to(ROOT):
            found.add(path.relative_to(ROOT).as_posix())

    sys.settrace(trace)
    try:
        walk()
    finally:
        sys.settrace(None)
    return sorted(found)


def fit() -> None:
    """K-means of both groups, as a private release."""
    HybridKMeans(3, epsilon=2, bounds=[(0, 1)] * 5).fit(POINTS[:1000], POINTS[1000:])


def mean() -> None:
    """The mean of a column, on the command line: half of the users trust, half have sent a code."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), QUIET:
        path = Path(folder) / "users.csv"
        path.write_text("minutes,code\n" + "".join(f"{x % 240},\n,{x % 256}\n" for x in range(500)))
        flags = ["--value", "minutes", "--report", "code", "--bounds", "0", "240", "--epsilon", "1"]
        Ledger.create(Path(folder) / "people.ledger", Privacy(epsilon=1))
        app(["mean", str(path), *flags, "--ledger", str(Path(folder) / "people.ledger")], standalone_mode=False)


if __name__ == "__main__":
    for name, walk in (("HybridKMeans.fit, d = 5", fit), ("hybriddp mean", mean)):
        files = touched(walk)
        print(f"{name}: {len(files)} files")
        print(*(f"  {file}" for file in files), sep="\n")
