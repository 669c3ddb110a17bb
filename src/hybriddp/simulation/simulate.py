"""Before any data is collected: the real pipeline, many times, against what the formulas predict.

Trials come in blocks with a seed each, so the result is the same however many processes share them. Only sums are
kept: memory does not depend on the number of trials.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp.errors import ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.simulation.distributions import SimulatedPopulation, population
from hybriddp.simulation.outcome import Simulation, outcomes, predicted_setting
from hybriddp.simulation.trial import ESTIMATORS, Scene, TrialSums, play

_BLOCK = 100  # trials that share a seed
_MOST_USERS = 10**12


@dataclass(frozen=True, slots=True)
class _Block:
    scene: Scene
    trials: int
    seed: np.random.SeedSequence


def simulate(
    data: ArrayLike | str,
    *,
    study: MeanStudy,
    trusted_fraction: float,
    trials: int,
    estimators: Sequence[str | float] = ESTIMATORS,
    n_users: int | None = None,
    local_data: ArrayLike | str | None = None,
    random_state: int = 0,
    processes: int | None = 1,
    progress: Callable[[int], None] | None = None,
) -> Simulation:
    """Every estimator on ``data``, ``trials`` times: observed against predicted errors, gains and coverage.

    Parameters
    ----------
    data : array_like or str
        One value per person, or the name of a distribution. In the units of the values: ``"normal(40, 20)"``,
        ``"lognormal(40, 20)"`` and ``"gamma(40, 20)"`` by mean and standard deviation, ``"exponential(40)"``,
        ``"uniform(0, 80)"``. On the study's bounds: ``"beta(2, 8)"``, ``"uniform"``, ``"bernoulli(0.01)"``. What lies
        outside of the bounds is clamped, as in a study; `Simulation.outside` is which fraction of them.
    study : MeanStudy
        The study as it would be run.
    trusted_fraction : float
        Which fraction of the users trusts the curator, rounded to whole users.
    trials : int
        How often, at least 2.
    estimators : sequence of str or float
        Names of `MeanStudy.estimate`'s weights, or fixed weights.
    n_users : int, optional
        How many people are drawn anew for each trial; needed with a named distribution. Without it the people of
        ``data`` are split anew for each trial.
    local_data : array_like or str, optional
        What the local group is drawn from if it differs from the trusted group, with ``n_users``.
    random_state : int
        The seed: this is a simulation.
    processes : int or None
        How many processes do the work; None for one per core. The result does not depend on it.
    progress : callable, optional
        Called with the number of trials done.

    Examples
    --------
    >>> study = MeanStudy("x", bounds=(0, 1), epsilon=1)
    >>> result = simulate("uniform", study=study, n_users=10_000, trusted_fraction=0.01, trials=40)
    >>> result["adaptive"].observed_mse < result["full-local"].observed_mse
    True
    """
    if not isinstance(study, MeanStudy):
        raise ParameterError("study", "a MeanStudy", study)
    if isinstance(estimators, str) or not isinstance(estimators, Sequence):
        raise ParameterError("estimators", "a sequence of names and weights", estimators)
    people = population(data, study.bounds)
    others = people if local_data is None else population(local_data, study.bounds)
    if n_users is None and (isinstance(data, str) or local_data is not None):
        why = "with a distribution" if isinstance(data, str) else "with local_data"
        raise ParameterError("n_users", f"given {why}: how many people are drawn", n_users)
    scene = _scene(people, others, study, trusted_fraction, tuple(estimators), n_users)
    trials = _check.integer("trials", trials, at_least=2)
    seeds = np.random.SeedSequence(_check.integer("random_state", random_state, at_least=0)).spawn(-(-trials // _BLOCK))
    blocks = [_Block(scene, min(_BLOCK, trials - i * _BLOCK), seed) for i, seed in enumerate(seeds)]
    sums = _run(blocks, processes, progress)
    sizes = (scene.n_trusted, scene.n_local)
    return Simulation(
        study=study,
        n_trusted=scene.n_trusted,
        n_local=scene.n_local,
        trials=sums.trials,
        seed=random_state,
        truth=sums.first_truth,
        outside=float(np.average([people.outside, others.outside], weights=sizes)),
        mean=float(np.average([people.mean, others.mean], weights=sizes)),
        setting=predicted_setting(scene),
        outcomes=outcomes(scene, sums),
    )


def _run(blocks: list[_Block], processes: int | None, progress: Callable[[int], None] | None) -> TrialSums:
    """Add up the sums of all blocks."""
    if processes is not None:
        _check.integer("processes", processes, at_least=1)
    total = TrialSums.nothing()
    for sums in _results(blocks, processes):
        total = total + sums
        if progress is not None:
            progress(total.trials)
    return total


def _results(blocks: list[_Block], processes: int | None) -> Iterator[TrialSums]:
    """The sums of each block, in their order."""
    workers = min(processes or os.cpu_count() or 1, len(blocks))
    if workers <= 1:
        yield from map(_play_block, blocks)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_play_block, blocks)


def _play_block(block: _Block) -> TrialSums:
    rng = np.random.default_rng(block.seed)
    trials = (TrialSums.of(play(block.scene, rng)) for _ in range(block.trials))
    return sum(trials, start=TrialSums.nothing())


def _scene(
    trusted: SimulatedPopulation,
    local: SimulatedPopulation,
    study: MeanStudy,
    trusted_fraction: float,
    estimators: tuple[str | float, ...],
    n_users: int | None,
) -> Scene:
    for estimator in estimators:
        if isinstance(estimator, str):
            _check.choice("estimators", estimator, ESTIMATORS)
        else:
            _check.number("estimators", estimator, _check.WEIGHT)
    if not estimators:
        raise ParameterError("estimators", "at least one", estimators)
    crowd = trusted.crowd
    n = crowd.count if n_users is None else _check.integer("n_users", n_users, at_least=2)
    if n > _MOST_USERS:
        raise ParameterError("n_users", f"at most {_MOST_USERS:,}", n)
    fraction = _check.number("trusted_fraction", trusted_fraction, _check.FRACTION)
    n_trusted = round(fraction * n)
    if not 1 <= n_trusted <= n - 1:
        raise ParameterError("trusted_fraction", f"such that each of {n:,} users' two groups has somebody", fraction)
    return Scene(
        study=study,
        trusted=crowd,
        local=local.crowd,
        n_trusted=n_trusted,
        n_local=n - n_trusted,
        fixed=n_users is None,
        sd=min((crowd.variance if n_users is not None else crowd.split_variance) ** 0.5, 0.5) * study.width,
        estimators=estimators,
    )
