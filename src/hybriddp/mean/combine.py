r"""From the two groups' private numbers to an estimate: weigh, doubt, and keep within the bounds.

The last step is the linear rule with the least worst case. If $y$ estimates a mean in $[0, 1]$ without bias and with
expected squared error $E$, then

$$
\tfrac12 + a\,(y - \tfrac12), \qquad a = \frac{1/4}{1/4 + E},
$$

errs by at most $a E$ whatever the mean is: always less than $y$ itself. Here $E$ is not known but estimated from above.
What is still outside is cut to the bounds.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybriddp.mean.divergence import Divergence, compare, garrote
from hybriddp.mean.estimate import Errors, Estimate, GroupMean, Statement
from hybriddp.mean.groups import LocalGroup, TrustedGroup
from hybriddp.mean.interval import Noise
from hybriddp.mean.weights import VarianceRange, Weighting

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy

_MOST_VARIANCE = 0.25  # no variable on [0, 1] varies more (Popoviciu)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Causes of the error, as variances on the unit range; ``population`` is ``sampling`` against the population."""

    sampling: float
    population: float
    trusted_noise: float
    local_noise: float


def hybrid(
    study: "MeanStudy",
    trusted: TrustedGroup,
    local: LocalGroup,
    chosen: Weighting,
    statement: Statement,
    *,
    adaptive: bool,
) -> Estimate:
    """The estimate from both groups.

    ``adaptive`` is ours: the weight yields where the groups' means diverge, and the answer keeps to the bounds.
    Without it the answer is the paper's: the weighted mean, whatever comes out.
    """
    n, n_t, n_l = trusted.count + local.count, trusted.count, local.count
    c = n_t / n
    if adaptive:
        divergence = garrote(trusted, local, chosen, study.width)
    else:
        divergence = compare(trusted, local, chosen.variance, study.width)
    w = chosen.weight if divergence.share == 1 else c + (chosen.weight - c) * divergence.share
    s = chosen.range.upper
    parts = _Parts(
        sampling=(w - c) ** 2 * s * n / (n_t * n_l) + divergence.price,
        population=w**2 * s / n_t + (1 - w) ** 2 * s / n_l + divergence.price,
        trusted_noise=w**2 * trusted.noise,
        local_noise=(1 - w) ** 2 * local.noise / n_l,
    )
    mean = w * trusted.mean + (1 - w) * local.mean
    return _estimate(study, mean, w, chosen, trusted, local, divergence, parts, statement, adaptive=adaptive)


def single_world(
    study: "MeanStudy",
    trusted: TrustedGroup | None,
    local: LocalGroup | None,
    statement: Statement,
    *,
    everybody: int,
    adaptive: bool,
) -> Estimate:
    """The estimate from one group alone, about the mean of so many users as there are in all."""
    if trusted is not None:
        most = _MOST_VARIANCE
        parts = _Parts(most * (1 / trusted.count - 1 / everybody), most / trusted.count, trusted.noise, 0.0)
        mean, weight = trusted.mean, 1.0
    elif local is not None:
        most = min(max(local.variance + 2 * local.variance_se, 0.0), _MOST_VARIANCE)
        sampling = most * (1 / local.count - 1 / everybody)
        parts = _Parts(sampling, most / local.count, 0.0, local.noise / local.count)
        mean, weight = local.mean, 0.0
    else:
        raise AssertionError("one group is needed")
    chosen = Weighting(weight, most, VarianceRange(0.0, most))
    return _estimate(study, mean, weight, chosen, trusted, local, None, parts, statement, adaptive=adaptive)


def shrink(mean: float, error: float) -> float:
    """The answer within [0, 1] that errs least in the worst case, from an unbiased one with this squared error."""
    a = 0.25 / (0.25 + error)
    return min(max(0.5 + a * (mean - 0.5), 0.0), 1.0)


def _estimate(
    study: "MeanStudy",
    mean: float,
    weight: float,
    chosen: Weighting,
    trusted: TrustedGroup | None,
    local: LocalGroup | None,
    divergence: Divergence | None,
    parts: _Parts,
    statement: Statement,
    *,
    adaptive: bool,
) -> Estimate:
    lower, width = study.bounds[0], study.width
    everybody = sum(group.count for group in (trusted, local) if group is not None)
    laplace = trusted is not None and trusted.laplace
    sample = _noise(parts.trusted_noise, parts.sampling + parts.local_noise, laplace=laplace)
    population = _noise(parts.trusted_noise, parts.population + parts.local_noise, laplace=laplace)
    return Estimate(
        study=study,
        value=lower + width * (shrink(mean, sample.variance) if adaptive else mean),
        unbiased=lower + width * mean,
        weight=weight,
        weighting=chosen,
        trusted=_alone(study, trusted, everybody, chosen.range.upper),
        local=_alone(study, local, everybody, chosen.range.upper),
        divergence=divergence,
        error=Errors(
            sampling=parts.sampling * width**2,
            trusted_noise=parts.trusted_noise * width**2,
            local_noise=parts.local_noise * width**2,
        ),
        privacy=statement,
        sample_noise=sample.times(width),
        population_noise=population.times(width),
    )


def _alone(
    study: "MeanStudy", group: TrustedGroup | LocalGroup | None, everybody: int, most: float
) -> GroupMean | None:
    """What a group would say alone about everybody, if values vary by ``most`` and the groups are alike."""
    if group is None:
        return None
    sampling = most * (1 / group.count - 1 / everybody)
    if isinstance(group, TrustedGroup):
        noise = _noise(group.noise, sampling, laplace=group.laplace)
    else:
        noise = Noise(group.noise / group.count + sampling, 0.0)
    return GroupMean(group.count, study.bounds[0] + study.width * group.mean, noise.times(study.width))


def _noise(curator: float, rest: float, *, laplace: bool) -> Noise:
    """The law of the curator's noise of variance ``curator`` and a normal rest."""
    if laplace:
        return Noise(normal=rest, laplace=(curator / 2) ** 0.5)
    return Noise(normal=rest + curator, laplace=0.0)
