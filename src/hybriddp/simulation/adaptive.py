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
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.channels.numeric import NumericChannel
from hybriddp.mean import divergence, weights
from hybriddp.mean.groups import LocalGroup, TrustedGroup
from hybriddp.simulation.crowd import Crowd, code_shares

_VARIANCE_NODES, _MEAN_NODES = 9, 3


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the adaptive estimate will be like, on the unit range.

    Attributes
    ----------
    weight : float
        The weight on the trusted group, on average.
    sampling, trusted_noise, local_noise, bias : float
        The parts of the expected squared error of the unbiased answer; doubting the groups is in ``sampling``, and what
        their difference adds is ``bias``.
    answer : float
        The expected squared error of the published answer, which keeps to the bounds.
    report_variance : float
        The variance of a report given its value, averaged over the crowd.
    """

    weight: float
    sampling: float
    trusted_noise: float
    local_noise: float
    bias: float
    answer: float
    report_variance: float

    @property
    def total(self) -> float:
        """The expected squared error of the unbiased answer."""
        return self.sampling + self.trusted_noise + self.local_noise + self.bias


def expected(
    channel: NumericChannel | DiscreteLaplace,
    crowd: Crowd,
    *,
    n_trusted: int,
    n_local: int,
    trusted_noise: float,
    laplace: bool,
    gap: float = 0.0,
    variance_ratio: float = 1.0,
) -> Expectation:
    """The expectation for local users like this crowd.

    The trusted users' mean is ``gap`` higher, and their variance ``variance_ratio`` times as large.
    """
    typical = _typical_reports(channel, crowd, n_local)
    mean = crowd.mean
    spread_t, spread_l = variance_ratio * crowd.variance / n_trusted, crowd.variance / n_local
    c = n_trusted / (n_trusted + n_local)
    noise_l = typical.noise / n_local
    w0 = noise_l / (noise_l + trusted_noise)
    guess_sd = math.sqrt(w0**2 * (trusted_noise + spread_t) + (1 - w0) ** 2 * (noise_l + spread_l))
    v_d = spread_t + trusted_noise + spread_l + noise_l
    total = np.zeros(5)
    told = math.isfinite(typical.variance_se)  # few reports say nothing about the variance
    for z_variance, mass_variance in _nodes(_VARIANCE_NODES if told else 1):
        for z_mean, mass_mean in _nodes(_MEAN_NODES):
            at = mean + guess_sd * z_mean
            trusted = TrustedGroup(n_trusted, at, trusted_noise, laplace=laplace)
            variance = typical.variance + (typical.variance_se * z_variance if told else 0.0)
            local = LocalGroup(n_local, at, variance, typical.variance_se, typical.noise)
            chosen = weights.adaptive(trusted, local)
            w = chosen.weight
            limit = divergence.threshold(trusted, local, chosen)
            doubt = 0.0 if limit.lam is None else divergence.null_risk(limit.lam, limit.laplace_share)
            differ = divergence.risk(limit.lam, limit.laplace_share, gap / math.sqrt(v_d)) - doubt if gap else 0.0
            sampling = (w - c) ** 2 * (spread_t + spread_l + v_d * doubt)
            parts = (w, sampling, w**2 * trusted_noise, (1 - w) ** 2 * noise_l, (w - c) ** 2 * v_d * differ)
            total += mass_variance * mass_mean * np.array(parts)
    weight, sampling, from_curator, from_reports, bias = map(float, total)
    return Expectation(
        weight=weight,
        sampling=sampling,
        trusted_noise=from_curator,
        local_noise=from_reports,
        bias=bias,
        answer=_answer(mean, sampling + from_curator + from_reports + bias),
        report_variance=typical.noise,
    )


@lru_cache(maxsize=4)
def _nodes(count: int) -> list[tuple[float, float]]:
    """Where to look at a standard normal variable, and with which mass."""
    z, mass = np.polynomial.hermite_e.hermegauss(count)
    return list(zip(z.tolist(), (mass / mass.sum()).tolist(), strict=True))


def _typical_reports(channel: NumericChannel | DiscreteLaplace, crowd: Crowd, n_local: int) -> LocalGroup:
    """What the reports of a crowd say when each code comes as often as expected."""
    if isinstance(channel, DiscreteLaplace):  # of which only the sum is kept, so nothing is known about the variance
        return LocalGroup(n_local, crowd.mean, 0.0, math.inf, channel.noise_variance)
    return LocalGroup.of_shares(code_shares(channel, crowd), n_local, channel)


def _answer(mean: float, error: float) -> float:
    """The expected squared error after shrinking and cutting to the bounds, for a normal error."""
    y = mean + math.sqrt(error) * _normal_quantiles()
    a = 0.25 / (0.25 + error)
    return float(np.mean((np.clip(0.5 + a * (y - 0.5), 0.0, 1.0) - mean) ** 2))


@lru_cache(maxsize=1)
def _normal_quantiles() -> FloatArray:
    """Standardised, so that their variance is exactly 1."""
    from scipy.special import ndtri

    z: FloatArray = ndtri((np.arange(2000) + 0.5) / 2000)
    result: FloatArray = z / z.std()
    return result
