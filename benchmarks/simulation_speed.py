"""The simulator: 1,000 trials of all estimators with 10^5 users, against drawing every single report."""

import time

import numpy as np

from benchmarks.timing import medians
from hybriddp.mean import MeanStudy
from hybriddp.simulation import simulate
from hybriddp.simulation.crowd import code_counts
from hybriddp.simulation.distributions import named

USERS = 100_000


def main() -> None:
    """Measure and print."""
    study, crowd, rng = MeanStudy("x", bounds=(0, 1), epsilon=1.0), named("beta(2, 8)"), np.random.default_rng(0)
    start = time.perf_counter()
    simulate(study, "beta(2, 8)", n_users=USERS, trusted_fraction=0.01, trials=1000, processes=None)
    seconds = time.perf_counter() - start
    print(f"1,000 trials of 7 estimators, 10^5 users, all cores: {seconds:.1f} s")
    people = crowd.draw(USERS, rng)
    units = np.repeat(people.units, people.users)
    taken = medians(
        {
            "counts": lambda: code_counts(study.channel, people, rng),
            "reports": lambda: np.bincount(study.channel.sample(units, random_state=rng), minlength=256),
        },
        rounds=9,
    )
    counts, reports = 1e3 * taken["counts"], 1e3 * taken["reports"]
    print(f"counts of 10^5 reports: {counts:.2f} ms; report by report {reports:.2f} ms, ratio {counts / reports:.2f}")
    many = crowd.draw(10_000_000, rng)
    one = medians({"counts": lambda: code_counts(study.channel, many, rng)}, rounds=5)["counts"]
    print(f"counts of 10^7 reports: {1e3 * one:.2f} ms")


if __name__ == "__main__":
    main()
