"""`DistributionStudy`: public, frozen, the same on devices, at the curator and in every record."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp.channels.channel import CHUNK, channel_from_json
from hybriddp.channels.masked import N_BINS, MaskedResponse
from hybriddp.channels.window import WindowChannel
from hybriddp.distribution.answer import CountPair, answer_distribution, answer_distribution_parts
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.estimate import DistributionEstimate
from hybriddp.distribution.foreign import mean_hint
from hybriddp.distribution.summary import BinCounts, PatternCounts
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.grid import Grid, as_array, as_floats
from hybriddp.mean.study import MeanStudy
from hybriddp.mean.summary import LocalSummary
from hybriddp.privacy import Privacy
from hybriddp.randomness import byte_source
from hybriddp.release.event import Part
from hybriddp.release.ledger import Ledger
from hybriddp.reports import Reports, refuse_reports
from hybriddp.study import Study, check_study, compact, require_same_text


@dataclass(frozen=True, init=False, repr=False)
class DistributionStudy(Study):
    """A study of the distribution of a number: quantiles, CDF and histogram.

    Parameters
    ----------
    name : str
        What the values are.
    bounds : (float, float)
        The public range of a value, chosen without looking at the data.
    epsilon : float or str
        What every user is promised in total. δ is 0.
    scale : {"equal", "log"} or sequence of float
        Where the edges of the 256 bins lie: evenly; denser towards the lower bound, for values like durations and
        amounts; or 255 public edges, the bounds among them. See `hybriddp.distribution.Bins`.
    kappa : float, optional
        How much denser the bins of the log scale are at the lower bound; 1,000 if not given.
    min_group_size : int
        A group with fewer users is refused.
    channel : MaskedResponse, optional
        What the devices of local users do. It travels with the study's text; by default the best one for this ε.
    users : Part, optional
        Whom it is about, if not everybody: see `part`.

    Examples
    --------
    >>> study = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1.0, scale="log")
    >>> reports = study.randomize([120.0, 480.0, 2_500.0])  # on the devices of those who do not trust
    >>> reports.codes.dtype, study.summarize_local(reports)  # doctest: +ELLIPSIS
    (dtype('uint16'), PatternCounts(3 reports of study ...…, tied=True))
    """

    name: str
    bounds: tuple[float, float]
    privacy: Privacy
    min_group_size: int
    bins: Bins
    channel: MaskedResponse | WindowChannel
    users: Part | None
    mean_study: MeanStudy | None
    """The study of a mean whose reports this one takes, as devices know it: see `from_mean_study`."""

    def __init__(
        self,
        name: str,
        *,
        bounds: tuple[float, float],
        epsilon: float | str,
        scale: str | Sequence[float] = "equal",
        kappa: float | None = None,
        min_group_size: int = 2,
        channel: MaskedResponse | None = None,
        users: Part | None = None,
    ) -> None:
        bins = Bins(Grid.of(bounds), scale, kappa)
        privacy = Privacy.promised(epsilon=epsilon)
        if channel is None:
            channel = _channel(privacy.epsilon)
        if not isinstance(channel, MaskedResponse) or channel.epsilon != privacy.epsilon:
            raise ParameterError("channel", f"None or a MaskedResponse for epsilon {privacy.epsilon}", channel)
        _assemble(self, name, bins, privacy, min_group_size, channel, users)

    @classmethod
    def from_mean_study(
        cls, study: MeanStudy, *, scale: str | Sequence[float] = "equal", kappa: float | None = None
    ) -> "DistributionStudy":
        """The distribution of values whose reports were collected for a mean.

        Local users send nothing new and pay nothing more. Trusted users pay for this release *instead of* the mean's:
        a ledger counts both for the same study, so the second one is refused. It needs their values, or `BinCounts`
        of them, not only their total. Without a trusted group there is no answer. `MeanAndDistribution` releases both,
        each for a part of their ε.

        Parameters
        ----------
        study : MeanStudy
            The study that the reports were made for, with the window channel.
        scale, kappa
            As for `DistributionStudy`.

        Examples
        --------
        >>> minutes = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)
        >>> values = np.random.default_rng(0).gamma(2.0, 20.0, 101_000)
        >>> codes = minutes.randomize(values[1000:], random_state=1)
        >>> study = DistributionStudy.from_mean_study(minutes)
        >>> estimate = study.estimate(trusted=values[:1000], local=codes, random_state=2)
        >>> print(f"{estimate.quantile(0.9).value:.0f}; truth {np.quantile(values, 0.9):.0f}")
        76; truth 78
        """
        if not isinstance(study, MeanStudy):
            raise ParameterError("study", "a MeanStudy", study)
        return _of_mean_study(study, Bins(study.grid, scale, kappa))

    def with_users(self, users: Part | None) -> "DistributionStudy":
        """The same study of other users."""
        if self.mean_study is not None:
            return _of_mean_study(self.mean_study.with_users(users), self.bins)
        bare = object.__new__(DistributionStudy)
        return _assemble(bare, self.name, self.bins, self.privacy, self.min_group_size, self.channel, users)

    @cached_property
    def whole_digest(self) -> str:
        """The digest by which ledgers know the study of everybody: users pay once, in whichever part they are.

        With reports that were collected for a mean it is that of the mean's study, whose promise this release uses up.
        """
        return super().whole_digest if self.mean_study is None else self.mean_study.whole_digest

    @property
    def reports_digest(self) -> str:
        """The digest that local reports and their summaries have: that of the study that they were made for."""
        return self.digest if self.mean_study is None else self.mean_study.digest

    def __repr__(self) -> str:
        of_mean = ", from reports for a mean" if self.mean_study else ""
        told = f"bounds={self.bounds}, epsilon={self.privacy.epsilon!r}, scale={self.bins.scale!r}{of_mean}"
        return f"DistributionStudy({self.short_title!r}, {told})"

    @property
    def grid(self) -> Grid:
        """The grid between the bounds."""
        return self.bins.grid

    def to_json(self) -> str:
        """The study as text, the cuts between its bins and the channel included."""
        content = {
            "type": "distribution",
            "version": 2,
            "name": self.name,
            "bounds": list(self.bounds),
            "epsilon": self.privacy.epsilon,
            "min_group_size": self.min_group_size,
            **self.bins.text_fields(),
            "channel": json.loads(self.channel.to_json()),
            "users": self.users and asdict(self.users),
        }
        if self.mean_study is not None:
            content["mean_study"] = json.loads(self.mean_study.device_json())
        return compact(content)

    @classmethod
    def from_json(cls, text: str) -> "DistributionStudy":
        """The study that a text describes, its channel verified; refused unless it is in the form it is written in."""
        try:
            f = _check.json_fields(text)
            if "mean_study" in f:
                mean = MeanStudy.from_json(compact(f["mean_study"]))
                study = _of_mean_study(mean, Bins.from_text(mean.grid, f["scale"]))
            else:
                study = _from_fields(f)
        except (KeyError, TypeError, ValueError, AttributeError) as reason:
            raise ProtocolError("The text does not describe a study of a distribution.") from reason
        require_same_text(study, text)
        return study

    # Reports and summaries ------------------------------------------------------------------------------------------

    def randomize(self, values: ArrayLike, *, random_state: int | np.random.Generator | None = None) -> Reports:
        """One report per value, with the study's digest: what devices send, two bytes each.

        With a ``random_state`` it is a simulation, and not private.
        """
        if not isinstance(self.channel, MaskedResponse):
            raise ProtocolError(
                f"The study {self.name!r} takes reports that were collected for a mean. Make them with that study."
            )
        refuse_reports(values)
        array = np.atleast_1d(as_array(values))
        if array.ndim != 1:
            raise DataError(f"values must be a scalar or one-dimensional, got shape {array.shape}.")
        self.grid.refuse_missing(array, chunk=CHUNK)

        def bins(part: slice) -> Any:  # noqa: ANN401
            return self.bins.of_units(self.grid.units(as_floats(array[part])))

        codes = self.channel.draw(len(array), bins, byte_source(random_state))
        return Reports(codes, self.digest, seeded=random_state is not None)

    def summarize_trusted(self, values: ArrayLike) -> BinCounts:
        """How many of the trusted group's values are in each bin.

        Missing, NaN and infinite values are left out and counted; values outside of the bounds are clamped and counted.
        """
        refuse_reports(values)
        array = np.atleast_1d(as_array(values))
        if array.ndim != 1:
            raise DataError(f"values must be a scalar or one-dimensional, got shape {array.shape}.")
        counts, clamped = np.zeros(N_BINS, np.int64), 0
        for start in range(0, len(array), CHUNK):
            x = as_floats(array[start : start + CHUNK])
            finite = np.isfinite(x)
            if not finite.all():
                x = x[finite]
            clamped += int(np.count_nonzero(x < self.bounds[0])) + int(np.count_nonzero(x > self.bounds[1]))
            counts += np.bincount(self.bins.of_units(self.grid.units(x)), minlength=N_BINS)
        return BinCounts(self.digest, tuple(counts.tolist()), len(array) - int(counts.sum()), clamped)

    def summarize_local(self, reports: Reports | ArrayLike) -> PatternCounts | LocalSummary:
        """The local group's reports as one count per report; what is none is left out and counted.

        `Reports` of another study are refused. Plain integers are taken at their word: nothing ties them to the study,
        and the summary says so (``tied`` is False). Reports that were collected for a mean are summarized by its study.
        """
        if self.mean_study is not None:
            summary = self.mean_study.summarize_local(reports)
            if isinstance(summary, LocalSummary):
                return summary
        got = self.receive(reports)
        counts = np.bincount(got.codes.astype(np.intp), minlength=self.channel.n_codes)
        return PatternCounts(self.digest, tuple(counts.tolist()), got.rejected, got.tied, got.seeded)

    def check_digest(self, digest: str, what: str) -> None:
        """Raise `ProtocolError` unless reports or files with this digest were made for this study.

        A part of the users takes what was made for the study of everybody: the devices did the same.
        """
        if self.mean_study is not None:
            self.mean_study.check_digest(digest, what)
            return
        try:
            super().check_digest(digest, what)
        except ProtocolError as reason:
            raise ProtocolError(f"{reason}{mean_hint(self, digest)}") from None

    @property
    def reports_between(self) -> tuple[int, int]:
        """The smallest and the largest report that a device can send."""
        return 0, self.channel.n_codes - 1

    # Estimates ------------------------------------------------------------------------------------------------------

    def estimate(
        self,
        *,
        trusted: BinCounts | ArrayLike | None,
        local: PatternCounts | LocalSummary | Reports | ArrayLike | None,
        groups_may_differ: bool = False,
        single_group: bool = False,
        ledger: Ledger | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> DistributionEstimate:
        """The distribution from both groups: the only release about the trusted group.

        Parameters
        ----------
        trusted : BinCounts or array_like
            The trusted group's raw values, or their summary.
        local : PatternCounts, LocalSummary, Reports or array_like
            The local group's reports, or their summary; plain integers are accepted, but not tied to the study.
        groups_may_differ : bool
            By default intervals assume that those who trust are like those who do not, unless they are seen to differ.
            With True each group counts for its own users only: less accurate, and honest whatever the difference.
            `DistributionEstimate.allowing_groups_to_differ` gives the same afterwards.
        single_group : bool
            Whether an empty group is fine: the answer is then that of a single model, and says so.
        ledger : Ledger, optional
            Where the cost is written down before anything is drawn.
        random_state : int or numpy.random.Generator, optional
            For simulation only: the result says that it is not a private release.
        """
        return answer_distribution(
            self,
            trusted,
            local,
            groups_may_differ=groups_may_differ,
            single_group=single_group,
            ledger=ledger,
            random_state=random_state,
        )

    def estimate_parts(
        self,
        by: str,
        summaries: Mapping[Any, CountPair],
        *,
        groups_may_differ: bool = False,
        single_group: bool = False,
        ledger: Ledger | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> dict[str | int, DistributionEstimate]:
        """One distribution per part of the users, for example per country.

        Nobody is in two parts, so every user pays for one release only. If one of the parts cannot be estimated or
        paid for, none is.

        Parameters
        ----------
        by : str
            What the users are grouped by.
        summaries : mapping
            For each public key the pair of summaries of `part` (``by``, key).
        groups_may_differ, single_group, ledger, random_state
            As for `estimate`.
        """
        return answer_distribution_parts(
            self,
            by,
            summaries,
            groups_may_differ=groups_may_differ,
            single_group=single_group,
            ledger=ledger,
            random_state=random_state,
        )


def _assemble(
    study: DistributionStudy,
    name: str,
    bins: Bins,
    privacy: Privacy,
    min_group_size: int,
    channel: MaskedResponse | WindowChannel,
    users: Part | None,
    mean_study: MeanStudy | None = None,
) -> DistributionStudy:
    """Check what all ways to a study have in common, and fill its fields."""
    check_study(name, "what the values are", min_group_size, users)
    bounds = (bins.grid.lower, bins.grid.upper)
    values = (name, bounds, privacy, int(min_group_size), bins, channel, users, mean_study)
    for field, value in zip(fields(study), values, strict=True):
        object.__setattr__(study, field.name, value)
    return study


def _of_mean_study(mean: MeanStudy, bins: Bins) -> DistributionStudy:
    if not isinstance(mean.channel, WindowChannel):
        remedy = "With Laplace noise only the sum of the reports is kept, which says nothing about a distribution."
        raise ParameterError("study", 'a MeanStudy with channel="window"', mean, remedy=remedy)
    channel = mean.channel
    if mean.sd_at_most is not None:  # no part of what devices get, and not used for a distribution
        mean = MeanStudy(
            mean.name,
            bounds=mean.bounds,
            epsilon=mean.privacy.epsilon,
            delta=mean.privacy.delta,
            min_group_size=mean.min_group_size,
            channel=channel,
            users=mean.users,
        )
    bare, privacy = object.__new__(DistributionStudy), Privacy.promised(epsilon=mean.privacy.epsilon)
    return _assemble(bare, mean.name, bins, privacy, mean.min_group_size, channel, mean.users, mean)


def _from_fields(f: dict[str, Any]) -> DistributionStudy:
    channel = channel_from_json(compact(f["channel"]), epsilon=f["epsilon"])
    if not isinstance(channel, MaskedResponse):
        raise TypeError("another kind of channel")
    bins = Bins.from_text(Grid.of(tuple(f["bounds"])), f["scale"])
    users = f["users"] and Part(**f["users"])
    bare, privacy = object.__new__(DistributionStudy), Privacy.promised(epsilon=f["epsilon"])
    return _assemble(bare, f["name"], bins, privacy, f["min_group_size"], channel, users)


@lru_cache(maxsize=64)
def _channel(epsilon: str) -> MaskedResponse:
    return MaskedResponse(epsilon=epsilon)
