r"""The masses of the bins from one group or both: two turns of weighted least squares, and doubt about the groups.

The variances that weigh what the groups say depend on the masses themselves, so each turn takes them at a *pilot*: the
masses that the last turn found, made a distribution. The first pilot is the trusted group's if it is large enough,
and uniform if not.

**Doubt.** If those who trust are other people, their CDF differs from the others'. In the second turn the two are
compared at the edges, 15 at most, that cut the pilot into 16 equal masses. With $d$ the difference, $V$ its covariance
if the groups are alike, and $S$ the covariance of these CDF values for one user,

$$
T = d^T V^{-1} d, \qquad \tau^2 = \frac{\max(0,\; T - t_{0.95})}{\operatorname{tr}(V^{-1} S)}
$$

for $K$ edges: the variance between groups of DerSimonian and Laird, with a threshold, so that chance alone gives 0 in
95 % of studies. $T$ has mean $K$, and varies more than a chi-square variable, because the curator's noise is Laplace
noise: with $d = B\eta + \ldots$ for the noise $\eta$ of single counts, whose fourth cumulant is $\kappa_4$,

$$
\operatorname{Var} T = 2 K r, \qquad r = 1 + \frac{\kappa_4}{2K} \sum_j \bigl((B^T V^{-1} B)_{jj}\bigr)^2.
$$

So $t_{0.95}$ is that of $r$ times a chi-square variable with $K/r$ degrees of freedom (Satterthwaite 1946). With 20
trusted users $r$ is up to 2, and plain chi-square variables would tell groups apart that are alike in 7 to 10 % of
studies. The trusted group's covariance grows by $\tau^2 S$, and it counts less. The answer is then about
everybody, $(1 - c)$ of what is said of the others plus $c$ of the trusted group as it is, $c$ its fraction of the
users.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.masked import N_BINS
from hybriddp.distribution.least_squares import (
    Information,
    MaskedEvidence,
    Masses,
    equal_pieces,
    of_known_covariance,
    prior,
    solve,
    to_walsh,
)
from hybriddp.distribution.release import PrivateHistogram
from hybriddp.grid import read_only
from hybriddp.study.comparison import LARGEST_Z, Comparison

_UNIFORM = 0.02  # of a pilot: no bin is without mass
_TURNS = 2
CHANCE = 0.05
"""Fraction of studies in which alike groups are told apart."""


@dataclass(frozen=True, slots=True)
class GroupComparison(Comparison):
    """How much the two groups' distributions differ, and what was done about it."""

    what: ClassVar[str] = "distributions"

    statistic: float
    """$T$: the squared difference of the CDFs in units of what chance explains."""
    n_edges: int
    """$K$: at how many edges they were compared; $T$ is about that large if the groups are alike."""
    tau: float
    r"""$\tau$: the spread between groups, as a multiple of that of a single user; 0 if chance explains all."""
    excess: float = 1.0
    """$r$: the variance of $T$ if the groups are alike, over that of a chi-square variable."""

    @property
    def z(self) -> float:
        """Difference in standard errors: that of one number which chance would explain as well as all these."""
        from scipy.special import chdtrc, ndtri

        chance = float(chdtrc(self.n_edges / self.excess, self.statistic / self.excess))
        return min(float(-ndtri(chance / 2)), LARGEST_Z) if chance > 0 else LARGEST_Z

    def to_dict(self) -> dict[str, float]:
        """Return plain values."""
        return {"z": self.z, "statistic": self.statistic, "n_edges": self.n_edges, "tau": self.tau}

    @property
    def differ(self) -> bool:
        """Whether the groups differ by more than chance explains in 95 % of studies."""
        return self.tau > 0

    @property
    def clearly_differ(self) -> bool:
        """Whether the groups are four standard errors apart or more, which chance does not explain."""
        return self.tau > 0 and self.z >= 4

    @property
    def effect(self) -> str:
        """What the difference did to the trusted group's weight."""
        if not self.differ:
            return ""
        return f"The trusted group counts as a sample of at most {max(1, round(1 / self.tau**2)):,} of the others."


@dataclass(frozen=True, eq=False)
class DistributionFit:
    """Masses of the 256 bins and their covariance: what one estimator says of the distribution."""

    linear: FloatArray
    """Unbiased, of sum 1; some may be negative."""
    covariance: FloatArray
    """Their covariance."""

    @cached_property
    def masses(self) -> FloatArray:
        """None negative: the steps of the isotonic CDF."""
        return read_only(monotone(self.linear))

    @cached_property
    def cdf(self) -> FloatArray:
        """The isotonic CDF at the 255 edges."""
        return read_only(np.cumsum(self.masses)[:-1])

    @cached_property
    def standard_errors(self) -> FloatArray:
        """The standard errors of the CDF at the 255 edges."""
        steps = np.cumsum(np.cumsum(self.covariance, axis=0), axis=1)
        return read_only(np.sqrt(np.maximum(np.diag(steps)[:-1], 0.0)))


