"""Plant bugs in the lines that privacy rests on, one at a time, and see whether the tests catch them.

    python scripts/mutations.py                # all of `scripts/planted_bugs.py`
    python scripts/mutations.py ledger clip    # those whose name has one of these words
    python scripts/mutations.py --list         # where each one would go, without running anything

Each bug is planted in a checkout of its own, of the last commit (or of `--at`), so the working tree is left alone. The
tests of the rooms concerned run until one fails. That one is run again without the bug: if it fails then too, it has
not caught anything, and the others go on. What survives is listed, and the exit code says how many.

Tests of Python run with pytest. A bug in JavaScript is built into `js/dist`, and its tests run with Node.js.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from planted_bugs import BUGS, Bug

ROOT = Path(__file__).resolve().parents[1]
MOST_BROKEN = 5  # tests that fail without the bug


@dataclass(frozen=True)
class Failure:
    """A test that failed, and what runs it alone."""

    name: str
    test: str


@dataclass(frozen=True)
class Outcome:
    """What became of a bug: caught by a test, survived, or not planted."""

    bug: Bug
    where: str
    caught_by: str | None
    seconds: float
    problem: str = ""


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Check a commit out in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="mutation-"))
    _git("worktree", "add", "--quiet", "--detach", str(folder / "tree"), commit)
    try:
        yield folder / "tree"
    finally:
        _git("worktree", "remove", "--force", str(folder / "tree"))
        shutil.rmtree(folder, ignore_errors=True)


def run(bug: Bug, commit: str) -> Outcome:
    """Plant a bug, run its tests until one fails, and see that this one passes without it."""
    start = time.monotonic()
    with checkout(commit) as tree:
        try:
            path = bug.place(tree)
        except LookupError as error:
            return Outcome(bug, "", None, 0.0, str(error))
        right = path.read_text("utf-8")
        wrong = right.replace(bug.right, bug.wrong)
        line = right[: right.index(bug.right)].count("\n") + 1
        where = f"{path.relative_to(tree).as_posix()}:{line}"
        first_failure = _first_failure_in_node if path.suffix == ".ts" else _first_failure_in_python
        try:
            caught = _caught_by(
                lambda: path.write_text(wrong, "utf-8"),
                lambda: path.write_text(right, "utf-8"),
                bug.test_files(tree),
                lambda tests, left_out: first_failure(tests, left_out, tree),
            )
        except RuntimeError as problem:
            return Outcome(bug, where, None, time.monotonic() - start, str(problem))
        return Outcome(bug, where, caught, time.monotonic() - start)


def _caught_by(
    plant: Callable[[], object],
    remove: Callable[[], object],
    tests: Sequence[str],
    first_failure: Callable[[Sequence[str], Sequence[str]], Failure | None],
) -> str | None:
    """Find a test that fails with the bug and passes without it."""
    broken: list[str] = []
    while len(broken) < MOST_BROKEN:
        plant()
        failure = first_failure(tests, broken)
        if failure is None:
            return None
        remove()
        if first_failure([failure.test], ()) is None:
            return failure.name
        broken.append(failure.test)
    raise RuntimeError("too many tests fail without it")


def main() -> int:
    """Print one line for each bug; the number of those that no test caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="run the bugs whose name has one of these words")
    parser.add_argument("--at", default="HEAD", help="the commit to plant them in")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    parser.add_argument("--list", action="store_true", help="only say where they would go")
    options = parser.parse_args()
    bugs = [bug for bug in BUGS if not options.words or any(word in bug.name for word in options.words)]
    if options.list:
        return _list(bugs, options.at)
    survived = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda bug: run(bug, options.at), bugs):
            survived += outcome.caught_by is None
            verdict = "caught  " if outcome.caught_by else "SURVIVED" if outcome.where else "NO PLACE"
            print(f"{verdict} {outcome.bug.name}  [{outcome.where}, {outcome.seconds:.0f} s]", flush=True)
            print(f"         {outcome.caught_by or outcome.problem or 'all its tests pass'}", flush=True)
    print(f"{len(bugs) - survived} of {len(bugs)} bugs were caught.")
    return survived


def _list(bugs: Sequence[Bug], commit: str) -> int:
    lost = 0
    with checkout(commit) as tree:
        for bug in bugs:
            try:
                path = bug.place(tree)
            except LookupError as error:
                lost += 1
                print(f"NO PLACE {bug.name}\n         {error}")
                continue
            print(f"{path.relative_to(tree).as_posix()}: {bug.name} ({len(bug.test_files(tree))} test files)")
    return lost


def _first_failure_in_python(tests: Sequence[str], left_out: Sequence[str], tree: Path) -> Failure | None:
    """Run tests with pytest until one fails; `RuntimeError` if it could not."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "300"}
    how = ["-q", "-x", "-rfE", "-p", "no:cacheprovider", "-m", "not long and not spark"]
    without = [word for test in left_out for word in ("--deselect", test)]
    done = _run([sys.executable, "-m", "pytest", *how, *tests, *without], tree, environment)
    output = done.stdout.strip() or done.stderr
    # Logs have lines that begin with ERROR, too.
    failed = re.search(r"^(?:FAILED|ERROR) ((?:docs|src|tests)/.+?)(?: - .*)?$", output, re.MULTILINE)
    if failed is not None:
        return Failure(failed[1], failed[1].partition("[")[0])
    if not re.search(r"^\d+ passed", output.splitlines()[-1] if output else ""):
        raise RuntimeError(output[-500:].strip())
    return None


def _first_failure_in_node(tests: Sequence[str], left_out: Sequence[str], tree: Path) -> Failure | None:
    """Build the package and run tests with Node.js until a file of them fails; `RuntimeError` if it is not built."""
    modules = tree / "js" / "node_modules"
    if not modules.exists():
        modules.symlink_to(ROOT / "js" / "node_modules", target_is_directory=True)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    built = _run(["npm", "run", "--silent", "build"], tree / "js", environment)
    if built.returncode:
        raise RuntimeError(built.stderr[-500:].strip())
    for test in tests:
        if test in left_out:
            continue
        file = Path(test).relative_to("js").as_posix()
        done = _run(["node", "--test", "--test-reporter=tap", file], tree / "js", environment)
        if done.returncode:
            failed = re.search(r"^\s*not ok \d+ - (.+)$", done.stdout, re.MULTILINE)
            return Failure(f"{test}: {failed[1] if failed else 'it ends'}", test)
    return None


def _run(command: Sequence[str], folder: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True)  # noqa: S603, S607


if __name__ == "__main__":
    sys.exit(main())
