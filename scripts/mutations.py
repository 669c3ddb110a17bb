"""Plant bugs in the lines that privacy rests on, one at a time, and see whether the tests catch them.

    python scripts/mutations.py                # all of them
    python scripts/mutations.py ledger clip    # those whose name has one of these words
    python scripts/mutations.py --list         # where each one would go, without running anything

Each bug is planted in a checkout of its own, of the last commit (or of `--at`), so the working tree is left alone. The
tests of the rooms concerned run until one fails. That one is run again without the bug: if it fails then too, it has
not caught anything, and the others go on. What survives is listed, and the exit code says how many.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUN = ["-q", "-x", "-rfE", "-p", "no:cacheprovider", "-m", "not long and not spark"]

MOST_BROKEN = 5  # tests that fail without the bug

RELEASE = ("release/**", "mean/**")
CHANNELS = ("channels/**",)
FREQUENCY = ("frequency/test_answer.py", "frequency/**")
KMEANS = ("kmeans/test_audit.py", "kmeans/protocol/**", "kmeans/test_*.py", "kmeans/**")
DISTRIBUTION = ("distribution/**",)
UNSEEDED = ("release/test_unseeded.py",)
INTERFERENCE = ("release/test_noninterference.py",)
DEGENERATE = ("release/test_degenerate.py",)
CONTRIBUTION = ("kmeans/test_sensitivity.py", "kmeans/test_statistics.py", *KMEANS)


@dataclass(frozen=True)
class Bug:
    """A wrong line.

    Attributes
    ----------
    name : str
        What kind of line it is, and what is wrong.
    right, wrong : str
        The text, which must occur once in all of the source, and what takes its place.
    tests : tuple of str
        Patterns of test files, the likeliest first.
    """

    name: str
    right: str
    wrong: str
    tests: tuple[str, ...]


BUGS = (
    # How much one user can change
    Bug(
        "sensitivity: a replaced point changes the numbers of one user only",
        "CHANGED_USERS = 2",
        "CHANGED_USERS = 1",
        KMEANS,
    ),
    Bug(
        "sensitivity: a K-means release forgets that one point leaves and another one comes",
        "return CHANGED_USERS * statistic.max_contribution",
        "return statistic.max_contribution",
        KMEANS,
    ),
    Bug(
        "sensitivity: the two histograms of a distribution count as one",
        "SENSITIVITY = 4",
        "SENSITIVITY = 2",
        DISTRIBUTION,
    ),
    Bug(
        "sensitivity: the count of a cluster is not in the bound",
        "return self.count_weight + L1_UNIT",
        "return L1_UNIT",
        CONTRIBUTION,
    ),
    Bug(
        "sensitivity: a total is thought to move by half of the range",
        "laplace_scale(UNITS, privacy)",
        "laplace_scale(UNITS // 2, privacy)",
        RELEASE,
    ),
    Bug(
        "sensitivity: counts of categories forget that one goes down when another one goes up",
        "return 1 if n_categories == 2 else 2",
        "return 1",
        FREQUENCY,
    ),
    # Noise
    Bug(
        "scale: what is drawn has half the scale of what is stated",
        "_measurement(self)([0] * math.prod(shape))",
        "_measurement(Mechanism(self.kind, self.scale / 2))([0] * math.prod(shape))",
        RELEASE,
    ),
    Bug(
        "scale: Gaussian noise for half of the range",
        ".map(UNITS)[0]) <= privacy.exact_epsilon",
        ".map(UNITS // 2)[0]) <= privacy.exact_epsilon",
        RELEASE,
    ),
    Bug(
        "scale: seeded noise is a fifth too small",
        "stop = -math.expm1(-1 / self.scale)",
        "stop = -math.expm1(-1.25 / self.scale)",
        RELEASE,
    ),
    Bug(
        "scale: the local Laplace channel's rate is doubled",
        "return (Fraction(Decimal(self.epsilon)) - _SLACK) / UNITS",
        "return 2 * (Fraction(Decimal(self.epsilon)) - _SLACK) / UNITS",
        CHANNELS,
    ),
    Bug(
        "ledger: the counts of categories are released without being paid for",
        "charge_study(ledger, [counts_event(study, study.users)], promised=study.privacy)",
        "counts_event(study, study.users)",
        FREQUENCY,
    ),
    # Noise that somebody else can draw again
    Bug(
        "seed: counts, histograms and K-means get the same noise every time",
        'Mechanism("discrete-laplace", scale).draw(values.shape, random_state)',
        'Mechanism("discrete-laplace", scale).draw(values.shape, 0 if random_state is None else random_state)',
        UNSEEDED,
    ),
    Bug(
        "seed: lists of items get the same noise every time",
        'Mechanism("discrete-laplace", rule.scale).draw((len(seen),), random_state)',
        'Mechanism("discrete-laplace", rule.scale).draw((len(seen),), 0 if random_state is None else random_state)',
        UNSEEDED,
    ),
    Bug(
        "seed: totals get the same noise every time",
        "int(mechanism.draw((), random_state))",
        "int(mechanism.draw((), 0 if random_state is None else random_state))",
        UNSEEDED,
    ),
    Bug(
        "seed: reports are drawn from a seed that everybody knows",
        "        return SystemBytes()\n",
        "        return SeededBytes(0)\n",
        UNSEEDED,
    ),
    # Raw values beside the release
    Bug(
        "interference: a mean is that of the exact total",
        "TrustedStatistics.of(released),",
        'TrustedStatistics.of(__import__("dataclasses").replace(released, total=checked.trusted.total)),',
        INTERFERENCE,
    ),
    Bug(
        "interference: noisy counts are kept above the smallest exact one",
        "GroupShares.of_counts(released.values, released.count, released.variance)",
        "GroupShares.of_counts(np.maximum(released.values, raw.array().min()), released.count, released.variance)",
        INTERFERENCE,
    ),
    Bug(
        "interference: histograms count less where few bins have users",
        "fits=fit_groups(released, evidence_of(study, reports)),",
        'fits=fit_groups(released and __import__("dataclasses").replace(released, variance=released.variance * '
        "np.count_nonzero(checked.trusted.counts)), evidence_of(study, reports)),",
        INTERFERENCE,
    ),
    Bug(
        "interference: items that reports led to have exact counts",
        "of_trusted = trusted_shares(counts, n_trusted, released.rule, listed)",
        "of_trusted = trusted_shares(np.array([float(trusted.counts.get(i, 0)) for i in items]), n_trusted, "
        "released.rule, listed)",
        INTERFERENCE,
    ),
    # Noise whose scale is chosen from data
    Bug(
        "data: histograms with one bin get half of the noise",
        "release_vector(tree(counts), sensitivity=SENSITIVITY,",
        "release_vector(tree(counts), sensitivity=SENSITIVITY // (2 if np.count_nonzero(counts) < 2 else 1),",
        DEGENERATE,
    ),
    Bug(
        "data: counts of one category get half of the noise",
        "release_vector(released, sensitivity=bound,",
        "release_vector(released, sensitivity=min(bound, int(np.count_nonzero(exact))),",
        DEGENERATE,
    ),
    Bug(
        "data: items get less noise in a small group",
        'Mechanism("discrete-laplace", rule.scale).draw(',
        'Mechanism("discrete-laplace", min(rule.scale, n_users)).draw(',
        DEGENERATE,
    ),
    Bug(
        "data: K-means adds as much noise as there are numbers to hide",
        "release_vector(exact, sensitivity=bound,",
        "release_vector(exact, sensitivity=min(bound, int(np.abs(exact).sum())),",
        DEGENERATE,
    ),
    Bug(
        "data: a total gets less noise in a small group",
        "noisy = total + int(mechanism.draw(",
        "noisy = total + int((mechanism if count > 1 else Mechanism(mechanism.kind, mechanism.scale / 2)).draw(",
        DEGENERATE,
    ),
    # Who is asked
    Bug(
        "rounds: somebody whose round is over answers a later one",
        '        raise Refusal("late", round_number=turn)\n',
        "        pass\n",
        ("service/test_kmeans_life.py",),
    ),
    Bug(
        "rounds: answers that arrive after their round has ended are acknowledged",
        "    if outcome is Verdict.CLOSED:  # the round ended while the answer was on its way\n",
        "    if False:\n",
        ("service/test_kmeans_life.py",),
    ),
    # Fractions of the budget
    Bug(
        "budget: every release of K-means takes all of ε",
        "exact = release.epsilon_fraction * self.study.privacy.exact_epsilon",
        "exact = self.study.privacy.exact_epsilon",
        KMEANS,
    ),
    Bug(
        "budget: the plan of a large trusted group spends 110 %",
        "epsilon=(0, 0, 20, 20, 0, 10, 15, 0, 35)",
        "epsilon=(0, 0, 20, 20, 0, 10, 15, 0, 45)",
        ("kmeans/algorithm/**", *KMEANS),
    ),
    Bug(
        "budget: what a K-means study has spent is not added up",
        "return sum((Fraction(step.trusted_epsilon) for step in self.spending), Fraction(0))",
        "return Fraction(0)",
        ("kmeans/protocol/**", *KMEANS),
    ),
    # Local reports
    Bug(
        "channel: odds of e^(ε + 0.01) pass",
        "likely << SHIFT <= unlikely * odds(epsilon)",
        "likely << SHIFT <= unlikely * odds(epsilon) * 101 // 100",
        CHANNELS,
    ),
    Bug(
        "channel: a window's odds are thought to be b/a",
        "require_private(a + b, a, epsilon)",
        "require_private(b, a, epsilon)",
        CHANNELS,
    ),
    Bug(
        "channel: a unary report's zeros are not counted",
        "require_private(self.one * (total - self.zero), self.zero * (total - self.one), self.epsilon)",
        "require_private(self.one, self.zero, self.epsilon)",
        CHANNELS,
    ),
    Bug(
        "channel: the pattern of a masked report depends on the bin",
        "pattern = self.draw_patterns(words[1::2].astype(np.uint32))",
        "pattern = self.draw_patterns(words[1::2].astype(np.uint32) ^ inputs.astype(np.uint32) << np.uint32(24))",
        CHANNELS,
    ),
    Bug(
        "channel: e^ε is rounded up",
        "term = term * x.numerator // (x.denominator * k)",
        "term = -(-term * x.numerator // (x.denominator * k)) if term > 1 else 0",
        ("test_privacy.py", "channels/**"),
    ),
    # Clipping
    Bug(
        "clipping: long residuals stay long",
        "np.where(length > L1_UNIT, clipped, whole)",
        "np.where(length > L1_UNIT, whole, whole)",
        CONTRIBUTION,
    ),
    Bug(
        "clipping: what is not a number becomes the smallest integer",
        "np.clip(np.nan_to_num(vectors), -1e6, 1e6)",
        "np.clip(vectors, -1e6, 1e6)",
        CONTRIBUTION,
    ),
    Bug(
        "clipping: values above the upper bound stay there",
        "y = x.clip(lower, upper) if out is None else x.clip(lower, upper, out=out)",
        "y = x.clip(lower, None) if out is None else x.clip(lower, None, out=out)",
        ("test_grid.py", "tables/**", "mean/**"),
    ),
    # The ledger
    Bug(
        "ledger: nobody asks whether enough is left",
        "                self._check_sums(charge.event, charge.promised)\n",
        "",
        ("release/**",),
    ),
    Bug(
        "ledger: a release is checked and not written down",
        "charge_study(ledger, [total_event(study, privacy, part, name)], promised=privacy)",
        "ledger.require(total_event(study, privacy, part, name), promised=privacy)",
        RELEASE,
    ),
    Bug(
        "ledger: a histogram is checked and not written down",
        "charge_study(ledger, [histogram_event(study, privacy, part, name)], promised=privacy)",
        "ledger.require(histogram_event(study, privacy, part, name), promised=privacy)",
        DISTRIBUTION,
    ),
    Bug(
        "ledger: the last part counts instead of the one that spent most",
        "\n        partition.most = partition.most.at_least(account.sums)",
        "\n        partition.most = account.sums",
        ("release/**",),
    ),
    Bug(
        "ledger: δ is not compared",
        "return self.epsilon <= limit.epsilon and self.delta <= limit.delta",
        "return self.epsilon <= limit.epsilon",
        ("release/**",),
    ),
    Bug(
        "ledger: K-means adds noise without paying",
        "self.ledger.spend(event, promised=None if is_again(self.ledger, event) else self.study.privacy)",
        "pass",
        ("kmeans/protocol/**", *KMEANS),
    ),
    Bug(
        "ledger: a study is charged to trusted users only",
        "return [Charge(replace(both, who=EVERYBODY), promised)]",
        "return [Charge(both, promised)]",
        ("release/test_charging.py",),
    ),
    Bug(
        "ledger: what everybody is charged keeps a mechanism that local reports do not have",
        "both = replace(event, mechanism=None)",
        "both = event",
        ("release/test_charging.py",),
    ),
    Bug(
        "ledger: reports of one part make those of all others free",
        "        return charged is None\n",
        "        return True\n",
        ("release/test_charging.py",),
    ),
    Bug(
        "ledger: a result that is there is drawn again",
        "if any(e.result in ledger.complete_results for e in before):",
        "if False:",
        ("cli/test_keeping.py",),
    ),
    Bug(
        "ledger: a result is named before the ledger has its hash",
        "        note_saved(self.ledger, self.path.name, sha256(data).hexdigest())\n        self._rename()\n",
        "        self._rename()\n        note_saved(self.ledger, self.path.name, sha256(data).hexdigest())\n",
        ("cli/test_keeping.py",),
    ),
)


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
    """A commit in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="mutation-"))
    _git("worktree", "add", "--quiet", "--detach", str(folder / "tree"), commit)
    try:
        yield folder / "tree"
    finally:
        _git("worktree", "remove", "--force", str(folder / "tree"))
        shutil.rmtree(folder, ignore_errors=True)


