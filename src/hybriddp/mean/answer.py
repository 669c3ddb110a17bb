r"""From two summaries to an estimate, in three steps: check (`hybriddp.mean.check`), release, weigh.

`check` looks at everything before anything is spent. The door (`hybriddp.release.release`) releases the trusted group's
total: the only release about the group. `weigh` is post-processing of private numbers: it chooses the weight,
doubts that the groups are alike, and keeps the adaptive answer within the bounds.

The last is the linear rule with the least worst case. If $y$ estimates a mean in $[0, 1]$ without bias and with
expected squared error $E$, then

$$
\tfrac12 + a\,(y - \tfrac12), \qquad a = \frac{1/4}{1/4 + E},
$$

errs by at most $a E$ whatever the mean is: always less than $y$ itself. Here $E$ is not known but estimated from above.
What is still outside is clamped to the bounds.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hybriddp.errors import DataError, ParameterError
from hybriddp.grid import UNITS
from hybriddp.mean import weights
from hybriddp.mean.check import Checked, WeightRule, check
from hybriddp.mean.estimate import Estimate
from hybriddp.mean.interval import ErrorLaw, Errors, GroupMean, Laws, VarianceEvidence, noise_law
from hybriddp.mean.published import exact_width, fixed_weight
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.mean.weights import Divergence, LocalStatistics, TrustedStatistics, VarianceRange, Weighting
from hybriddp.randomness import simulation_generator
from hybriddp.release.charging import Charged
from hybriddp.release.ledger.ledger import Ledger, require_ledger
from hybriddp.release.release import ReleasedNumbers, release_all
from hybriddp.study.intervals import NoiseLaw
from hybriddp.study.reports import Reports
from hybriddp.study.result import Statement
from hybriddp.study.study import refused_parts

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy

Pair = tuple[TrustedSummary | None, LocalSummary | LaplaceSummary | None]
"""The summaries of one part of the users."""


def answer(
    study: "MeanStudy",
    trusted: TrustedSummary | ArrayLike | None,
    local: LocalSummary | LaplaceSummary | Reports | ArrayLike | None,
    rule: WeightRule,
    *,
    single_group: bool,
    ledger: Ledger | None,
    random_state: int | np.random.Generator | None,
) -> Estimate:
    """The estimate of a study; see `MeanStudy.estimate`."""
    require_ledger(ledger)
    checked = check(study, trusted, local, rule, single_group=single_group)
    return _released_answers({None: checked}, ledger=ledger, random_state=random_state)[None]


def _released_answers(
    parts: Mapping[Any, Checked], *, ledger: Ledger | None, random_state: int | np.random.Generator | None
) -> dict[Any, Estimate]:
    """Release the totals of all parts together, and make an estimate of each; reports have been decoded before."""
    asked = {
        key: (part.study.statistic(part.trusted), part.study.cost)
        for key, part in parts.items()
        if part.trusted is not None and part.asked
    }
    reports = [part.study.cost for part in parts.values() if part.is_from_reports]
    batch = release_all(list(asked.values()), reports, ledger=ledger, random_state=random_state)
    released = dict(zip(asked, batch.released, strict=True))
    seeded = random_state is not None
    estimates = {key: estimate_from(part, released.get(key), seeded=seeded) for key, part in parts.items()}
    charged = {key: batch.charged if parts[key].is_from_reports else Charged.NOT for key in parts}
    return {key: replace(one, privacy=one.privacy.charged(charged[key])) for key, one in estimates.items()}


def answer_parts(
    study: "MeanStudy",
    by: str,
    summaries: Mapping[Any, Pair],
    *,
    single_group: bool,
    ledger: Ledger | None,
    random_state: int | np.random.Generator | None,
) -> dict[str | int, Estimate]:
    """The estimates of the parts of a study; see `MeanStudy.estimate_parts`. All are checked and paid for together."""
    require_ledger(ledger)
    if not summaries:
        raise ParameterError("summaries", "those of at least one part", summaries)
    parts: dict[Any, Checked] = {}
    problems = []
    for key, pair in summaries.items():
        trusted, local = _pair(key, pair)
        try:
            parts[key] = check(study.part(by, key), trusted, local, WeightRule(), single_group=single_group)
        except DataError as problem:
            problems.append(f"{key}: {problem}")
    if problems:
        raise refused_parts(problems, len(summaries))
    rng = None if random_state is None else simulation_generator(random_state, "parts")
    return _released_answers(parts, ledger=ledger, random_state=rng)


def _pair(key: object, pair: Any) -> Pair:  # noqa: ANN401
    kinds = (TrustedSummary, LocalSummary | LaplaceSummary)
    right = isinstance(pair, tuple) and len(pair) == 2
    if not right or not all(item is None or isinstance(item, kind) for item, kind in zip(pair, kinds, strict=True)):
        raise DataError(f"{key}: summaries must hold a pair of a trusted and a local summary, or None, for every key.")
    return pair[0], pair[1]


def estimate_from(checked: Checked, released: ReleasedNumbers | None, *, seeded: bool) -> Estimate:
    """The estimate from what was released, with what rounding for publication needs."""
    study, reports, rule = checked.study, checked.local, checked.rule
    counted = released is not None and released.counted
    seeded = seeded or (reports is not None and reports.seeded)
    found = weigh(
        study,
        None if released is None else TrustedStatistics.of(released),
        checked.reported,
        rule,
        Statement.of(study, released=released is not None, counted=counted, seeded=seeded),
        n_users=checked.n_trusted + checked.n_local,
    )
    tied = reports is None or not reports.count or reports.tied
    exact = None if rule.is_adaptive else _exact(found, released, reports)
    return replace(found, exact=exact, tied=tied, implausible_reports=checked.implausible)


def _exact(
    found: Estimate, released: ReleasedNumbers | None, reports: LocalSummary | LaplaceSummary | None
) -> Fraction:
    """The weighted mean without rounding errors, from the released integers."""
    study, w, mean = found.study, Fraction(found.weight), Fraction(0)
    if released is not None and w:
        mean += w * Fraction(int(released.values[0]), released.count * UNITS)
    if reports is not None and reports.count and w < 1:
        mean += (1 - w) * reports.exact_mean(study.channel)
    return Fraction(study.bounds[0]) + exact_width(study) * mean


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
    """The estimate from the groups' private numbers, about the mean of ``n_users`` users; one group may be missing."""
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
    """The answer within [0, 1] that errs least in the worst case, from an unbiased one with this squared error."""
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
    r"""The laws of $c\,\bar x_T + (1-c)\,\bar x_L$: all users weigh the same, so sampling adds no error about them."""
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
        raise DataError("Both groups are empty.")
    evidence = VarianceEvidence.of(local, n_users=n_users, at_most=study.variance_at_most)
    noise = noise_law(w, trusted, local)
    users = ErrorLaw(group.mean, 1 / group.count - 1 / n_users, noise, evidence)
    population = ErrorLaw(group.mean, 1 / group.count, noise, evidence)
    asked = n_users == group.count  # nobody else is there whose mean could differ
    chosen = Weighting(w, evidence.expected(group.mean), VarianceRange(0.0, 0.25))
    return _Weighed(w, chosen, None, Laws(users, population, *((users, population) if asked else (None, None))))
