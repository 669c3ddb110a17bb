"""The mean of 10^7 doubles in memory: summary, release and estimate, against one bare ``np.sum`` of them."""

import numpy as np

from benchmarks.timing import medians
from hybriddp.mean import MeanStudy

USERS = 10_000_000


def main() -> None:
    """Measure and print."""
    study = MeanStudy("benchmark", bounds=(0, 1), epsilon=1.0)
    x = np.random.default_rng(0).random(USERS)
    local = study.summarize_local(study.randomize(x[:1_000_000], random_state=1))
    seconds = medians(
        {"sum": lambda: float(np.sum(x)), "mean": lambda: study.estimate(trusted=x, local=local)}, rounds=9
    )
    print(f"np.sum of 10^7 doubles: {1e3 * seconds['sum']:.1f} ms")
    print(
        f"summary, release and estimate: {1e3 * seconds['mean']:.1f} ms, ratio {seconds['mean'] / seconds['sum']:.1f}"
    )


if __name__ == "__main__":
    main()
