"""What every estimator of a mean would give: errors, intervals and gains.

Twice, and never mixed: as hybriddp would run them, with one-byte reports and the curator's noise of the study, and as
in the paper, with Laplace noise for both groups. Gains are over the two single groups of the same kind.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.window_channel import WindowChannel
from hybriddp.grid import UNITS
from hybriddp.mean.expected import ExpectedStatistics
from hybriddp.planning.base import readable
from hybriddp.planning.shape import beta_counts
from hybriddp.release.mechanisms import mechanism_for
from hybriddp.simulation.crowd import code_frequencies
from hybriddp.study.intervals import NoiseLaw
from hybriddp.theory import Setting, laplace_noise

if TYPE_CHECKING:
    from hybriddp.planning.mean import MeanPlan

PAPERS = ("trusted-only", "full-local", "local-only", "naive", "privacy", "known-variance")
OURS = "adaptive"
LEVEL, POWER = 0.95, 0.8
_STEPS = 1000
_LAPLACE_FRACTIONS = np.linspace(0.0, 1.0, 33)


@dataclass(frozen=True, slots=True)
class Span:
    """From the best to the worst case; both the same where nothing is unknown."""

    best: float
    worst: float

    @classmethod
    def of(cls, values: "list[float]") -> "Span":
        """Return the span of these values."""
        return cls(min(values), max(values))

    def __str__(self) -> str:
        low, high = readable(self.best), readable(self.worst)
        return high if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True, repr=False)
class Option:
    """One estimator in a plan, in the units of the values."""

    name: str
    weight: Span  # on the trusted group
    rmse: Span  # the typical error: root of the expected squared error against the mean of all users' values
    half_width: Span  # of the 95 % interval
    detectable: Span  # the change between two such studies, with other people, that a 5 % test finds 4 times out of 5
    sampling: Span  # part of the expected squared error: users who do not all weigh the same
    privacy: Span  # part of it: noise
    bias: Span  # part of it: groups whose means differ
    gain_over_best: Span  # R: error of the better of trusted-only and full-local, with this noise, over this one
    gain_over_worst: Span  # r: the same of the worse

    def __repr__(self) -> str:
        return f"<Option {self.name}: typical error {self.rmse}, 95 % interval ± {self.half_width}>"


class _Parts(NamedTuple):
    """A weight, and the parts of the expected squared error with it."""

    weight: float
    sampling: float
    curator: float
    reports: float
    bias: float

    @property
    def total(self) -> float:
        return self.sampling + self.curator + self.reports + self.bias


@lru_cache(maxsize=512)
def errors(plan: "MeanPlan") -> dict[str, Span]:
    """Return the typical error of each estimator with one-byte reports; intervals would take ten times as long."""
    cases = [_parts(plan, _statistics(plan, sd), sd)[1] for sd in _spreads(plan)]
    return {name: Span.of([parts[name].total ** 0.5 for parts in cases]) for name in (*PAPERS, OURS)}


@lru_cache(maxsize=64)
def evaluate(plan: "MeanPlan") -> tuple[tuple[Option, ...], tuple[Option, ...]]:
    """Return every estimator with one-byte reports, ours last, and the paper's estimators with its Laplace noise."""
    ours, papers = zip(*(_case(plan, sd) for sd in _spreads(plan)), strict=True)
    return _options(ours), _options(papers)


def _options(cases: tuple[dict[str, dict[str, float]], ...]) -> tuple[Option, ...]:
    return tuple(
        Option(name, **{key: Span.of([case[name][key] for case in cases]) for key in numbers})
        for name, numbers in cases[0].items()
    )


def _case(plan: "MeanPlan", sd: float) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Evaluate all estimators for one standard deviation on the unit range: ours, and as in the paper."""
    statistics, laplace = _statistics(plan, sd), plan.privacy.exact_delta == 0
    setting, parts = _parts(plan, statistics, sd)
    ours = {name: _numbers(setting, part, laplace=laplace) for name, part in parts.items()}
    for name in ("trusted-only", "privacy"):  # the others have no sampling error, or know the spread
        ours[name]["half_width"] = statistics.half_width_at(parts[name].weight, LEVEL) * plan.width
    ours[OURS]["half_width"] = statistics.half_width(LEVEL) * plan.width
    noise = laplace_noise(
        n_users=plan.n_users,
        trusted_fraction=plan.trusted_fraction,
        width=plan.width,
        epsilon=float(plan.privacy.epsilon),
    )
    paper = _setting(plan, sd, float(noise.trusted), float(noise.local))
    return ours, {name: _numbers(paper, part, laplace=True) for name, part in _paper_parts(paper).items()}


def _spreads(plan: "MeanPlan") -> list[float]:
    """Return the standard deviations to plan for, on the unit range: all values alike, or as far apart as can be."""
    sds = [0.0, plan.most_sd] if plan.sd is None else [plan.sd]
    return [sd / plan.width for sd in sds]


def _trusted_noise(plan: "MeanPlan") -> float:
    """Return the variance of the curator's noise on the mean of the trusted group, on the unit range."""
    return mechanism_for(plan.privacy).variance / (plan.n_trusted * UNITS) ** 2


