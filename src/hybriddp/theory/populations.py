"""The populations of the paper's evaluation."""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp.theory.noise import Noise
from hybriddp.theory.setting import Setting


@dataclass(frozen=True, slots=True)
class Beta:
    r"""The Beta(α, β) distribution on [0, 1].

    $$
    \mu = \frac{\alpha}{\alpha + \beta}, \qquad
    \sigma^2 = \frac{\alpha\beta}{(\alpha+\beta)^2 (\alpha+\beta+1)}
    $$

    [ADK20] uses Beta(10, 10), Beta(1, 1) and Beta(0.1, 0.1): little, medium and much spread.

    Examples
    --------
    >>> [Beta(a, a).sd for a in (10, 1, 0.1)]
    [0.10911, 0.28868, 0.45644]
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        _check.number("alpha", self.alpha, _check.POSITIVE)
        _check.number("beta", self.beta, _check.POSITIVE)

    @property
    def mean(self) -> float:
        r"""$\mu$, computed so that parameters next to infinity do no harm."""
        return 1.0 / (1.0 + self.beta / self.alpha)

    @property
    def variance(self) -> float:
        r"""$\sigma^2$, from the mean: $\mu(1 - \mu)/(\alpha + \beta + 1)$."""
        return self.mean * (1.0 - self.mean) / (self.alpha + self.beta + 1.0)

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return float(self.variance**0.5)


@dataclass(frozen=True, slots=True)
class Population:
    """Numbers of a data set that the formulas need: size, width of the bounds, standard deviation."""

    name: str
    source: str  # where the numbers come from
    n_users: int
    width: float  # upper bound minus lower bound of a value
    sd: float

    @property
    def variance(self) -> float:
        """Variance of the values."""
        return self.sd**2

    def setting(self, trusted_fraction: ArrayLike, noise: Noise) -> Setting:
        """Describe the situation where this fraction of the population trusts, with noise in both groups."""
        return Setting(
            n_users=self.n_users,
            trusted_fraction=trusted_fraction,
            trusted_variance=self.variance,
            local_variance=self.variance,
            trusted_noise=noise.trusted,
            local_noise=noise.local,
        )


UC_SALARIES = Population(
    name="University of California salaries, 2010",
    source="the three numbers printed in [ADK20], section 4; the data themselves are not used",
    n_users=252_540,
    width=2_349_033.0,
    sd=53_254.0,
)
"""The paper's real data set, in the three numbers that its figures need."""
