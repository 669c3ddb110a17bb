"""One trial: people split into groups, devices report, the curator releases, every estimator answers.

All of it is the real pipeline (grid, channel, summaries, release, estimate), but that reports are drawn as counts
(`crowd`) and that the randomness is seeded. Nothing here is a private release.
"""

from dataclasses import dataclass, replace

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.grid import UNITS
from hybriddp.mean import Estimate, MeanStudy
from hybriddp.mean.answer import WeightRule, weigh
from hybriddp.mean.weights import LocalStatistics, TrustedStatistics
from hybriddp.release.release import release
from hybriddp.simulation.crowd import Crowd, code_counts
from hybriddp.study.result import Statement
from hybriddp.study.summary import LocalSummary, TrustedSummary

ESTIMATORS = ("trusted-only", "full-local", "local-only", "naive", "privacy", "known-variance", "adaptive")
"""Every estimator that can be simulated, ours last; numbers are fixed weights."""
_ADDED = ("trials", "squares", "fourths", "weights", "covered")


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that stays the same from trial to trial."""

    study: MeanStudy
    trusted: Crowd  # where each group comes from
    local: Crowd
    n_trusted: int
    n_local: int
    fixed: bool  # whether one crowd is split at random, so that its mean stays the same, or new people are drawn
    sd: float  # what the known-variance weight is told, in the units of the values
    estimators: tuple[str | float, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """The mean of all users' values in one trial, and every estimator's answer."""

    truth: float
    estimates: tuple[Estimate, ...]


def play(scene: Scene, rng: np.random.Generator) -> Trial:
    """One trial: both groups are drawn, report and release; every estimator weighs the same private numbers."""
    study = scene.study
    if scene.fixed:
        trusted, local = scene.trusted.split(scene.n_trusted, rng)
    else:
        trusted, local = scene.trusted.draw(scene.n_trusted, rng), scene.local.draw(scene.n_local, rng)
    n_users = trusted.count + local.count
    truth = (trusted.total + local.total) / (n_users * UNITS)
    reported = reports(study, local, rng)
    raw = TrustedSummary(study.digest, trusted.count, (trusted.total,))
    theirs = None
    if raw.count:
        theirs = TrustedStatistics.of(release(study.statistic(raw), study.cost, random_state=rng))
    told = study.decode(reported)
    everybody: LocalStatistics | None = None
    if "full-local" in scene.estimators:
        everybody = study.decode(reported + reports(study, trusted, rng))
    statement = Statement.of(study, released=True, counted=False, seeded=True)

    def answer(name: str | float) -> Estimate:
        rule = WeightRule(name, scene.sd if name == "known-variance" else None)
        if name == "full-local":
            return weigh(study, None, everybody, rule, statement, n_users=n_users)
        return weigh(study, theirs, told, rule, statement, n_users=n_users)

    return Trial(study.bounds[0] + study.width * truth, tuple(answer(name) for name in scene.estimators))


def reports(study: MeanStudy, crowd: Crowd, rng: np.random.Generator) -> LocalSummary:
    """Summarize the reports that the crowd's devices send."""
    return LocalSummary.of_codes(study.digest, code_counts(study.channel, crowd, rng).tolist())


@dataclass(frozen=True, slots=True)
class TrialSums:
    """Sums over trials, one number per estimator, and the answers of the first trial: all that a simulation keeps."""

    trials: int
    first_truth: float
    first_answers: tuple[float, ...]
    squares: FloatArray
    fourths: FloatArray
    weights: FloatArray
    covered: FloatArray

    @classmethod
    def of(cls, trial: Trial) -> "TrialSums":
        """The sums of one trial."""
        error = np.array([estimate.value - trial.truth for estimate in trial.estimates])
        return cls(
            trials=1,
            first_truth=trial.truth,
            first_answers=tuple(estimate.value for estimate in trial.estimates),
            squares=error**2,
            fourths=error**4,
            weights=np.array([estimate.weight for estimate in trial.estimates]),
            covered=np.array([float(estimate.covers(trial.truth, 0.95)) for estimate in trial.estimates]),
        )

    @classmethod
    def nothing(cls) -> "TrialSums":
        """The sums of no trials."""
        zero = np.zeros(1)
        return cls(0, 0.0, (), zero, zero, zero, zero)

    def __add__(self, other: "TrialSums") -> "TrialSums":
        added = {name: getattr(self, name) + getattr(other, name) for name in _ADDED}
        return replace(self if self.trials else other, **added)
