"""A simulation of a mean: every estimator's observed error beside the one that the formulas predict.

A trial is the real pipeline (grid, channel, summaries, release, estimate), but that reports are drawn as counts
(`crowd`) and that the randomness is seeded. Every estimator weighs the same private numbers.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.grid import UNITS
from hybriddp.mean import Estimate, MeanStudy
from hybriddp.mean.answer import WeightRule, weigh
from hybriddp.mean.expected import ExpectedStatistics
from hybriddp.mean.published import trusted_noise
from hybriddp.mean.weights import LocalStatistics, TrustedStatistics
from hybriddp.release.release import release
from hybriddp.reporting.wording import percent, significant
from hybriddp.simulation.crowd import ValueCounts, code_counts, code_frequencies
from hybriddp.simulation.distributions import population
from hybriddp.simulation.trials import Simulation, SimulationSetup, TrialSums, check_choices
from hybriddp.study.result import Statement
from hybriddp.study.summary import LocalSummary, TrustedSummary
from hybriddp.theory import Setting

ESTIMATORS = ("trusted-only", "full-local", "local-only", "naive", "privacy", "known-variance", "adaptive")
"""Every estimator that can be simulated, ours last; numbers are fixed weights."""


@dataclass(frozen=True, slots=True, repr=False)
class MeanOutcome:
    """One estimator over all trials."""

    name: str
    weight: float
    """Weight on the trusted group, averaged over the trials."""
    answer: float
    """Answer in the first trial."""
    predicted_mse: float
    """Expected squared error by the formulas, of this very estimator. That of the adaptive weight, which depends on
    what the reports say, is approximate (`hybriddp.theory.adaptive`)."""
    predicted_mse_se: float
    """Standard error that the mean over these trials has if the prediction holds: errors are normal but for the
    curator's noise. (That from the trials themselves is too small where few of them met the tail of the noise.)"""
    observed_mse: float
    """Mean squared error over the trials."""
    observed_mse_se: float
    """Its standard error as far as the trials tell."""
    gain_over_best: float
    """Error of the better single model (R), in theory, over the observed one."""
    gain_over_worst: float
    """The same for the worse single model (r)."""
    coverage: float
    """Fraction of the trials whose 95 % interval held the mean of the users' values."""
    coverage_se: float

    @property
    def is_exact(self) -> bool:
        """Whether the prediction is exact, so that it can be tested against what was observed."""
        return self.name != "adaptive"

    @property
    def z(self) -> float:
        """Difference of the observed from the predicted error, in standard errors."""
        return (self.observed_mse - self.predicted_mse) / self.predicted_mse_se if self.predicted_mse_se else 0.0

    def __repr__(self) -> str:
        seen, expected = (significant(mse**0.5) for mse in (self.observed_mse, self.predicted_mse))
        return (
            f"<MeanOutcome {self.name}: typical error {seen} (predicted {expected}), {percent(self.coverage)} covered>"
        )


@dataclass(frozen=True, slots=True, repr=False)
class MeanSimulation(Simulation):
    """Result of `simulate` for a mean. Not a private release."""

    truth: float
    """Mean of all users' values, clamped to the bounds, in the first trial."""
    outside: float
    """Fraction of the values that lie outside of the bounds and are clamped."""
    mean: float
    """Mean of the values before clamping."""
    setting: Setting = field(compare=False)
    """Setting of the formulas."""
    outcomes: tuple[MeanOutcome, ...]
    """One per estimator."""

    def __getitem__(self, name: str | float) -> MeanOutcome:
        wanted = name if isinstance(name, str) else str(float(name))
        for outcome in self.outcomes:
            if outcome.name == wanted:
                return outcome
        raise KeyError(name)

    def _rows(self) -> dict[str, Any]:
        return {
            "truth_of_first_trial": self.truth,
            "outside_of_bounds": self.outside,
            "mean_before_clamping": self.mean,
            "estimators": [asdict(outcome) for outcome in self.outcomes],
        }


class MeanTrial(NamedTuple):
    """Mean of all users' values in one trial, and every estimator's answer."""

    truth: float
    estimates: tuple[Estimate, ...]


