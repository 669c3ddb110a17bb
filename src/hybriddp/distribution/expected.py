r"""The errors to expect of an estimated distribution, before anything is collected.

The covariance of the least squares estimate depends on the data through the masses and the group sizes only. With
assumed masses it is known beforehand: a pattern is asked of its known fraction of the local users, so their information
is $n_L$ times that of one user on average, and the trusted group's covariance is that of its noise and its sampling.
For uniform masses and local users alone it is the closed form of `MaskedResponse.rank_variance`, over $n_L$.

Chance tells alike groups apart in 5 % of studies (`hybriddp.distribution.fit`). The trusted group then counts less, and
the error can be many times as large, so these studies have a good part of the mean squared error (`outcomes`). With $o$
the answer of groups that are alike, $e$ the difference of what they say, of covariance $D$, and $B$ the edges at which
they are compared, the answer is $o + G e$ for a matrix $G$; $o$ and $e$ are independent, and if the statistic
$T = e^T B^T (B D B^T)^{-1} B e$ is known, $e$ has the covariance
$D + (T/K - 1) D B^T (B D B^T)^{-1} B D$.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.masked import N_BINS, MaskedResponse
from hybriddp.distribution.fit import CHANCE, DistributionFit, pilot_of, spread
from hybriddp.distribution.least_squares import (
    Information,
    MaskedEvidence,
    code_influence,
    equal_pieces,
    inverse_on_sum_zero,
    of_known_covariance,
    prior,
    solve,
    to_walsh,
    walsh,
)
from hybriddp.distribution.release import SENSITIVITY, noise_shape
from hybriddp.grid import read_only
from hybriddp.privacy import Privacy
from hybriddp.release.mechanisms import laplace_scale, laplace_variance

_CHANCES = tuple(CHANCE * part for part in (0.75, 0.25))
"""Of statistics as large as those that stand for all which tell alike groups apart."""


@dataclass(frozen=True, eq=False)
class ExpectedFits:
    """What both groups would know together, and each alone; None where a group would be empty."""

    both: DistributionFit
    trusted: DistributionFit | None
    local: DistributionFit | None


def expected_fits(
    channel: MaskedResponse, masses: FloatArray, *, n_trusted: int, n_local: int, alone: bool = True
) -> ExpectedFits:
    """Compute the expected covariances for these masses.

    ``alone`` states whether the covariances of each group alone are included.
    """
    pilot = pilot_of(masses)
    both, nothing, fits = prior(), np.zeros(len(masses)), []
    for count, said in ((n_trusted, _of_trusted), (n_local, _of_local)):
        if count:
            information = said(channel, pilot, count)
            both = both.plus(information)
            fits.append(_fit(masses, prior().plus(information)) if alone else None)
        else:
            fits.append(None)
    return ExpectedFits(_fit(masses, Information(both.matrix, nothing)), fits[0], fits[1])


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a study may end with: an answer's true covariance, and how likely it is."""

    chance: float
    fit: DistributionFit


def outcomes(channel: MaskedResponse, masses: FloatArray, *, n_trusted: int, n_local: int) -> tuple[Outcome, ...]:
    """Compute what a study of groups that are alike may end with: told apart by chance, or not."""
    from scipy.special import chdtri

    if not (n_trusted and n_local):
        both = expected_fits(channel, masses, n_trusted=n_trusted, n_local=n_local, alone=False).both
        return (Outcome(1.0, both),)
    pilot = pilot_of(masses)
    local = prior().plus(_of_local(channel, pilot, n_local))
    noise = _trusted_noise(channel, n_trusted)
    trusted, said = noise + spread(pilot) / n_trusted, _of_trusted(channel, pilot, n_trusted)
    alike = solve(local.plus(said)).covariance
    weight = alike @ to_walsh(said.matrix)
    sampling = (spread(masses) - spread(pilot)) / n_trusted  # which the pilot, without empty bins, overstates
    true = alike + weight @ sampling @ weight.T
    found = [Outcome(1 - CHANCE, DistributionFit(masses, true))]
    below, difference = np.tri(N_BINS)[equal_pieces(pilot)], trusted + solve(local).covariance
    precision, k = np.linalg.inv(below @ difference @ below.T), len(below)
    seen, scale = below @ difference, float(np.trace(precision @ below @ spread(pilot) @ below.T))
    for chance in _CHANCES:
        statistic = float(chdtri(k, chance))
        tau2 = (statistic - float(chdtri(k, CHANCE))) / scale
        said = of_known_covariance(pilot, trusted + tau2 * spread(pilot))
        own = solve(local.plus(said)).covariance @ to_walsh(said.matrix)
        c = n_trusted / (n_trusted + n_local)
        moved = weight - c * np.eye(N_BINS) - (1 - c) * own
        given = difference + (statistic / k - 1) * seen.T @ precision @ seen
        found.append(Outcome(CHANCE / len(_CHANCES), DistributionFit(masses, true + moved @ given @ moved.T)))
    return tuple(found)


