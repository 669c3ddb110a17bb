r"""Amplification by Gaussian noise, exactly ([ADK20], section 8, corrected).

The published estimate is the non-private one plus noise of variance

$$
s'^2 = w^2 s_T^2 + \Bigl(\frac{1-w}{(1-c)n}\Bigr)^2 h\, s_L^2,
$$

$h$ the honest local users. One trusted user moves it by $\Delta_T = w m/(c n)$, one local user by
$\Delta_L = (1-w) m/((1-c) n)$. The printed theorem takes the *smaller* of the two for everybody; each group has its own
here. All arguments are numbers or arrays that broadcast.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.amplification.guarantee import Amplification, GroupEpsilon
from hybriddp.theory import gaussian_epsilon


@dataclass(frozen=True, slots=True)
class Shifts:
    """How far one user of each group moves the estimate, and the standard deviation of its noise."""

    trusted: FloatArray
    local: FloatArray
    sigma: FloatArray


def shifts(
    *,
    n_users: ArrayLike,
    trusted_fraction: ArrayLike,
    weight: ArrayLike,
    width: ArrayLike,
    trusted_noise: ArrayLike,
    local_noise: ArrayLike,
    honest_local: ArrayLike,
) -> Shifts:
    """The sensitivities and the noise of the published estimate."""
    n = _check.numbers("n_users", n_users, _check.USERS)
    c = _check.numbers("trusted_fraction", trusted_fraction, _check.FRACTION)
    w = _check.numbers("weight", weight, _check.WEIGHT)
    m = _check.numbers("width", width, _check.POSITIVE)
    s_t = _check.numbers("trusted_noise", trusted_noise, _check.NON_NEGATIVE)
    s_l = _check.numbers("local_noise", local_noise, _check.NON_NEGATIVE)
    h = _check.numbers("honest_local", honest_local, _check.NON_NEGATIVE)
    _check.same_shape(n_users=n, trusted_fraction=c, weight=w, width=m, trusted_noise=s_t, honest_local=h)
    n_local = (1 - c) * n
    too_many = _check.Range("at most the number of local users", 0.0, float(np.max(n_local)) * (1 + 1e-12))
    _check.numbers("honest_local", h, too_many)
    of_one = (1 - w) / n_local  # the weight of one local user
    return Shifts(
        trusted=np.asarray(w * m / (c * n))[()],
        local=np.asarray(of_one * m)[()],
        sigma=np.sqrt(w**2 * s_t + of_one**2 * h * s_l)[()],
    )


def exact(*, delta: ArrayLike, **setting: ArrayLike) -> Amplification[FloatArray]:
    r"""The smallest ε′ of each group at δ, by the analytic Gaussian mechanism.

    Parameters
    ----------
    delta : array_like
        δ, between 0 and 1.
    **setting : array_like
        By name: ``n_users``, ``trusted_fraction``, ``weight``, ``width``, which are $n$, $c$, $w$ (fixed before any
        data was seen) and $m$; ``trusted_noise`` and ``local_noise``, $s_T^2$ on the trusted mean and $s_L^2$ on one
        report, both Gaussian; ``honest_local``, $h$: local users whose noise the adversary does not know; a local user
        counts their own.

    Examples
    --------
    >>> from hybriddp.theory import UC_SALARIES as pay, Setting, gaussian_noise
    >>> known = {"n_users": pay.n_users, "trusted_fraction": 0.001, "width": pay.width}
    >>> noise = gaussian_noise(**known, epsilon=1.0, delta=1e-7, calibration="classic-unchecked")
    >>> setting = Setting(n_users=pay.n_users, trusted_fraction=0.001, trusted_variance=pay.variance,
    ...                   local_variance=pay.variance, trusted_noise=noise.trusted, local_noise=noise.local)
    >>> found = exact(**known, weight=setting.weight_known_variance(), trusted_noise=noise.trusted,
    ...               local_noise=noise.local, honest_local=0.999 * pay.n_users, delta=1e-7)
    >>> float(found.trusted.epsilon), float(found.local.epsilon)
    (0.34541683, 0.00094944)
    """
    moved = shifts(**setting)
    groups = [GroupEpsilon(_epsilon(shift, moved.sigma, delta)) for shift in (moved.trusted, moved.local)]
    return Amplification(*groups)


def classic(*, delta: ArrayLike, **setting: ArrayLike) -> Amplification[FloatArray]:
    r"""The same with the paper's calibration, $\epsilon' = \Delta\sqrt{2 \ln(1.25/\delta)}/s'$: for comparison.

    It is a valid guarantee only where ε′ is at most 1.
    """
    dlt = _check.numbers("delta", delta, _check.FRACTION)
    moved = shifts(**setting)
    factor = np.sqrt(2 * np.log(1.25 / dlt)) / moved.sigma
    return Amplification(*(GroupEpsilon(np.asarray(shift * factor)[()]) for shift in (moved.trusted, moved.local)))


def _epsilon(shift: FloatArray, sigma: FloatArray, delta: ArrayLike) -> FloatArray:
    """ε of a shift; a user who moves nothing has 0, and without noise there is none."""
    shift, sigma, dlt = np.broadcast_arrays(shift, sigma, _check.numbers("delta", delta, _check.FRACTION))
    result = np.where(shift == 0, 0.0, np.inf)
    some = (shift > 0) & (sigma > 0)
    if np.any(some):
        result[some] = gaussian_epsilon(delta=dlt[some], sensitivity=shift[some], sigma=sigma[some])
    return np.asarray(result)[()]
