"""`MeanStudy`: public, frozen, the same on devices, at the curator and in every record."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp.channels.channel import channel_from_json
from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.channels.window_channel import WindowChannel
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.grid import UNITS, Grid, as_array, as_floats
from hybriddp.mean.answer import Pair, answer, answer_parts
from hybriddp.mean.check import WeightRule
from hybriddp.mean.estimate import Estimate
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.privacy import Privacy
from hybriddp.release.event import Part
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.statistic import Statistic
from hybriddp.study.document import compact
from hybriddp.study.reports import Reports, refuse_reports
from hybriddp.study.study import Study, check_study, require_same_text

_CHUNK = 1 << 17  # values summed at a time: they stay in the cache, and as many reports below 2^46 fit in 64 bits


@dataclass(frozen=True, init=False, repr=False)
class MeanStudy(Study):
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
    channel : WindowChannel or {"window", "laplace"}
        What the devices of local users do: the best one-byte report for this ε, or the paper's Laplace noise. It
        travels with the study's text, so that all parties have the same one, whatever their machines would have
        computed.
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

    name: str
    bounds: tuple[float, float]
    privacy: Privacy
    min_group_size: int
    channel: WindowChannel | DiscreteLaplace
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
        channel: WindowChannel | DiscreteLaplace | str = "window",
        users: Part | None = None,
        sd_at_most: float | None = None,
    ) -> None:
        check_study(name, "what the values are", min_group_size, users)
        grid = Grid.of(bounds)
        privacy = Privacy.promised(epsilon=epsilon, delta=delta)
        used = _channel_for(channel, privacy.epsilon)
        if sd_at_most is not None:
            words = "a number from a millionth to half of the range"
            possible = _check.Range(words, 1e-6 * grid.width, grid.width / 2)
            sd_at_most = _check.number("sd_at_most", sd_at_most, possible)
        values = (name, (grid.lower, grid.upper), privacy, int(min_group_size), used, users, sd_at_most)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    def with_users(self, users: Part | None) -> "MeanStudy":
        """The same study of other users."""
        return MeanStudy(
            self.name,
            bounds=self.bounds,
            epsilon=self.privacy.epsilon,
            delta=self.privacy.delta,
            min_group_size=self.min_group_size,
            channel=self.channel,
            users=users,
            sd_at_most=self.sd_at_most,
        )

    def __repr__(self) -> str:
        delta = "" if self.privacy.delta == "0" else f", delta={self.privacy.delta!r}"
        channel = ', channel="laplace"' if isinstance(self.channel, DiscreteLaplace) else ""
        known = "" if self.sd_at_most is None else f", sd_at_most={self.sd_at_most:g}"
        more = f"{delta}{channel}{known}"
        return f"MeanStudy({self.short_title!r}, bounds={self.bounds}, epsilon={self.privacy.epsilon!r}{more})"

    @cached_property
    def grid(self) -> Grid:
        """The grid between the bounds."""
        return Grid(*self.bounds)

    @property
    def width(self) -> float:
        """Upper bound minus lower bound."""
        return self.grid.width

    @property
    def variance_at_most(self) -> float:
        """The largest variance that public knowledge allows, on the unit range; infinite without any."""
        return math.inf if self.sd_at_most is None else (self.sd_at_most / self.width) ** 2

    def to_json(self) -> str:
        """The study as text, the channel included."""
        known = "" if self.sd_at_most is None else f',"sd_at_most":{json.dumps(self.sd_at_most)}'
        return f"{self.device_json()[:-1]}{known}}}"

    def device_json(self) -> str:
        """The text that devices get and need.

        It is without ``sd_at_most``: that changes how an answer is read, not what anybody sends or is promised.
        """
        content = {
            "type": "mean",
            "version": 2,
            "name": self.name,
            "bounds": list(self.bounds),
            "epsilon": self.privacy.epsilon,
            "delta": self.privacy.delta,
            "min_group_size": self.min_group_size,
            "channel": json.loads(self.channel.to_json()),
            "users": self.users and asdict(self.users),
        }
        return compact(content)

    @classmethod
    def from_json(cls, text: str) -> "MeanStudy":
        """The study that a text describes, its channel verified; refused unless it is in the form it is written in."""
        try:
            f = _check.json_fields(text)
            channel = channel_from_json(compact(f["channel"]), epsilon=f["epsilon"])
            given = {key: f[key] for key in ("epsilon", "delta", "min_group_size")}
            given |= {"channel": channel, "users": f["users"] and Part(**f["users"]), "sd_at_most": f.get("sd_at_most")}
            study = cls(f["name"], bounds=tuple(f["bounds"]), **given)
        except (KeyError, TypeError, ValueError) as reason:
            raise ProtocolError("The text does not describe a study of a mean.") from reason
        require_same_text(study, text)
        return study

    def randomize(self, values: ArrayLike, *, random_state: int | np.random.Generator | None = None) -> Reports:
        """One report per value, with the study's digest: what devices send.

        With a ``random_state`` it is a simulation, and not private.
        """
        refuse_reports(values)
        codes = self.channel.randomize(values, bounds=self.bounds, random_state=random_state)
        return Reports(np.atleast_1d(codes), self.digest, seeded=random_state is not None)

    def summarize_trusted(self, values: ArrayLike) -> TrustedSummary:
        """The trusted group's values in four integers.

        Missing, NaN and infinite values are left out and counted; values outside of the bounds are clamped and counted.
        """
        refuse_reports(values)
        array = np.atleast_1d(as_array(values))
        if array.ndim != 1:
            raise DataError(f"values must be a scalar or one-dimensional, got shape {array.shape}.")
        count = total = clamped = 0
        scratch = np.empty(min(_CHUNK, len(array)))
        for start in range(0, len(array), _CHUNK):
            x = as_floats(array[start : start + _CHUNK])
            finite = np.isfinite(x)
            if not finite.all():
                x = x[finite]
            count += len(x)
            clamped += int(np.count_nonzero(x < self.bounds[0])) + int(np.count_nonzero(x > self.bounds[1]))
            total += int(self.grid.units(x, scratch=scratch).sum(dtype=np.int64))
        return TrustedSummary(self.digest, count, total, len(array) - count, clamped)

    def statistic(self, trusted: TrustedSummary) -> Statistic:
        r"""Sum of the trusted users' units: one user moves it by at most the whole range, $2^{24}$."""
        return Statistic("total of the trusted group", np.array([trusted.total]), UNITS, trusted.count)

    def summarize_local(self, codes: Reports | ArrayLike) -> LocalSummary | LaplaceSummary:
        """The local group's reports as one count per code; what is no code is left out and counted.

        `Reports` of another study are refused. Plain integers are taken at their word: nothing ties them to the study,
        and the summary says so (``tied`` is False). With Laplace noise a report is a number of units instead, and the
        summary is their count and sum.
        """
        got = self.receive(codes)
        if isinstance(self.channel, DiscreteLaplace):
            return LaplaceSummary(
                self.digest, len(got.codes), _exact_sum(got.codes), got.rejected, got.tied, got.seeded
            )
        counts = np.bincount(got.codes, minlength=self.channel.n_codes)
        return LocalSummary(self.digest, tuple(counts.tolist()), got.rejected, got.tied, got.seeded)

    @property
    def reports_between(self) -> tuple[int, int]:
        """The smallest and the largest report that a device can send."""
        if isinstance(self.channel, DiscreteLaplace):
            return -self.channel.limit, UNITS + self.channel.limit
        return 0, self.channel.n_codes - 1

    def estimate(
        self,
        *,
        trusted: TrustedSummary | ArrayLike | None,
        local: LocalSummary | LaplaceSummary | Reports | ArrayLike | None,
        weight: str | float = "adaptive",
        sd: float | None = None,
        single_group: bool = False,
        ledger: Ledger | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> Estimate:
        """One answer from both groups: the only release about the trusted group.

        Parameters
        ----------
        trusted : TrustedSummary or array_like
            The trusted group's raw values, or their summary.
        local : LocalSummary, LaplaceSummary, Reports or array_like
            The local group's reports, or their summary; plain integers are accepted, but not tied to the study.
        weight : str or float
            ``"adaptive"``: ours, which needs to know nothing, yields where the groups' means diverge and keeps to the
            bounds. The others are the paper's, unbiased and as noise makes them: ``"known-variance"`` is the best for
            the ``sd`` that you give, ``"privacy"`` minimizes the noise, ``"naive"`` is the fraction of users who trust,
            a number is a fixed weight; ``"trusted-only"`` and ``"local-only"`` use one group.
        sd : float, optional
            The standard deviation of the values, for ``"known-variance"``.
        single_group : bool
            Whether an empty group is fine: the answer is then that of a single model, and says so.
        ledger : Ledger, optional
            Where the cost is written down before anything is drawn.
        random_state : int or numpy.random.Generator, optional
            For simulation only: the result says that it is not a private release.
        """
        rule = WeightRule.of(self, weight, sd)
        return answer(self, trusted, local, rule, single_group=single_group, ledger=ledger, random_state=random_state)

    def estimate_parts(
        self,
        by: str,
        summaries: Mapping[Any, Pair],
        *,
        single_group: bool = False,
        ledger: Ledger | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> dict[str | int, Estimate]:
        """One answer per part of the users, for example a mean per country.

        Nobody is in two parts, so every user pays for one release only. If one of the parts cannot be estimated or
        paid for, none is.

        Parameters
        ----------
        by : str
            What the users are grouped by.
        summaries : mapping
            For each public key the pair of summaries of `part` (``by``, key), as `hybriddp.summarize` gives them.
        single_group, ledger, random_state
            As for `estimate`.

        Examples
        --------
        >>> study = MeanStudy("minutes", bounds=(0, 240), epsilon=1)
        >>> parts = {}
        >>> for key, minutes in {"DE": 60.0, "FR": 90.0}.items():
        ...     part = study.part("country", key)
        ...     codes = part.randomize([minutes] * 50_000, random_state=1)
        ...     parts[key] = part.summarize_trusted([minutes] * 500), part.summarize_local(codes)
        >>> estimates = study.estimate_parts("country", parts, random_state=2)
        >>> {key: round(estimate.value) for key, estimate in estimates.items()}
        {'DE': 60, 'FR': 90}
        """
        return answer_parts(self, by, summaries, single_group=single_group, ledger=ledger, random_state=random_state)


def _channel_for(channel: WindowChannel | DiscreteLaplace | str, epsilon: str) -> WindowChannel | DiscreteLaplace:
    if isinstance(channel, str):
        return _channel(_check.choice("channel", channel, ("window", "laplace")), epsilon)
    if not isinstance(channel, WindowChannel | DiscreteLaplace) or channel.epsilon != epsilon:
        raise ParameterError("channel", f'"window", "laplace" or such a channel for epsilon {epsilon}', channel)
    return channel


@lru_cache(maxsize=64)
def _channel(kind: str, epsilon: str) -> WindowChannel | DiscreteLaplace:
    return WindowChannel(epsilon=epsilon) if kind == "window" else DiscreteLaplace(epsilon=epsilon)


def _exact_sum(reports: NDArray[Any]) -> int:
    """The sum of reports, each below 2^46 in size; all together may need more than 64 bits."""
    return sum(int(reports[i : i + _CHUNK].sum(dtype=np.int64)) for i in range(0, len(reports), _CHUNK))
