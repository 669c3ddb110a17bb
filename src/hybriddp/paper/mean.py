r"""Mean estimation as [ADK20] prints it, sections 2 to 6: Laplace or Gaussian noise in both groups, all estimators.

Values lie in bounds of width $m$. The curator adds $Y_T$ to the mean of the trusted group, each local user $Y_{L,i}$ to
their own value: Laplace noise for pure ε, Gaussian noise where δ > 0. With the two private means

$$
\tilde\mu_T = \frac{1}{cn}\sum_{i \in T} x_i + Y_T, \qquad
\tilde\mu_L = \frac{1}{(1-c)n}\sum_{i \in L} (x_i + Y_{L,i}),
$$

every estimator but one is $\tilde\mu_H(w) = w\tilde\mu_T + (1-w)\tilde\mu_L$, each with another weight:

==================  ============  ==============================================================================
estimator           in the paper  weight
==================  ============  ==============================================================================
``trusted-only``    TCM-Only      1
``local-only``      LM-Only       0
``naive``           not named     $c$
``known-variance``  KVH           `Setting.weight_known_variance`
``privacy``         PWH           `Setting.weight_privacy`
``full-local``      Full-LM       none: trusted users report as well, and $\tilde\mu_F$ is the mean of all reports
==================  ============  ==============================================================================

**Never a private release.** The randomness is seeded. The trusted total goes through the release door. Of the reports
only the sum is drawn, since no estimator needs more: the sum of $k$ discrete Laplace variables is the difference of two
negative binomial ones, the sum of Gaussian ones is Gaussian. Noise is in whole units of the grid, and Gaussian noise is
calibrated as in a release (erratum 3). `hybriddp.MeanStudy` is private, and more accurate.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS, Grid
from hybriddp.paper import seeded
from hybriddp.privacy import Privacy
from hybriddp.release.mechanisms import mechanism_for
from hybriddp.release.release import ReleaseCost, release
from hybriddp.release.statistic import Statistic
from hybriddp.simulation.crowd import ValueCounts
from hybriddp.theory import Setting

ESTIMATORS = ("trusted-only", "full-local", "local-only", "naive", "privacy", "known-variance")
_BLOCK = 100  # trials that share a seed


@dataclass(frozen=True, slots=True)
class PaperTrials:
    """Squared errors of one estimator over many trials, against the mean of the users of each trial. A simulation."""

    setting: Setting
    """The situation in the paper's terms."""
    weight: float | None
    """Weight on the trusted group; None for full-local."""
    predicted_mse: float
    """Expected squared error by the paper's formulas."""
    squares: FloatArray = field(repr=False)
    """Squared error of each trial."""

    @property
    def mse(self) -> float:
        """Mean squared error over the trials."""
        return float(self.squares.mean())

    @property
    def mse_se(self) -> float:
        """Standard error of `mse`."""
        return float(self.squares.std(ddof=1) / math.sqrt(len(self.squares)))