def plant(bug: Bug, tree: Path) -> tuple[Path, str]:
    """Put the bug in; the file, and its text before. `LookupError` if there is not exactly one place for it."""
    texts = {path: path.read_text("utf-8") for path in sorted((tree / "src").rglob("*.py"))}
    places = [path for path, text in texts.items() for _ in range(text.count(bug.right))]
    if len(places) != 1:
        raise LookupError(f"the right text occurs {len(places)} times: {bug.right.strip()}")
    path = places[0]
    path.write_text(texts[path].replace(bug.right, bug.wrong), "utf-8")
    return path, texts[path]


def selected(bug: Bug, tree: Path) -> list[str]:
    """Its test files, the likeliest first."""
    found = (path for pattern in bug.tests for path in sorted((tree / "tests").glob(_files(pattern))))
    return list(dict.fromkeys(path.relative_to(tree).as_posix() for path in found if path.name.startswith("test_")))


def run(bug: Bug, commit: str) -> Outcome:
    """Plant it, run its tests until one fails, and see that this one passes without it."""
    start = time.monotonic()
    with checkout(commit) as tree:
        try:
            path, before = plant(bug, tree)
        except LookupError as error:
            return Outcome(bug, "", None, 0.0, str(error))
        line = before[: before.index(bug.right)].count("\n") + 1
        where = f"{path.relative_to(tree).as_posix()}:{line}"
        planted, tests = path.read_text("utf-8"), selected(bug, tree)
        for _ in range(MOST_BROKEN):
            output = _pytest(tests, tree)
            failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
            if failed is None:
                passed = re.search(r"^\d+ passed", output.splitlines()[-1] if output else "")
                return Outcome(bug, where, None, time.monotonic() - start, "" if passed else output[-500:].strip())
            test = failed[1].partition("[")[0]
            path.write_text(before, "utf-8")
            again = _pytest([test], tree)
            if "passed" in again and "failed" not in again:
                return Outcome(bug, where, failed[1], time.monotonic() - start)
            path.write_text(planted, "utf-8")
            tests += ["--deselect", test]
        return Outcome(bug, where, None, time.monotonic() - start, "too many tests fail without it")


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


def _list(bugs: list[Bug], commit: str) -> int:
    lost = 0
    with checkout(commit) as tree:
        for bug in bugs:
            try:
                path, before = plant(bug, tree)
            except LookupError as error:
                lost += 1
                print(f"NO PLACE {bug.name}\n         {error}")
                continue
            path.write_text(before, "utf-8")
            print(f"{path.relative_to(tree).as_posix()}: {bug.name} ({len(selected(bug, tree))} test files)")
    return lost


def _files(pattern: str) -> str:
    return f"{pattern}/test_*.py" if pattern.endswith("**") else pattern


def _pytest(tests: list[str], tree: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "300"}
    command = [sys.executable, "-m", "pytest", *RUN, *tests]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip() or done.stderr


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True)  # noqa: S603, S607


if __name__ == "__main__":
    sys.exit(main())
