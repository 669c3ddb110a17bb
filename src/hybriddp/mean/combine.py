r"""From the two groups' private numbers to an estimate: weigh, doubt, and keep within the bounds.

The last step is the linear rule with the least worst case. If $y$ estimates a mean in $[0, 1]$ without bias and with
expected squared error $E$, then

$$
\tfrac12 + a\,(y - \tfrac12), \qquad a = \frac{1/4}{1/4 + E},
$$

errs by at most $a E$ whatever the mean is: always less than $y$ itself. Here $E$ is not known but estimated from above.
What is still outside is cut to the bounds.
"""

import math
from typing import TYPE_CHECKING

from hybriddp.mean.divergence import Divergence, compare, garrote
from hybriddp.mean.estimate import Estimate
from hybriddp.mean.evidence import VarianceEvidence
from hybriddp.mean.groups import LocalGroup, TrustedGroup
from hybriddp.mean.interval import ErrorLaw, Noise
from hybriddp.mean.laws import Errors, GroupMean, Laws
from hybriddp.mean.statement import Statement
from hybriddp.mean.weights import VarianceRange, Weighting

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy


def hybrid(
    study: "MeanStudy",
    trusted: TrustedGroup,
    local: LocalGroup,
    chosen: Weighting,
    statement: Statement,
    *,
    adaptive: bool,
    known: bool = False,
) -> Estimate:
    """The estimate from both groups.

    ``adaptive`` is ours: the weight yields where the groups' means diverge, and the answer keeps to the bounds.
    Without it the answer is the paper's: the weighted mean, whatever comes out. ``known``: the variance that the weight
    was chosen for is the true one.
    """
    n, n_t, n_l = trusted.count + local.count, trusted.count, local.count
    c = n_t / n
    if adaptive:
        divergence = garrote(trusted, local, chosen, study.width)
    else:
        divergence = compare(trusted, local, chosen.variance, study.width)
    w = chosen.weight if divergence.share == 1 else c + (chosen.weight - c) * divergence.share
    if known:
        evidence = VarianceEvidence(n, known=chosen.variance)
    else:
        evidence = VarianceEvidence.of(local, n_users=n, at_most=study.variance_at_most)
    noise = weighted_noise(w, trusted, local, besides=divergence.price)
    answer = w * trusted.mean + (1 - w) * local.mean
    laws = Laws(
        users=ErrorLaw(answer, (w - c) ** 2 * n / (n_t * n_l), noise, evidence),
        population=ErrorLaw(answer, w**2 / n_t + (1 - w) ** 2 / n_l, noise, evidence),
        **_if_groups_differ(trusted, local, study.variance_at_most),
    )
    return _estimate(study, w, chosen, trusted, local, divergence, laws, statement, adaptive=adaptive)


def single_model(
    study: "MeanStudy",
    trusted: TrustedGroup | None,
    local: LocalGroup | None,
    statement: Statement,
    *,
    everybody: int,
    adaptive: bool,
) -> Estimate:
    """The estimate from one group alone, about the mean of so many users as there are in all."""
    group = trusted if trusted is not None else local
    if group is None:
        raise AssertionError("one group is needed")
    if local is None:
        evidence = VarianceEvidence(everybody, at_most=study.variance_at_most)
    else:
        evidence = VarianceEvidence.of(local, n_users=everybody, at_most=study.variance_at_most)
    weight = 0.0 if trusted is None else 1.0
    noise = weighted_noise(weight, trusted, local)
    users = ErrorLaw(group.mean, 1 / group.count - 1 / everybody, noise, evidence)
    population = ErrorLaw(group.mean, 1 / group.count, noise, evidence)
    asked = everybody == group.count  # nobody else is there whose mean could differ
    laws = Laws(users, population, users if asked else None, population if asked else None)
    chosen = Weighting(weight, evidence.expected(group.mean), VarianceRange(0.0, 0.25))
    return _estimate(study, weight, chosen, trusted, local, None, laws, statement, adaptive=adaptive)


