"""The paper in closed form: what error to expect, before a single value is collected.

**For describing a situation**: `Setting`, the noise it needs (`laplace_noise`, `gaussian_noise`,
both giving a `Noise`), and the populations of the paper (`Beta`, `Population`,
`UC_SALARIES`).

**For reading an error**: `ErrorParts`.

**For finding boundaries**: `critical_trusted_fraction`, `trusted_only_wins_between` (a
`UserRange`), and the closed forms for Laplace noise, ``laplace_…``.

**For Gaussian noise**: `gaussian_delta`, `gaussian_epsilon`, `gaussian_sigma`.

Everything takes numbers or arrays that broadcast, and is exact up to floating point: no simulation, no asymptotics.
[ADK20] is Avent, Dubey, Korolova, "The Power of the Hybrid Model for Mean Estimation", PETS 2020; where a formula
departs from its print, the errata page of the documentation says why.
"""

from hybriddp.theory.gaussian import gaussian_delta, gaussian_epsilon, gaussian_sigma
from hybriddp.theory.noise import Noise, gaussian_noise, laplace_noise
from hybriddp.theory.populations import UC_SALARIES, Beta, Population
from hybriddp.theory.regimes import (
    UserRange,
    critical_trusted_fraction,
    laplace_critical_trusted_fraction,
    laplace_critical_users,
    laplace_gain_at_crossover,
    laplace_gain_supremum,
    laplace_privacy_weight_wins_below,
    trusted_only_wins_between,
)
from hybriddp.theory.setting import ErrorParts, Setting

__all__ = [
    "UC_SALARIES",
    "Beta",
    "ErrorParts",
    "Noise",
    "Population",
    "Setting",
    "UserRange",
    "critical_trusted_fraction",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_noise",
    "gaussian_sigma",
    "laplace_critical_trusted_fraction",
    "laplace_critical_users",
    "laplace_gain_at_crossover",
    "laplace_gain_supremum",
    "laplace_noise",
    "laplace_privacy_weight_wins_below",
    "trusted_only_wins_between",
]
