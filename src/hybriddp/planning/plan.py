"""What a study would give, before anything is collected: every estimator's error, and what it takes to do better.

Every estimator is planned as hybriddp would run it, with one-byte reports: the paper's weights in closed form
(`hybriddp.theory`), the adaptive one by `simulation.adaptive`. Beside them, and never mixed with them, stand the
paper's estimators with the Laplace noise that the paper gives both groups. Nothing here sees data.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hybriddp import _check
from hybriddp.errors import ParameterError
from hybriddp.planning import alternatives, page, words
from hybriddp.planning.alternatives import BoundsChoice, Crossovers, Difference, EpsilonChoice, Poisoning
from hybriddp.planning.evaluate import OURS, Option, Span, evaluate, window_channel
from hybriddp.planning.scenario import Scenario, scenario_of

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Plan(Scenario):
    """What a study would give.

    What is found by trying other studies (the choices of ε and bounds, the crossovers, the differences) is computed
    once, when it is asked for.
    """

    options: tuple[Option, ...]  # every estimator with one-byte reports, ours last
    papers: tuple[Option, ...]  # the paper's, with Laplace noise for both groups and gains over its own single groups

    def __repr__(self) -> str:
        users = f"{self.n_users:,} users, {self.n_trusted:,} trusted"
        return f"<Plan: {users}, ε = {self.privacy.epsilon}, typical error {self[OURS].rmse}; explain() says more>"

    def __getitem__(self, name: str) -> Option:
        for option in self.options:
            if option.name == name:
                return option
        raise KeyError(name)

    @property
    def full_local(self) -> Span:
        """The typical error if nobody trusts and everybody sends a one-byte report."""
        return self["full-local"].rmse

    @property
    def rmse(self) -> float:
        """The typical error of our estimate, in the worst case."""
        return self[OURS].rmse.worst

    @property
    def mostly_noise(self) -> bool:
        """Whether the answer would tell little."""
        return self.rmse > self.noise_limit

    @cached_property
    def epsilon_choices(self) -> tuple[EpsilonChoice, ...]:
        """What other choices of ε would cost: from a quarter to four times this one."""
        return tuple(alternatives.epsilon_choices(self, self[OURS]))

    @cached_property
    def bounds_choices(self) -> tuple[BoundsChoice, ...]:
        """What tighter and wider bounds would cost, in noise and in clipped values."""
        return tuple(alternatives.bounds_choices(self, self[OURS].rmse))

    @cached_property
    def crossovers(self) -> Crossovers:
        """From which numbers of users on it would be another plan."""
        return alternatives.crossovers(self, self.full_local.worst)

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """The typical errors if those who trust are different people."""
        return tuple(alternatives.differences(self))

    @cached_property
    def doublings(self) -> dict[str, Span]:
        """The typical error with twice the ε, users or opt-ins."""
        return dict(alternatives.doublings(self, self.epsilon_choices))

    @cached_property
    def public_limit(self) -> tuple[float, Span] | None:
        """A limit of the spread, and half of the 95 % interval if it were public knowledge."""
        return alternatives.public_limit(self)

    @cached_property
    def least_epsilon(self) -> str | None:
        """The smallest ε with which the answer is more than noise."""
        return alternatives.least_epsilon(self)

    def poisoning(self, forged: int) -> Poisoning:
        r"""How far ``forged`` contributions can move the answer.

        A report is worth at most $v_{\max}$ half ranges to either side of the middle, so replacing one moves the mean
        of the local group by at most $v_{\max}$ ranges over $n_L$; a trusted value moves that of its group by one range
        over $n_T$.
        """
        count = _check.integer("forged", forged, at_least=0)
        largest, weight = window_channel(self.privacy.epsilon).largest_value, self[OURS].weight
        return Poisoning(
            forged=count,
            local=(1 - weight.best) * min(count / (self.n_users - self.n_trusted), 1.0) * largest * self.width,
            trusted=weight.worst * min(count / self.n_trusted, 1.0) * self.width,
        )

    def explain(self) -> str:
        """The plan in plain words: the answer in three lines, then what each number means."""
        return "\n".join([*words.headline(self), *words.details(self)])

    def plot(self, path: "Path | str | None" = None) -> "Figure":
        """A picture of what other fractions of trusting users would give, and of groups that differ."""
        from pathlib import Path

        from hybriddp.figures.plan import draw

        return draw(self, path=None if path is None else Path(path))

    def to_html(self) -> str:
        """A page that stands alone: words, tables and the picture."""
        return page.page(self)

    def _repr_html_(self) -> str:
        return page.fragment(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return page.plain(self)


def plan(
    *,
    n_users: int,
    trusted_fraction: float,
    epsilon: float | str,
    bounds: tuple[float, float],
    sd: float | None = None,
    mean: float | None = None,
    mean_gap: float = 0.0,
    variance_ratio: float = 1.0,
    sd_at_most: float | None = None,
    delta: float | str = 0,
) -> Plan:
    """What a study would give, before a single value is collected.

    Parameters
    ----------
    n_users : int
        How many users there would be.
    trusted_fraction : float
        The fraction of them who would trust the curator, rounded to whole users.
    epsilon, delta : float or str
        What everybody would be promised.
    bounds : (float, float)
        The public range of a value.
    sd : float, optional
        The standard deviation of the values. If nobody knows, leave it out: the plan then shows the best and the worst
        case instead of a guess.
    mean : float, optional
        A rough guess of the mean. With ``sd`` it fixes the shape that is assumed, a Beta distribution on the bounds, so
        that the plan can say what tighter bounds would clip; alone it limits what the spread can be.
    mean_gap : float
        By how much the trusted users' mean would be higher than the others'.
    variance_ratio : float
        How many times as large the variance of the trusted users' values would be; ``sd`` is that of the others.
    sd_at_most : float, optional
        Public knowledge that the study would carry, see `MeanStudy`: it narrows the interval where reports say little.

    Examples
    --------
    >>> pay = plan(n_users=252_540, trusted_fraction=0.01, epsilon=1.0, bounds=(0, 2_349_033), sd=53_254)
    >>> pay["adaptive"].rmse.worst, pay["trusted-only"].rmse.worst
    (1605.0, 1686.1)
    """
    scenario = scenario_of(
        n_users=n_users,
        trusted_fraction=trusted_fraction,
        epsilon=epsilon,
        bounds=bounds,
        sd=sd,
        mean=mean,
        mean_gap=mean_gap,
        variance_ratio=variance_ratio,
        sd_at_most=sd_at_most,
        delta=delta,
    )
    if not scenario.allows_gap(scenario.mean_gap):
        raise ParameterError(
            "mean_gap", f"such that both groups' means are between the bounds, if the mean of all is {mean:g}", mean_gap
        )
    options, papers = evaluate(scenario)
    return Plan(
        **{field.name: getattr(scenario, field.name) for field in fields(scenario)}, options=options, papers=papers
    )
