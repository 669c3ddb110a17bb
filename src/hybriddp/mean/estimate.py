"""The answer, how wrong it may be, and what it cost."""

import json
import math
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybriddp import _check
from hybriddp.channels.plausible import short_doubt
from hybriddp.errors import DataError
from hybriddp.mean import explain, page
from hybriddp.mean.interval import ErrorLaw, Errors, GroupMean, Laws
from hybriddp.mean.published import PublishedMean, has_second_tier, publish, rounded, step_of
from hybriddp.mean.weights import Divergence, Weighting
from hybriddp.study.intervals import Interval
from hybriddp.study.result import Statement

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table

    from hybriddp.mean.study import MeanStudy


@dataclass(frozen=True, slots=True, repr=False)
class Estimate:
    """A mean, from private numbers only.

    For publication take `published`, which is also what ``float()``, ``str()`` and `to_json` show: the rounded value
    and interval. The attributes are the curator's: publishing them leaves every user their own ε. The second tier of
    `hybriddp.amplify`, which a weight has that was fixed beforehand, is lost.
    """

    study: "MeanStudy"
    value: float
    """The answer. With the adaptive weight it lies within the bounds and has been pulled towards their middle by as
    much as makes the worst case best: $4 E / (1 + 4 E)$ of the way, $E$ the expected squared error on the unit range,
    so next to nothing unless noise covers a good part of the range."""
    unbiased: float
    """The weighted mean of the groups as it is: for averaging over many estimates. It may lie outside of the bounds."""
    weight: float
    """The weight on the trusted group's mean that it was made with."""
    weighting: Weighting  # how that weight was chosen, before the groups were compared
    trusted: GroupMean | None
    """What the trusted group alone says; None where there was no such group."""
    local: GroupMean | None
    """What the local group alone says; None where there was no such group."""
    divergence: Divergence | None
    """How far the groups are apart; None where there was only one."""
    error: Errors
    """The expected squared error of ``unbiased``; that of ``value`` is not larger."""
    privacy: Statement
    """What it cost."""
    laws: Laws  # how it errs: what the intervals are made from
    exact: Fraction | None = None  # `unbiased` without rounding errors, where the weight was fixed before any data
    fixed_weight: bool = False  # whether it was
    public_variance: float | None = None  # the variance of the values on the unit range, where it is public knowledge
    tied: bool = True
    """Whether every local report came with the study's digest."""
    implausible_reports: int = 0
    """At least so many local reports did not come out of the study's channel (`hybriddp.channels.plausible`)."""
    refuted_sd: float | None = None
    """What was said of the spread (``sd_at_most``), where the reports refuted it, and it was not used."""

    @property
    def n_trusted(self) -> int:
        """How many users trusted the curator."""
        return self.trusted.count if self.trusted else 0

    @property
    def n_local(self) -> int:
        """How many users reported locally."""
        return self.local.count if self.local else 0

    @property
    def trusted_mean(self) -> float | None:
        """The private mean of the trusted group."""
        return self.trusted.mean if self.trusted else None

    @property
    def local_mean(self) -> float | None:
        """The private mean of the local group."""
        return self.local.mean if self.local else None

    @property
    def standard_error(self) -> float:
        """The root of the expected squared error against the mean of all users' values, if the groups are alike."""
        return math.sqrt(self.laws.users.variance) * self.study.width

    def interval(self, level: float = 0.95, *, groups_may_differ: bool = False) -> Interval:
        """Where the mean of *these users'* values lies, at a level of confidence.

        Parameters
        ----------
        level : float
            How often such an interval holds the mean.
        groups_may_differ : bool
            By default the interval assumes that those who trust are like those who do not: where their means differ, it
            holds the mean less often, however small the difference that the noise hides. With True it assumes nothing:
            it is made from the mean in which every user weighs the same. That one is wider, and has a center of its
            own: `value` may lie outside.
        """
        return self._interval(level, self.laws.users, self.laws.users_if_groups_differ, groups_may_differ)

    def population_interval(self, level: float = 0.95, *, groups_may_differ: bool = False) -> Interval:
        """Where the mean of the population lies that these users were drawn from: a wider one, see `interval`."""
        laws = self.laws
        return self._interval(level, laws.population, laws.population_if_groups_differ, groups_may_differ)

    def stated_interval(self, level: float = 0.95, *, population: bool = False) -> Interval:
        """The interval that is stated beside the answer: how much the groups' means differ decides which one it is.

        Up to two standard errors apart, the one that assumes that the groups are alike. From four on, the one that
        does not. In between nobody can tell chance from a difference, so both are inside: whichever is right, the level
        holds.
        """
        make = self.population_interval if population else self.interval
        if not self.groups_differ:
            return make(level)
        honest = make(level, groups_may_differ=True)
        held = [honest] if self.groups_clearly_differ else [honest, make(level)]
        ends = [end for interval in held for end in interval] + [self.value]
        return Interval(min(ends), max(ends), level)

    def covers(self, mean: float, level: float = 0.95) -> bool:
        """Whether `interval` holds this mean; quicker than making the interval."""
        inside = self.laws.users.explains((mean - self.study.bounds[0]) / self.study.width) >= 1 - level
        return inside or mean in self.interval(level)

    @property
    def groups_differ(self) -> bool:
        """Whether the groups' means are more than two standard errors apart, as by chance alone in 5 % of studies."""
        return self.divergence is not None and abs(self.divergence.z) > 2

    @property
    def groups_clearly_differ(self) -> bool:
        """Whether they are more than four standard errors apart, which chance does not explain."""
        return self.divergence is not None and abs(self.divergence.z) > 4

    def _interval(self, level: float, alike: ErrorLaw, different: ErrorLaw | None, may_differ: bool) -> Interval:
        _check.number("level", level, _check.FRACTION)
        if may_differ:
            if different is None:
                raise DataError("One group gave no mean, so nothing is known of how much it differs from the other.")
            return different.interval(level).rescaled(self.study.bounds)
        found = alike.interval(level).rescaled(self.study.bounds)
        return Interval(min(found.lower, self.value), max(found.upper, self.value), level)

    def published(self, *, level: float = 0.95, step: Fraction | Decimal | str | float | None = None) -> PublishedMean:
        """What may be published: the value and its interval, rounded in exact fractions, and nothing else.

        Where the weight was fixed before any data was seen, the interval follows from the published value and public
        numbers too, so that value and interval together keep what `hybriddp.amplify` says. It is wider than `interval`,
        which the reports narrow: a public ``sd`` (``weight="known-variance"``) makes up for that. With the adaptive
        weight there is no second tier, and it is `stated_interval`, rounded; a warning about implausible reports goes
        with it then.

        Parameters
        ----------
        level : float
            The level of confidence of the interval, which is rounded outwards.
        step : Fraction, Decimal, str or float, optional
            What to round to, chosen without looking at the data. If not given, 1, 2 or 5 times a power of ten, at most
            a tenth of the noise's standard deviation, by public numbers alone.
        """
        return replace(publish(self, level=level, step=step), warnings=explain.published_warnings(self))

    def __float__(self) -> float:
        return float(rounded(self, step_of(self)))

    # How it is shown ----------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return explain.one_line(self)

    def __repr__(self) -> str:
        name = self.study.title if len(self.study.title) <= 40 else f"{self.study.title[:39]}…"
        seeded = ", a simulation" if self.privacy.seeded else ""
        doubt = short_doubt(self.implausible_reports)
        return f"Estimate({name!r}: {self.published()}, ε = {self.privacy.epsilon}{seeded}{doubt})"

    def explain(self) -> str:
        """The answer, what it assumes, how it came about and what it cost, in plain words."""
        return explain.explanation(self)

    def plot(self, path: Path | str | None = None) -> "Figure":
        """A picture of both groups' answers and the combined one with their intervals; written to ``path`` if given.

        Needs matplotlib (``pip install "hybriddp[plots]"``).
        """
        from hybriddp.figures import estimate as picture

        return picture.draw([self], path=None if path is None else Path(path))

    def __rich__(self) -> "Table":
        return explain.table(self)

    def _repr_html_(self) -> str:
        return page.fragment(self)

    def to_html(self) -> str:
        """A page of its own: the answer, the groups' answers, a picture and the explain."""
        return page.page([self])

    def to_json(self, *, full: bool = False) -> str:
        """What `to_dict` gives, as text."""
        return json.dumps(self.to_dict(full=full), indent=2)

    def to_pandas(self, *, full: bool = False) -> "pd.DataFrame":
        """What `to_dict` gives, as a table of one row. Needs pandas."""
        import pandas as pd

        return pd.json_normalize(self.to_dict(full=full))

    def to_dict(self, *, full: bool = False) -> dict[str, Any]:
        """What may be published, as plain values: the rounded value and interval, and the promise.

        With ``full`` all that the curator has beside it: the groups' means, the weight and everything unrounded.
        Publishing these leaves every user their own ε; a second tier, which a weight has that was fixed beforehand, is
        lost.
        """
        p = self.published(level=0.95)
        users = self.study.users
        published = {
            "warnings": list(explain.warnings(self)),  # before the number
            "study": self.study.name,
            "digest": self.study.digest,
            "users": users and asdict(users),
            "value": p.value,
            "interval_95": [p.lower, p.upper],
            "interval_assumes_groups_alike": explain.assumes_alike(self),
            "step": float(p.step),
            "n_trusted": self.n_trusted,
            "n_local": self.n_local,
            "tied": self.tied,
            "implausible_reports": self.implausible_reports,
            "sd_at_most": self.study.sd_at_most,
            "privacy": self.privacy.to_dict(),
        }
        return published if not full else published | {"curator": self._curator()}

    def _curator(self) -> dict[str, Any]:
        """What is not for publication, or costs the second tier of protection."""
        gap = self.divergence
        return {
            "note": explain.FIRST_TIER_ONLY if has_second_tier(self) else explain.NOT_ROUNDED,
            "value": self.value,
            "unbiased": self.unbiased,
            "standard_error": self.standard_error,
            "interval_95": list(self.interval(0.95)),
            "population_interval_95": list(self.population_interval(0.95)),
            "weight": self.weight,
            "trusted_mean": self.trusted_mean,
            "local_mean": self.local_mean,
            "divergence": gap and {"difference": gap.difference, "z": gap.z, "share": gap.share},
            "error": asdict(self.error),
        }
