"""`MeanStudy`: public, frozen, the same on devices, at the curator and in every record."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp._check import IntArray
from hybriddp.channels.window_channel import WindowChannel
from hybriddp.errors import DataError, ParameterError
from hybriddp.grid import UNITS, Grid
from hybriddp.mean.answer import WEIGHTS, WeightRule, exact_mean, weigh
from hybriddp.mean.estimate import Estimate
from hybriddp.mean.plausible import forged_codes, spread_is_refuted
from hybriddp.mean.published import exact_width
from hybriddp.mean.weights import LocalStatistics, TrustedStatistics
from hybriddp.privacy import Privacy
from hybriddp.release.event import Part
from hybriddp.release.release import ReleasedNumbers
from hybriddp.release.statistic import Statistic
from hybriddp.study.groups import Forged, Groups
from hybriddp.study.numbers import NumberStudy
from hybriddp.study.result import Statement
from hybriddp.study.summary import LocalSummary, TrustedSummary


@dataclass(frozen=True, init=False, repr=False)
class MeanStudy(NumberStudy[LocalStatistics, WeightRule, Estimate]):
    """A study of a mean: what is asked of whom, under which promise.

    Parameters
    ----------
    name : str
        What the values are.
    bounds : (float, float)
        The public range of a value, chosen without looking at the data.
    epsilon, delta : float or str
        What every user is promised in total. With δ > 0 the curator adds Gaussian instead of Laplace noise.
    min_group_size : int
        A group with fewer users is refused.
    channel : WindowChannel, optional
        What the devices of local users do; by default the best one-byte report for this ε. It travels with the study's
        text, so that all parties have the same one, whatever their machines would have computed.
    users : Part, optional
        Whom it is about, if not everybody: see `part`.
    sd_at_most : float, optional
        Public knowledge that the values' standard deviation is not larger, from earlier studies or other sources, never
        from these values. It narrows intervals where the reports say little about the spread; if it is wrong they are
        too narrow, unless the reports show it: then the estimate is refused.

    Examples
    --------
    >>> study = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)
    >>> minutes = np.random.default_rng(0).gamma(2.0, 20.0, 101_000)
    >>> codes = study.randomize(minutes[1000:], random_state=1)  # on the devices of those who do not trust
    >>> estimate = study.estimate(trusted=minutes[:1000], local=codes, random_state=2)
    >>> print(f"{estimate.value:.1f}, give or take {estimate.standard_error:.1f}; truth {minutes.mean():.1f}")
    40.4, give or take 0.6; truth 40.1
    """

    _what: ClassVar[str] = "study of a mean"
    _kind: ClassVar[str] = "mean"
    _options: ClassVar[type[WeightRule]] = WeightRule
    contribution: ClassVar[tuple[int, int]] = (0, UNITS)
    n_sums: ClassVar[int] = 1

    name: str
    bounds: tuple[float, float]
    privacy: Privacy
    min_group_size: int
    channel: WindowChannel
    users: Part | None
    sd_at_most: float | None

    def __init__(
        self,
        name: str,
        *,
        bounds: tuple[float, float],
        epsilon: float | str,
        delta: float | str = 0,
        min_group_size: int = 2,
        channel: WindowChannel | None = None,
        users: Part | None = None,
        sd_at_most: float | None = None,
    ) -> None:
        grid, privacy = Grid.of(bounds), Privacy.promised(epsilon=epsilon, delta=delta)
        channel = _channel(privacy.epsilon) if channel is None else channel
        if not isinstance(channel, WindowChannel) or channel.epsilon != privacy.epsilon:
            raise ParameterError("channel", f"None or a WindowChannel for epsilon {privacy.epsilon}", channel)
        if sd_at_most is not None:
            words = "a number from a millionth to half of the range"
            possible = _check.Range(words, 1e-6 * grid.width, grid.width / 2)
            sd_at_most = _check.number("sd_at_most", sd_at_most, possible)
        self._fill(
            name=name,
            bounds=(grid.lower, grid.upper),
            privacy=privacy,
            min_group_size=min_group_size,
            channel=channel,
            users=users,
            sd_at_most=sd_at_most,
        )

    def __repr__(self) -> str:
        delta = "" if self.privacy.delta == "0" else f", delta={self.privacy.delta!r}"
        known = "" if self.sd_at_most is None else f", sd_at_most={self.sd_at_most:g}"
        more = f"{delta}{known}"
        return f"MeanStudy({self.short_title!r}, bounds={self.bounds}, epsilon={self.privacy.epsilon!r}{more})"

    @cached_property
    def grid(self) -> Grid:
        """The grid between the bounds."""
        return Grid(*self.bounds)

    @property
    def variance_at_most(self) -> float:
        """The largest variance that public knowledge allows, on the unit range; infinite without any."""
        return math.inf if self.sd_at_most is None else (self.sd_at_most / self.width) ** 2

    # Text

    def _content(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "bounds": list(self.bounds),
            "epsilon": self.privacy.epsilon,
            "delta": self.privacy.delta,
            "min_group_size": self.min_group_size,
            **self._last_fields(),
            **({} if self.sd_at_most is None else {"sd_at_most": self.sd_at_most}),
        }

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> "MeanStudy":
        given = {key: fields[key] for key in ("epsilon", "delta", "min_group_size")}
        known = fields.get("sd_at_most")
        return cls(fields["name"], bounds=tuple(fields["bounds"]), **given, **cls._read_last(fields), sd_at_most=known)

    def device_json(self) -> str:
        """Write the text that devices get and need.

        It is without ``sd_at_most``: that changes how an answer is read, not what anybody sends or is promised.
        """
        return _check.compact({name: value for name, value in self.fields().items() if name != "sd_at_most"})

    # From values to an answer

    def inputs(self, units: NDArray[np.int32]) -> NDArray[Any]:
        """Return units, which the channel takes as they are."""
        return units

    def count(self, units: NDArray[np.int32]) -> IntArray:
        """Return the sum of units."""
        return np.array([units.sum(dtype=np.int64)])

    def statistic(self, trusted: TrustedSummary) -> Statistic:
        r"""Sum of the trusted users' units: one user moves it by at most the whole range, $2^{24}$."""
        return Statistic("total of the trusted group", trusted.array(), UNITS, trusted.count)

    def forged(self, local: LocalSummary) -> Forged:
        """Test whether reports can have come out of the channel, whatever their users' values are."""
        return forged_codes(self.channel, local)

    def decode(self, local: LocalSummary) -> LocalStatistics:
        """Estimate mean and variance of the local users' values."""
        return LocalStatistics.of(local.array() / local.count, local.count, self.channel)

    def check_options(self, groups: Groups[LocalStatistics, WeightRule]) -> None:
        """Raise an error if the weight is none, or asks for an empty group, or if reports refute ``sd_at_most``."""
        weight, sd, empty = groups.options.weight, groups.options.sd, groups.empty
        if isinstance(weight, str):
            _check.choice("weight", weight, WEIGHTS)
        else:
            _check.number("weight", weight, _check.WEIGHT)
        if (weight == "known-variance") != (sd is not None):
            raise ParameterError("sd", 'given exactly if weight is "known-variance"', sd)
        if sd is not None:
            _check.number("sd", sd, _check.Range("a number from 0 to half of the range", 0.0, self.width / 2))
        alone = ("adaptive", "trusted-only", 1.0) if empty == ["local"] else ("adaptive", "local-only", 0.0)
        if empty and weight not in alone:
            raise DataError(f"The {empty[0]} group is empty, but weight={weight!r} asks for it.")
        if spread_is_refuted(self, groups.local):
            raise DataError(
                f"The reports vary more than sd_at_most={self.sd_at_most:g} allows, by over three standard errors. "
                "Nothing has been spent. Estimate with a larger sd_at_most, or without one: the reports stay valid."
            )

    def combine(
        self, groups: Groups[LocalStatistics, WeightRule], released: ReleasedNumbers | None, statement: Statement
    ) -> Estimate:
        """Weigh the groups' means; a fixed weight also exactly, as rounding for publication needs it."""
        trusted, rule = None if released is None else TrustedStatistics.of(released), groups.options
        estimate = weigh(self, trusted, groups.evidence, rule, statement, n_users=groups.n_users)
        exact = None if rule.is_adaptive else self._exact(estimate.weight, released, groups.local)
        return replace(estimate, exact=exact)

    def _exact(self, weight: float, released: ReleasedNumbers | None, local: LocalSummary | None) -> Fraction:
        """Return the weighted mean without rounding errors, from the released integers."""
        w, mean = Fraction(weight), Fraction(0)
        if released is not None and w:
            mean += w * Fraction(int(released.values[0]), released.count * UNITS)
        if local is not None and local.count and w < 1:
            mean += (1 - w) * exact_mean(local, self.channel)
        return Fraction(self.bounds[0]) + exact_width(self) * mean


@lru_cache(maxsize=64)
def _channel(epsilon: str) -> WindowChannel:
    return WindowChannel(epsilon=epsilon)
