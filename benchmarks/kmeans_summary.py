"""Means, standard errors and targets of ratios of WCSS: what the tables of the K-means benchmarks are made of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number from trials, with its standard error."""

    value: float
    se: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.se:.4f}"

    def above(self, allowed_se: float) -> float:
        """What is certainly there, in so many standard errors: the lower end of an interval."""
        return self.value - allowed_se * self.se

    @property
    def is_measurably_positive(self) -> bool:
        """Whether it is above 0 by more than two standard errors. By chance alone one in 30 or so is."""
        return self.above(2.0) > 0


@dataclass(frozen=True, slots=True)
class Target:
    """A bound that was set before anything was measured.

    Attributes
    ----------
    what : str
        What is measured, and where.
    bound : float
        The most that it may be.
    reached : Estimate
        What it was.
    where : str
        In which cell, if several count; then the worst one.
    allowed_se : float
        By how many standard errors the number may be above the bound: 2 where being measurably above it is what counts.
    """

    what: str
    bound: float
    reached: Estimate
    where: str = ""
    allowed_se: float = 0.0

    @property
    def met(self) -> bool:
        """Whether the number reached is within the bound."""
        return self.reached.above(self.allowed_se) <= self.bound

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        allowed = f" + {self.allowed_se:g} s.e." if self.allowed_se else ""
        return f"| {self.what} | {self.bound:g}{allowed} | {self.reached}{where} | {'met' if self.met else 'missed'} |"


TARGET_HEADER = "| target | at most | reached | |\n| --- | ---: | --- | --- |"


def mean(numbers: Iterable[float]) -> Estimate:
    """The mean of independent numbers. The standard error of a single one is not known: nan."""
    x = np.array(list(numbers), dtype=float)
    return Estimate(float(np.mean(x)), float(np.std(x, ddof=1) / np.sqrt(len(x))) if len(x) > 1 else float("nan"))


def mean_of_sets(by_set: Mapping[str, Sequence[float]]) -> Estimate:
    """The mean over sets of each set's mean. Sets are given, not drawn: only the seeds within them vary."""
    means = [mean(numbers) for numbers in by_set.values()]
    se = float(np.sqrt(np.sum([m.se**2 for m in means]))) / len(means)
    return Estimate(float(np.mean([m.value for m in means])), se)


def geometric_mean(by_set: Mapping[str, Sequence[float]]) -> Estimate:
    """The geometric mean over sets and seeds; its standard error is that of the mean logarithm."""
    logs = mean_of_sets({name: np.log(ratios).tolist() for name, ratios in by_set.items()})
    return Estimate(float(np.exp(logs.value)), logs.se)


def excess_over_better(ours: Sequence[float], baselines: Mapping[str, Sequence[float]]) -> tuple[str, Estimate]:
    """How much higher ours is than the baseline with the lower mean, paired by seed; and which one that is.

    The better one is chosen by the same trials, so that its luck counts too: a little hard on ours.
    """
    better = min(baselines, key=lambda name: float(np.mean(baselines[name])))
    return better, mean(a - b for a, b in zip(ours, baselines[better], strict=True))


def log_excess(ours: Mapping[str, Sequence[float]], baseline: Mapping[str, Sequence[float]]) -> Estimate:
    """The mean logarithm of ours over the baseline, paired by seed within each set."""
    return mean_of_sets({name: (np.log(ours[name]) - np.log(baseline[name])).tolist() for name in ours})


def worst(what: str, bound: float, cells: Mapping[str, Estimate], *, allowed_se: float = 0.0) -> Target:
    """A target that holds for each of several cells: the worst one is shown."""
    where = max(cells, key=lambda name: cells[name].above(allowed_se))
    return Target(what, bound, cells[where], where if len(cells) > 1 else "", allowed_se)
