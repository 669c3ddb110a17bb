"""The second tier of protection of a study of a mean, or the reason why there is none."""

from hybriddp import _check
from hybriddp.amplification import laplace
from hybriddp.amplification.guarantee import Amplified, Assumptions, Guarantee, fixed_weight
from hybriddp.amplification.window import exact as window_exact
from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS
from hybriddp.mean import MeanStudy
from hybriddp.release.mechanisms import mechanism_for
from hybriddp.theory import Setting

WEIGHTS = ("known-variance", "privacy", "naive")
VOID = {
    "group means": "either mean alone hides its group behind its own noise only",
    "reports": "a report alone hides its user behind its own noise only",
    "a range": "a range found in the trusted group's values has spent a part of their ε, and is itself an answer",
    "a head list": "a list of frequent items found in the trusted group is itself an answer about it",
    "another release": "two releases about the same values have two noises, and only their promised ε adds up",
}
"""What else may have been published, and why the second tier is void then."""


def amplify(
    study: MeanStudy,
    *,
    n_users: int,
    trusted_fraction: float,
    weight: float | str,
    sd: float | None = None,
    colluding_local: int = 0,
    delta: float = 0.0,
    also_published: tuple[str, ...] = (),
) -> Amplified:
    """What somebody who sees only the published estimate can learn about a user of each group.

    Parameters
    ----------
    study : MeanStudy
        The study; the curator's noise must be Laplace (δ = 0).
    n_users : int
        How many users.
    trusted_fraction : float
        The share who trust the curator, rounded to whole users.
    weight : float or {"known-variance", "privacy", "naive"}
        The weight on the trusted group, fixed before any data was seen; the named ones follow from public numbers and,
        for ``"known-variance"``, from an ``sd`` that is public knowledge.
    sd : float, optional
        For ``"known-variance"``.
    colluding_local : int
        How many local users pool what they know of their own noise.
    delta : float
        The δ that may be allowed for. With 0 everything is in closed form.
    also_published : tuple of str
        Anything else that was, or will be, published: ``"group means"``, ``"reports"``, ``"a range"``,
        ``"a head list"``, ``"another release"``. Each of them voids the second tier, and the error says why.

    Examples
    --------
    >>> study = MeanStudy("pay", bounds=(0, 2_349_033), epsilon=1.0, channel="laplace")
    >>> found = amplify(study, n_users=252_540, trusted_fraction=0.01, weight="known-variance", sd=53_254, delta=1e-7)
    >>> found.trusted.epsilon, found.local.epsilon
    (0.99999826, 0.00065180)
    """
    if not isinstance(study, MeanStudy):
        raise ParameterError("study", "a MeanStudy", study)
    for what in also_published:
        _check.choice("also_published", what, tuple(VOID))
        raise ParameterError("also_published", "empty", what, remedy=f"Only the promised ε holds: {VOID[what]}.")
    if study.privacy.exact_delta:
        raise ParameterError("study", "one with δ = 0: Gaussian noise beside other reports is not covered", study.name)
    users = _check.integer("n_users", n_users, at_least=2)
    fraction = _check.number("trusted_fraction", trusted_fraction, _check.FRACTION)
    n_trusted = round(fraction * users)
    if not 1 <= n_trusted <= users - 1:
        raise ParameterError("trusted_fraction", f"such that each of {users} users' two groups has somebody", fraction)
    n_local = users - n_trusted
    colluding = _check.integer("colluding_local", colluding_local, at_least=0)
    if colluding >= n_local:
        raise ParameterError("colluding_local", f"below the {n_local:,} local users: the target is honest", colluding)
    w = _weight(study, n_trusted, n_local, weight, sd)
    honest = n_local - colluding
    return _amplified(study, n_trusted, n_local, w, honest, delta)


def _amplified(study: MeanStudy, n_trusted: int, n_local: int, w: float, honest: int, delta: float) -> Amplified:
    promised = float(study.privacy.epsilon)
    users = n_trusted + n_local
    if isinstance(study.channel, DiscreteLaplace):
        found = laplace.exact(
            n_users=users,
            trusted_fraction=n_trusted / users,
            weight=w,
            width=study.width,
            epsilon=promised,
            honest_local=honest,
            delta=delta,
        )
        trusted, local, local_delta = found.trusted.epsilon, found.local.epsilon, delta
        noise = "Laplace on both sides, treated as continuous: publish no more digits than the noise leaves meaning."
        method = "sums of Laplace variables, certified"
    else:
        _check.number("delta", delta, _check.Range("a number from 0 and below 1", 0.0, 1.0, upper_open=True))
        bound = window_exact(
            study.channel, n_trusted=n_trusted, n_local=n_local, weight=w, honest_local=honest, delta=delta
        )
        trusted, local, local_delta = bound.trusted, bound.local, 0.0
        noise = (
            "the curator's, and for trusted users that part of the codes that depends on no value. The "
            f"published value is rounded to a multiple of {bound.resolution * study.width:.3g}, or the sum of codes "
            "can be read off its last digits."
        )
        method = "the curator's discrete Laplace noise in whole units, and the blanket of uniform codes"
    return Amplified(
        trusted=Guarantee(min(trusted, promised), delta if trusted < promised else 0.0),
        local=Guarantee(min(local, promised), local_delta),
        unamplified=Guarantee(promised, 0.0),
        assumptions=Assumptions(honest_local=honest, colluding_local=n_local - honest, noise=noise),
        method=method,
    )


def _weight(study: MeanStudy, n_trusted: int, n_local: int, weight: float | str, sd: float | None) -> float:
    if not isinstance(weight, str):
        return _check.number("weight", weight, _check.WEIGHT)
    if weight not in WEIGHTS:
        fixed_weight(weight)
    if (weight == "known-variance") != (sd is not None):
        raise ParameterError("sd", 'given exactly if weight is "known-variance"', sd)
    spread = 0.0 if sd is None else _check.number("sd", sd, _check.NON_NEGATIVE) ** 2
    users, area = n_trusted + n_local, study.width**2
    laplace_reports = isinstance(study.channel, DiscreteLaplace)
    reports = study.channel.noise_variance if laplace_reports else study.channel.worst_variance  # type: ignore[union-attr]
    setting = Setting(
        n_users=users,
        trusted_fraction=n_trusted / users,
        trusted_variance=spread,
        local_variance=spread,
        trusted_noise=mechanism_for(study.privacy).variance / (n_trusted * UNITS) ** 2 * area,
        local_noise=reports * area,
    )
    by_name = {
        "known-variance": setting.weight_known_variance,
        "privacy": setting.weight_privacy,
        "naive": setting.weight_naive,
    }
    return float(by_name[weight]())