@dataclass(frozen=True)
class MeanSetup(SimulationSetup):
    """Setup of a mean's simulation."""

    sd: float  # which the known-variance weight knows, in the units of the values
    estimators: tuple[str | float, ...]
    outside: float = 0.0
    mean: float = 0.0

    block: ClassVar[int | None] = 100

    @classmethod
    def of(
        cls,
        study: MeanStudy,
        data: ArrayLike | str,
        local_data: ArrayLike | str | None,
        *,
        n_users: int | None,
        trusted_fraction: float,
        estimators: Sequence[str | float] = ESTIMATORS,
    ) -> "MeanSetup":
        """Set up a simulation of a mean; see `hybriddp.simulate`."""
        for estimator in check_choices("estimators", estimators):
            if isinstance(estimator, str):
                _check.choice("estimators", estimator, ESTIMATORS)
            else:
                _check.number("estimators", estimator, _check.WEIGHT)
        people = population(data, study.bounds)
        others = people if local_data is None else population(local_data, study.bounds)
        sizes = cls.group_sizes(people.values, n_users, trusted_fraction)
        variance = people.values.variance if n_users is not None else people.values.split_variance
        by_size = [sizes["n_trusted"], sizes["n_local"]]
        return cls(
            study=study,
            trusted=people.values,
            local=others.values,
            **sizes,
            sd=min(variance**0.5, 0.5) * study.width,
            estimators=tuple(estimators),
            outside=float(np.average([people.outside, others.outside], weights=by_size)),
            mean=float(np.average([people.mean, others.mean], weights=by_size)),
        )

    def run_trial(self, rng: np.random.Generator) -> MeanTrial:
        """Run one trial: both groups are drawn, report and release; every estimator answers."""
        study: MeanStudy = self.study
        trusted, local = self.draw_groups(rng)
        n_users = trusted.count + local.count
        truth = (trusted.total + local.total) / (n_users * UNITS)
        reported = reports(study, local, rng)
        raw = TrustedSummary(study.digest, trusted.count, (trusted.total,))
        released = TrustedStatistics.of(release(study.statistic(raw), study.cost, random_state=rng))
        statistics = study.decode(reported)
        everybody: LocalStatistics | None = None
        if "full-local" in self.estimators:
            everybody = study.decode(reported + reports(study, trusted, rng))
        statement = Statement.of(study, released=True, counted=False, seeded=True)

        def answer(name: str | float) -> Estimate:
            rule = WeightRule(name, self.sd if name == "known-variance" else None)
            if name == "full-local":
                return weigh(study, None, everybody, rule, statement, n_users=n_users)
            return weigh(study, released, statistics, rule, statement, n_users=n_users)

        return MeanTrial(study.bounds[0] + study.width * truth, tuple(answer(name) for name in self.estimators))

    def measure(self, rng: np.random.Generator) -> FloatArray:
        """Run one trial and return error², error⁴, weight, coverage, answer and truth of every estimator."""
        trial = self.run_trial(rng)
        error = np.array([estimate.value - trial.truth for estimate in trial.estimates])
        weights = [estimate.weight for estimate in trial.estimates]
        covered = [float(estimate.covers(trial.truth, 0.95)) for estimate in trial.estimates]
        answers = [estimate.value for estimate in trial.estimates]
        return np.column_stack([error**2, error**4, weights, covered, answers, np.full(len(error), trial.truth)])

    def result(self, sums: TrialSums, seed: int) -> MeanSimulation:
        """Set what was observed beside what the formulas predict."""
        setting, n = predicted_setting(self), sums.trials
        outcomes = []
        for i, name in enumerate(self.estimators):
            mse, fourth, weight, coverage = (sums.sums[i, :4] / n).tolist()
            predicted = predicted_error(self, setting, name)
            curator = weight**2 * float(setting.trusted_noise)
            outcomes.append(
                MeanOutcome(
                    name=name if isinstance(name, str) else str(float(name)),
                    weight=weight,
                    answer=float(sums.first[i, 4]),
                    predicted_mse=predicted,
                    predicted_mse_se=self._standard_error(predicted, curator, n),
                    observed_mse=mse,
                    observed_mse_se=(max(fourth - mse**2, 0.0) / max(n - 1, 1)) ** 0.5,
                    gain_over_best=float(setting.gain_over_best(mse)),
                    gain_over_worst=float(setting.gain_over_worst(mse)),
                    coverage=coverage,
                    coverage_se=(coverage * (1 - coverage) / n) ** 0.5,
                )
            )
        truth, who = float(sums.first[0, 5]), (self.study, self.n_trusted, self.n_local, n, seed)
        return MeanSimulation(*who, truth, self.outside, self.mean, setting, tuple(outcomes))

    def _standard_error(self, mse: float, curator: float, trials: int) -> float:
        r"""Return that of a mean of squared errors $X^2$: $\mathrm{Var}(X^2) = 2 V^2 + \kappa_4$ for a mean of 0.

        $V$ is the variance of the error and $\kappa_4$ its fourth cumulant: 0 for a normal error, $12 b^4 = 3 (2b^2)^2$
        for the Laplace part of scale $b$, whose variance is ``curator``.
        """
        excess = 0.0 if self.study.privacy.exact_delta else 3 * curator**2
        return float(((2 * mse**2 + excess) / trials) ** 0.5)


