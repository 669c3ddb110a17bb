r"""From private numbers about both groups to an estimate of the mean.

`weigh` chooses the weight, tests whether the groups are alike, and keeps the adaptive answer within the bounds. The
last is the linear rule with the least worst case. If $y$ estimates a mean in $[0, 1]$ without bias and with
expected squared error $E$, then

$$
\tfrac12 + a\,(y - \tfrac12), \qquad a = \frac{1/4}{1/4 + E},
$$

errs by at most $a E$ whatever the mean is: always less than $y$ itself. Here $E$ is not known but estimated from above.
What is still outside is clamped to the bounds.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from hybriddp.channels.window_channel import VALUE_BITS, WindowChannel
from hybriddp.errors import DataError
from hybriddp.mean import weights
from hybriddp.mean.estimate import Estimate
from hybriddp.mean.interval import ErrorLaw, Errors, GroupMean, Laws, VarianceEvidence, noise_law
from hybriddp.mean.published import fixed_weight
from hybriddp.mean.weights import Divergence, LocalStatistics, TrustedStatistics, VarianceRange, Weighting
from hybriddp.study.groups import EMPTY, Options
from hybriddp.study.intervals import NoiseLaw
from hybriddp.study.result import Statement
from hybriddp.study.summary import LocalSummary

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy

WEIGHTS = ("adaptive", "known-variance", "privacy", "naive", "trusted-only", "local-only")


@dataclass(frozen=True, slots=True)
class WeightRule(Options):
    """Rule by which the two groups are weighted.

    Attributes
    ----------
    weight : str or float
        ``"adaptive"``: ours, which needs to know nothing, yields where the groups' means diverge and keeps to the
        bounds. The others are the paper's, unbiased and as noise makes them: ``"known-variance"`` is the best for the
        ``sd`` that you give, ``"privacy"`` minimizes the noise, ``"naive"`` is the fraction of users who trust, a
        number is a fixed weight; ``"trusted-only"`` and ``"local-only"`` use one group.
    sd : float or None
        The standard deviation of the values, for ``"known-variance"``.
    """

    weight: str | float = "adaptive"
    sd: float | None = None

    @property
    def is_adaptive(self) -> bool:
        """Whether the weight depends on the reports."""
        return self.weight == "adaptive"

    @property
    def needs_trusted(self) -> bool:
        """Whether anything about the trusted group has to be released."""
        return self.weight not in ("local-only", 0.0)

    def variance(self, study: "MeanStudy") -> float | None:
        """Return the variance of the values on the unit range, where it is public knowledge."""
        return None if self.sd is None else (self.sd / study.width) ** 2


def exact_mean(local: LocalSummary, channel: WindowChannel) -> Fraction:
    """Return the mean of reports on the unit range, without rounding errors."""
    total = sum(count * value for count, value in zip(local.counts, channel.code_values, strict=True))
    return Fraction(1, 2) + Fraction(total, local.count << (VALUE_BITS + 1))


class _Weighed(NamedTuple):
    """On the unit range: the weight, how it was chosen, how far the groups are apart, and how the answer errs."""

    weight: float
    chosen: Weighting
    divergence: Divergence | None
    laws: Laws


def weigh(
    study: "MeanStudy",
    trusted: TrustedStatistics | None,
    local: LocalStatistics | None,
    rule: WeightRule,
    statement: Statement,
    *,
    n_users: int,
) -> Estimate:
    """Estimate the mean of ``n_users`` users from the groups' private numbers; one group may be missing."""
    if trusted is None or local is None:
        w, chosen, divergence, laws = _single_model(study, trusted, local, n_users)
    else:
        w, chosen, divergence, laws = _hybrid(study, trusted, local, rule)
    lower, width, law = study.bounds[0], study.width, laws.users
    sampling = law.sampling_error
    curator = 0.0 if trusted is None else w**2 * trusted.noise
    reports = 0.0 if local is None else (1 - w) ** 2 * local.noise / local.count

    def alone(group: TrustedStatistics | LocalStatistics | None, noise: NoiseLaw) -> GroupMean | None:
        if group is None:
            return None
        theirs = ErrorLaw(group.mean, 1 / group.count - 1 / law.evidence.n_users, noise, law.evidence)
        return GroupMean(group.count, lower + width * group.mean, study.bounds, theirs)

    return Estimate(
        study=study,
        value=lower + width * (shrink(law.answer, sampling + law.noise.variance) if rule.is_adaptive else law.answer),
        unbiased=lower + width * law.answer,
        weight=w,
        weighting=chosen,
        trusted=alone(trusted, noise_law(1.0, trusted, None)),
        local=alone(local, noise_law(0.0, None, local)),
        divergence=divergence,
        error=Errors(
            sampling=(sampling + (divergence.price if divergence else 0.0)) * width**2,
            trusted_noise=curator * width**2,
            local_noise=reports * width**2,
        ),
        privacy=statement,
        laws=laws,
        fixed_weight=not rule.is_adaptive,
        public_variance=rule.variance(study),
    )


