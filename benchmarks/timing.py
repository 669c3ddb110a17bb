"""Interleaved timing, so that a busy machine slows both sides of a ratio alike."""

import time
from collections.abc import Callable

import numpy as np


def medians(actions: dict[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Seconds each action takes: the median over rounds in which every action runs once."""
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for action in actions.values():
        action()  # the first call pays for imports and caches
    for _ in range(rounds):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            seconds[name].append(time.perf_counter() - start)
    return {name: float(np.median(taken)) for name, taken in seconds.items()}
