"""Frequency oracles beside those of pure-LDP and multi-freq-ldpy: squared error and processor time, in one run.

    make bench NAME=frequency_peers (or python -m benchmarks.frequency_peers; --help says how to run a part of it)

Everybody is local. All see the same items (shares in proportion to $1/r$) and the same ε. pure-LDP's shares are as they
come, like our unbiased ones; multi-freq-ldpy gives none below 0 and scales them, so it is compared with ours projected
to the simplex. Our reports are drawn for many users at a time, and timed for a million; theirs are drawn one by one,
since there is no other way.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.shares.blend import project_to_simplex
from hybriddp.shares.oracle import FrequencyOracle, candidates
from hybriddp.shares.study import FrequencyStudy

ROOT = Path(__file__).parents[1]
PEERS_PYTHON = ROOT / "build" / "frequency-peers" / "bin" / "python"
SCRIPT = ROOT / "benchmarks" / "peers" / "frequency_oracles.py"
OURS, MULTI = "hybriddp", "multi-freq-ldpy"
N_USERS, N_TIMED = 20_000, 1_000_000
SETTINGS = ((2, 1.0), (16, 1.0), (16, 4.0), (64, 1.0), (64, 4.0))
_NAMES = {
    "ResponseOracle": "randomized response",
    "SubsetOracle": "subset selection",
    "UnaryOracle": "unary encoding",
    "HashingOracle": "local hashing",
}


@dataclass(frozen=True, slots=True)
class Run:
    """What one oracle did once."""

    shares: NDArray[np.float64]
    drawing_seconds: float
    counting_seconds: float


def draw_items(k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A category for each user."""
    law = 1 / np.arange(1, k + 1)
    return rng.choice(k, N_USERS, p=law / law.sum())


def own_run(oracle: FrequencyOracle, items: NDArray[np.int64], rng: np.random.Generator) -> Run:
    """One of our oracles."""
    many = np.resize(items, N_TIMED)
    began = time.process_time()
    oracle.randomize(many, rng)
    taken = (time.process_time() - began) * len(items) / N_TIMED
    reports = oracle.randomize(items, rng)
    drawn = time.process_time()
    shares = oracle.shares(oracle.tally(reports), len(items))
    return Run(shares, taken, time.process_time() - drawn)


def peers_runs(items: NDArray[np.int64], k: int, epsilon: float, seed: int) -> dict[tuple[str, str], Run]:
    """All of theirs, in their environment."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "items.npz"
        np.savez(path, items=items, n_categories=k, epsilon=epsilon, seed=seed)
        done = subprocess.run([PEERS_PYTHON, SCRIPT, path], check=True, capture_output=True, text=True)  # noqa: S603
    runs: list[dict[str, Any]] = json.loads(done.stdout)
    return {
        (run["library"], run["oracle"]): Run(np.array(run["shares"]), run["drawing_seconds"], run["counting_seconds"])
        for run in runs
    }


def compare(k: int, epsilon: float, trials: int) -> None:
    """Print a row for every oracle."""
    chosen = FrequencyStudy("items", categories=range(k), other=False, epsilon=epsilon).oracle
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    drawing: dict[tuple[str, str], list[float]] = defaultdict(list)
    counting: dict[tuple[str, str], list[float]] = defaultdict(list)
    for trial in range(trials):
        rng = np.random.default_rng([k, trial])
        items = draw_items(k, rng)
        truth = np.bincount(items, minlength=k) / len(items)
        runs = {
            (OURS, _NAMES[type(oracle).__name__]): own_run(oracle, items, rng) for oracle in candidates(str(epsilon), k)
        }
        runs[OURS, "the one chosen"] = own_run(chosen, items, rng)
        own = runs[OURS, "the one chosen"]
        runs[OURS, "the one chosen, as a distribution"] = Run(
            project_to_simplex(own.shares), own.drawing_seconds, own.counting_seconds
        )
        for name, run in (runs | peers_runs(items, k, epsilon, trial)).items():
            errors[name].append(float(np.mean((run.shares - truth) ** 2)))
            drawing[name].append(1e9 * run.drawing_seconds / len(items))
            counting[name].append(1e3 * run.counting_seconds)
    for name, found in sorted(errors.items()):
        mean, error = np.mean(found), np.std(found, ddof=1) / np.sqrt(len(found))
        library, oracle = name
        if library == OURS and oracle == "the one chosen":
            oracle += f": {_NAMES[type(chosen).__name__]}"
        print(
            f"| {k} | {epsilon:g} | {library} | {oracle} | {1e6 * mean:.3g} ± {1e6 * error:.1g} | "
            f"{np.median(drawing[name]):,.0f} | {np.median(counting[name]):,.1f} |"
        )


def main(words: Sequence[str] | None = None) -> None:
    """Compare what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frequency_peers")
    parser.add_argument("--trials", type=int, default=20)
    asked = parser.parse_args(words)
    if not PEERS_PYTHON.exists():
        sys.exit("The other libraries are not installed. Run: make bench NAME=frequency_peers")
    print("| categories | ε | library | oracle | MSE of a share, times 10^6 | a report, ns | counting, ms |")
    print("| ---: | ---: | --- | --- | ---: | ---: | ---: |")
    for k, epsilon in SETTINGS:
        compare(k, epsilon, asked.trials)


if __name__ == "__main__":
    main()
