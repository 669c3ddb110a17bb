r"""Amplification by Gaussian noise, exactly ([ADK20], section 8, corrected).

The published estimate is the non-private one plus noise of variance

$$
s'^2 = w^2 s_T^2 + \Bigl(\frac{1-w}{(1-c)n}\Bigr)^2 h\, s_L^2,
$$

$h$ the honest local users. Each group has its own sensitivity (`sensitivities`). All arguments are numbers or arrays
that broadcast.
"""

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.paper.amplification.groups import PerGroup, check_honest, sensitivities
from hybriddp.theory import Setting, gaussian_epsilon


def noise_sd(setting: Setting, *, weight: ArrayLike, honest_local: ArrayLike) -> FloatArray:
    """Compute $s'$, the standard deviation of the noise that nobody knows."""
    w, h = _check.numbers("weight", weight, _check.WEIGHT), check_honest(setting, honest_local)
    of_one = (1 - w) / ((1 - setting.trusted_fraction) * setting.n_users)  # the weight of one local user
    result: FloatArray = np.sqrt(w**2 * setting.trusted_noise + of_one**2 * h * setting.local_noise)
    return result


def exact(
    setting: Setting, *, weight: ArrayLike, width: ArrayLike, honest_local: ArrayLike, delta: ArrayLike
) -> PerGroup[FloatArray]:
    r"""Compute the smallest ε′ of each group at δ, by the analytic Gaussian mechanism.

    Parameters
    ----------
    setting : Setting
        The users and their noise: $s_T^2$ on the trusted mean and $s_L^2$ on one report, both Gaussian.
    weight : array_like
        $w$, fixed before any data was seen.
    width : array_like
        $m$, upper bound minus lower bound of a value.
    honest_local : array_like
        $h$: local users whose noise the adversary does not know; a local user counts their own.
    delta : array_like
        δ, between 0 and 1.

    Examples
    --------
    >>> from hybriddp.theory import UC_SALARIES as pay, gaussian_noise
    >>> noise = gaussian_noise(n_users=pay.n_users, trusted_fraction=0.001, width=pay.width, epsilon=1.0, delta=1e-7,
    ...                        calibration="classic-unchecked")
    >>> setting = pay.setting(0.001, noise)
    >>> found = exact(setting, weight=setting.weight_known_variance(), width=pay.width,
    ...               honest_local=0.999 * pay.n_users, delta=1e-7)
    >>> float(found.trusted), float(found.local)
    (0.34541683, 0.00094944)
    """
    shift = sensitivities(setting, weight=weight, width=width)
    sigma = noise_sd(setting, weight=weight, honest_local=honest_local)
    return PerGroup(_epsilon(shift.trusted, sigma, delta), _epsilon(shift.local, sigma, delta))


def classic(
    setting: Setting, *, weight: ArrayLike, width: ArrayLike, honest_local: ArrayLike, delta: ArrayLike
) -> PerGroup[FloatArray]:
    r"""Compute ε′ with the paper's calibration, $\epsilon' = \Delta\sqrt{2 \ln(1.25/\delta)}/s'$, for comparison.

    It is a valid guarantee only where ε′ is at most 1.
    """
    dlt = _check.numbers("delta", delta, _check.FRACTION)
    shift = sensitivities(setting, weight=weight, width=width)
    factor = np.sqrt(2 * np.log(1.25 / dlt)) / noise_sd(setting, weight=weight, honest_local=honest_local)
    return PerGroup(shift.trusted * factor, shift.local * factor)


def _epsilon(shift: FloatArray, sigma: FloatArray, delta: ArrayLike) -> FloatArray:
    """Compute ε of a shift: 0 for a user who moves nothing, infinite without noise."""
    shift, sigma, dlt = np.broadcast_arrays(shift, sigma, _check.numbers("delta", delta, _check.FRACTION))
    result = np.where(shift == 0, 0.0, np.inf)
    some = (shift > 0) & (sigma > 0)
    if np.any(some):
        result[some] = gaussian_epsilon(delta=dlt[some], sensitivity=shift[some], sigma=sigma[some])
    return np.asarray(result)[()]
