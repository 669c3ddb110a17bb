"""What a panel of curves is about: the two groups, the range of a value, the weight; and the theory of it."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import product

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.figures.paper.rows import THEORY, DensityRow, GainRow
from hybriddp.theory import Beta, Setting, laplace_noise, trusted_only_wins_between

FRACTIONS = (0.005, 0.05)
EPSILONS = (0.1, 1.0)
USERS = (1e3, 1e5)
_STEPS = 200
_DENSITY_POINTS = 401


class Weight(StrEnum):
    """How the hybrid is weighed."""

    KNOWN_VARIANCE = "known-variance"
    """Best for the groups' true variances, believing that their means are equal."""
    PRIVACY = "privacy"
    """Best for the noise alone."""


@dataclass(frozen=True, slots=True)
class Group:
    """Values of a symmetric Beta distribution of parameter ``shape``, moved by ``offset``."""

    shape: float
    offset: float = 0.0

    @property
    def name(self) -> str:
        """As the table calls it."""
        moved = f" + {self.offset:g}" if self.offset else ""
        return f"Beta({self.shape:g}, {self.shape:g}){moved}"

    @property
    def mean(self) -> float:
        """Of the values."""
        return 0.5 + self.offset

    @property
    def variance(self) -> float:
        """Of the values."""
        return Beta(self.shape, self.shape).variance

    def quantiles(self, points: int) -> FloatArray:
        """So many equally likely values."""
        from scipy import stats

        levels = (np.arange(points) + 0.5) / points
        return np.asarray(stats.beta(self.shape, self.shape).ppf(levels) + self.offset)

    def densities(self, *, panel: str, group: str) -> list[DensityRow]:
        """The density over the support, but for its ends, where that of a small shape is infinite."""
        from scipy import stats

        inside = np.linspace(0.0, 1.0, _DENSITY_POINTS + 2)[1:-1]
        density = stats.beta(self.shape, self.shape).pdf(inside)
        return [
            DensityRow(panel, group, self.name, float(x + self.offset), float(d))
            for x, d in zip(inside, density, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One panel of curves over the number of users.

    Attributes
    ----------
    panel : str
        Its letter in the paper, or its letters if R and r are drawn apart.
    trusted, local : Group
        Who has which values.
    width : float
        Values are between 0 and this; the noise is for that range.
    weight : Weight
        How the hybrid is weighed.
    """

    panel: str
    trusted: Group
    local: Group
    width: float
    weight: Weight

    def setting(self, *, n_users: FloatArray | float, trusted_fraction: float, epsilon: float) -> Setting:
        """The groups with Laplace noise on both sides."""
        noise = laplace_noise(n_users=n_users, trusted_fraction=trusted_fraction, width=self.width, epsilon=epsilon)
        return Setting(
            n_users=n_users,
            trusted_fraction=trusted_fraction,
            trusted_variance=self.trusted.variance,
            local_variance=self.local.variance,
            trusted_noise=noise.trusted,
            local_noise=noise.local,
            trusted_mean=self.trusted.mean,
            local_mean=self.local.mean,
        )

    def weight_in(self, setting: Setting) -> FloatArray:
        """The weight that the hybrid uses there."""
        if self.weight is Weight.PRIVACY:
            return setting.weight_privacy()
        return setting.without_mean_gap().weight_known_variance()

    def users(self, *, trusted_fraction: float, epsilon: float) -> FloatArray:
        """Where the curve is computed: even steps in log n, and the numbers at which the better world changes.

        R has a kink there, and often its peak.
        """
        wins = trusted_only_wins_between(
            trusted_fraction=trusted_fraction,
            trusted_variance=self.trusted.variance,
            local_variance=self.local.variance,
            local_noise=2.0 * (self.width / epsilon) ** 2,
            mean_gap=self.trusted.mean - self.local.mean,
        )
        kinks = [float(n) for n in (wins.lower, wins.upper) if USERS[0] < n < USERS[1]]  # NaN compares false
        return np.unique([*np.geomspace(*USERS, _STEPS + 1), *kinks])

    def theory(self) -> list[GainRow]:
        """The exact curves, for every trusted fraction and ε of the paper."""
        rows = []
        for c, epsilon in product(FRACTIONS, EPSILONS):
            n = self.users(trusted_fraction=c, epsilon=epsilon)
            setting = self.setting(n_users=n, trusted_fraction=c, epsilon=epsilon)
            weight = self.weight_in(setting)
            error = setting.error_hybrid(weight)
            best, worst = setting.gain_over_best(error), setting.gain_over_worst(error)
            for i in range(len(n)):
                rows.append(  # noqa: PERF401  (a comprehension of this would not be readable)
                    GainRow(
                        panel=self.panel,
                        source=THEORY,
                        trusted=self.trusted.name,
                        local=self.local.name,
                        n_users=float(n[i]),
                        trusted_fraction=c,
                        epsilon=epsilon,
                        weight=float(weight[i]),
                        gain_over_best=float(best[i]),
                        gain_over_worst=float(worst[i]),
                    )
                )
        return rows
