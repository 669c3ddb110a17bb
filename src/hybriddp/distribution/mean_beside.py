r"""A mean and a distribution out of the same reports: the trusted group's ε is split between the two, from the start.

Local users sent one report, and both answers are read from it: nothing more is spent on them. About the trusted group
two things are released, the total and the histograms. A public fraction $f$ of their ε pays for the first and the rest
for the second. $f\epsilon$ and $\epsilon - f\epsilon$ are decimals and add up to ε exactly, so by basic composition
every user has what the study of the mean promises, and a ledger refuses any third release.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hybriddp.distribution.answer import estimate_from, pay
from hybriddp.distribution.check import check_groups
from hybriddp.distribution.estimate import DistributionEstimate
from hybriddp.distribution.release import histogram_event
from hybriddp.distribution.study import DistributionStudy
from hybriddp.distribution.summary import BinCounts
from hybriddp.errors import DataError, ParameterError
from hybriddp.mean.answer import estimate_from as mean_from
from hybriddp.mean.answer import pay as pay_for_mean
from hybriddp.mean.check import WeightRule, check_local
from hybriddp.mean.check import check as check_mean
from hybriddp.mean.estimate import Estimate
from hybriddp.mean.study import MeanStudy
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.privacy import Privacy, plain_decimal
from hybriddp.randomness import simulation_generator
from hybriddp.release.charging import charge_study
from hybriddp.release.ledger import Ledger, require_ledger
from hybriddp.release.mechanisms import total_event
from hybriddp.reports import Reports

_DIGITS = 100  # more than two decimals of 24 characters have in their product
_RANGE = "a decimal above 0 and below 1 that leaves 0.01 or more of ε, in at most 24 characters, for each release"


@dataclass(frozen=True, slots=True)
class TotalAndBins:
    """The trusted group's summaries for both answers. Exact: not private."""

    total: TrustedSummary
    """Their values as `MeanAndDistribution.mean` summarizes them."""
    bins: BinCounts
    """The same values as `MeanAndDistribution.distribution` does."""

    def __post_init__(self) -> None:
        if not isinstance(self.total, TrustedSummary) or not isinstance(self.bins, BinCounts):
            raise DataError("TotalAndBins need a TrustedSummary and BinCounts.")
        if self.total.count != self.bins.count:
            raise DataError("The two summaries are not about the same users: they have different numbers of them.")


@dataclass(frozen=True, slots=True, eq=False)
class MeanAndDistributionEstimate:
    """Both answers; what they promise holds for the two together."""

    mean: Estimate
    distribution: DistributionEstimate


