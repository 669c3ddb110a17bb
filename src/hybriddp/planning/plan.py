"""What a study would give, before anything is collected: every estimator's error, and what it takes to do better.

Every estimator is planned as hybriddp would run it, with one-byte reports: the paper's weights in closed form
(`hybriddp.theory`), the adaptive one by `simulation.adaptive`. Beside them, and never mixed with them, stand the
paper's estimators with the Laplace noise that the paper gives both groups. Nothing here sees data.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hybriddp import _check
from hybriddp.errors import ParameterError
from hybriddp.grid import Grid
from hybriddp.planning.cases import OURS, PAPERS, Case, Point, Question
from hybriddp.planning.crowds import largest_sd
from hybriddp.privacy import Privacy, outright
from hybriddp.wording import significant

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure


MOST_USERS = 10**12
"""More than anybody has; with far more of them floating point could not tell their errors apart."""


@dataclass(frozen=True, slots=True)
class Span:
    """From the best to the worst case; both the same where nothing is unknown."""

    best: float
    worst: float

    @classmethod
    def of(cls, values: "list[float]") -> "Span":
        """The span of these values."""
        return cls(min(values), max(values))

    def __str__(self) -> str:
        low, high = readable(self.best), readable(self.worst)
        return high if low == high else f"{low} to {high}"


def readable(number: float) -> str:
    """What was computed, with three digits."""
    return significant(number, 3)


def given(number: float) -> str:
    """What somebody stated, with all its digits."""
    return significant(number, 12)


@dataclass(frozen=True, slots=True, repr=False)
class Option:
    """One estimator in a plan, in the units of the values.

    Attributes
    ----------
    name : str
        Which estimator.
    weight : Span
        Its weight on the trusted group.
    rmse : Span
        The typical error: the root of the expected squared error against the mean of all users' values.
    half_width : Span
        The 95 % interval is the answer, give or take this.
    detectable : Span
        The change of the mean between two such studies that a test at 5 % finds four times out of five, with other
        people each time.
    sampling, privacy, bias : Span
        The three parts of the expected squared error: users who do not all weigh the same, noise, and groups whose
        means differ.
    gain_over_best, gain_over_worst : Span
        By how much the better (R) and the worse (r) of trusted-only and full-local, with the same kind of noise, err
        more, in squared error.
    """

    name: str
    weight: Span
    rmse: Span
    half_width: Span
    detectable: Span
    sampling: Span
    privacy: Span
    bias: Span
    gain_over_best: Span
    gain_over_worst: Span

    def __repr__(self) -> str:
        return f"<Option {self.name}: typical error {self.rmse}, 95 % interval ± {self.half_width}>"


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """What a study would give.

    Attributes
    ----------
    n_users, n_trusted : int
        How many users, and how many of them trust the curator.
    privacy : Privacy
        What everybody is promised.
    bounds : (float, float)
        The public range of a value.
    sd, mean, mean_gap, variance_ratio, sd_at_most : float or None
        What is known or guessed about the values. Without ``sd``, everything is a span from all values alike to half
        of them at each bound.
    options : tuple of Option
        Every estimator with one-byte reports, ours last.
    papers : tuple of Option
        The paper's estimators with Laplace noise for both groups, and gains over its own single groups.
    """

    n_users: int
    n_trusted: int
    privacy: Privacy
    bounds: tuple[float, float]
    sd: float | None
    mean: float | None
    mean_gap: float
    variance_ratio: float
    sd_at_most: float | None
    options: tuple[Option, ...]
    papers: tuple[Option, ...]

    def __repr__(self) -> str:
        users = f"{self.n_users:,} users, {self.n_trusted:,} trusted"
        return f"<Plan: {users}, ε = {self.privacy.epsilon}, typical error {self[OURS].rmse}; explain() says more>"

    def __getitem__(self, name: str) -> Option:
        for option in self.options:
            if option.name == name:
                return option
        raise KeyError(name)

    @property
    def width(self) -> float:
        """Upper bound minus lower bound."""
        return self.bounds[1] - self.bounds[0]

    @property
    def trusted_fraction(self) -> float:
        """The share of the users who trust the curator."""
        return self.n_trusted / self.n_users

    @property
    def question(self) -> dict[str, Any]:
        """What was asked, as the arguments of `plan`."""
        return {
            "n_users": self.n_users,
            "trusted_fraction": self.trusted_fraction,
            "epsilon": self.privacy.epsilon,
            "delta": self.privacy.delta,
            "bounds": self.bounds,
            "sd": self.sd,
            "mean": self.mean,
            "mean_gap": self.mean_gap,
            "variance_ratio": self.variance_ratio,
            "sd_at_most": self.sd_at_most,
        }

    @property
    def full_local(self) -> Span:
        """The typical error if nobody trusts and everybody sends a one-byte report."""
        return self["full-local"].rmse

    @property
    def shape(self) -> str:
        """What is assumed about the values, in words."""
        if self.sd is None:
            return "Nothing is assumed about the values: the spans go from all alike to half of them at each bound."
        where = "the middle of the bounds as its mean" if self.mean is None else f"mean {given(self.mean)}"
        hint = " A rough mean would make this better." if self.mean is None else ""
        return f"Assumed: a Beta shape on the bounds with {where} and sd {given(self.sd)}.{hint}"

    @property
    def rmse(self) -> float:
        """The typical error of our estimate, in the worst case."""
        return self[OURS].rmse.worst

    @property
    def noise_limit(self) -> float:
        """The error from which on an answer is mostly noise: the values' own spread, at most a tenth of the range."""
        return min(self.sd or self.width, 0.1 * self.width)

    @property
    def mostly_noise(self) -> bool:
        """Whether the answer would tell little."""
        return self.rmse > self.noise_limit

    def explain(self) -> str:
        """The plan in plain words."""
        from hybriddp.planning.words import story

        return story(self)

    def plot(self, path: "Path | str | None" = None) -> "Figure":
        """A picture of what other shares of trusting users would give, and of groups that differ."""
        from pathlib import Path

        from hybriddp.figures.plan import draw

        return draw(self, path=None if path is None else Path(path))

    def _repr_html_(self) -> str:
        from hybriddp.planning.page import fragment

        return fragment(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        from hybriddp.planning.page import plain

        return plain(self)


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
    mode: str = "one-shot",
) -> Plan:
    """What a study would give, before a single value is collected.

    Parameters
    ----------
    n_users : int
        How many users there would be.
    trusted_fraction : float
        The share of them who would trust the curator, rounded to whole users.
    epsilon, delta : float or str
        What everybody would be promised.
    bounds : (float, float)
        The public range of a value.
    sd : float, optional
        The standard deviation of the values. If nobody knows, leave it out: the plan then shows the best and the worst
        case instead of a guess.
    mean : float, optional
        A rough guess of the mean. With ``sd`` it fixes the shape that is assumed, a Beta distribution on the bounds, so
        that the plan can say what tighter bounds would cut off; alone it limits what the spread can be.
    mean_gap : float
        By how much the trusted users' mean would be higher than the others'.
    variance_ratio : float
        How many times as large the variance of the trusted users' values would be; ``sd`` is that of the others.
    sd_at_most : float, optional
        Public knowledge that the study would carry, see `MeanStudy`: it narrows the interval where reports say little.
    mode : {"one-shot"}
        Everybody is asked once, for everything. (Studies in two phases, which narrow the range first, are not there
        yet.)

    Examples
    --------
    >>> pay = plan(n_users=252_540, trusted_fraction=0.01, epsilon=1.0, bounds=(0, 2_349_033), sd=53_254)
    >>> pay["adaptive"].rmse.worst, pay["trusted-only"].rmse.worst
    (1605.0, 1686.1)
    """
    if mode != "one-shot":
        raise ParameterError("mode", '"one-shot": studies in two phases are not there yet', mode)
    return _plan(
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


def errors_of(**question: Any) -> Plan:  # noqa: ANN401
    """The same plan with the errors only, for those who ask for many: its intervals are NaN, and nobody is shown it."""
    return _plan(**question, only_errors=True)


def _plan(
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
    only_errors: bool = False,
) -> Plan:
    users = _check.integer("n_users", n_users, at_least=4)
    if users > MOST_USERS:
        raise ParameterError("n_users", f"at most {MOST_USERS:,}", n_users)
    privacy = Privacy.promised(epsilon=epsilon, delta=delta)
    if privacy.exact_delta * users >= 1:
        words = f"far below 1 over the number of users, {users:,}"
        raise ParameterError("delta", words, delta, remedy=outright(float(privacy.exact_delta)))
    grid = Grid.of(bounds)
    fraction = _check.number("trusted_fraction", trusted_fraction, _check.FRACTION)
    n_trusted = round(fraction * users)
    if not 2 <= n_trusted <= users - 2:
        words = f"such that each of the two groups of {users:,} users has at least two"
        raise ParameterError("trusted_fraction", words, trusted_fraction)
    if sd is not None:
        _check.number("sd", sd, _check.NON_NEGATIVE)
    if mean is not None:
        inside = _check.Range("a number between the bounds", grid.lower, grid.upper)
        _check.number("mean", mean, inside)
    if abs(_check.number("mean_gap", mean_gap)) > grid.width:
        raise ParameterError("mean_gap", "a number no larger than the range", mean_gap)
    if not (only_errors or gap_possible(mean, mean_gap, n_trusted / users, grid)):
        raise ParameterError(
            "mean_gap", f"such that both groups' means are between the bounds, if the mean of all is {mean:g}", mean_gap
        )
    ratio = _check.number("variance_ratio", variance_ratio, _check.POSITIVE)
    if sd_at_most is not None:
        words = "a number from a millionth to half of the range"
        _check.number("sd_at_most", sd_at_most, _check.Range(words, 1e-6 * grid.width, grid.width / 2))
        if sd is not None and sd > sd_at_most:
            raise ParameterError("sd_at_most", f"no smaller than the sd of {sd:,g}", sd_at_most)
    at_most = math.inf if sd_at_most is None else (sd_at_most / grid.width) ** 2
    question = Question(users, n_trusted, privacy, grid, mean, mean_gap / grid.width, ratio, at_most)
    most = min(largest_sd(question.unit_mean), math.sqrt(at_most) * max(ratio, 1.0) ** 0.5)
    if sd is not None and sd * max(ratio, 1.0) ** 0.5 > (1 + 1e-9) * most * grid.width:  # but for rounding
        words = f"at most {most * grid.width:,.6g}: no values between the bounds with this mean vary more"
        raise ParameterError("sd", words, sd)
    spreads = [0.0, most / max(ratio, 1.0) ** 0.5] if sd is None else [sd / grid.width]
    cases = [_case(question, spread, only_errors) for spread in spreads]
    return Plan(
        n_users=users,
        n_trusted=n_trusted,
        privacy=privacy,
        bounds=(grid.lower, grid.upper),
        sd=None if sd is None else float(sd),
        mean=mean,
        mean_gap=float(mean_gap),
        variance_ratio=ratio,
        sd_at_most=None if sd_at_most is None else float(sd_at_most),
        options=tuple(_option(name, [case.ours[name] for case in cases]) for name in (*PAPERS, OURS)),
        papers=tuple(_option(name, [case.papers[name] for case in cases]) for name in PAPERS if not only_errors),
    )


def gap_possible(mean: float | None, gap: float, fraction: float, grid: Grid) -> bool:
    r"""Whether groups whose means are so far apart can have this mean together, between the bounds.

    With a share $c$ of trusted users their mean is $m + (1-c)\,\delta$, and that of the others is $m - c\,\delta$.
    Where no mean is given, any that allows for the gap is fine.
    """
    if mean is None:
        return abs(gap) <= grid.width
    slack = 1e-9 * grid.width  # for rounding
    means = mean + (1 - fraction) * gap, mean - fraction * gap
    return all(grid.lower - slack <= one <= grid.upper + slack for one in means)


@lru_cache(maxsize=512)
def _case(question: Question, spread: float, only_errors: bool) -> Case:
    """A case; tables, words and pictures of one plan ask for the same ones again and again."""
    return question.case(spread, only_errors=only_errors)


def _option(name: str, points: list[Point]) -> Option:
    return Option(
        name=name,
        weight=Span.of([p.weight for p in points]),
        rmse=Span.of([p.error**0.5 for p in points]),
        half_width=Span.of([p.half_width for p in points]),
        detectable=Span.of([p.detectable for p in points]),
        sampling=Span.of([p.sampling for p in points]),
        privacy=Span.of([p.privacy for p in points]),
        bias=Span.of([p.bias for p in points]),
        gain_over_best=Span.of([p.gain_over_best for p in points]),
        gain_over_worst=Span.of([p.gain_over_worst for p in points]),
    )
