"""What a simulation found: errors observed and predicted, gains, coverage."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.grid import UNITS
from hybriddp.mean import MeanStudy
from hybriddp.mean.published import trusted_noise
from hybriddp.reporting.wording import percent, significant
from hybriddp.simulation.adaptive import expected, outlook
from hybriddp.simulation.crowd import Crowd
from hybriddp.simulation.trial import Scene, TrialSums
from hybriddp.theory import Setting


@dataclass(frozen=True, slots=True, repr=False)
class Outcome:
    """One estimator over all trials."""

    name: str
    weight: float
    """The weight on the trusted group, averaged over the trials."""
    answer: float
    """What it said in the first trial."""
    predicted_mse: float
    """The expected squared error by the formulas, of this very estimator. That of the adaptive weight, which depends on
    what the reports say, is approximate (`simulation.adaptive`)."""
    predicted_mse_se: float
    """The standard error that the mean over so many trials has if the prediction holds: errors are normal but for the
    curator's noise. (That from the trials themselves is too small where few of them met the tail of the noise.)"""
    observed_mse: float
    """The mean squared error over the trials."""
    observed_mse_se: float
    """Its standard error as far as the trials tell."""
    gain_over_best: float
    """The error of the better single model (R), in theory, over the observed one."""
    gain_over_worst: float
    """The same for the worse single model (r)."""
    coverage: float
    """How often the 95 % interval held the mean of the users' values."""
    coverage_se: float

    @property
    def is_exact(self) -> bool:
        """Whether the prediction is exact, so that it can be tested against what was observed."""
        return self.name != "adaptive"

    @property
    def z(self) -> float:
        """How far what was observed is from what was predicted, in standard errors."""
        return (self.observed_mse - self.predicted_mse) / self.predicted_mse_se if self.predicted_mse_se else 0.0

    def __repr__(self) -> str:
        seen, said = (significant(mse**0.5) for mse in (self.observed_mse, self.predicted_mse))
        return f"<Outcome {self.name}: typical error {seen} (predicted {said}), coverage {percent(self.coverage)}>"


@dataclass(frozen=True, slots=True, repr=False)
class Simulation:
    """What came out of `simulate`. Not a private release."""

    study: MeanStudy
    n_trusted: int
    n_local: int
    trials: int
    seed: int
    truth: float
    """The mean of all users' values, clamped to the bounds, in the first trial."""
    outside: float
    """Which fraction of the values lies outside of the bounds and is clamped."""
    mean: float
    """The mean of the values before clamping."""
    setting: Setting = field(compare=False)
    """What the formulas were told."""
    outcomes: tuple[Outcome, ...]
    """One per estimator."""

    def __repr__(self) -> str:
        users = f"{self.n_trusted:,} trusted and {self.n_local:,} local users"
        return f"<Simulation of {users}, {self.trials:,} trials, {len(self.outcomes)} estimators; not a release>"

    def __getitem__(self, name: str | float) -> Outcome:
        wanted = name if isinstance(name, str) else str(float(name))
        for outcome in self.outcomes:
            if outcome.name == wanted:
                return outcome
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "private_release": False,
            "seed": self.seed,
            "study": json.loads(self.study.to_json()),
            "n_trusted": self.n_trusted,
            "n_local": self.n_local,
            "trials": self.trials,
            "truth_of_first_trial": self.truth,
            "outside_of_bounds": self.outside,
            "mean_before_clamping": self.mean,
            "estimators": [asdict(outcome) for outcome in self.outcomes],
        }

    def to_json(self) -> str:
        """Everything as text."""
        return json.dumps(self.to_dict(), indent=2)


