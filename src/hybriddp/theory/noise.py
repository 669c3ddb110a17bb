"""How much noise ε-differential privacy asks for from each group: Laplace and Gaussian.

Both are given as *variances on the two means of the paper*: ``trusted`` is the variance that the curator adds to the
mean of the trusted group, ``local`` the variance that each local user adds to their own value.

Neighbors replace one user's value; the group sizes are public. One ``width`` serves both groups, because the bounds
of a study are public and the same for everybody: where the groups' true ranges differ, [ADK20] silently takes the
larger one, and so do we.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError
from hybriddp.theory.gaussian import gaussian_sigma

CALIBRATIONS = ("analytic", "classic", "classic-unchecked")


@dataclass(frozen=True, slots=True)
class Noise:
    """The variance of the privacy noise in each group.

    Attributes
    ----------
    trusted : ndarray
        $s_T^2$, on the mean of the trusted group.
    local : ndarray
        $s_L^2$, on one local user's report.
    """

    trusted: FloatArray
    local: FloatArray


def laplace_noise(*, n_users: ArrayLike, trusted_fraction: ArrayLike, width: ArrayLike, epsilon: ArrayLike) -> Noise:
    r"""Variances of the Laplace mechanism, which gives every user pure ε-differential privacy.

    $$
    s_T^2 = \frac{2 m^2}{(c n \epsilon)^2}, \qquad s_L^2 = \frac{2 m^2}{\epsilon^2}
    $$

    Parameters
    ----------
    n_users : array_like
        $n$, the users of both groups, at least 2.
    trusted_fraction : array_like
        $c$, the fraction of them who trust the curator, between 0 and 1.
    width : array_like
        $m$, upper bound minus lower bound of a value.
    epsilon : array_like
        $\epsilon$, what every user is promised.

    Examples
    --------
    >>> noise = laplace_noise(n_users=1000, trusted_fraction=0.1, width=1.0, epsilon=1.0)
    >>> float(noise.trusted), float(noise.local)
    (0.0002, 2.0)

    References
    ----------
    [ADK20], section 2 (the Laplace mechanism) and Definitions of TCM-Only and Full-LM.
    """
    n = _check.numbers("n_users", n_users, _check.USERS)
    c = _check.numbers("trusted_fraction", trusted_fraction, _check.FRACTION)
    m = _check.numbers("width", width, _check.POSITIVE)
    eps = _check.numbers("epsilon", epsilon, _check.POSITIVE)
    _check.same_shape(n_users=n, trusted_fraction=c, width=m, epsilon=eps)
    return Noise(trusted=2.0 * (m / (c * n * eps)) ** 2, local=2.0 * (m / eps) ** 2)


def gaussian_noise(
    *,
    n_users: ArrayLike,
    trusted_fraction: ArrayLike,
    width: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    calibration: str = "analytic",
) -> Noise:
    r"""Variances of the Gaussian mechanism, which gives every user (ε, δ)-differential privacy.

    $$
    s_T^2 = \left(\frac{m\,\sigma_1}{c n}\right)^2, \qquad s_L^2 = (m\,\sigma_1)^2
    $$

    where $\sigma_1$ is the standard deviation that a sensitivity of 1 needs.

    Parameters
    ----------
    n_users, trusted_fraction, width, epsilon : array_like
        $n, c, m, \epsilon$ as for `laplace_noise`.
    delta : array_like
        $\delta$, between 0 and 1.
    calibration : {"analytic", "classic", "classic-unchecked"}
        ``"analytic"``: the smallest $\sigma_1$ that is private, for every ε ([BW18]).
        ``"classic"``: $\sigma_1 = \sqrt{2 \ln(1.25/\delta)}/\epsilon$, whose theorem covers only ε < 1; a larger ε
        is refused. ``"classic-unchecked"``: the same formula for any ε, for comparison with other work only: it is
        **not private** for large ε (from ε = 9.10 on at δ = 1e-7).

    Notes
    -----
    [ADK20] prints the classic formula without its restriction; see the errata, entry 3.

    Examples
    --------
    >>> setting = dict(n_users=1000, trusted_fraction=0.1, width=1.0, epsilon=0.5, delta=1e-7)
    >>> float(gaussian_noise(**setting).local)
    80.92
    >>> float(gaussian_noise(**setting, calibration="classic").local)
    130.73
    """
    _check.choice("calibration", calibration, CALIBRATIONS)
    n = _check.numbers("n_users", n_users, _check.USERS)
    c = _check.numbers("trusted_fraction", trusted_fraction, _check.FRACTION)
    m = _check.numbers("width", width, _check.POSITIVE)
    eps = _check.numbers("epsilon", epsilon, _check.POSITIVE)
    dlt = _check.numbers("delta", delta, _check.FRACTION)
    _check.same_shape(n_users=n, trusted_fraction=c, width=m, epsilon=eps, delta=dlt)
    if calibration == "analytic":
        sigma = gaussian_sigma(epsilon=eps, delta=dlt, sensitivity=1.0)
    else:
        sigma = _classic_sigma(eps, dlt, unchecked=calibration == "classic-unchecked")
    return Noise(trusted=(m * sigma / (c * n)) ** 2, local=(m * sigma) ** 2)


def _classic_sigma(eps: FloatArray, dlt: FloatArray, *, unchecked: bool) -> FloatArray:
    if not unchecked and np.any(eps >= 1.0):
        raise ParameterError(
            "epsilon",
            'below 1 for calibration="classic", whose theorem covers nothing above',
            float(np.max(eps)),
            remedy='Use calibration="analytic", which is exact and adds less noise.',
        )
    sigma: FloatArray = np.sqrt(2.0 * (math.log(1.25) - np.log(dlt))) / eps
    return sigma