@dataclass(frozen=True, eq=False)
class Fits:
    """What both groups say together, and what each says alone, which is computed where it is asked for."""

    both: DistributionFit
    """The answer if the groups are alike, or as far as they are found to be."""
    comparison: GroupComparison | None
    released: PrivateHistogram | None
    reports: MaskedEvidence | None

    @cached_property
    def trusted(self) -> DistributionFit | None:
        """The trusted group alone; None where there is none."""
        if self.reports is None or self.released is None:
            return None if self.released is None else self.both
        return fit(self.released, None)[0]

    @cached_property
    def local(self) -> DistributionFit | None:
        """The local group alone; None where there is none."""
        if self.reports is None:
            return None
        return self.both if self.released is None else fit(None, self.reports)[0]

    @cached_property
    def if_groups_differ(self) -> DistributionFit:
        """Each group for its own users, whatever the difference.

        With one group only there is nobody else who could differ.
        """
        if self.released is None or self.reports is None or self.trusted is None or self.local is None:
            return self.both
        c = self.released.count / (self.released.count + self.reports.count)
        masses = c * self.trusted.linear + (1 - c) * self.local.linear
        covariance = c**2 * self.trusted.covariance + (1 - c) ** 2 * self.local.covariance
        return DistributionFit(read_only(masses), read_only(covariance))


def fit_groups(trusted: PrivateHistogram | None, local: MaskedEvidence | None) -> Fits:
    """All fits of what the groups said."""
    both, comparison = fit(trusted, local)
    return Fits(both, comparison, trusted, local)


def fit(
    trusted: PrivateHistogram | None, local: MaskedEvidence | None
) -> tuple[DistributionFit, GroupComparison | None]:
    """Estimate the masses from one group or both."""
    group = None if trusted is None else _TrustedGroup.of(trusted)
    pilot = np.full(N_BINS, 1 / N_BINS)
    if group is not None and group.count >= N_BINS:
        pilot = pilot_of(group.fractions)
    comparison, tau2 = None, 0.0
    for turn in range(_TURNS):
        known = prior() if local is None else prior().plus(local.information(pilot))
        if group is not None:
            covariance = group.covariance(pilot)
            if local is not None and turn == _TURNS - 1:
                comparison, tau2 = compare(solve(known), group, pilot)
            doubted = covariance + tau2 * spread(pilot) if tau2 else covariance
            said = of_known_covariance(group.fractions, doubted)
            known = known.plus(said)
        found = solve(known)
        pilot = pilot_of(found.values)
    if group is not None and local is not None and tau2:
        c = group.count / (group.count + local.count)
        found = _everybody(found, Masses(group.fractions, covariance), said, c)
    return DistributionFit(read_only(found.values), read_only(found.covariance)), comparison


@dataclass(frozen=True, slots=True, eq=False)
class _TrustedGroup:
    released: PrivateHistogram
    fractions: FloatArray
    noise: FloatArray

    @classmethod
    def of(cls, released: PrivateHistogram) -> "_TrustedGroup":
        """Estimate the fractions of a released histogram."""
        return cls(released, released.fractions, released.noise_covariance)

    @property
    def count(self) -> int:
        return self.released.count

    def covariance(self, masses: FloatArray) -> FloatArray:
        """Noise and sampling."""
        return self.noise + spread(masses) / self.count


def compare(local: Masses, trusted: _TrustedGroup, pilot: FloatArray) -> tuple[GroupComparison, float]:
    r"""Compare the CDFs of the two groups; also return $\tau^2$."""
    from scipy.special import chdtri

    below = np.tri(N_BINS)[equal_pieces(pilot)]
    difference = below @ (local.values - trusted.fractions)
    precision = np.linalg.inv(below @ (local.covariance + trusted.covariance(pilot)) @ below.T)
    statistic, k = float(difference @ precision @ difference), len(below)
    noise = below @ trusted.released.noise_influence
    shares = np.sum(noise * (precision @ noise), axis=0)
    excess = 1 + trusted.released.fourth_cumulant * float(shares @ shares) / (2 * k)
    beyond = max(0.0, statistic - excess * float(chdtri(k / excess, CHANCE)))
    tau2 = beyond / float(np.trace(precision @ below @ spread(pilot) @ below.T))
    return GroupComparison(statistic, k, tau2**0.5, excess), tau2


def _everybody(others: Masses, trusted: Masses, said: Information, c: float) -> Masses:
    r"""$(1 - c)$ of what is said of the others, in which the trusted group had a say, and $c$ of the trusted group."""
    weight = others.covariance @ to_walsh(said.matrix)  # of the trusted group in what is said of the others
    shared = weight @ trusted.covariance
    values = (1 - c) * others.values + c * trusted.values
    covariance = (1 - c) ** 2 * others.covariance + c**2 * trusted.covariance + c * (1 - c) * (shared + shared.T)
    return Masses(values, covariance)


def spread(masses: FloatArray) -> FloatArray:
    r"""Compute the covariance of one user's bin, $\operatorname{diag} p - p p^T$."""
    return np.diag(masses) - np.outer(masses, masses)


def monotone(masses: FloatArray) -> FloatArray:
    """Masses of which none is negative: the steps of the nearest CDF that does not fall, cut to [0, 1]."""
    from scipy.optimize import isotonic_regression

    cdf = np.clip(isotonic_regression(np.cumsum(masses)[:-1]).x, 0.0, 1.0)
    return np.diff(cdf, prepend=0.0, append=1.0)


def pilot_of(masses: FloatArray) -> FloatArray:
    """Return the masses that variances are computed with.

    They form a distribution without empty bins.
    """
    return (1 - _UNIFORM) * monotone(masses) + _UNIFORM / N_BINS
