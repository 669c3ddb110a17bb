"""`simulate`, for every kind of study."""

from collections.abc import Callable, Mapping
from typing import Any, overload

from hybriddp.distribution.study import DistributionStudy
from hybriddp.errors import ParameterError
from hybriddp.mean.study import MeanStudy
from hybriddp.shares.study import FrequencyStudy
from hybriddp.simulation.mean import MeanSetup, MeanSimulation
from hybriddp.simulation.quantiles import QuantileSetup, QuantileSimulation
from hybriddp.simulation.shares import ShareSetup, ShareSimulation
from hybriddp.simulation.trials import SimulationSetup, run_trials

_SETUPS: Mapping[type, Callable[..., SimulationSetup]] = {
    MeanStudy: MeanSetup.of,
    FrequencyStudy: ShareSetup.of,
    DistributionStudy: QuantileSetup.of,
}


@overload
def simulate(study: MeanStudy, data: Any, *, trusted_fraction: float, trials: int, **more: Any) -> MeanSimulation: ...
@overload
def simulate(
    study: FrequencyStudy, data: Any, *, trusted_fraction: float, trials: int, **more: Any
) -> ShareSimulation: ...
@overload
def simulate(
    study: DistributionStudy, data: Any, *, trusted_fraction: float, trials: int, **more: Any
) -> QuantileSimulation: ...
def simulate(
    study: Any,
    data: Any,
    *,
    trusted_fraction: float,
    trials: int,
    n_users: int | None = None,
    local_data: Any = None,
    random_state: int = 0,
    processes: int | None = 1,
    progress: Callable[[int], None] | None = None,
    **choices: Any,
) -> Any:
    """Run the real pipeline on ``data``, many times: observed beside predicted errors, and coverage.

    Parameters
    ----------
    study : MeanStudy, FrequencyStudy or DistributionStudy
        The study as it would be run.
    data : array_like or str
        One value per person, or the name of a distribution. In the units of the values: ``"normal(40, 20)"``,
        ``"lognormal(40, 20)"`` and ``"gamma(40, 20)"`` by mean and standard deviation, ``"exponential(40)"``,
        ``"uniform(0, 80)"``. On the study's bounds: ``"beta(2, 8)"``, ``"uniform"``, ``"bernoulli(0.01)"``. What lies
        outside of the bounds is clamped, as in a study; `MeanSimulation.outside` is which fraction of them. For shares,
        one category per person.
    trusted_fraction : float
        Which fraction of the users trusts the curator, rounded to whole users. For a distribution it may be 0 or 1.
    trials : int
        How often, at least 2.
    n_users : int, optional
        How many people are drawn anew for each trial; needed with a named distribution. Without it the people of
        ``data`` are split anew for each trial.
    local_data : array_like or str, optional
        What the local group is drawn from if it differs from the trusted group, with ``n_users``.
    random_state : int
        The seed: this is a simulation.
    processes : int or None
        How many processes do the work of a mean; None for one per core. The result does not depend on it.
    progress : callable, optional
        Called with the number of trials done.

    Other Parameters
    ----------------
    estimators : sequence of str or float
        Of a `MeanStudy`: names of `MeanStudy.estimate`'s weights, or fixed weights.
    at : sequence of float
        Of a `DistributionStudy`: the quantiles.

    Examples
    --------
    >>> study = MeanStudy("x", bounds=(0, 1), epsilon=1)
    >>> result = simulate(study, "uniform", n_users=10_000, trusted_fraction=0.01, trials=40)
    >>> result["adaptive"].observed_mse < result["full-local"].observed_mse
    True

    >>> study = FrequencyStudy("fruit", categories=["apple", "pear"], epsilon=2)
    >>> result = simulate(study, ["apple"] * 700 + ["pear"] * 300, trusted_fraction=0.1, trials=20)
    >>> result["apple"].share, result["apple"].observed_error < 0.06
    (0.7, True)

    >>> study = DistributionStudy("x", bounds=(0, 1), epsilon=2)
    >>> median = simulate(study, "beta(2, 5)", n_users=100_000, trusted_fraction=0.01, trials=4)[0.5]
    >>> median.rank_error < 0.05, median.coverage > 0.5
    (True, True)
    """
    setup_of = _SETUPS.get(type(study))
    if setup_of is None:
        raise ParameterError("study", f"one of {', '.join(kind.__name__ for kind in _SETUPS)}", study)
    if n_users is None and (isinstance(data, str) or local_data is not None):
        why = "with a distribution" if isinstance(data, str) else "with local_data"
        raise ParameterError("n_users", f"given {why}: how many people are drawn", n_users)
    sizes = {"n_users": n_users, "trusted_fraction": trusted_fraction}
    setup = setup_of(study, data, local_data, **sizes, **choices)
    sums = run_trials(setup, trials=trials, random_state=random_state, processes=processes, progress=progress)
    return setup.result(sums, random_state)
