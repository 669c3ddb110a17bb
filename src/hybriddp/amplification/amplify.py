"""The second tier of protection of a study of a mean, or the reason why there is none."""

from decimal import Decimal
from fractions import Fraction

from hybriddp import _check
from hybriddp.amplification import window
from hybriddp.amplification.guarantee import Amplified, Assumptions, Guarantee
from hybriddp.errors import ParameterError
from hybriddp.mean import MeanStudy, published
from hybriddp.study.rounding import decimals, exact_step

WEIGHTS = ("known-variance", "privacy", "naive")
VOID = {
    "group means": "either mean alone hides its group behind its own noise only",
    "reports": "a report alone hides its user behind its own noise only",
    "a range": "a range found in the trusted group's values has spent a part of their ε, and is itself an answer",
    "a head list": "a list of frequent items found in the trusted group is itself an answer about it",
    "another release": "two releases about the same values have two noises, and only their promised ε adds up",
}
"""Other publications, and why each of them voids the second tier."""


def amplify(
    study: MeanStudy,
    *,
    n_users: int,
    trusted_fraction: float,
    weight: float | str,
    sd: float | None = None,
    colluding_local: int = 0,
    delta: float = 0.0,
    step: Fraction | Decimal | str | float | None = None,
    also_published: tuple[str, ...] = (),
) -> Amplified:
    """Bound what somebody who sees only the published estimate can learn about a user of each group.

    Parameters
    ----------
    study : MeanStudy
        The study, of pure ε (δ = 0).
    n_users : int
        Number of users.
    trusted_fraction : float
        Fraction of users who trust the curator, rounded to whole users.
    weight : float or {"known-variance", "privacy", "naive"}
        Weight on the trusted group, fixed before any data was seen; the named ones follow from public numbers and,
        for ``"known-variance"``, from an ``sd`` that is public knowledge.
    sd : float, optional
        For ``"known-variance"``.
    colluding_local : int
        Local users who pool what they know of their own noise.
    delta : float
        δ that is allowed for trusted users. With 0 everything is in closed form.
    step : Fraction, Decimal, str or float, optional
        Step that the estimate is rounded to before it is published, in the units of the values. If not given, it is the
        step of `Estimate.published`; ``"finest"`` is the finest step of the proof. The result has it exactly, as
        ``resolution``, with the cost of rounding included.
    also_published : tuple of str
        Anything else that was, or will be, published: ``"group means"``, ``"reports"``, ``"a range"``,
        ``"a head list"``, ``"another release"``. Each of them voids the second tier, and the error says why.

    Examples
    --------
    >>> study = MeanStudy("pay", bounds=(0, 2_349_033), epsilon=1.0)
    >>> tiers = amplify(study, n_users=252_540, trusted_fraction=0.001, weight="known-variance", sd=53_254, delta=1e-7)
    >>> tiers.trusted.epsilon, tiers.local.epsilon
    (0.97207, 0.023541)
    """
    if not isinstance(study, MeanStudy):
        raise ParameterError("study", "a MeanStudy", study)
    for release in also_published:
        _check.choice("also_published", release, tuple(VOID))
        raise ParameterError("also_published", "empty", release, remedy=f"Only the promised ε holds: {VOID[release]}.")
    if study.privacy.exact_delta:
        raise ParameterError("study", "one with δ = 0: Gaussian noise beside other reports is not covered", study.name)
    if study.sd_at_most is not None:
        words = "one without sd_at_most: whether the reports refute it decides whether anything is published at all"
        raise ParameterError("study", words, study.name, remedy="Only the promised ε holds.")
    users = _check.integer("n_users", n_users, at_least=2)
    fraction = _check.number("trusted_fraction", trusted_fraction, _check.FRACTION)
    n_trusted = round(fraction * users)
    if not 1 <= n_trusted <= users - 1:
        raise ParameterError("trusted_fraction", f"such that each of {users} users' two groups has somebody", fraction)
    n_local = users - n_trusted
    colluding = _check.integer("colluding_local", colluding_local, at_least=0)
    if colluding >= n_local:
        raise ParameterError("colluding_local", f"below the {n_local:,} local users: the target is honest", colluding)
    allowed = _check.number("delta", delta, _check.DELTA)
    w = _weight(study, n_trusted, n_local, weight, sd)
    resolution = _step(study, n_trusted, n_local, w, step)
    honest, promised = n_local - colluding, float(study.privacy.epsilon)
    bound = window.exact(
        study.channel,
        n_trusted=n_trusted,
        n_local=n_local,
        weight=w,
        honest_local=honest,
        delta=allowed,
        step=resolution / published.exact_width(study),
    )
    noise = (
        "the curator's, and for trusted users that part of the codes that depends on no value. "
        f"The published value is rounded to a multiple of {_exactly(resolution)}, as Estimate.published does, or the "
        "sum of reports can be read off its last digits."
    )
    return Amplified(
        trusted=Guarantee(bound.trusted, allowed if bound.trusted < promised else 0.0),
        local=Guarantee(bound.local, 0.0),
        unamplified=Guarantee(promised, 0.0),
        assumptions=Assumptions(honest_local=honest, colluding_local=colluding, noise=noise),
        method="the curator's discrete Laplace noise in whole units, and the blanket of uniform codes",
        resolution=resolution,
    )


def _step(
    study: MeanStudy, n_trusted: int, n_local: int, w: float, step: Fraction | Decimal | str | float | None
) -> Fraction:
    if step is None:
        return published.default_step(study, n_trusted, n_local, w)
    if step == "finest":
        if w == 0:
            raise ParameterError("step", "a number where the weight is 0: there is no noise of the curator", step)
        return published.finest_step(study, n_trusted, w)
    return exact_step(step, study.width)


def _exactly(step: Fraction) -> str:
    """Write a step without rounding: as a decimal if it is a short one, else as a fraction."""
    places = decimals(step)
    if step * 10**places == round(step * 10**places) and places < 12:
        return f"{float(step):,.{places}f}"
    return f"{step} (that is {float(step):.6g}, but only the fraction is exact)"


def _weight(study: MeanStudy, n_trusted: int, n_local: int, weight: float | str, sd: float | None) -> float:
    if not isinstance(weight, str):
        if sd is not None:
            raise ParameterError("sd", "left out with a weight that is a number", sd)
        return _check.number("weight", weight, _check.WEIGHT)
    if weight not in WEIGHTS:
        raise ParameterError(
            "weight",
            "a number fixed before any data was seen",
            weight,
            remedy="An adaptive weight is itself computed from the reports, so the published estimate may tell more "
            "than its noise hides: only the promised ε holds.",
        )
    if (weight == "known-variance") != (sd is not None):
        raise ParameterError("sd", 'given exactly if weight is "known-variance"', sd)
    spread = 0.0 if sd is None else (_check.number("sd", sd, _check.NON_NEGATIVE) / study.width) ** 2
    return published.fixed_weight(study, n_trusted, n_local, weight, spread)