@dataclass(frozen=True, init=False)
class MeanAndDistribution:
    """A mean and a distribution from reports that are collected for a mean.

    Parameters
    ----------
    study : MeanStudy
        The study that the reports are made for, with the window channel.
    epsilon_fraction : float or str
        Which fraction of the trusted users' ε pays for the mean; the rest pays for the distribution. Choose it without
        looking at the data. A float is read as its shortest decimal.
    scale, kappa
        As for `DistributionStudy`.

    Examples
    --------
    >>> minutes = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)
    >>> both = MeanAndDistribution(minutes, epsilon_fraction=0.2)
    >>> both.mean_privacy.epsilon, both.distribution_privacy.epsilon
    ('0.2', '0.8')
    >>> values = np.random.default_rng(0).gamma(2.0, 20.0, 101_000)
    >>> codes = minutes.randomize(values[1000:], random_state=1)
    >>> found = both.estimate(trusted=values[:1000], local=codes, random_state=2)
    >>> print(f"{found.mean.value:.1f}; truth {values.mean():.1f}")
    40.4; truth 40.1
    >>> low, high = found.distribution.quantile(0.9).interval
    >>> bool(low < np.quantile(values, 0.9) < high)
    True
    """

    mean: MeanStudy
    distribution: DistributionStudy
    mean_privacy: Privacy
    """What the mean's release costs a trusted user."""
    distribution_privacy: Privacy
    """What the distribution's release costs a trusted user. Both together are what the study promises."""

    def __init__(
        self,
        study: MeanStudy,
        *,
        epsilon_fraction: float | str,
        scale: str | Sequence[float] = "equal",
        kappa: float | None = None,
    ) -> None:
        distribution = DistributionStudy.from_mean_study(study, scale=scale, kappa=kappa)
        values = (study, distribution, *split_privacy(study.privacy, epsilon_fraction))
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    def summarize_trusted(self, values: ArrayLike) -> TotalAndBins:
        """The trusted group's values for both answers."""
        if isinstance(values, TrustedSummary | BinCounts):
            raise DataError("Both summaries of the trusted group are needed: give them as TotalAndBins.")
        return TotalAndBins(self.mean.summarize_trusted(values), self.distribution.summarize_trusted(values))

    def estimate(
        self,
        *,
        trusted: TotalAndBins | ArrayLike,
        local: LocalSummary | Reports | ArrayLike | None,
        single_group: bool = False,
        ledger: Ledger | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> MeanAndDistributionEstimate:
        """Both answers: the only releases about the trusted group, paid for together.

        Parameters
        ----------
        trusted : TotalAndBins or array_like
            The trusted group's raw values, or their summaries. They are needed.
        local : LocalSummary, Reports or array_like
            The local group's reports for the mean, or their summary.
        single_group, ledger, random_state
            As for `DistributionStudy.estimate`.
        """
        require_ledger(ledger)
        both = trusted if isinstance(trusted, TotalAndBins) else self.summarize_trusted(trusted)
        reports = check_local(self.mean, local)
        counted = check_groups(
            self.distribution, both.bins, _counts(reports), single_group=True, groups_may_differ=False
        )
        checked = check_mean(self.mean, both.total, reports, WeightRule(), single_group=single_group)
        rng = None if random_state is None else simulation_generator(random_state, "mean and distribution")
        paid = ledger is not None and rng is None
        if ledger is not None and paid:
            study, users = self.mean.whole_digest, self.mean.users
            events = [
                total_event(study, self.mean_privacy, users, self.mean.name),
                histogram_event(study, self.distribution_privacy, users, self.mean.name),
            ]
            charge_study(ledger, events, promised=self.mean.privacy)
        total = pay_for_mean(checked, paid=paid, random_state=rng, privacy=self.mean_privacy)
        histogram = pay(counted, paid=paid, random_state=rng, privacy=self.distribution_privacy)
        mean = mean_from(checked, total, seeded=rng is not None)
        distribution = estimate_from(counted, histogram, False, seeded=rng is not None)
        return MeanAndDistributionEstimate(
            replace(mean, privacy=replace(mean.privacy, shared_with="the distribution")),
            replace(distribution, privacy=replace(distribution.privacy, shared_with="the mean")),
        )


class SplitPrivacy(NamedTuple):
    """What two releases cost, which together is what was to be split."""

    mean: Privacy
    distribution: Privacy


def split_privacy(privacy: Privacy, fraction: float | str) -> SplitPrivacy:
    """A fraction of ε, and all of δ, for the total; the rest of ε for the histograms, which need no δ.

    Examples
    --------
    >>> split_privacy(Privacy(epsilon="0.7"), "0.3")
    SplitPrivacy(mean=Privacy(epsilon='0.21', delta='0'), distribution=Privacy(epsilon='0.49', delta='0'))
    """
    share = plain_decimal(fraction)
    if share is None or not share.is_finite() or not 0 < share < 1:
        raise ParameterError("epsilon_fraction", _RANGE, fraction)
    with localcontext() as context:
        context.prec = _DIGITS
        first = share * Decimal(privacy.epsilon)
        rest = Decimal(privacy.epsilon) - first
    try:
        mean = Privacy(epsilon=format(first, "f"), delta=privacy.delta)
        parts = SplitPrivacy(mean, Privacy(epsilon=format(rest, "f")))
    except ParameterError:
        raise ParameterError("epsilon_fraction", _RANGE, fraction) from None
    if parts.mean.exact_epsilon + parts.distribution.exact_epsilon != privacy.exact_epsilon:  # digits were lost
        raise ParameterError("epsilon_fraction", _RANGE, fraction)
    return parts


def _counts(reports: LocalSummary | LaplaceSummary | None) -> LocalSummary | None:
    """The same: a window channel has no other summary."""
    return reports if isinstance(reports, LocalSummary) else None
