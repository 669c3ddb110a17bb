"""A plan of a mean: every estimator's error with one-byte reports, ours last, and what it takes to do better.

The paper's weights are predicted in closed form (`hybriddp.theory`), the adaptive one from the law of everything that
it depends on (`hybriddp.mean.expected`). Beside them, and never mixed with them, stand the paper's estimators with the
Laplace noise that the paper gives both groups.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

from hybriddp import _check
from hybriddp.errors import ParameterError
from hybriddp.grid import Grid
from hybriddp.mean.study import MeanStudy
from hybriddp.planning import alternatives, mean_tables, words
from hybriddp.planning.base import Plan, Poisoning, readable
from hybriddp.planning.estimators import OURS, Option, Span, errors, evaluate, window_channel
from hybriddp.planning.shape import largest_sd
from hybriddp.privacy import outright
from hybriddp.reporting.wording import significant


@dataclass(frozen=True, repr=False)
class MeanPlan(Plan):
    """What a study of a mean would give.

    Everything is computed once, when it is asked for.
    """

    bounds: tuple[float, float]
    sd: float | None  # without it, everything is a span from all values alike to half of them at each bound
    mean: float | None
    mean_gap: float
    variance_ratio: float
    sd_at_most: float | None

    @classmethod
    def of(
        cls,
        study: MeanStudy,
        *,
        n_users: int,
        trusted_fraction: float,
        sd: float | None = None,
        mean: float | None = None,
        mean_gap: float = 0.0,
        variance_ratio: float = 1.0,
    ) -> "MeanPlan":
        """Plan a study of a mean; see `hybriddp.plan`."""
        sizes = cls.group_sizes(n_users, trusted_fraction)
        return cls(
            **sizes,
            privacy=study.privacy,
            bounds=study.bounds,
            sd=None if sd is None else _check.number("sd", sd, _check.NON_NEGATIVE),
            mean=mean,
            mean_gap=_check.number("mean_gap", mean_gap),
            variance_ratio=_check.number("variance_ratio", variance_ratio, _check.POSITIVE),
            sd_at_most=study.sd_at_most,
        )

    def __post_init__(self) -> None:
        delta, grid = self.privacy.exact_delta, Grid.of(self.bounds)
        if delta * self.n_users >= 1:
            words = f"far below 1 over the number of users, {self.n_users:,}"
            raise ParameterError("delta", words, self.privacy.delta, remedy=outright(float(delta)))
        if self.mean is not None:
            _check.number("mean", self.mean, _check.Range("a number between the bounds", grid.lower, grid.upper))
        if abs(self.mean_gap) > self.width:
            raise ParameterError("mean_gap", "a number no larger than the range", self.mean_gap)
        if self.sd_at_most is not None:
            possible = _check.Range("a number from a millionth to half of the range", 1e-6 * self.width, self.width / 2)
            _check.number("sd_at_most", self.sd_at_most, possible)
            if self.sd is not None and self.sd > self.sd_at_most:
                raise ParameterError("sd_at_most", f"no smaller than the sd of {self.sd:,g}", self.sd_at_most)
        if self.sd is not None and self.sd > (1 + 1e-9) * self.most_sd:  # but for rounding
            most = self.most_sd * max(self.variance_ratio, 1.0) ** 0.5
            words = f"at most {most:,.6g}: no values between the bounds with this mean vary more"
            raise ParameterError("sd", words, self.sd)

    def checked(self) -> Self:
        """Return the plan if both groups' means are between the bounds."""
        if not self.allows_gap(self.mean_gap):
            words = f"such that both groups' means are between the bounds, if the mean of all is {self.mean:g}"
            raise ParameterError("mean_gap", words, self.mean_gap)
        return self

    # The situation

    @property
    def width(self) -> float:
        """Upper bound minus lower bound."""
        return self.bounds[1] - self.bounds[0]

    @property
    def unit_mean(self) -> float:
        """Mean on the unit range; the middle, where values may vary most, if nobody knows."""
        return 0.5 if self.mean is None else (self.mean - self.bounds[0]) / self.width

    @property
    def most_sd(self) -> float:
        """Largest standard deviation that local users' values can have, whatever the variance ratio."""
        most = largest_sd(self.unit_mean) * self.width
        ratio = math.sqrt(max(self.variance_ratio, 1.0))
        return most / ratio if self.sd_at_most is None else min(most, self.sd_at_most * ratio) / ratio

    @property
    def gap_unit(self) -> float:
        """Unit in which gaps between the groups are counted: the standard deviation, or a tenth of the range."""
        return 0.1 * self.width if self.sd is None else self.sd

    def allows_gap(self, gap: float) -> bool:
        r"""Whether groups whose means are so far apart can have this mean together, between the bounds.

        With a fraction $c$ of trusted users their mean is $m + (1-c)\,\delta$, and that of the others is
        $m - c\,\delta$. Where no mean is given, any that allows for the gap is fine.
        """
        if self.mean is None:
            return abs(gap) <= self.width
        slack = 1e-9 * self.width  # for rounding
        means = self.mean + (1 - self.trusted_fraction) * gap, self.mean - self.trusted_fraction * gap
        return all(self.bounds[0] - slack <= mean <= self.bounds[1] + slack for mean in means)

    @property
    def most_solved(self) -> int:
        """Largest number of users that `solve` tries: no more than δ allows."""
        most, delta = super().most_solved, self.privacy.exact_delta
        return min(most, math.ceil(1 / delta) - 1) if delta else most

    @property
    def more_is_better(self) -> bool:
        """Whether errors surely fall as users, opt-ins or ε grow: where the groups are alike."""
        return not self.mean_gap and self.variance_ratio == 1

    # Errors

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """Every estimator with one-byte reports, ours last."""
        return evaluate(self)[0]

    @property
    def rows(self) -> tuple[Option, ...]:
        """Every estimator with one-byte reports, ours last."""
        return self.options

    @cached_property
    def papers(self) -> tuple[Option, ...]:
        """The paper's estimators, with Laplace noise for both groups and gains over its own single groups."""
        return evaluate(self)[1]

    def __getitem__(self, name: str) -> Option:
        for option in self.options:
            if option.name == name:
                return option
        raise KeyError(name)

    @cached_property
    def errors(self) -> dict[str, Span]:
        """Typical error of each estimator; far faster than `options`, which have intervals."""
        return errors(self)

    @property
    def full_local(self) -> Span:
        """Typical error if nobody trusts and everybody sends a one-byte report."""
        return self.errors["full-local"]

    @property
    def rmse(self) -> float:
        """Typical error of our estimate, in the worst case."""
        return self.errors[OURS].worst

    @property
    def typical_error(self) -> str:
        """Typical error of our estimate, or from which to which."""
        return str(self.errors[OURS])

    def in_words(self, error: float) -> str:
        """Write an error, and the fraction of the range that it is."""
        return f"{readable(error)} ({significant(100 * error / self.width, 2)} % of the range)"

    @property
    def noise_limit(self) -> float:
        """Error from which on an answer is mostly noise: the values' own spread, at most a tenth of the range."""
        return min(self.sd or self.width, 0.1 * self.width)

    @property
    def mostly_noise(self) -> bool:
        """Whether the answer would tell little."""
        return self.rmse > self.noise_limit

    # What else might be

    epsilon_choices = cached_property(alternatives.epsilon_choices)
    """Errors with other choices of ε: from a quarter to four times this one."""
    bounds_choices = cached_property(alternatives.bounds_choices)
    """Errors with tighter and wider bounds, in noise and in clipped values."""
    crossovers = cached_property(alternatives.crossovers)
    """Numbers of users from which on it would be another plan."""
    differences = cached_property(alternatives.differences)
    """Typical errors if those who trust are different people."""
    doublings = cached_property(alternatives.doublings)
    """Typical errors with twice the ε, users or opt-ins."""
    public_limit = cached_property(alternatives.public_limit)
    """A limit of the spread, and half of the 95 % interval if it were public knowledge."""

    def poisoning(self, forged: int) -> Poisoning:
        r"""Return how far ``forged`` contributions can move the answer.

        A report is worth at most $v_{\max}$ half ranges to either side of the middle, so replacing one moves the mean
        of the local group by at most $v_{\max}$ ranges over $n_L$; a trusted value moves that of its group by one range
        over $n_T$.
        """
        count = _check.integer("forged", forged, at_least=0)
        largest, weight = window_channel(self.privacy.epsilon).largest_value, self[OURS].weight
        return Poisoning(
            forged=count,
            local=(1 - weight.best) * min(count / self.n_local, 1.0) * largest * self.width,
            trusted=weight.worst * min(count / self.n_trusted, 1.0) * self.width,
        )

    # How it is shown

    headline = words.headline
    details = words.details
    tables = mean_tables.tables

    def _facts(self) -> dict[str, Any]:
        asked = ("bounds", "sd", "mean", "mean_gap", "variance_ratio", "sd_at_most", "rmse", "mostly_noise")
        rows: dict[str, Sequence[Any]] = {
            "estimators": self.options,
            "papers_with_laplace_noise": self.papers,
            "epsilon_choices": self.epsilon_choices,
            "bounds_choices": self.bounds_choices,
            "if_groups_differ": self.differences,
        }
        return {
            **{name: getattr(self, name) for name in asked},
            "nobody_trusts_rmse": asdict(self.full_local),
            "answer": list(self.headline()),
            "assumed": words.assumption(self),
            "detectable_change": asdict(self[OURS].detectable),
            "crossovers": asdict(self.crossovers),
            "forged": asdict(self.poisoning(min(100, self.n_local))),
            **{name: [asdict(row) for row in of] for name, of in rows.items()},
        }