def forged_rank_shift(
    channel: MaskedResponse, masses: FloatArray, edge: int, *, n_trusted: int, n_local: int, up: bool
) -> float:
    r"""Compute how far one forged report moves the CDF at an edge, on average over the pattern that it draws.

    The estimate is linear in the counts of patterns and labels, its variances held fixed. A forged report replaces one
    of an honest user by the label that moves the CDF most, of the pattern that the device draws as it should. With
    patterns of its choice it moves the CDF farther, and too many of them are noticed.
    """
    pilot, information = pilot_of(masses), prior()
    for count, said in ((n_trusted, _of_trusted), (n_local, _of_local)):
        if count:
            information = information.plus(said(channel, pilot, count))
    below = (np.arange(len(masses)) < edge).astype(np.float64)
    influence = code_influence(channel, pilot, inverse_on_sum_zero(information.matrix) @ (walsh() @ below))
    response, labels = channel.response, np.arange(channel.n_labels)
    bins, patterns = np.arange(len(masses), dtype=np.uint8), np.arange(channel.n_patterns)
    held = np.stack([channel.labels(bins, np.full(len(bins), pattern)) for pattern in patterns])
    mass = np.stack([(held == label) @ masses for label in labels], axis=1)
    honest = ((response.miss_probability + response.gap * mass) * influence).sum(axis=1)
    best = influence.max(axis=1) if up else influence.min(axis=1)
    return float(pattern_chances(channel) @ (best - honest))


def _fit(masses: FloatArray, information: Information) -> DistributionFit:
    return DistributionFit(read_only(masses.copy()), read_only(solve(information).covariance))


def _of_trusted(channel: MaskedResponse, pilot: FloatArray, count: int) -> Information:
    return of_known_covariance(pilot, _trusted_noise(channel, count) + spread(pilot) / count)


def _trusted_noise(channel: MaskedResponse, count: int) -> FloatArray:
    noise = laplace_variance(laplace_scale(SENSITIVITY, Privacy(epsilon=channel.epsilon)))
    return noise_shape() * (noise / count**2)


def _of_local(channel: MaskedResponse, pilot: FloatArray, count: int) -> Information:
    one = _of_one_user(channel, tuple(pilot.tolist()))
    return Information(count * one.matrix, count * one.side)


@lru_cache(maxsize=8)
def _of_one_user(channel: MaskedResponse, pilot: tuple[float, ...]) -> Information:
    """Compute the information in one local report, averaged over the patterns."""
    asked = np.repeat(pattern_chances(channel)[:, None] / channel.n_labels, channel.n_labels, axis=1)
    return MaskedEvidence(asked, channel).information(np.array(pilot))  # type: ignore[arg-type]


def pattern_chances(channel: MaskedResponse) -> FloatArray:
    """Compute the probability that a device draws each pattern.

    Levels are equally likely, and so are the patterns of a level.
    """
    levels = np.array([pattern.level for pattern in channel.patterns])
    sizes = np.bincount(levels)
    return np.asarray(1 / (np.count_nonzero(sizes) * sizes[levels]))
