"""Statistics of both groups to expect before there is any data, and the weights and intervals that follow from them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from hybriddp._check import FloatArray
from hybriddp.channels.window_channel import WindowChannel
from hybriddp.mean import weights
from hybriddp.mean.interval import ErrorLaw, VarianceEvidence, noise_law
from hybriddp.mean.weights import LocalStatistics, TrustedStatistics
from hybriddp.theory.adaptive import (
    ExpectedError,
    GroupVariances,
    WeightCase,
    average_half_width,
    error_of_clamped,
    expected_error,
    normal_nodes,
)

_VARIANCE_NODES, _MEAN_NODES = 9, 3
_WIDTH_NODES = 3  # widths vary less than weights


class _Choice(NamedTuple):
    """Statistics that may be seen, with their probability, and the rule's weight and threshold for them."""

    mass: float
    trusted: TrustedStatistics
    local: LocalStatistics
    weight: float
    threshold: weights.Threshold


@dataclass(frozen=True, slots=True)
class ExpectedStatistics:
    """What both groups reveal on average, on the unit range; see `ExpectedStatistics.of`."""

    trusted: TrustedStatistics
    local: LocalStatistics
    mean: float
    variance: float
    gap: float
    variance_ratio: float
    at_most: float

    @classmethod
    def of(
        cls,
        channel: WindowChannel,
        frequencies: FloatArray,
        *,
        mean: float,
        variance: float,
        n_trusted: int,
        n_local: int,
        trusted_noise: float,
        laplace: bool,
        gap: float = 0.0,
        variance_ratio: float = 1.0,
        at_most: float = math.inf,
    ) -> "ExpectedStatistics":
        """Describe both groups from the local users' ``mean``, ``variance`` and frequencies of codes.

        The trusted users' mean is ``gap`` higher, and their variance ``variance_ratio`` times as large. ``at_most`` is
        the largest variance that is possible by public knowledge.
        """
        local = LocalStatistics.of(frequencies, n_local, channel)
        trusted = TrustedStatistics(n_trusted, mean, trusted_noise, laplace=laplace)
        return cls(trusted, local, mean, variance, gap, variance_ratio, at_most)

    @property
    def groups(self) -> GroupVariances:
        """Variances of both groups' private means."""
        n_t, n_l = self.trusted.count, self.local.count
        return GroupVariances(
            trusted_fraction=n_t / (n_t + n_l),
            trusted_sampling=self.variance_ratio * self.variance / n_t,
            trusted_noise=self.trusted.noise,
            local_sampling=self.variance / n_l,
            local_noise=self.local.noise / n_l,
        )

    def error(self) -> ExpectedError:
        """Return the expected error of the unbiased adaptive answer."""
        return expected_error(self.groups, (self._case(choice) for choice in self._choices(_VARIANCE_NODES)))

    def error_of_answer(self) -> float:
        """Return the expected squared error of the published answer, which keeps to the bounds."""
        return error_of_clamped(self.mean, self.error().total)

    def half_width(self, level: float) -> float:
        r"""Return half the width of the interval that the study will state, on average.

        Where the groups' means seem to differ, $|z| > 2$, another one is stated (`Estimate.stated_interval`): that
        happens by chance too.
        """
        c, true_sd = self.groups.trusted_fraction, math.sqrt(self.groups.difference)
        honest, total = noise_law(c, self.trusted, self.local).half_width(level), 0.0
        for mass, trusted, local, weight, threshold in self._choices(_WIDTH_NODES):
            alike, sd = self._half_width(level, weight, trusted, local, threshold.price), math.sqrt(threshold.variance)
            total += mass * average_half_width(
                alike, honest, between_centers=weight - c, gap=self.gap, sd=sd, true_sd=true_sd
            )
        return min(total, 0.5)

    def half_width_at(self, weight: float, level: float) -> float:
        """Return half the width of the interval for a fixed weight, for what the reports reveal on average."""
        return self._half_width(level, weight, self.trusted, self.local)

    def _choices(self, variance_nodes: int) -> Iterator[_Choice]:
        """Go through possible variances and first guesses of the mean."""
        typical, groups = self.local, self.groups
        w0 = groups.local_noise / (groups.local_noise + groups.trusted_noise)
        from_trusted = groups.trusted_noise + groups.trusted_sampling
        from_local = groups.local_noise + groups.local_sampling
        guess_sd = math.sqrt(w0**2 * from_trusted + (1 - w0) ** 2 * from_local)
        known = math.isfinite(typical.variance_se)  # few reports reveal nothing about the variance
        for z_variance, mass_variance in normal_nodes(variance_nodes if known else 1):
            for z_mean, mass_mean in normal_nodes(_MEAN_NODES):
                at = self.mean + guess_sd * z_mean
                variance = typical.variance + (typical.variance_se * z_variance if known else 0.0)
                trusted, local = replace(self.trusted, mean=at), replace(typical, mean=at, variance=variance)
                chosen = weights.adaptive(trusted, local, self.at_most)
                threshold = weights.threshold(trusted, local, chosen)
                yield _Choice(mass_variance * mass_mean, trusted, local, chosen.weight, threshold)

    def _case(self, choice: _Choice) -> WeightCase:
        lam, laplace = choice.threshold.lam, choice.threshold.laplace_fraction
        null = 0.0 if lam is None else weights.null_risk(lam, laplace)
        gap = weights.risk(lam, laplace, self.gap / math.sqrt(self.groups.difference)) - null if self.gap else 0.0
        return WeightCase(choice.mass, choice.weight, null, gap)

    def _half_width(
        self, level: float, weight: float, trusted: TrustedStatistics, local: LocalStatistics, price: float = 0.0
    ) -> float:
        noise = noise_law(weight, trusted, local, besides=price)
        evidence = VarianceEvidence.of(local, n_users=trusted.count + local.count, at_most=self.at_most)
        law = ErrorLaw.of(trusted.mean, weight, trusted.count, local.count, noise, evidence)
        return law.interval(level).half_width