def outcomes(scene: Scene, sums: TrialSums) -> tuple[Outcome, ...]:
    """The outcome of every estimator."""
    setting = predicted_setting(scene)
    noise = float(setting.trusted_noise)
    mse = sums.squares / sums.trials
    spread = np.sqrt(np.maximum(sums.fourths / sums.trials - mse**2, 0.0) / max(sums.trials - 1, 1))
    coverage = sums.covered / sums.trials
    result = []
    for i, name in enumerate(scene.estimators):
        predicted, weight = predicted_error(scene, setting, name), float(sums.weights[i] / sums.trials)
        result.append(
            Outcome(
                name=name if isinstance(name, str) else str(float(name)),
                weight=weight,
                answer=sums.first_answers[i],
                predicted_mse=predicted,
                predicted_mse_se=_standard_error(scene, predicted, weight**2 * noise, sums.trials),
                observed_mse=float(mse[i]),
                observed_mse_se=float(spread[i]),
                gain_over_best=float(setting.gain_over_best(mse[i])),
                gain_over_worst=float(setting.gain_over_worst(mse[i])),
                coverage=float(coverage[i]),
                coverage_se=float(np.sqrt(coverage[i] * (1 - coverage[i]) / sums.trials)),
            )
        )
    return tuple(result)


def _standard_error(scene: Scene, mse: float, curator: float, trials: int) -> float:
    r"""Of a mean of squared errors $X^2$, where $\mathrm{Var}(X^2) = 2 V^2 + \kappa_4$ for an error of mean 0.

    $V$ is its variance and $\kappa_4$ its fourth cumulant: 0 for a normal error, $12 b^4 = 3 (2b^2)^2$ for the Laplace
    part of scale $b$, whose variance is ``curator``.
    """
    excess = 0.0 if scene.study.privacy.exact_delta else 3 * curator**2
    return float(((2 * mse**2 + excess) / trials) ** 0.5)


def predicted_setting(scene: Scene) -> Setting:
    """What the formulas need to know, in the units of the values."""
    study = scene.study
    area = study.width**2
    trusted, local = (crowd.split_variance if scene.fixed else crowd.variance for crowd in (scene.trusted, scene.local))
    return Setting(
        n_users=scene.n_trusted + scene.n_local,
        trusted_fraction=scene.n_trusted / (scene.n_trusted + scene.n_local),
        trusted_variance=trusted * area,
        local_variance=local * area,
        trusted_noise=trusted_noise(study, scene.n_trusted) * area,
        local_noise=report_variance(study, scene.local) * area,
        trusted_mean=scene.trusted.mean * study.width,
        local_mean=scene.local.mean * study.width,
    )


def report_variance(study: MeanStudy, crowd: Crowd) -> float:
    """The variance of a report given its value, averaged over the crowd, on the unit range."""
    if isinstance(study.channel, DiscreteLaplace):
        return study.channel.noise_variance
    return float(study.channel.variance(crowd.units / UNITS) @ crowd.users) / crowd.count


def predicted_error(scene: Scene, setting: Setting, name: str | float) -> float:
    """The expected squared error of an estimator; the known-variance weight is told the scene's ``sd``, no means."""
    variance = np.asarray(scene.sd**2)
    told = replace(setting.without_mean_gap(), trusted_variance=variance, local_variance=variance)
    by_name: dict[str, Callable[[], Any]] = {
        "trusted-only": setting.error_trusted_only,
        "full-local": lambda: _full_local(scene),
        "local-only": setting.error_local_only,
        "naive": lambda: setting.error_hybrid(setting.weight_naive()),
        "privacy": lambda: setting.error_hybrid(setting.weight_privacy()),
        "known-variance": lambda: setting.error_hybrid(told.weight_known_variance()),
        "adaptive": lambda: _adaptive(scene),
    }
    return float(by_name[name]() if isinstance(name, str) else setting.error_hybrid(name))


def _full_local(scene: Scene) -> float:
    """Both groups report, each with the noise that reports about its own values have."""
    groups = ((scene.n_trusted, scene.trusted), (scene.n_local, scene.local))
    noise = sum(count * report_variance(scene.study, crowd) for count, crowd in groups)
    return noise * scene.study.width**2 / (scene.n_trusted + scene.n_local) ** 2


def _adaptive(scene: Scene) -> float:
    """Approximate, since the weight depends on what the reports say."""
    study, local = scene.study, scene.local
    seen = outlook(
        study.channel,
        local,
        n_trusted=scene.n_trusted,
        n_local=scene.n_local,
        trusted_noise=trusted_noise(study, scene.n_trusted),
        laplace=not study.privacy.exact_delta,
        gap=scene.trusted.mean - local.mean,
        variance_ratio=scene.trusted.variance / local.variance if local.variance else 1.0,
        at_most=study.variance_at_most,
    )
    return expected(seen).answer * study.width**2
