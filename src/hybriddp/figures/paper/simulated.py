"""Dots beside the curves: the real pipeline with the paper's Laplace noise, many times, at a few numbers of users."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from hybriddp.figures.paper.rows import SIMULATION, GainRow
from hybriddp.figures.paper.scenario import Scenario
from hybriddp.mean import MeanStudy
from hybriddp.simulation import simulate

USERS = {
    (0.005, 0.1): (1_000, 3_200, 10_000, 40_000, 100_000),
    (0.005, 1.0): (1_200, 3_800, 12_000, 38_000, 90_000),
    (0.05, 0.1): (1_100, 3_600, 11_000, 36_000, 95_000),
    (0.05, 1.0): (1_300, 4_200, 13_000, 42_000, 85_000),
}
"""Where the curve of a trusted fraction and an ε is simulated: apart from the others, with a whole trusted group."""

_POINTS = 2001  # equally likely values that stand for a distribution, as for the named ones


@dataclass(frozen=True, slots=True)
class Dot:
    """One point to be simulated, with its seed."""

    scenario: Scenario
    n_users: int
    trusted_fraction: float
    epsilon: float
    seed: int

    def trials(self, asked: int) -> int:
        """All that are asked for."""
        return asked

    def run(self, trials: int) -> GainRow:
        """What the pipeline does there: the better and the worse single model, in theory, over the observed error."""
        scenario = self.scenario
        setting = scenario.setting(n_users=self.n_users, trusted_fraction=self.trusted_fraction, epsilon=self.epsilon)
        # The pipeline's own known-variance weight takes one variance for both groups: others are given as numbers.
        alike = scenario.trusted == scenario.local
        estimator = str(scenario.weight) if alike else float(scenario.weight_in(setting))
        result = simulate(
            scenario.trusted.quantiles(_POINTS),
            local_data=None if alike else scenario.local.quantiles(_POINTS),
            study=MeanStudy("figure", bounds=(0, scenario.width), epsilon=self.epsilon, channel="laplace"),
            n_users=self.n_users,
            trusted_fraction=self.trusted_fraction,
            trials=trials,
            estimators=(estimator,),
            random_state=self.seed,
        )
        outcome = result.outcomes[0]
        best = float(setting.gain_over_best(outcome.observed_mse))
        worst = float(setting.gain_over_worst(outcome.observed_mse))
        relative = outcome.observed_mse_se / outcome.observed_mse
        return GainRow(
            panel=scenario.panel,
            source=SIMULATION,
            trusted=scenario.trusted.name,
            local=scenario.local.name,
            n_users=float(self.n_users),
            trusted_fraction=self.trusted_fraction,
            epsilon=self.epsilon,
            weight=outcome.weight,
            gain_over_best=best,
            gain_over_worst=worst,
            gain_over_best_se=best * relative,
            gain_over_worst_se=worst * relative,
            trials=trials,
        )


def dots(scenarios: Sequence[Scenario], *, first_seed: int) -> tuple[Dot, ...]:
    """All points of a figure; each has a seed of its own, whatever else is simulated."""
    curves = [(c, epsilon, n) for (c, epsilon), users in USERS.items() for n in users]
    places = product(scenarios, curves)
    return tuple(Dot(scenario, n, c, epsilon, first_seed + i) for i, (scenario, (c, epsilon, n)) in enumerate(places))