def _statistics(plan: "MeanPlan", sd: float) -> ExpectedStatistics:
    channel, values = window_channel(plan.privacy.epsilon), beta_counts(plan.unit_mean, sd)
    return ExpectedStatistics.of(
        channel,
        code_frequencies(channel, values),
        mean=values.mean,
        variance=values.variance,
        n_trusted=plan.n_trusted,
        n_local=plan.n_local,
        trusted_noise=_trusted_noise(plan),
        laplace=plan.privacy.exact_delta == 0,
        gap=plan.mean_gap / plan.width,
        variance_ratio=plan.variance_ratio,
        at_most=math.inf if plan.sd_at_most is None else (plan.sd_at_most / plan.width) ** 2,
    )


def _setting(plan: "MeanPlan", sd: float, trusted_noise: float, local_noise: float) -> Setting:
    variance = (sd * plan.width) ** 2
    return Setting(
        n_users=plan.n_users,
        trusted_fraction=plan.trusted_fraction,
        trusted_variance=variance * plan.variance_ratio,
        local_variance=variance,
        trusted_noise=trusted_noise,
        local_noise=local_noise,
        trusted_mean=plan.mean_gap,
    )


def _paper_parts(setting: Setting) -> dict[str, _Parts]:
    """Evaluate the paper's estimators; the known-variance weight believes that the groups' means are equal."""
    weights = setting.weights(known=setting.without_mean_gap())
    parts_by_name = {}
    for name in PAPERS:
        weight = weights.get(name, 0.0)
        parts = setting.parts_full_local() if name == "full-local" else setting.parts_hybrid(weight)
        curator = weight**2 * float(setting.trusted_noise)
        reports = float(parts.privacy) - curator
        parts_by_name[name] = _Parts(weight, float(parts.sampling), curator, reports, float(parts.bias))
    return parts_by_name


def _parts(plan: "MeanPlan", statistics: ExpectedStatistics, sd: float) -> tuple[Setting, dict[str, _Parts]]:
    """Evaluate all estimators with one-byte reports, and return the setting of the formulas."""
    error, area = statistics.error(), plan.width**2
    setting = _setting(plan, sd, _trusted_noise(plan) * area, statistics.local.noise * area)
    squared = (error.sampling, error.trusted_noise, error.local_noise, error.bias)
    ours = _Parts(error.weight, *(part * area for part in squared))
    return setting, {**_paper_parts(setting), OURS: ours}


def _numbers(setting: Setting, parts: _Parts, *, laplace: bool) -> dict[str, float]:
    """Return the numbers of an `Option`."""

    def law(normal: float) -> NoiseLaw:
        return NoiseLaw.with_curator(normal, parts.curator, laplace=laplace)

    # From study to study other people are asked, so the mean of their values varies too; a lasting gap cancels.
    repeated = law(parts.sampling + parts.reports + float(setting.benchmark_variance()))
    return {
        "weight": parts.weight,
        "rmse": parts.total**0.5,
        "half_width": law(parts.sampling + parts.reports + parts.bias).half_width(LEVEL),
        "detectable": detectable_change(repeated),
        "sampling": parts.sampling,
        "privacy": parts.curator + parts.reports,
        "bias": parts.bias,
        "gain_over_best": float(setting.gain_over_best(parts.total)),
        "gain_over_worst": float(setting.gain_over_worst(parts.total)),
    }


@lru_cache(maxsize=128)
def window_channel(epsilon: str) -> WindowChannel:
    """Return the channel of a study with this ε."""
    return WindowChannel(epsilon=epsilon)


def detectable_change(law: NoiseLaw) -> float:
    r"""Return the change of a mean that a two-sided 5 % test between two such studies finds 4 times out of 5.

    The difference $D$ of two independent errors $N(0, s^2) + \mathrm{Lap}(b)$ is symmetric, with the characteristic
    function $\varphi(t) = e^{-s^2 t^2}/(1 + b^2 t^2)^2$. The test rejects beyond the 97.5 % quantile of $D$; a change
    of that plus the 80 % quantile is found with that probability. For normal errors it is
    $(1.96 + 0.84)\sqrt{2}\, s$.

    Examples
    --------
    >>> detectable_change(NoiseLaw(normal=1.0, laplace=0.0))
    3.962
    """
    scale = math.sqrt(law.variance)
    if scale == 0:
        return 0.0
    return scale * float(np.interp(2 * law.laplace**2 / law.variance, _LAPLACE_FRACTIONS, _standard_changes()))


@lru_cache(maxsize=1)
def _standard_changes() -> FloatArray:
    """Return the changes for errors of variance 1, by the Laplace part's fraction of it: a smooth curve."""
    levels = ((1 + LEVEL) / 2, POWER)
    return np.array([sum(_quantile(level, part) for level in levels) for part in _LAPLACE_FRACTIONS.tolist()])


def _quantile(level: float, laplace: float) -> float:
    r"""Invert $F(y) = \frac12 + \frac1\pi \int_0^\infty \varphi(t) \sin(ty)/t \, dt$ of $D$ (Gil-Pelaez)."""
    from scipy.optimize import brentq

    t = (np.arange(_STEPS) + 0.5) * (40.0 / _STEPS)  # midpoints; beyond 40 the tail of φ(t)/t is below 1e-6
    phi = np.exp(-(1 - laplace) * t**2) / (1 + laplace * t**2 / 2) ** 2
    weight = phi / t * (40.0 / _STEPS) / math.pi
    return float(brentq(lambda y: 0.5 + float(weight @ np.sin(t * y)) - level, 0.0, 20.0))
