"""`DistributionStudy`: public, frozen, the same on devices, at the curator and in every record."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import IntArray
from hybriddp.channels.masked import N_BINS, MaskedResponse
from hybriddp.channels.plausible import wrong_in_counts
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.estimate import DistributionEstimate
from hybriddp.distribution.fit import fit_groups
from hybriddp.distribution.least_squares import MaskedEvidence
from hybriddp.distribution.release import SENSITIVITY, PrivateHistogram, tree
from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.grid import Grid
from hybriddp.privacy import Privacy
from hybriddp.release.event import Part
from hybriddp.release.release import ReleasedNumbers
from hybriddp.release.statistic import Statistic
from hybriddp.study.groups import Forged, Groups, Options
from hybriddp.study.numbers import NumberStudy
from hybriddp.study.result import Statement
from hybriddp.study.summary import LocalSummary, TrustedSummary


@dataclass(frozen=True, slots=True)
class FitOptions(Options):
    """Options of an estimate.

    Attributes
    ----------
    groups_may_differ : bool
        By default intervals assume that those who trust are like those who do not, unless they are seen to differ. With
        True each group counts for its own users only: less accurate, and honest whatever the difference.
        `DistributionEstimate.allowing_groups_to_differ` gives the same afterwards.
    """

    groups_may_differ: bool = False


@dataclass(frozen=True, init=False, repr=False)
class DistributionStudy(NumberStudy[MaskedEvidence, FitOptions, DistributionEstimate]):
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
    (dtype('uint16'), LocalSummary(3 reports of study ...…, tied=True))
    """

    _what: ClassVar[str] = "study of a distribution"
    _kind: ClassVar[str] = "distribution"
    _options: ClassVar[type[FitOptions]] = FitOptions
    n_sums: ClassVar[int] = N_BINS

    name: str
    bounds: tuple[float, float]
    privacy: Privacy
    min_group_size: int
    bins: Bins
    channel: MaskedResponse
    users: Part | None

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
        channel = _channel(privacy.epsilon) if channel is None else channel
        if not isinstance(channel, MaskedResponse) or channel.epsilon != privacy.epsilon:
            raise ParameterError("channel", f"None or a MaskedResponse for epsilon {privacy.epsilon}", channel)
        self._fill(
            name=name,
            bounds=(bins.grid.lower, bins.grid.upper),
            privacy=privacy,
            min_group_size=min_group_size,
            bins=bins,
            channel=channel,
            users=users,
        )

    def __repr__(self) -> str:
        told = f"bounds={self.bounds}, epsilon={self.privacy.epsilon!r}, scale={self.bins.scale!r}"
        return f"DistributionStudy({self.short_title!r}, {told})"

    @property
    def grid(self) -> Grid:
        """The grid between the bounds."""
        return self.bins.grid

    # Text

    def _content(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "bounds": list(self.bounds),
            "epsilon": self.privacy.epsilon,
            "min_group_size": self.min_group_size,
            **self.bins.text_fields(),
            **self._last_fields(),
        }

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> "DistributionStudy":
        last = cls._read_last(fields)
        if not isinstance(last["channel"], MaskedResponse):
            raise ProtocolError(
                "The channel of a DistributionStudy must be a MaskedResponse. Quantiles cannot be estimated from "
                "reports for a mean."
            )
        given = {key: fields[key] for key in ("bounds", "epsilon", "min_group_size")}
        return cls(fields["name"], **given, **Bins.read_scale(fields["scale"]), **last)

    # From values to an answer

    def inputs(self, units: NDArray[np.int32]) -> NDArray[Any]:
        """Return the bins of units."""
        return self.bins.of_units(units)

    def count(self, units: NDArray[np.int32]) -> IntArray:
        """Return the number of values in each bin."""
        return np.bincount(self.bins.of_units(units), minlength=N_BINS)

    def statistic(self, trusted: TrustedSummary) -> Statistic:
        """Both histograms of the trusted group: a replaced value changes two counts of each by 1."""
        return Statistic("histogram of the trusted group", tree(trusted.array()), SENSITIVITY, trusted.count)

    def forged(self, local: LocalSummary) -> Forged:
        """Test whether reports can have come out of the channel, whatever their users' values are."""
        return Forged(
            wrong_in_counts(self.channel, local.array(), local.count),
            "The local reports cannot come from this study's channel: some codes are too frequent, so they look like "
            "labels that were not randomized, or like reports of a larger ε.",
        )

    def decode(self, local: LocalSummary) -> MaskedEvidence:
        """Take the counts of reports apart, by pattern and code."""
        channel = self.channel
        return MaskedEvidence(local.array().reshape(channel.n_patterns, channel.n_labels), channel)

    def combine(
        self, groups: Groups[MaskedEvidence, FitOptions], released: ReleasedNumbers | None, statement: Statement
    ) -> DistributionEstimate:
        """Fit the masses of the bins to what both groups say."""
        histogram = None if released is None else PrivateHistogram.of(released)
        return DistributionEstimate(
            study=self,
            fits=fit_groups(histogram, groups.evidence),
            n_trusted=groups.n_trusted,
            n_local=groups.n_local,
            privacy=statement,
            groups_may_differ=groups.options.groups_may_differ,
        )


@lru_cache(maxsize=64)
def _channel(epsilon: str) -> MaskedResponse:
    return MaskedResponse(epsilon=epsilon)
