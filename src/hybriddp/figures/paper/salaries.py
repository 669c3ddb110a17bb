"""The heat maps of the paper's real data set, from the three numbers printed of it: users, width and spread."""

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.figures.paper.rows import THEORY, GainRow
from hybriddp.figures.paper.scenario import Weight
from hybriddp.theory import UC_SALARIES, Setting, laplace_noise

CROSSOVER = "crossover"
STEPS = 100
"""Of the grid, along each axis; even in the logarithm."""

FRACTIONS = np.geomspace(0.001, 0.1, STEPS + 1)
EPSILONS = np.geomspace(0.1, 10.0, STEPS + 1)


def crossover(epsilon: FloatArray) -> FloatArray:
    r"""The trusted fraction at which both single models err alike.

    It solves $n_{crit}(c) = n$ (`laplace_critical_users`), that is $(2 + y) c^2 - y c = 2/n$ with
    $y = (\epsilon\sigma/m)^2$.
    """
    y = (epsilon * UC_SALARIES.sd / UC_SALARIES.width) ** 2
    return (y + np.sqrt(y**2 + 8.0 * (2.0 + y) / UC_SALARIES.n_users)) / (2.0 * (2.0 + y))


def theory(weight: Weight, *, panel: str) -> list[GainRow]:
    """The grid of the heat map, then the line on which both single models are equally good, one point per ε."""
    fractions, epsilons = np.meshgrid(FRACTIONS, EPSILONS, indexing="ij")
    return [
        *_rows(weight, panel, THEORY, fractions.ravel(), epsilons.ravel()),
        *_rows(weight, panel, CROSSOVER, crossover(EPSILONS), EPSILONS),
    ]


def _rows(weight: Weight, panel: str, source: str, c: FloatArray, epsilon: FloatArray) -> list[GainRow]:
    n = UC_SALARIES.n_users
    noise = laplace_noise(n_users=n, trusted_fraction=c, width=UC_SALARIES.width, epsilon=epsilon)
    setting = Setting(
        n_users=n,
        trusted_fraction=c,
        trusted_variance=UC_SALARIES.variance,
        local_variance=UC_SALARIES.variance,
        trusted_noise=noise.trusted,
        local_noise=noise.local,
    )
    w = setting.weight_privacy() if weight is Weight.PRIVACY else setting.weight_known_variance()
    error = setting.error_hybrid(w)
    best, worst = setting.gain_over_best(error), setting.gain_over_worst(error)
    return [
        GainRow(
            panel=panel,
            source=source,
            trusted=UC_SALARIES.name,
            local=UC_SALARIES.name,
            n_users=float(n),
            trusted_fraction=float(c[i]),
            epsilon=float(epsilon[i]),
            weight=float(w[i]),
            gain_over_best=float(best[i]),
            gain_over_worst=float(worst[i]),
        )
        for i in range(len(c))
    ]