@dataclass(frozen=True)
class PaperMean:
    """The paper's estimators of a mean. A simulation: never a private release.

    Parameters
    ----------
    bounds : (float, float)
        Public range of a value.
    epsilon, delta : float or str
        Promise to every user. With δ > 0 both groups add Gaussian instead of Laplace noise.

    Examples
    --------
    >>> study = PaperMean(bounds=(0, 240), epsilon=1)
    >>> study.estimate([38.0] * 500, [40.0] * 20_000, estimator="known-variance", sd=30, random_state=1)
    38.572
    """

    bounds: tuple[float, float]
    epsilon: float | str
    delta: float | str = 0

    def __post_init__(self) -> None:
        _ = self.width, self.privacy  # checks them

    @cached_property
    def privacy(self) -> Privacy:
        """Promise to every user."""
        return Privacy.promised(epsilon=self.epsilon, delta=self.delta)

    @cached_property
    def width(self) -> float:
        """Upper bound minus lower bound, $m$."""
        return Grid.of(self.bounds).width

    def estimate(
        self,
        trusted: ArrayLike,
        local: ArrayLike,
        *,
        estimator: str | float,
        random_state: int | np.random.Generator,
        sd: float | None = None,
    ) -> float:
        """Estimate the mean of both groups' values, with one of `ESTIMATORS` or a fixed weight.

        ``sd`` is the standard deviation that the curator knows, for ``"known-variance"`` alone.
        """
        groups = ValueCounts.of(trusted, self.bounds), ValueCounts.of(local, self.bounds)
        if (estimator == "known-variance") != (sd is not None):
            raise ParameterError("sd", 'given exactly if estimator is "known-variance"', sd)
        setting = self._setting(*groups, groups[0].count, groups[1].count)
        weight = self._weight(estimator, setting, np.asarray(sd or 0.0) ** 2)
        answer = self._answer(*groups, weight, seeded(random_state, "paper mean"))
        return self.bounds[0] + self.width * answer

    def simulate(
        self,
        trusted: ArrayLike,
        local: ArrayLike | None = None,
        *,
        n_users: int,
        trusted_fraction: float,
        estimator: str | float,
        trials: int,
        random_state: int,
    ) -> PaperTrials:
        """Draw users, collect and estimate, many times.

        Parameters
        ----------
        trusted, local : array_like
            Equally likely values of the users of each group; those of ``trusted`` for both if ``local`` is left out.
        n_users : int
            Number of users of a trial.
        trusted_fraction : float
            Fraction of them who trust, rounded to whole users.
        estimator : str or float
            One of `ESTIMATORS`, or a fixed weight. The known variance is that of the values of ``trusted``.
        trials : int
            Number of trials, at least 2.
        random_state : int
            Seed. Trials come in blocks of 100 with a seed each.
        """
        n = _check.integer("n_users", n_users, at_least=2)
        n_trusted = round(_check.number("trusted_fraction", trusted_fraction, _check.FRACTION) * n)
        if not 1 <= n_trusted < n:
            raise ParameterError(
                "trusted_fraction", f"such that both groups of {n:,} users have users", trusted_fraction
            )
        count = _check.integer("trials", trials, at_least=2)
        seed = np.random.SeedSequence(_check.integer("random_state", random_state, at_least=0))
        crowds = ValueCounts.of(trusted, self.bounds), ValueCounts.of(trusted if local is None else local, self.bounds)
        setting = self._setting(*crowds, n_trusted, n - n_trusted)
        weight = self._weight(estimator, setting, setting.trusted_variance)
        squares: list[float] = []
        for block in seed.spawn(-(-count // _BLOCK)):
            rng = np.random.default_rng(block)
            for _ in range(min(_BLOCK, count - len(squares))):
                groups = crowds[0].draw(n_trusted, rng), crowds[1].draw(n - n_trusted, rng)
                truth = (groups[0].total + groups[1].total) / (n * UNITS)
                squares.append((self.width * (self._answer(*groups, weight, rng) - truth)) ** 2)
        predicted = setting.error_full_local() if weight is None else setting.error_hybrid(weight)
        return PaperTrials(setting, weight, float(predicted), np.array(squares))

    def _setting(self, trusted: ValueCounts, local: ValueCounts, n_trusted: int, n_local: int) -> Setting:
        """Describe the groups in the paper's terms, in the units of the values."""
        m, noise = self.width, mechanism_for(self.privacy).variance * (self.width / UNITS) ** 2
        return Setting(
            n_users=n_trusted + n_local,
            trusted_fraction=n_trusted / (n_trusted + n_local),
            trusted_variance=trusted.variance * m**2,
            local_variance=local.variance * m**2,
            trusted_noise=noise / n_trusted**2,
            local_noise=noise,
            trusted_mean=trusted.mean * m,
            local_mean=local.mean * m,
        )

    def _weight(self, estimator: str | float, setting: Setting, variance: FloatArray) -> float | None:
        """Compute the weight on the trusted group from public numbers; None for full-local."""
        if not isinstance(estimator, str):
            return _check.number("estimator", estimator, _check.WEIGHT)
        _check.choice("estimator", estimator, ESTIMATORS)
        known = replace(setting.without_mean_gap(), trusted_variance=variance, local_variance=variance)
        weights: dict[str, FloatArray | float] = {
            "trusted-only": 1.0,
            "local-only": 0.0,
            "naive": known.weight_naive(),
            "privacy": known.weight_privacy(),
            "known-variance": known.weight_known_variance(),
        }
        return None if estimator == "full-local" else float(weights[estimator])

    def _answer(
        self, trusted: ValueCounts, local: ValueCounts, weight: float | None, rng: np.random.Generator
    ) -> float:
        """Collect the private means once and combine them, on the unit range."""
        reported = self._reports(local, rng)
        if weight is None:
            return (reported + self._reports(trusted, rng)) / ((trusted.count + local.count) * UNITS)
        statistic = Statistic(
            "total of the trusted group", np.array([trusted.total]), sensitivity=UNITS, count=trusted.count
        )
        cost = ReleaseCost("paper", None, self.privacy, self.privacy)
        total = int(release(statistic, cost, random_state=rng).values[0])
        return weight * total / (trusted.count * UNITS) + (1 - weight) * reported / (local.count * UNITS)

    def _reports(self, crowd: ValueCounts, rng: np.random.Generator) -> int:
        """Draw the sum of a crowd's reports, in units."""
        if self.privacy.exact_delta:
            return crowd.total + round(rng.normal(0.0, mechanism_for(self.privacy).scale * math.sqrt(crowd.count)))
        stop = -math.expm1(-float(self.privacy.epsilon) / UNITS)
        return (
            crowd.total + int(rng.negative_binomial(crowd.count, stop)) - int(rng.negative_binomial(crowd.count, stop))
        )
