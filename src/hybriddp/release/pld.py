r"""The price of a history from the whole distribution of its privacy loss, by Google's dp-accounting.

Gaussian mechanisms are one Gaussian mechanism together (`zcdp.joint_sensitivity`); every Laplace mechanism has its own
distribution; what is known by its (ε, δ) only has the worst distribution there is with it. Distributions are
discretized upwards. Discrete noise is priced as continuous noise plus its `MechanismPrice.lattice_shift`: dp-accounting
knows the discrete distributions too, but looks at every integer, and ours have $2^{24}$ and more.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from hybriddp.errors import MissingExtraError
from hybriddp.release.cost import Cost, History
from hybriddp.release.mechanism_price import LAPLACE
from hybriddp.release.zcdp import Noise, above, below, joint_sensitivity, split, sum_delta, sum_epsilon, total_shift

_STEP = 1e-4  # of the privacy loss, for histories of up to ε = 10 in total
_NOISE = 1e-13  # in δ, of one convolution by Fourier transforms; many times what is seen
_LEAST_DELTA = 1e-10  # below which that noise would matter
_ROUNDING = Fraction(1, 10**9)  # in ε


def dp_accounting() -> Any:  # noqa: ANN401
    """The library, or `MissingExtraError`."""
    try:
        from dp_accounting import pld
    except ImportError:
        purpose = 'The accountant "pld"'
        raise MissingExtraError("dp-accounting", extra="accounting", purpose=purpose) from None
    return pld


@lru_cache(maxsize=1024)
def pld_price(history: History, delta: Fraction) -> Fraction | None:
    """The ε of the history at this δ; None if another way is better."""
    gaussian, others = split(history)
    laplace = [
        Noise(paid.cost.mechanism, paid.times)
        for paid in others
        if paid.cost.mechanism is not None and paid.cost.mechanism.kind in LAPLACE
    ]
    left = delta - sum_delta(others) - sum(paid.times for paid in history) * Fraction(_NOISE)
    shift = total_shift([*gaussian, *laplace])
    if not others or left < Fraction(_LEAST_DELTA):
        return None  # Gaussian noise alone has a formula, which is exact
    pld = dp_accounting().privacy_loss_distribution
    total = float(sum_epsilon(history))
    step = _STEP * max(1.0, total / 10)
    losses = [_one(pld, paid.cost, step).self_compose(paid.times) for paid in others]
    if gaussian:
        sensitivity = joint_sensitivity(gaussian)
        losses.append(pld.from_gaussian_mechanism(1.0, sensitivity=sensitivity, value_discretization_interval=step))
    composed = losses[0]
    for loss in losses[1:]:
        composed = composed.compose(loss)
    epsilon = float(composed.get_epsilon_for_delta(below(left)))
    return None if math.isinf(epsilon) else Fraction(epsilon) + shift + _ROUNDING


def _one(pld: Any, cost: Cost, step: float) -> Any:  # noqa: ANN401
    """The privacy loss of one release that is not Gaussian, but for its δ, which is subtracted elsewhere."""
    if cost.mechanism is not None and cost.mechanism.kind in LAPLACE:
        ratio = above(cost.mechanism.exact_sensitivity / cost.mechanism.exact_scale)
        return pld.from_laplace_mechanism(1.0, sensitivity=ratio, value_discretization_interval=step)
    parameters = dp_accounting().common.DifferentialPrivacyParameters(above(cost.epsilon), 0.0)
    return pld.from_privacy_parameters(parameters, value_discretization_interval=step)
