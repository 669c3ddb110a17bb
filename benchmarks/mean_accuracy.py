"""The adaptive estimate through the real pipeline, against the exact error of the paper's with known variance.

    python -m benchmarks.mean_accuracy [TRIALS]

A ratio above 1 means that ours errs less, although nobody tells it the variance. Devices, summaries, release and
estimate are the real ones, seeded; each trial draws new users. Takes some minutes, so ``make bench`` leaves it out.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np

from hybriddp.data import flight_delays
from hybriddp.mean import MeanStudy
from hybriddp.theory import Beta, Setting, laplace_noise

FLIGHT_BOUNDS = (-60.0, 1440.0)


@dataclass(frozen=True)
class Point:
    """One setting of the benchmark."""

    population: str
    n_users: int
    trusted_fraction: float
    epsilon: float
    trials: int


@dataclass(frozen=True)
class Outcome:
    """What came out: the ratio to the paper's error with its relative standard error, and the coverage."""

    point: Point
    ratio: float
    ratio_se: float
    coverage: float


def run(point: Point) -> Outcome:
    """All trials of one point."""
    rng = np.random.default_rng([int(1e4 * point.trusted_fraction), int(10 * point.epsilon), point.n_users])
    n, n_t = point.n_users, max(2, round(point.trusted_fraction * point.n_users))
    beta = None if point.population == "flights" else Beta(float(point.population), float(point.population))
    delays = np.clip(flight_delays(), *FLIGHT_BOUNDS)
    study = MeanStudy("benchmark", bounds=FLIGHT_BOUNDS if beta is None else (0, 1), epsilon=point.epsilon)
    errors, covered = [], 0
    for _ in range(point.trials):
        x = rng.choice(delays, n).astype(float) if beta is None else rng.beta(beta.alpha, beta.beta, n)
        local = study.summarize_local(study.randomize(x[n_t:], random_state=rng))
        estimate = study.estimate(trusted=study.summarize_trusted(x[:n_t]), local=local, random_state=rng)
        errors.append((estimate.value - x.mean()) ** 2)
        interval = estimate.interval(0.95)
        covered += interval.lower <= x.mean() <= interval.upper
    variance = float(delays.var()) if beta is None else beta.variance
    noise = laplace_noise(n_users=n, trusted_fraction=n_t / n, width=study.width, epsilon=point.epsilon)
    paper = Setting(
        n_users=n,
        trusted_fraction=n_t / n,
        trusted_variance=variance,
        local_variance=variance,
        trusted_noise=noise.trusted,
        local_noise=noise.local,
    ).error_known_variance()
    mse, spread = float(np.mean(errors)), float(np.std(errors))
    return Outcome(point, float(paper) / mse, spread / mse / point.trials**0.5, covered / point.trials)


def main() -> None:
    """The paper's 36 Beta points, and the flights."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    betas = product(("10", "1", "0.1"), (1_000, 10_000, 100_000), (0.005, 0.05), (0.1, 1.0))
    flights = product(("flights",), (327_346,), (0.001, 0.01, 0.1), (0.1, 1.0, 3.0))
    for name, settings in (("Beta", betas), ("flights", flights)):
        points = [Point(*setting, trials) for setting in settings]
        with ProcessPoolExecutor(2) as pool:
            outcomes = list(pool.map(run, points))
        for o in outcomes:
            p = o.point
            print(
                f"| {p.population} | {p.n_users:,} | {p.trusted_fraction:.1%} | {p.epsilon:g} | "
                f"{o.ratio:.2f} ± {o.ratio * o.ratio_se:.2f} | {o.coverage:.3f} |"
            )
        ratios, coverages = [o.ratio for o in outcomes], [o.coverage for o in outcomes]
        print(
            f"{name}: ratio min {min(ratios):.2f}, median {np.median(ratios):.2f}, max {max(ratios):.2f}; "
            f"coverage min {min(coverages):.3f}, median {np.median(coverages):.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
