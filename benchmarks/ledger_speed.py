"""A ledger of 100,000 events on disk: opening it, and adding one event."""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.timing import least_cpu
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger, MechanismRecord, Part

_EVENTS = 100_000
_ROUNDS = 15


def main(n_events: int = _EVENTS) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        for accountant, make in (("basic", _in_parts), ("zcdp", _to_everybody)):
            print(f"ledger of {n_events:,} events, {accountant}: {_measure(Path(folder), accountant, make, n_events)}")


def _in_parts(k: int) -> Event:
    """One of many studies, in one of a thousand parts: a sum of ε = 20 has room for few events about everybody."""
    epsilon = ("0.01", "0.02", "0.05")[k % 3]
    noise = MechanismRecord.noise("discrete-laplace", sensitivity=1, scale=100)
    part = Part("region", k % 1000)
    return Event.now(
        "total of the trusted group", who="trusted", study=f"{k % 500:064d}", privacy=Privacy(epsilon=epsilon),
        part=part, mechanism=noise,
    )  # fmt: skip


def _to_everybody(k: int) -> Event:
    noise = MechanismRecord.noise("discrete-laplace", sensitivity=1, scale=100)
    return Event.now(
        "total of the trusted group", who="trusted", study=f"{k:064d}", privacy=Privacy(epsilon="0.01"), mechanism=noise
    )


def _measure(folder: Path, accountant: str, make: Callable[[int], Event], n_events: int) -> str:
    path = folder / f"{accountant}.ledger"
    Ledger.create(path, Privacy.total(epsilon=30, delta="1e-6"), accountant=accountant).spend_all(
        [make(k) for k in range(n_events)]
    )
    size = path.stat().st_size
    opening = _median(lambda: Ledger.open(path), 3)
    processor = least_cpu({"open": lambda: Ledger.open(path)}, rounds=3)["open"]
    mine, other = Ledger.open(path), Ledger.open(path)
    plain = folder / "plain"
    seconds: dict[str, list[float]] = {"alone": [], "after another process": [], "bare": []}
    for k in range(_ROUNDS):
        event = make(n_events + k)
        seconds["bare"].append(_time(lambda: _bare_append(plain)))
        seconds["alone"].append(_time(lambda event=event: mine.spend(event)))  # type: ignore[misc]
        seconds["after another process"].append(_time(lambda event=event: other.spend(event)))  # type: ignore[misc]
    one = {name: float(np.median(taken)) for name, taken in seconds.items()}
    return (
        f"{size / 1e6:.0f} MB; opens in {opening:.2f} s ({processor:.2f} s of processor time); "
        f"a spend takes {1e3 * one['alone']:.2f} ms ({1e3 * one['after another process']:.2f} ms after others), "
        f"{one['alone'] / one['bare']:.1f} times a bare append with fsync, {1e3 * one['bare']:.2f} ms"
    )


def _bare_append(path: Path) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(b"x" * 300)
        os.fsync(file.fileno())


def _time(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _median(action: Callable[[], object], rounds: int) -> float:
    return float(np.median([_time(action) for _ in range(rounds)]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else _EVENTS)
