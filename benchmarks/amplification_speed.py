"""One guarantee of an outsider's view, and a map of 100 x 100 of them."""

import time

import numpy as np

from benchmarks.timing import medians
from hybriddp._check import FloatArray
from hybriddp.amplification import shuffled
from hybriddp.paper.amplification import gaussian, laplace
from hybriddp.theory import UC_SALARIES, Setting, laplace_noise


def main() -> None:
    """Measure and print."""
    n, m = UC_SALARIES.n_users, UC_SALARIES.width

    def setting(c: float | FloatArray) -> Setting:
        return UC_SALARIES.setting(c, laplace_noise(n_users=n, trusted_fraction=c, width=m, epsilon=1.0))

    known = {"weight": 0.9, "width": m, "delta": 1e-7}
    taken = medians(
        {
            "Gaussian": lambda: gaussian.exact(setting(0.01), honest_local=200_000, **known),
            "Laplace": lambda: laplace.exact(setting(0.01), honest_local=200_000, **known),
            "shuffled": lambda: shuffled(local_epsilon=1.0, n_reports=1_000_000, delta=1e-6),
        },
        rounds=9,
    )
    for name, seconds in taken.items():
        print(f"one evaluation, {name}: {1e3 * seconds:.1f} ms")
    c, f = np.meshgrid(np.geomspace(0.001, 0.1, 100), np.linspace(0, 0.99, 100))
    start = time.perf_counter()
    gaussian.exact(setting(c), honest_local=(1 - f) * (1 - c) * n, **known)
    print(f"a map of 100 x 100, Gaussian: {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    for share in np.geomspace(0.001, 0.1, 10):
        for honest in np.linspace(1000, 200_000, 10):
            laplace.exact(setting(float(share)), honest_local=int(honest), **known)
    print(f"a map of 100 x 100, Laplace, from a hundredth of it: {100 * (time.perf_counter() - start):.0f} s")


if __name__ == "__main__":
    main()