def weighted_noise(
    weight: float, trusted: TrustedGroup | None, local: LocalGroup | None, *, besides: float = 0.0
) -> Noise:
    """The law of the noise of a weighted mean: the curator's draw and all reports, and a variance ``besides``."""
    normal = besides if local is None else besides + (1 - weight) ** 2 * local.noise / local.count
    if trusted is None:
        return Noise(normal, 0.0)
    curator = weight**2 * trusted.noise
    if trusted.laplace:
        return Noise(normal=normal, laplace=math.sqrt(curator / 2))
    return Noise(normal=normal + curator, laplace=0.0)


def shrink(mean: float, error: float) -> float:
    """The answer within [0, 1] that errs least in the worst case, from an unbiased one with this squared error."""
    a = 0.25 / (0.25 + error)
    return min(max(0.5 + a * (mean - 0.5), 0.0), 1.0)


def _if_groups_differ(trusted: TrustedGroup, local: LocalGroup, at_most: float) -> dict[str, ErrorLaw]:
    r"""The laws of $c\,\bar x_T + (1-c)\,\bar x_L$: all users weigh the same, so sampling adds no error about them."""
    n = trusted.count + local.count
    c = trusted.count / n
    answer, noise = c * trusted.mean + (1 - c) * local.mean, weighted_noise(c, trusted, local)
    nothing = VarianceEvidence(n, known=0.0)
    # About the population each group has a variance of its own, at most what all users' allows for its share of them.
    most_t = VarianceEvidence(trusted.count, at_most=at_most / c).most(trusted.mean, trusted.noise)
    of_local = VarianceEvidence.of(local, n_users=local.count, at_most=at_most / (1 - c))
    most_l = of_local.most(local.mean, local.noise / local.count)
    sampling = c**2 * most_t / trusted.count + (1 - c) ** 2 * most_l / local.count
    wider = Noise(noise.normal + sampling, noise.laplace)
    return {
        "users_if_groups_differ": ErrorLaw(answer, 0.0, noise, nothing),
        "population_if_groups_differ": ErrorLaw(answer, 0.0, wider, nothing),
    }


def _estimate(
    study: "MeanStudy",
    weight: float,
    chosen: Weighting,
    trusted: TrustedGroup | None,
    local: LocalGroup | None,
    divergence: Divergence | None,
    laws: Laws,
    statement: Statement,
    *,
    adaptive: bool,
) -> Estimate:
    lower, width = study.bounds[0], study.width
    law = laws.users
    sampling = law.sampling_error
    curator = 0.0 if trusted is None else weight**2 * trusted.noise
    reports = 0.0 if local is None else (1 - weight) ** 2 * local.noise / local.count
    return Estimate(
        study=study,
        value=lower + width * (shrink(law.answer, sampling + law.noise.variance) if adaptive else law.answer),
        unbiased=lower + width * law.answer,
        weight=weight,
        weighting=chosen,
        trusted=_alone(study, trusted, weighted_noise(1.0, trusted, None), law.evidence),
        local=_alone(study, local, weighted_noise(0.0, None, local), law.evidence),
        divergence=divergence,
        error=Errors(
            sampling=(sampling + (divergence.price if divergence else 0.0)) * width**2,
            trusted_noise=curator * width**2,
            local_noise=reports * width**2,
        ),
        privacy=statement,
        laws=laws,
    )


def _alone(
    study: "MeanStudy", group: TrustedGroup | LocalGroup | None, noise: Noise, evidence: VarianceEvidence
) -> GroupMean | None:
    """What a group would say alone about everybody, if the groups are alike."""
    if group is None:
        return None
    law = ErrorLaw(group.mean, 1 / group.count - 1 / evidence.n_users, noise, evidence)
    return GroupMean(group.count, study.bounds[0] + study.width * group.mean, study.bounds, law)
