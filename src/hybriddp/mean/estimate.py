"""The answer, how wrong it may be, what it cost, and the story of how it came about."""

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybriddp import _check
from hybriddp.mean.divergence import Divergence, garrote
from hybriddp.mean.groups import LocalGroup, TrustedGroup
from hybriddp.mean.interval import Interval, Noise
from hybriddp.mean.weights import VarianceRange, Weighting
from hybriddp.privacy import Neighbours

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy

_LEVEL = _check.Range("a number between 0 and 1, both excluded", 0.0, 1.0, lower_open=True, upper_open=True)


@dataclass(frozen=True, slots=True)
class Errors:
    """The expected squared error against the mean of all users' values, in their squared units, by its cause."""

    sampling: float
    privacy: float

    @property
    def total(self) -> float:
        """The whole of it, if the groups are alike; what a difference of the groups adds is unknown."""
        return self.sampling + self.privacy


@dataclass(frozen=True, slots=True)
class Statement:
    """What was promised to whom, and under which circumstances."""

    epsilon: str
    delta: str
    neighbours: str
    counted: bool
    seeded: bool

    def __str__(self) -> str:
        if self.seeded:
            return "A simulation with a seed: NOT a private release."
        book = "" if self.counted else " Nobody is counting: give a ledger to make sure that it stays one release."
        return (
            f"Every user, trusted or local, is promised ε = {self.epsilon}, δ = {self.delta} for this one release "
            f"({self.neighbours}).{book}"
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, from private numbers only.

    Attributes
    ----------
    study : MeanStudy
        What was asked.
    value : float
        The answer, moved into the bounds if noise took it out of them.
    weight : float
        The weight on the trusted group's mean that it was made with.
    weighting : Weighting
        How that weight was chosen, before the groups were compared.
    n_trusted, n_local : int
        How many users.
    trusted_mean, local_mean : float or None
        The two groups' private means; None where there was no such group.
    divergence : Divergence or None
        How far they are apart; None where there was only one.
    error : Errors
        The expected squared error.
    privacy : Statement
        What it cost.
    """

    study: "MeanStudy"
    value: float
    weight: float
    weighting: Weighting
    n_trusted: int
    n_local: int
    trusted_mean: float | None
    local_mean: float | None
    divergence: Divergence | None
    error: Errors
    privacy: Statement
    sample_noise: Noise
    population_noise: Noise

    @property
    def standard_error(self) -> float:
        """The root of the expected squared error against the mean of all users' values."""
        return math.sqrt(self.sample_noise.variance)

    def interval(self, level: float = 0.95) -> Interval:
        """Where the mean of *these users'* values lies, at a level of confidence."""
        return self._interval(level, self.sample_noise)

    def population_interval(self, level: float = 0.95) -> Interval:
        """Where the mean of the population lies that these users were drawn from: a wider one."""
        return self._interval(level, self.population_noise)

    def _interval(self, level: float, noise: Noise) -> Interval:
        level = _check.number("level", level, _LEVEL)
        lower, upper = self.study.bounds
        half = noise.half_width(level)
        return Interval(max(self.value - half, lower), min(self.value + half, upper), level)

    def explain(self) -> str:
        """The story in plain words."""
        n = self.n_trusted + self.n_local
        sample, population = self.interval(0.95), self.population_interval(0.95)
        lines = [
            f"{self.study.name}: {self.value:.6g}, give or take {self.standard_error:.2g}.",
            f"Of {n:,} users {self.n_trusted:,} trusted the curator and {self.n_local:,} reported locally.",
            f"The mean of these users' values lies between {sample.lower:.6g} and {sample.upper:.6g}, and that of the "
            f"population they come from between {population.lower:.6g} and {population.upper:.6g} (95 %).",
        ]
        if self.divergence is None:
            lines.append("There was only one group, so this is the answer of a single world, not a hybrid.")
        else:
            lines.append(
                f"The trusted group, {100 * self.n_trusted / n:.2g} % of the users, got {100 * self.weight:.3g} % of "
                f"the weight, because its mean has less noise."
            )
            lines.append(self.divergence.verdict)
        noise = 100 * self.error.privacy / self.error.total if self.error.total else 0.0
        lines.append(f"{noise:.0f} % of the expected squared error is noise for privacy, the rest is sampling.")
        lines.append(str(self.privacy))
        return "\n".join(lines)

    def to_json(self) -> str:
        """Everything that may be published, as text."""
        sample, population = self.interval(0.95), self.population_interval(0.95)
        return json.dumps(
            {
                "study": self.study.name,
                "digest": self.study.digest,
                "value": self.value,
                "standard_error": self.standard_error,
                "interval_95": [sample.lower, sample.upper],
                "population_interval_95": [population.lower, population.upper],
                "weight": self.weight,
                "n_trusted": self.n_trusted,
                "n_local": self.n_local,
                "trusted_mean": self.trusted_mean,
                "local_mean": self.local_mean,
                "divergence": None if self.divergence is None else _divergence(self.divergence),
                "error": {"sampling": self.error.sampling, "privacy": self.error.privacy},
                "privacy": {
                    "epsilon": self.privacy.epsilon,
                    "delta": self.privacy.delta,
                    "neighbours": self.privacy.neighbours,
                    "counted": self.privacy.counted,
                    "private_release": not self.privacy.seeded,
                },
            },
            indent=2,
        )


def _divergence(divergence: Divergence) -> dict[str, Any]:
    return {"difference": divergence.difference, "z": divergence.z, "share": divergence.share}


def hybrid(
    study: "MeanStudy",
    trusted: TrustedGroup,
    local: LocalGroup,
    chosen: Weighting,
    *,
    compare: bool,
    counted: bool,
    seeded: bool,
) -> Estimate:
    """The estimate from both groups; with ``compare`` the weight yields where their means diverge."""
    n, n_t, n_l = trusted.count + local.count, trusted.count, local.count
    c = n_t / n
    divergence = garrote(trusted, local, chosen, study.width)
    if not compare:
        divergence = Divergence(divergence.difference, divergence.z, 1.0)
    w = c + (chosen.weight - c) * divergence.share
    s, noise_l = chosen.range.upper, local.noise
    central = w**2 * trusted.noise
    sampling, reports = (w - c) ** 2 * s * n / (n_t * n_l), (1 - w) ** 2 * noise_l / n_l
    population = w**2 * s / n_t + (1 - w) ** 2 * s / n_l
    return _estimate(
        study,
        value=w * trusted.mean + (1 - w) * local.mean,
        weight=w,
        weighting=chosen,
        trusted=trusted,
        local=local,
        divergence=divergence,
        parts=(sampling, population, reports, central),
        flags=(counted, seeded),
    )


def single_world(
    study: "MeanStudy", trusted: TrustedGroup | None, local: LocalGroup | None, *, counted: bool, seeded: bool
) -> Estimate:
    """The estimate from one group alone."""
    if trusted is not None:
        most = 0.25  # no variable on [0, 1] varies more (Popoviciu)
        parts = (0.0, most / trusted.count, 0.0, trusted.noise)
        value, weight = trusted.mean, 1.0
    elif local is not None:
        most = min(max(local.variance + 2 * local.variance_se, 0.0), 0.25)
        parts = (0.0, most / local.count, local.noise / local.count, 0.0)
        value, weight = local.mean, 0.0
    else:
        raise AssertionError("one group is needed")
    chosen = Weighting(weight, most, VarianceRange(0.0, most))
    return _estimate(
        study,
        value=value,
        weight=weight,
        weighting=chosen,
        trusted=trusted,
        local=local,
        divergence=None,
        parts=parts,
        flags=(counted, seeded),
    )


def _estimate(
    study: "MeanStudy",
    *,
    value: float,
    weight: float,
    weighting: Weighting,
    trusted: TrustedGroup | None,
    local: LocalGroup | None,
    divergence: Divergence | None,
    parts: tuple[float, float, float, float],
    flags: tuple[bool, bool],
) -> Estimate:
    lower, width = study.bounds[0], study.width
    sampling, population, reports, central = (part * width**2 for part in parts)
    laplace = (central / 2) ** 0.5 if trusted is not None and trusted.laplace else 0.0
    normal = central - 2 * laplace**2
    return Estimate(
        study=study,
        value=lower + width * min(max(value, 0.0), 1.0),
        weight=weight,
        weighting=weighting,
        n_trusted=trusted.count if trusted else 0,
        n_local=local.count if local else 0,
        trusted_mean=lower + width * trusted.mean if trusted else None,
        local_mean=lower + width * local.mean if local else None,
        divergence=divergence,
        error=Errors(sampling=sampling, privacy=reports + central),
        privacy=Statement(
            study.privacy.epsilon, study.privacy.delta, Neighbours.REPLACE_ONE.value, counted=flags[0], seeded=flags[1]
        ),
        sample_noise=Noise(normal=max(sampling + reports + normal, 0.0), laplace=laplace),
        population_noise=Noise(normal=max(population + reports + normal, 0.0), laplace=laplace),
    )