def reports(study: MeanStudy, people: ValueCounts, rng: np.random.Generator) -> LocalSummary:
    """Draw the summary of what people's devices send."""
    return LocalSummary.of_codes(study.digest, code_counts(study.channel, people, rng).tolist())


def predicted_setting(setup: MeanSetup) -> Setting:
    """Return the setting of the formulas, in the units of the values."""
    study: MeanStudy = setup.study
    area, groups = study.width**2, (setup.trusted, setup.local)
    trusted, local = (group.split_variance if setup.fixed else group.variance for group in groups)
    return Setting(
        n_users=setup.n_trusted + setup.n_local,
        trusted_fraction=setup.n_trusted / (setup.n_trusted + setup.n_local),
        trusted_variance=trusted * area,
        local_variance=local * area,
        trusted_noise=trusted_noise(study, setup.n_trusted) * area,
        local_noise=report_variance(study, setup.local) * area,
        trusted_mean=setup.trusted.mean * study.width,
        local_mean=setup.local.mean * study.width,
    )


def report_variance(study: MeanStudy, people: ValueCounts) -> float:
    """Return the variance of a report given its value, averaged over people, on the unit range."""
    return float(study.channel.variance(people.units / UNITS) @ people.users) / people.count


def predicted_error(setup: MeanSetup, setting: Setting, name: str | float) -> float:
    """Return an estimator's expected squared error; the known-variance weight knows the setup's ``sd``, no means."""
    if name == "adaptive":
        return _adaptive(setup)
    if name == "full-local":  # both groups report, each with the noise that reports about its own values have
        groups = ((setup.n_trusted, setup.trusted), (setup.n_local, setup.local))
        noise = sum(count * report_variance(setup.study, people) for count, people in groups)
        return noise * float(setup.study.width) ** 2 / (setup.n_trusted + setup.n_local) ** 2
    variance = np.asarray(setup.sd**2)
    known = replace(setting.without_mean_gap(), trusted_variance=variance, local_variance=variance)
    return float(setting.error_hybrid(setting.weights(known=known)[name] if isinstance(name, str) else name))


def _adaptive(setup: MeanSetup) -> float:
    study, local = setup.study, setup.local
    statistics = ExpectedStatistics.of(
        study.channel,
        code_frequencies(study.channel, local),
        mean=local.mean,
        variance=local.variance,
        n_trusted=setup.n_trusted,
        n_local=setup.n_local,
        trusted_noise=trusted_noise(study, setup.n_trusted),
        laplace=not study.privacy.exact_delta,
        gap=setup.trusted.mean - local.mean,
        variance_ratio=setup.trusted.variance / local.variance if local.variance else 1.0,
        at_most=study.variance_at_most,
    )
    return statistics.error_of_answer() * float(study.width) ** 2
