"""The second tier of protection of a study of a mean, or the reason why there is none."""

from decimal import Decimal
from fractions import Fraction

from hybriddp import _check
from hybriddp.amplification import laplace
from hybriddp.amplification.guarantee import Amplified, Assumptions, Guarantee
from hybriddp.amplification.window import exact as window_exact
from hybriddp.amplification.window import pure_epsilon
from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS
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
    step: Fraction | Decimal | str | float | None = None,
    also_published: tuple[str, ...] = (),
) -> Amplified:
    """What somebody who sees only the published estimate can learn about a user of each group.

    Parameters
    ----------
    study : MeanStudy
        The study; the curator's noise must be Laplace (δ = 0).
    n_users : int
        Number of users.
    trusted_fraction : float
        The fraction of users who trust the curator, rounded to whole users.
    weight : float or {"known-variance", "privacy", "naive"}
        The weight on the trusted group, fixed before any data was seen; the named ones follow from public numbers and,
        for ``"known-variance"``, from an ``sd`` that is public knowledge.
    sd : float, optional
        For ``"known-variance"``.
    colluding_local : int
        Local users who pool what they know of their own noise.
    delta : float
        The δ that is allowed for. With 0 everything is in closed form.
    step : Fraction, Decimal, str or float, optional
        What the estimate is rounded to before it is published, in the units of the values. If not given, it is the step
        of `Estimate.published`; ``"finest"`` is the finest step of the proof. The result has it exactly, as
        ``resolution``, with what rounding costs included.
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
    w = _weight(study, n_trusted, n_local, weight, sd)
    g = _step(study, n_trusted, n_local, w, step)
    return _amplified(study, n_trusted, n_local, w, n_local - colluding, delta, g)


def _amplified(
    study: MeanStudy, n_trusted: int, n_local: int, w: float, honest: int, delta: float, step: Fraction
) -> Amplified:
    promised = float(study.privacy.epsilon)
    rounding = (
        f"The published value is rounded to a multiple of {_exactly(step)}, as Estimate.published does, or the sum of "
        "reports can be read off its last digits."
    )
    if isinstance(study.channel, DiscreteLaplace):
        trusted, local = _laplace(study, n_trusted, n_local, w, honest, delta, step)
        local_delta = delta
        continuous = ", treated as continuous" if delta else ", in whole units"
        noise = f"Laplace on both sides{continuous}. {rounding}"
        method = "sums of Laplace variables, certified" if delta else "discrete Laplace noise in whole units"
    else:
        _check.number("delta", delta, _check.DELTA)
        bound = window_exact(
            study.channel,
            n_trusted=n_trusted,
            n_local=n_local,
            weight=w,
            honest_local=honest,
            delta=delta,
            step=step / published.exact_width(study),
        )
        trusted, local, local_delta = bound.trusted, bound.local, 0.0
        noise = f"the curator's, and for trusted users that part of the codes that depends on no value. {rounding}"
        method = "the curator's discrete Laplace noise in whole units, and the blanket of uniform codes"
    return Amplified(
        trusted=Guarantee(min(trusted, promised), delta if trusted < promised else 0.0),
        local=Guarantee(min(local, promised), local_delta),
        unamplified=Guarantee(promised, 0.0),
        assumptions=Assumptions(honest_local=honest, colluding_local=n_local - honest, noise=noise),
        method=method,
        resolution=step,
    )


def _laplace(
    study: MeanStudy, n_trusted: int, n_local: int, w: float, honest: int, delta: float, step: Fraction
) -> tuple[float, float]:
    """ε′ of trusted and local users in the paper's setting, at δ = 0 in whole units, as the noise is drawn."""
    found = laplace.exact(
        n_users=n_trusted + n_local,
        trusted_fraction=n_trusted / (n_trusted + n_local),
        weight=w,
        width=study.width,
        epsilon=float(study.privacy.epsilon),
        honest_local=honest,
        delta=delta,
    )
    if delta:
        return found.trusted.epsilon, found.local.epsilon
    epsilon, width = Fraction(study.privacy.epsilon), published.exact_width(study)
    by_trusted, by_local = Fraction(w) * width / n_trusted, (1 - Fraction(w)) * width / n_local
    trusted = pure_epsilon(epsilon, by_trusted, step=step, lattice=by_local / UNITS if honest else Fraction(0))
    return trusted, pure_epsilon(epsilon, by_local, step=step, lattice=by_trusted / UNITS)


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
    """A step without rounding: as a decimal if it is one that people write, as a fraction if not."""
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
