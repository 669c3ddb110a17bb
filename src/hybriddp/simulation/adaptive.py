r"""The expected error of the adaptive estimate, before there is any data.

Its weight is chosen from numbers that are random themselves: the variance that the reports reveal and a first guess of
the mean. They hardly depend on the errors of the two means, so the expected error is the error at a given weight,

$$
E(w) = w^2 V_T + (1-w)^2 V_L - \sigma^2/n,
$$

plus what the garrote adds, averaged over the law of those two numbers by Gauss-Hermite quadrature. If the groups' means
are $\delta$ apart the garrote's part becomes $(K^2/V_D)\, r(\delta/\sqrt{V_D})$, where $r$ is the risk of the
estimate of $\delta$ that it amounts to.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.channels.window_channel import WindowChannel
from hybriddp.grid import read_only
from hybriddp.mean import weights
from hybriddp.mean.interval import ErrorLaw, VarianceEvidence, noise_law
from hybriddp.mean.weights import LocalStatistics, TrustedStatistics
from hybriddp.simulation.crowd import Crowd, code_frequencies

_VARIANCE_NODES, _MEAN_NODES = 9, 3
_WIDTH_NODES = 3  # widths vary less than weights


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the adaptive estimate will be like, on the unit range.

    ``sampling`` to ``bias`` are the parts of the expected squared error of the unbiased answer.
    """

    weight: float  # on the trusted group, on average
    sampling: float  # doubting that the groups are alike included
    trusted_noise: float
    local_noise: float
    bias: float  # what a difference of the groups adds
    answer: float  # the expected squared error of the published answer, which keeps to the bounds
    report_variance: float  # of a report given its value, averaged over the crowd

    @property
    def total(self) -> float:
        """The expected squared error of the unbiased answer."""
        return self.sampling + self.trusted_noise + self.local_noise + self.bias


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known beforehand, on the unit range; see `outlook`."""

    trusted: TrustedStatistics  # what each group says, on average
    local: LocalStatistics
    crowd: Crowd
    gap: float
    variance_ratio: float
    at_most: float

    @property
    def n_users(self) -> int:
        """How many there are in both groups."""
        return self.trusted.count + self.local.count

    @property
    def spread_trusted(self) -> float:
        """The variance of the trusted users' mean."""
        return self.variance_ratio * self.crowd.variance / self.trusted.count

    @property
    def spread_local(self) -> float:
        """The variance of the local users' mean."""
        return self.crowd.variance / self.local.count

    @property
    def difference(self) -> float:
        """The variance of the difference of the two groups' private means."""
        return self.spread_trusted + self.trusted.noise + self.spread_local + self.local.noise / self.local.count

    def cases(self, variance_nodes: int) -> "Iterator[AdaptiveCase]":
        """What the groups may say: the variance and the first guess of the mean vary."""
        typical, noise_t = self.local, self.trusted.noise
        noise_l = typical.noise / typical.count
        w0 = noise_l / (noise_l + noise_t)
        from_trusted, from_local = noise_t + self.spread_trusted, noise_l + self.spread_local
        guess_sd = math.sqrt(w0**2 * from_trusted + (1 - w0) ** 2 * from_local)
        told = math.isfinite(typical.variance_se)  # few reports say nothing about the variance
        for z_variance, mass_variance in _nodes(variance_nodes if told else 1):
            for z_mean, mass_mean in _nodes(_MEAN_NODES):
                at = self.crowd.mean + guess_sd * z_mean
                variance = typical.variance + (typical.variance_se * z_variance if told else 0.0)
                trusted, local = replace(self.trusted, mean=at), replace(typical, mean=at, variance=variance)
                chosen = weights.adaptive(trusted, local, self.at_most)
                limit = weights.threshold(trusted, local, chosen)
                yield AdaptiveCase(mass_variance * mass_mean, trusted, local, chosen.weight, limit)


class AdaptiveCase(NamedTuple):
    """One possible outcome: its probability, what the groups say, and the weight and threshold that follow."""

    mass: float
    trusted: TrustedStatistics
    local: LocalStatistics
    weight: float
    limit: weights.Threshold


def outlook(
    channel: WindowChannel | DiscreteLaplace,
    crowd: Crowd,
    *,
    n_trusted: int,
    n_local: int,
    trusted_noise: float,
    laplace: bool,
    gap: float = 0.0,
    variance_ratio: float = 1.0,
    at_most: float = math.inf,
) -> Outlook:
    """What is known beforehand of local users like this crowd.

    The trusted users' mean is ``gap`` higher, and their variance ``variance_ratio`` times as large. ``at_most`` is the
    largest variance that is possible by public knowledge.
    """
    if isinstance(channel, DiscreteLaplace):  # only the sum of its reports is kept, which says nothing about variance
        typical = LocalStatistics(n_local, crowd.mean, 0.0, math.inf, channel.noise_variance)
    else:
        typical = LocalStatistics.of(code_frequencies(channel, crowd), n_local, channel)
    trusted = TrustedStatistics(n_trusted, crowd.mean, trusted_noise, laplace=laplace)
    return Outlook(trusted, typical, crowd, gap, variance_ratio, at_most)


