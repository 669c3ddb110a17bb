r"""What follows from public numbers alone: the study, the sizes of the groups and a weight fixed before any data.

Nothing here has seen a report or a value, so it tells nothing about anybody: the paper's weights, the noise that an
estimate will have, the lattice of the curator's noise in the units of the values, and the step to which an estimate is
rounded before it is published.

**The lattice.** With weight $w$ the weighted mean is

$$
\text{lower} + u\,(S_T + N) + R, \qquad u = \frac{w \cdot \text{width}}{n_T\,2^{24}},
$$

$S_T$ and the curator's noise $N$ whole numbers and $R$ what the reports say. So, given the reports, it lies on a
lattice of step $u$ whose origin depends on them: the last digits of the mean tell the origin, and so the sum of all
codes. After rounding to multiples of $s$, each published number stands for a half-open interval of length $s$, which
holds $s/u$ values of $N$ if that is whole, and $m = \lfloor s/u \rfloor$ or $m + 1$ of them if not, *wherever* the
origin is (`hybriddp.amplification.window` has what that costs).
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.grid import UNITS
from hybriddp.release.mechanisms import mechanism_for

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy

CELL = 1 << 9
"""How many lattice points share a published value at the finest step: $2^{-15}$ of the range over $n_T$."""
_STEPS_PER_SD = 10
_LEAST_STEPS = 50  # between the bounds, however much noise there is


def trusted_noise(study: "MeanStudy", n_trusted: int) -> float:
    """The variance of the curator's noise on the trusted group's mean, on the unit range."""
    return mechanism_for(study.privacy).variance / (n_trusted * UNITS) ** 2


def report_noise(study: "MeanStudy") -> float:
    """The variance of one report given its value, on the unit range: the largest over all values."""
    if isinstance(study.channel, DiscreteLaplace):
        return study.channel.noise_variance
    return study.channel.worst_variance


def fixed_weight(study: "MeanStudy", n_trusted: int, n_local: int, rule: str, variance: float = 0.0) -> float:
    r"""The weight on the trusted group of one of the paper's rules, by public numbers only.

    ``"known-variance"`` is $V_L/(V_T + V_L)$ for a public ``variance`` of the values on the unit range, ``"privacy"``
    the same for 0, ``"naive"`` the trusted group's share of the users ([ADK20], KVH and PWH).
    """
    by_name = {"naive": n_trusted / (n_trusted + n_local), "trusted-only": 1.0, "local-only": 0.0, "full-local": 0.0}
    if rule in by_name:
        return by_name[rule]
    v_t = variance / n_trusted + trusted_noise(study, n_trusted)
    v_l = (variance + report_noise(study)) / n_local
    return v_l / (v_t + v_l)


def noise_sd(study: "MeanStudy", n_trusted: int, n_local: int, weight: float | None) -> float:
    """The standard deviation of all noise for privacy in an estimate, in the units of the values.

    With no fixed weight it is the least that any weight has.
    """
    if n_trusted and n_local and weight is None:
        weight = fixed_weight(study, n_trusted, n_local, "privacy")
    elif weight is None:
        weight = 1.0 if n_trusted else 0.0
    variance = weight**2 * trusted_noise(study, n_trusted) if n_trusted else 0.0
    variance += (1 - weight) ** 2 * report_noise(study) / n_local if n_local else 0.0
    return math.sqrt(variance) * study.width


def default_step(study: "MeanStudy", n_trusted: int, n_local: int, weight: float | None) -> Fraction:
    """The step of what is published: the largest of 1, 2 or 5 times a power of ten within a tenth of the noise's sd.

    It is at most a fiftieth of the range. Rounding adds a thousandth to the squared error at most. With no fixed
    weight, ``weight`` is None.

    Examples
    --------
    >>> from hybriddp import MeanStudy
    >>> default_step(MeanStudy("pay", bounds=(0, 250_000), epsilon=1), 120, 180, None)
    Fraction(200, 1)
    """
    sd = noise_sd(study, n_trusted, n_local, weight)
    return nice_below(min(sd / _STEPS_PER_SD, study.width / _LEAST_STEPS))


def nice_below(size: float) -> Fraction:
    """The largest of 1, 2 or 5 times a power of ten that is not above ``size``."""
    if not size > 0:
        return Fraction(1, 10**300)  # next to nothing, where noise is: at most a float can say
    ten = Fraction(10) ** math.floor(math.log10(size) + 1e-9)
    nice = [ten * factor for factor in (Fraction(1, 2), 1, 2, 5) if ten * factor <= Fraction(size)]
    return max(nice) if nice else ten / 10


def exact_width(study: "MeanStudy") -> Fraction:
    """Upper bound minus lower bound, without rounding."""
    return Fraction(study.bounds[1]) - Fraction(study.bounds[0])


def lattice_step(study: "MeanStudy", n_trusted: int, weight: float) -> Fraction:
    """$u$: by how much an estimate moves if the curator's noise is one unit larger, exactly."""
    return Fraction(weight) * exact_width(study) / (n_trusted * UNITS)


def finest_step(study: "MeanStudy", n_trusted: int, weight: float) -> Fraction:
    """The finest step of the proof, `CELL` lattice points: exactly, since with any other it costs more."""
    return CELL * lattice_step(study, n_trusted, weight)
