"""Interleaved timing, so that a busy machine slows both sides of a ratio alike; and memory."""

import time
import tracemalloc
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


def least_cpu(actions: dict[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Processor seconds each action takes: the least over rounds in which every action runs once."""
    seconds = dict.fromkeys(actions, float("inf"))
    for action in actions.values():
        action()  # the first call pays for imports and caches
    for _ in range(rounds):
        for name, action in actions.items():
            start = time.process_time()
            action()
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds


def peak_bytes(action: Callable[[], object]) -> int:
    """The most memory that an action holds at once, beside what was there before it; arrays of numpy count."""
    action()  # what stays for the next call, such as modules and caches, is not the action's
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