def shrink(mean: float, error: float) -> float:
    """Shrink an unbiased answer into [0, 1] to minimize its worst-case error.

    ``error`` is the squared error of the unbiased answer.
    """
    a = 0.25 / (0.25 + error)
    return min(max(0.5 + a * (mean - 0.5), 0.0), 1.0)


def _hybrid(study: "MeanStudy", trusted: TrustedStatistics, local: LocalStatistics, rule: WeightRule) -> _Weighed:
    chosen = _choose(study, trusted, local, rule)
    n, n_t, n_l = trusted.count + local.count, trusted.count, local.count
    c = n_t / n
    if rule.is_adaptive:
        divergence = weights.garrote(trusted, local, chosen, study.width)
    else:
        divergence = weights.compare(trusted, local, chosen.variance, study.width)
    w = chosen.weight if divergence.share == 1 else c + (chosen.weight - c) * divergence.share
    if rule.sd is None:
        evidence = VarianceEvidence.of(local, n_users=n, at_most=study.variance_at_most)
    else:
        evidence = VarianceEvidence(n, known=chosen.variance)
    noise = noise_law(w, trusted, local, besides=divergence.price)
    mean = w * trusted.mean + (1 - w) * local.mean
    users = ErrorLaw.of(mean, w, n_t, n_l, noise, evidence)
    population = ErrorLaw(mean, w**2 / n_t + (1 - w) ** 2 / n_l, noise, evidence)
    differ = _laws_if_groups_differ(trusted, local, study.variance_at_most)
    return _Weighed(w, chosen, divergence, Laws(users, population, *differ))


def _choose(study: "MeanStudy", trusted: TrustedStatistics, local: LocalStatistics, rule: WeightRule) -> Weighting:
    if rule.is_adaptive:
        return weights.adaptive(trusted, local, study.variance_at_most)
    # [ADK20]'s weights follow from public numbers alone, the channel's worst variance among them: a weight that the
    # reports move in its last digits would tell about them, and `hybriddp.amplify` counts on one that does not.
    known = rule.variance(study)
    if isinstance(rule.weight, str):
        weight = fixed_weight(study, trusted.count, local.count, rule.weight, known or 0.0)
    else:
        weight = float(rule.weight)
    if known is not None:
        return Weighting(weight, known, VarianceRange(known, known))
    possible = weights.variance_range(trusted, local, study.variance_at_most)
    return Weighting(weight, possible.upper, possible)


def _laws_if_groups_differ(
    trusted: TrustedStatistics, local: LocalStatistics, at_most: float
) -> tuple[ErrorLaw, ErrorLaw]:
    r"""Return the error laws of $c\,\bar x_T + (1-c)\,\bar x_L$.

    All users weigh the same, so sampling adds no error about them.
    """
    n = trusted.count + local.count
    c = trusted.count / n
    mean, noise = c * trusted.mean + (1 - c) * local.mean, noise_law(c, trusted, local)
    nothing = VarianceEvidence(n, known=0.0)
    # About the population each group has a variance of its own, at most what all users' allows for its part of them.
    most_t = VarianceEvidence(trusted.count, at_most=at_most / c).most(trusted.mean, trusted.noise)
    of_local = VarianceEvidence.of(local, n_users=local.count, at_most=at_most / (1 - c))
    most_l = of_local.most(local.mean, local.noise / local.count)
    sampling = c**2 * most_t / trusted.count + (1 - c) ** 2 * most_l / local.count
    wider = NoiseLaw(noise.normal + sampling, noise.laplace)
    return ErrorLaw(mean, 0.0, noise, nothing), ErrorLaw(mean, 0.0, wider, nothing)


def _single_model(
    study: "MeanStudy", trusted: TrustedStatistics | None, local: LocalStatistics | None, n_users: int
) -> _Weighed:
    group, w = (local, 0.0) if trusted is None else (trusted, 1.0)
    if group is None:
        raise DataError(EMPTY)
    evidence = VarianceEvidence.of(local, n_users=n_users, at_most=study.variance_at_most)
    noise = noise_law(w, trusted, local)
    users = ErrorLaw(group.mean, 1 / group.count - 1 / n_users, noise, evidence)
    population = ErrorLaw(group.mean, 1 / group.count, noise, evidence)
    asked = n_users == group.count  # nobody else is there whose mean could differ
    chosen = Weighting(w, evidence.expected(group.mean), VarianceRange(0.0, 0.25))
    return _Weighed(w, chosen, None, Laws(users, population, *((users, population) if asked else (None, None))))
