r"""The errors to expect of an estimated distribution, before anything is collected.

The covariance of the least squares estimate depends on the data through the masses and the group sizes only. With
assumed masses it is known beforehand: a pattern is asked of its known fraction of the local users, so their information
is $n_L$ times that of one user on average, and the trusted group's covariance is that of its noise and its sampling.
For uniform masses and local users alone it is the closed form of `MaskedResponse.rank_variance`, over $n_L$.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.masked import MaskedResponse
from hybriddp.distribution.fit import DistributionFit, pilot_of, spread
from hybriddp.distribution.least_squares import (
    Information,
    MaskedEvidence,
    code_influence,
    inverse_on_sum_zero,
    of_known_covariance,
    prior,
    solve,
    walsh,
)
from hybriddp.distribution.release import SENSITIVITY, noise_shape
from hybriddp.grid import read_only
from hybriddp.privacy import Privacy
from hybriddp.release.mechanisms import laplace_scale, laplace_variance


@dataclass(frozen=True, eq=False)
class ExpectedFits:
    """What both groups would know together, and each alone; None where a group would be empty."""

    both: DistributionFit
    trusted: DistributionFit | None
    local: DistributionFit | None


def expected_fits(
    channel: MaskedResponse, masses: FloatArray, *, n_trusted: int, n_local: int, alone: bool = True
) -> ExpectedFits:
    """The covariances to expect if these are the masses; ``alone`` whether those of either group are asked for."""
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
    noise = laplace_variance(laplace_scale(SENSITIVITY, Privacy(epsilon=channel.epsilon)))
    return of_known_covariance(pilot, noise_shape() * (noise / count**2) + spread(pilot) / count)


def _of_local(channel: MaskedResponse, pilot: FloatArray, count: int) -> Information:
    one = _of_one_user(channel, tuple(pilot.tolist()))
    return Information(count * one.matrix, count * one.side)


@lru_cache(maxsize=8)
def _of_one_user(channel: MaskedResponse, pilot: tuple[float, ...]) -> Information:
    """The information in the report of one local user, on average over the patterns."""
    asked = np.repeat(pattern_chances(channel)[:, None] / channel.n_labels, channel.n_labels, axis=1)
    return MaskedEvidence(asked, channel).information(np.array(pilot))  # type: ignore[arg-type]


def pattern_chances(channel: MaskedResponse) -> FloatArray:
    """How likely a device is to draw each pattern: levels are equally likely, and so are the patterns of a level."""
    levels = np.array([pattern.level for pattern in channel.patterns])
    sizes = np.bincount(levels)
    return np.asarray(1 / (np.count_nonzero(sizes) * sizes[levels]))
