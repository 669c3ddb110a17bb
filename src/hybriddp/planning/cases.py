"""One case of a plan: every estimator, if the values vary by so much.

Twice, and never mixed: as hybriddp would run them, with one-byte reports and the curator's noise of the study, and as
in the paper, with Laplace noise for both groups. Gains are over the two single groups of the same kind.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from hybriddp.channels.window import WindowChannel
from hybriddp.grid import UNITS, Grid
from hybriddp.mean.interval import NoiseLaw
from hybriddp.planning.crowds import crowd_like
from hybriddp.planning.interval import LEVEL, detectable_change
from hybriddp.privacy import Privacy
from hybriddp.release.mechanisms import mechanism_for
from hybriddp.simulation.adaptive import expected, expected_half_width, outlook, typical_half_width
from hybriddp.theory import Setting, laplace_noise

PAPERS = ("trusted-only", "full-local", "local-only", "naive", "privacy", "known-variance")
OURS = "adaptive"


@dataclass(frozen=True, slots=True)
class Point:
    """One estimator for one spread of the values, in the units of the values."""

    weight: float
    sampling: float
    privacy: float
    bias: float
    error: float
    half_width: float
    detectable: float
    gain_over_best: float
    gain_over_worst: float


@dataclass(frozen=True, slots=True)
class Case:
    """Every estimator by its name: as hybriddp runs it, ours among them, and as in the paper."""

    ours: dict[str, Point]
    papers: dict[str, Point]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked; variances and gaps are on the unit range."""

    n_users: int
    n_trusted: int
    privacy: Privacy
    grid: Grid
    mean: float | None
    gap: float
    variance_ratio: float
    at_most: float = math.inf

    @property
    def laplace(self) -> bool:
        """Whether the curator's noise is Laplace."""
        return self.privacy.exact_delta == 0

    def case(self, sd: float, *, only_errors: bool = False) -> Case:
        """Every estimator, if the values have this standard deviation.

        With ``only_errors`` there are neither intervals, which take ten times as long, nor the paper's estimators.
        """
        seen = outlook(
            window_channel(self.privacy.epsilon),
            crowd_like(self.unit_mean, sd),
            n_trusted=self.n_trusted,
            n_local=self.n_users - self.n_trusted,
            trusted_noise=self.trusted_noise,
            laplace=self.laplace,
            gap=self.gap,
            variance_ratio=self.variance_ratio,
            at_most=self.at_most,
        )
        found = expected(seen)
        area = self.grid.width**2
        setting = self.setting(sd, self.trusted_noise * area, found.report_variance * area)
        points = partial(self._points, intervals=not only_errors)
        ours = points(setting, laplace=self.laplace)
        parts = (found.sampling, found.trusted_noise, found.local_noise, found.bias)
        point = _point(
            setting, found.weight, *(part * area for part in parts), laplace=self.laplace, intervals=not only_errors
        )
        if only_errors:
            return Case({**ours, OURS: point}, {})
        for name in ("trusted-only", "privacy"):  # the others have no sampling error, or are told the spread
            stated = typical_half_width(seen, ours[name].weight, LEVEL) * self.grid.width
            ours[name] = replace(ours[name], half_width=stated)
        ours[OURS] = replace(point, half_width=expected_half_width(seen, LEVEL) * self.grid.width)
        return Case(ours, points(self.setting(sd, *self._laplace_noise()), laplace=True))

    def _points(self, setting: Setting, *, laplace: bool, intervals: bool) -> dict[str, Point]:
        """The estimators of the paper, with the noise of this setting."""
        points = {}
        for name in PAPERS:
            weight = _weight(setting, name)
            parts = setting.parts_full_local() if name == "full-local" else setting.parts_hybrid(weight)
            curator = weight**2 * float(setting.trusted_noise)
            reports = float(parts.privacy) - curator
            sampling, bias = float(parts.sampling), float(parts.bias)
            points[name] = _point(
                setting, weight, sampling, curator, reports, bias, laplace=laplace, intervals=intervals
            )
        return points

    @property
    def unit_mean(self) -> float:
        """The mean on the unit range; the middle, where values may vary most, if nobody knows."""
        return 0.5 if self.mean is None else (self.mean - self.grid.lower) / self.grid.width

    @property
    def trusted_noise(self) -> float:
        """Variance of the curator's noise on the mean of the trusted group."""
        return mechanism_for(self.privacy).variance / (self.n_trusted * UNITS) ** 2

    def _laplace_noise(self) -> tuple[float, float]:
        noise = laplace_noise(
            n_users=self.n_users,
            trusted_fraction=self.n_trusted / self.n_users,
            width=self.grid.width,
            epsilon=float(self.privacy.epsilon),
        )
        return float(noise.trusted), float(noise.local)

    def setting(self, sd: float, trusted_noise: float, local_noise: float) -> Setting:
        """The formulas' view."""
        variance = (sd * self.grid.width) ** 2
        return Setting(
            n_users=self.n_users,
            trusted_fraction=self.n_trusted / self.n_users,
            trusted_variance=variance * self.variance_ratio,
            local_variance=variance,
            trusted_noise=trusted_noise,
            local_noise=local_noise,
            trusted_mean=self.gap * self.grid.width,
        )


def _point(
    setting: Setting,
    weight: float,
    sampling: float,
    curator: float,
    reports: float,
    bias: float,
    *,
    laplace: bool,
    intervals: bool,
) -> Point:
    total = float(sampling + curator + reports + bias)

    def law(normal: float) -> NoiseLaw:
        return NoiseLaw.with_curator(normal, curator, laplace=laplace)

    # From study to study other people are asked, so the mean of their values varies too; a lasting gap cancels.
    repeated = law(sampling + reports + float(setting.benchmark_variance()))
    return Point(
        weight=weight,
        sampling=sampling,
        privacy=float(curator + reports),
        bias=float(bias),
        error=total,
        half_width=law(sampling + reports + bias).half_width(LEVEL) if intervals else math.nan,
        detectable=detectable_change(repeated) if intervals else math.nan,
        gain_over_best=float(setting.gain_over_best(total)),
        gain_over_worst=float(setting.gain_over_worst(total)),
    )


def _weight(setting: Setting, name: str) -> float:
    """The weight on the trusted group; the known-variance weight believes that the groups are alike."""
    by_name: dict[str, Callable[[], Any]] = {
        "trusted-only": lambda: 1.0,
        "full-local": lambda: 0.0,
        "local-only": lambda: 0.0,
        "naive": setting.weight_naive,
        "privacy": setting.weight_privacy,
        "known-variance": setting.without_mean_gap().weight_known_variance,
    }
    return float(by_name[name]())


@lru_cache(maxsize=128)
def window_channel(epsilon: str) -> WindowChannel:
    """The channel of a study with this ε."""
    return WindowChannel(epsilon=epsilon)
