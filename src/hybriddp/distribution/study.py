"""`DistributionStudy`: public, frozen, the same on devices, at the curator and in every record."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp.channels.channel import CHUNK, channel_from_json
from hybriddp.channels.masked import N_BINS, MaskedResponse
from hybriddp.distribution.answer import CountPair, answer_distribution, answer_distribution_parts
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.estimate import DistributionEstimate
from hybriddp.distribution.release import SENSITIVITY, tree
from hybriddp.distribution.summary import BinCounts, PatternCounts
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.grid import Grid, as_array, as_floats
from hybriddp.privacy import Privacy
from hybriddp.randomness import byte_source
from hybriddp.release.event import Part
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.statistic import Statistic
from hybriddp.study.document import compact
from hybriddp.study.reports import Reports, refuse_reports
from hybriddp.study.study import Study, check_study, require_same_text


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
        if channel is None:
            channel = _channel(privacy.epsilon)
        if not isinstance(channel, MaskedResponse) or channel.epsilon != privacy.epsilon:
            raise ParameterError("channel", f"None or a MaskedResponse for epsilon {privacy.epsilon}", channel)
        _assemble(self, name, bins, privacy, min_group_size, channel, users)

    def with_users(self, users: Part | None) -> "DistributionStudy":
        """The same study of other users."""
        bare = object.__new__(DistributionStudy)
        return _assemble(bare, self.name, self.bins, self.privacy, self.min_group_size, self.channel, users)

    def __repr__(self) -> str:
        told = f"bounds={self.bounds}, epsilon={self.privacy.epsilon!r}, scale={self.bins.scale!r}"
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
        return compact(content)

    @classmethod
    def from_json(cls, text: str) -> "DistributionStudy":
        """The study that a text describes, its channel verified; refused unless it is in the form it is written in."""
        try:
            study = _from_fields(_check.json_fields(text))
        except (KeyError, TypeError, ValueError, AttributeError) as reason:
            raise ProtocolError("The text does not describe a study of a distribution.") from reason
        require_same_text(study, text)
        return study

    # Reports and summaries ------------------------------------------------------------------------------------------

    def randomize(self, values: ArrayLike, *, random_state: int | np.random.Generator | None = None) -> Reports:
        """One report per value, with the study's digest: what devices send, two bytes each.

        With a ``random_state`` it is a simulation, and not private.
        """
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

    def statistic(self, trusted: BinCounts) -> Statistic:
        """Both histograms of the trusted group: a replaced value changes two counts of each by 1."""
        exact = tree(np.array(trusted.counts, np.int64))
        return Statistic("histogram of the trusted group", exact, SENSITIVITY, trusted.count)

    def summarize_local(self, reports: Reports | ArrayLike) -> PatternCounts:
        """The local group's reports as one count per report; what is none is left out and counted.

        `Reports` of another study are refused. Plain integers are taken at their word: nothing ties them to the study,
        and the summary says so (``tied`` is False).
        """
        got = self.receive(reports)
        counts = np.bincount(got.codes.astype(np.intp), minlength=self.channel.n_codes)
        return PatternCounts(self.digest, tuple(counts.tolist()), got.rejected, got.tied, got.seeded)

    @property
    def reports_between(self) -> tuple[int, int]:
        """The smallest and the largest report that a device can send."""
        return 0, self.channel.n_codes - 1

    # Estimates ------------------------------------------------------------------------------------------------------

    def estimate(
        self,
        *,
        trusted: BinCounts | ArrayLike | None,
        local: PatternCounts | Reports | ArrayLike | None,
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
        local : PatternCounts, Reports or array_like
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
    channel: MaskedResponse,
    users: Part | None,
) -> DistributionStudy:
    """Check what all ways to a study have in common, and fill its fields."""
    check_study(name, "what the values are", min_group_size, users)
    bounds = (bins.grid.lower, bins.grid.upper)
    values = (name, bounds, privacy, int(min_group_size), bins, channel, users)
    for field, value in zip(fields(study), values, strict=True):
        object.__setattr__(study, field.name, value)
    return study


def _from_fields(f: dict[str, Any]) -> DistributionStudy:
    channel = channel_from_json(compact(f["channel"]), epsilon=f["epsilon"])
    if not isinstance(channel, MaskedResponse):
        raise ProtocolError(
            "The channel of a DistributionStudy must be a MaskedResponse. Quantiles cannot be estimated from reports "
            "for a mean."
        )
    bins = Bins.from_text(Grid.of(tuple(f["bounds"])), f["scale"])
    users = f["users"] and Part(**f["users"])
    bare, privacy = object.__new__(DistributionStudy), Privacy.promised(epsilon=f["epsilon"])
    return _assemble(bare, f["name"], bins, privacy, f["min_group_size"], channel, users)


@lru_cache(maxsize=64)
def _channel(epsilon: str) -> MaskedResponse:
    return MaskedResponse(epsilon=epsilon)
