"""One trial: people split into groups, devices report, the curator releases, every estimator answers.

All of it is the real pipeline (grid, channel, summaries, release, estimate), but that reports are drawn as counts
(`crowd`) and that the randomness is seeded. Nothing here is a private release.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.grid import UNITS
from hybriddp.mean import LaplaceSummary, LocalSummary, MeanStudy
from hybriddp.mean.answer import local_group_of, weigh
from hybriddp.mean.combine import single_model
from hybriddp.mean.estimate import Estimate
from hybriddp.mean.groups import LocalGroup, TrustedGroup
from hybriddp.mean.statement import Statement
from hybriddp.privacy import Neighbors
from hybriddp.release.mechanisms import release_total
from hybriddp.simulation.crowd import Crowd, code_counts, laplace_total

ESTIMATORS = ("trusted-only", "full-local", "local-only", "naive", "privacy", "known-variance", "adaptive")
"""Every estimator that can be simulated, ours last; numbers are fixed weights."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that stays the same from trial to trial.

    Attributes
    ----------
    study : MeanStudy
        What is asked.
    trusted, local : Crowd
        Where the groups come from. If both are the same and ``fixed``, they are random halves of that crowd.
    n_trusted, n_local : int
        How many users each has.
    fixed : bool
        Whether the crowd is split (its mean stays the same), or new people are drawn from it.
    sd : float
        The standard deviation that the known-variance weight is told, in the units of the values.
    estimators : tuple of str or float
        Who plays.
    """

    study: MeanStudy
    trusted: Crowd
    local: Crowd
    n_trusted: int
    n_local: int
    fixed: bool
    sd: float
    estimators: tuple[str | float, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What happened: the mean of all users' values, and every estimator's answer."""

    truth: float
    estimates: tuple[Estimate, ...]


def play(scene: Scene, rng: np.random.Generator) -> Trial:
    """One trial."""
    study = scene.study
    if scene.fixed:
        trusted, local = scene.trusted.split(scene.n_trusted, rng)
    else:
        trusted, local = scene.trusted.draw(scene.n_trusted, rng), scene.local.draw(scene.n_local, rng)
    truth = (trusted.total + local.total) / ((trusted.count + local.count) * UNITS)
    summary = reports(study, local, rng)
    local_group = local_group_of(study, summary)
    released = release_total(trusted.count, trusted.total, study=study.digest, privacy=study.privacy, random_state=rng)
    trusted_group = TrustedGroup.of(released)
    statement = Statement(
        study.privacy.epsilon,
        study.privacy.delta,
        Neighbors.REPLACE_ONE.value,
        released=True,
        counted=False,
        seeded=True,
    )
    everybody = None
    if "full-local" in scene.estimators:
        everybody = local_group_of(study, _add(summary, reports(study, trusted, rng)))
    estimates = tuple(
        _answer(scene, name, trusted_group, local_group, everybody, statement) for name in scene.estimators
    )
    return Trial(study.bounds[0] + study.width * truth, estimates)


def reports(study: MeanStudy, crowd: Crowd, rng: np.random.Generator) -> LocalSummary | LaplaceSummary:
    """The summary of what the crowd's devices send."""
    if isinstance(study.channel, DiscreteLaplace):
        return LaplaceSummary(study.digest, crowd.count, laplace_total(study.channel, crowd, rng))
    return LocalSummary(study.digest, tuple(code_counts(study.channel, crowd, rng).tolist()))


def _add(one: LocalSummary | LaplaceSummary, other: LocalSummary | LaplaceSummary) -> LocalSummary | LaplaceSummary:
    parts: Sequence[LocalSummary | LaplaceSummary] = (one, other)
    return sum(parts[1:], start=parts[0])


def _answer(
    scene: Scene,
    name: str | float,
    trusted: TrustedGroup,
    local: LocalGroup,
    everybody: LocalGroup | None,
    statement: Statement,
) -> Estimate:
    if name == "full-local":
        assert everybody is not None  # noqa: S101  (made if it is asked for)
        return single_model(scene.study, None, everybody, statement, everybody=everybody.count, adaptive=False)
    sd = scene.sd if name == "known-variance" else None
    return weigh(scene.study, trusted, local, name, sd, statement)
