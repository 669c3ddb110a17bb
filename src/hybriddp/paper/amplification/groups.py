r"""Sensitivities and ε′ of the two groups.

One trusted user moves the published estimate by $w m/(c n)$, one local user by $(1-w) m/((1-c) n)$. The printed theorem
takes the smaller of the two for everybody (erratum 1).
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.theory import Setting

Numbers = TypeVar("Numbers", float, FloatArray)


@dataclass(frozen=True, slots=True)
class PerGroup(Generic[Numbers]):
    """A number of each group: a sensitivity, or ε′."""

    trusted: Numbers
    local: Numbers

    @property
    def everyone(self) -> FloatArray:
        """The larger one, which holds for every user."""
        return np.asarray(np.maximum(self.trusted, self.local))[()]


def sensitivities(setting: Setting, *, weight: ArrayLike, width: ArrayLike) -> PerGroup[FloatArray]:
    """Compute the largest change of the published estimate by one user of each group."""
    n, c = setting.n_users, setting.trusted_fraction
    w = _check.numbers("weight", weight, _check.WEIGHT)
    m = _check.numbers("width", width, _check.POSITIVE)
    return PerGroup(w * m / (c * n), (1 - w) * m / ((1 - c) * n))


def check_honest(setting: Setting, honest_local: ArrayLike) -> FloatArray:
    """Check $h$, the number of local users whose noise the adversary does not know; whole users are rounded up."""
    n_local = float(np.max((1 - setting.trusted_fraction) * setting.n_users))
    most = max(np.ceil(n_local * (1 - 1e-12)), n_local * (1 + 1e-12))
    return _check.numbers("honest_local", honest_local, _check.Range("at most the number of local users", 0.0, most))
