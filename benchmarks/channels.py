"""Reports through a window channel against numpy's plain Laplace noise and OpenDP's, in one thread."""

import time
import tracemalloc

import numpy as np

from benchmarks.timing import medians
from hybriddp.channels import WindowChannel, channel_from_json
from hybriddp.channels.shapes import best_shape

USERS = 10_000_000
OPENDP_USERS = 20_000


def main() -> None:
    """Measure and print."""
    rng = np.random.default_rng(0)
    x = rng.random(USERS)
    channels = {epsilon: WindowChannel(epsilon=epsilon) for epsilon in (1, 8, 15)}
    seconds = medians(
        {
            "numpy": lambda: x + rng.laplace(0.0, 1.0, USERS),
            **{f"window {e}": lambda c=c: c.randomize(x, bounds=(0, 1)) for e, c in channels.items()},  # type: ignore[misc]
        },
        rounds=5,
    )
    print(f"numpy x + laplace, insecure: {1e9 * seconds['numpy'] / USERS:.1f} ns per report")
    for epsilon in channels:
        taken = seconds[f"window {epsilon}"]
        print(
            f"window channel, epsilon {epsilon}: {1e9 * taken / USERS:.1f} ns per report, "
            f"ratio to numpy {taken / seconds['numpy']:.2f}"
        )
    opendp = _opendp_seconds(x[:OPENDP_USERS])
    print(
        f"OpenDP vector Laplace: {1e9 * opendp / OPENDP_USERS:,.0f} ns per report, "
        f"{opendp / OPENDP_USERS / (seconds['window 1'] / USERS):,.0f} times the window channel"
    )
    print(f"memory beside input and output: {_extra_memory(channels[1], x) / 1e6:.1f} MB")
    _building()


def _opendp_seconds(x: np.ndarray) -> float:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    noise = dp.m.make_laplace(*space, scale=1.0)
    values = x.tolist()
    return medians({"opendp": lambda: noise(values)}, rounds=3)["opendp"]


def _extra_memory(channel: WindowChannel, x: np.ndarray) -> float:
    """The peak of what is allocated during a call, less the codes that it returns."""
    tracemalloc.start()
    codes = channel.randomize(x, bounds=(0, 1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - codes.nbytes


def _building() -> None:
    slowest, at = 0.0, 0.0
    for epsilon in np.round(np.concatenate([np.geomspace(0.01, 20, 40), np.linspace(0.76, 5.49, 60)]), 3).tolist():
        best_shape.cache_clear()
        start = time.perf_counter()
        channel = WindowChannel(epsilon=epsilon)
        taken = time.perf_counter() - start
        slowest, at = max((slowest, at), (taken, epsilon))
    print(f"slowest of 100 channels to build: {slowest:.2f} s, epsilon {at}")
    text = channel.to_json()
    checks = medians({"verify": channel.verify, "parse": lambda: channel_from_json(text)}, rounds=50)
    print(f"verify {1e3 * checks['verify']:.2f} ms, parse and verify {1e3 * checks['parse']:.2f} ms")


if __name__ == "__main__":
    main()