def expected(seen: Outlook) -> Expectation:
    """The expected error of the adaptive estimate."""
    c, noise_l, v_d = seen.trusted.count / seen.n_users, seen.local.noise / seen.local.count, seen.difference
    spread = seen.spread_trusted + seen.spread_local
    total = np.zeros(5)
    for mass, _, _, w, limit in seen.cases(_VARIANCE_NODES):
        doubt = differ = 0.0
        if limit.lam is not None:
            doubt = weights.null_risk(limit.lam, limit.laplace_fraction)
        if seen.gap:
            differ = weights.risk(limit.lam, limit.laplace_fraction, seen.gap / math.sqrt(v_d)) - doubt
        sampling = (w - c) ** 2 * (spread + v_d * doubt)
        parts = (w, sampling, w**2 * seen.trusted.noise, (1 - w) ** 2 * noise_l, (w - c) ** 2 * v_d * differ)
        total += mass * np.array(parts)
    weight, sampling, from_curator, from_reports, bias = map(float, total)
    return Expectation(
        weight=weight,
        sampling=sampling,
        trusted_noise=from_curator,
        local_noise=from_reports,
        bias=bias,
        answer=_answer(seen.crowd.mean, sampling + from_curator + from_reports + bias),
        report_variance=seen.local.noise,
    )


def expected_half_width(seen: Outlook, level: float) -> float:
    r"""Half the width of the interval that the study will state, on average: that of the rule itself, not of the error.

    Where the groups' means seem to differ, $|z| > 2$, another one is stated (`Estimate.stated_interval`): that happens
    by chance too.
    """
    c = seen.trusted.count / seen.n_users
    honest = noise_law(c, seen.trusted, seen.local).half_width(level)
    total = 0.0
    for mass, trusted, local, weight, limit in seen.cases(_WIDTH_NODES):
        alike = _half_width(seen, level, weight, trusted, local, limit.price)
        ratio = math.sqrt(seen.difference / limit.variance)  # of the true standard error to the reckoned one
        total += mass * _average_width(alike, honest, weight - c, limit.variance**0.5, seen.gap, ratio)
    return min(total, 0.5)


def _average_width(alike: float, honest: float, extra: float, sd: float, gap: float, ratio: float) -> float:
    """The stated half-width, averaged over the difference of the groups' means that will be seen."""
    z = gap / sd + ratio * _normal_quantiles()
    size = np.abs(z)
    apart = np.abs(extra) * size * sd  # between the centers of the two intervals
    both = np.maximum(np.maximum(alike, honest), (alike + honest + apart) / 2)
    return float(np.mean(np.where(size <= 2, alike, np.where(size <= 4, both, honest))))


def typical_half_width(seen: Outlook, weight: float, level: float) -> float:
    """The same for a fixed weight, where the reports say what they say on average."""
    return _half_width(seen, level, weight, seen.trusted, seen.local)


def _half_width(
    seen: Outlook, level: float, weight: float, trusted: TrustedStatistics, local: LocalStatistics, price: float = 0.0
) -> float:
    noise = noise_law(weight, trusted, local, besides=price)
    evidence = VarianceEvidence.of(local, n_users=seen.n_users, at_most=seen.at_most)
    law = ErrorLaw.of(trusted.mean, weight, trusted.count, local.count, noise, evidence)
    return law.interval(level).half_width


@lru_cache(maxsize=4)
def _nodes(count: int) -> list[tuple[float, float]]:
    """Where to look at a standard normal variable, and with which mass."""
    z, mass = np.polynomial.hermite_e.hermegauss(count)
    return list(zip(z.tolist(), (mass / mass.sum()).tolist(), strict=True))


def _answer(mean: float, error: float) -> float:
    """The expected squared error after shrinking and clamping to the bounds, for a normal error."""
    y = mean + math.sqrt(error) * _normal_quantiles()
    a = 0.25 / (0.25 + error)
    return float(np.mean((np.clip(0.5 + a * (y - 0.5), 0.0, 1.0) - mean) ** 2))


@lru_cache(maxsize=1)
def _normal_quantiles() -> FloatArray:
    """Standardized, so that their variance is exactly 1."""
    from scipy.special import ndtri

    z: FloatArray = ndtri((np.arange(2000) + 0.5) / 2000)
    return read_only(np.asarray(z / z.std()))
