"""A study of a mean: public, frozen, the same on devices, at the curator and in the paper trail."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp.channels.text import channel_from_json
from hybriddp.channels.window import WindowChannel
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.grid import Grid, as_floats
from hybriddp.mean import weights
from hybriddp.mean.estimate import Estimate, hybrid, single_world
from hybriddp.mean.groups import LocalGroup, TrustedGroup
from hybriddp.mean.summary import LocalSummary, TrustedSummary
from hybriddp.privacy import Privacy
from hybriddp.release.ledger import Ledger
from hybriddp.release.total import PrivateTotal, release_total

WEIGHTS = ("adaptive", "known-variance", "privacy", "naive")
_CHUNK = 1 << 16  # values summed at a time: they stay in the cache
MOST_BAD_CODES = 0.01  # a larger share of reports that are no codes means that they are reports of something else


@dataclass(frozen=True, init=False)
class MeanStudy:
    """What is asked of whom, under which promise.

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
        What the devices of local users do; the best one for this ε if not given. It travels with the study's text,
        so that all parties have the same one, whatever their machines would have computed.

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
    channel: WindowChannel

    def __init__(
        self,
        name: str,
        *,
        bounds: tuple[float, float],
        epsilon: float | str,
        delta: float | str = 0,
        min_group_size: int = 2,
        channel: WindowChannel | None = None,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise ParameterError("name", "a text that says what the values are", name)
        grid = Grid.of(bounds)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "bounds", (grid.lower, grid.upper))
        object.__setattr__(self, "privacy", Privacy(epsilon=epsilon, delta=delta))
        object.__setattr__(self, "min_group_size", _check.integer("min_group_size", min_group_size, at_least=1))
        if channel is None:
            channel = _channel(self.privacy.epsilon)
        elif not isinstance(channel, WindowChannel) or channel.epsilon != self.privacy.epsilon:
            raise ParameterError("channel", f"a WindowChannel for epsilon {self.privacy.epsilon}", channel)
        object.__setattr__(self, "channel", channel)

    @cached_property
    def grid(self) -> Grid:
        """The grid between the bounds."""
        return Grid(*self.bounds)

    @property
    def width(self) -> float:
        """Upper bound minus lower bound."""
        return self.grid.width

    # The study as text --------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The study as text, the channel included, so that a client needs nothing else."""
        fields = {
            "type": "mean",
            "version": 1,
            "name": self.name,
            "bounds": list(self.bounds),
            "epsilon": self.privacy.epsilon,
            "delta": self.privacy.delta,
            "min_group_size": self.min_group_size,
            "channel": json.loads(self.channel.to_json()),
        }
        return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "MeanStudy":
        """The study that a text describes, its channel verified; refused unless it is in the form it is written in."""
        try:
            f = json.loads(text)
            channel = channel_from_json(json.dumps(f["channel"], separators=(",", ":")), epsilon=f["epsilon"])
            study = cls(
                f["name"],
                bounds=tuple(f["bounds"]),
                epsilon=f["epsilon"],
                delta=f["delta"],
                min_group_size=f["min_group_size"],
                channel=channel,  # type: ignore[arg-type]  # any other kind is refused
            )
        except (KeyError, TypeError, ValueError) as reason:
            raise ProtocolError("The text does not describe a study of a mean.") from reason
        if study.to_json() != text:
            raise ProtocolError("The text is not in the form that studies are written in.")
        return study

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text, by which summaries and ledgers know the study."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def part(self, by: str, key: str | int) -> "MeanStudy":
        """The same question about the users of one group, such as those of a country: a study of its own."""
        return MeanStudy(
            f"{self.name} [{by} = {key}]",
            bounds=self.bounds,
            epsilon=self.privacy.epsilon,
            delta=self.privacy.delta,
            min_group_size=self.min_group_size,
            channel=self.channel,
        )

    # On devices ---------------------------------------------------------------------------------------------------

    def randomize(
        self, values: ArrayLike, *, random_state: int | np.random.Generator | None = None
    ) -> NDArray[np.uint8]:
        """One report per value: what a device sends. With a ``random_state`` it is a simulation, and not private."""
        return self.channel.randomize(values, bounds=self.bounds, random_state=random_state)

    # At the curator -----------------------------------------------------------------------------------------------

    def summarize_trusted(self, values: ArrayLike) -> TrustedSummary:
        """The trusted group's values in three integers; missing, NaN and infinite values are left out and counted."""
        array = np.atleast_1d(np.asanyarray(values))
        if array.ndim != 1:
            raise DataError(f"values must be a scalar or one-dimensional, got shape {array.shape}.")
        count = total = 0
        for start in range(0, len(array), _CHUNK):
            x = as_floats(array[start : start + _CHUNK])
            finite = np.isfinite(x)
            if not finite.all():
                x = x[finite]
            count += len(x)
            total += int(self.grid.units(x).sum(dtype=np.int64))
        return TrustedSummary(self.digest, count, total, len(array) - count)

    def summarize_local(self, codes: ArrayLike) -> LocalSummary:
        """The local group's reports as one count per code; what is no code is left out and counted."""
        if np.ma.is_masked(codes):
            raise DataError("reports must all be there, but some are masked. Leave them out first.")
        array = np.atleast_1d(np.asarray(codes))
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise DataError(f"reports must be a one-dimensional array of integers, got {array.dtype}.")
        n = self.channel.n_codes
        good = (array >= 0) & (array < n)
        rejected = len(array) - int(np.count_nonzero(good))
        if rejected > MOST_BAD_CODES * len(array):
            raise DataError(
                f"{rejected:,} of {len(array):,} reports are no codes from 0 to {n - 1}: "
                "they are reports of something else."
            )
        counts = np.bincount(array[good] if rejected else array, minlength=n)
        return LocalSummary(self.digest, tuple(counts.tolist()), rejected)

    def estimate(
        self,
        *,
        trusted: TrustedSummary | ArrayLike | None,
        local: LocalSummary | ArrayLike | None,
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
        local : LocalSummary or array_like
            The local group's codes, or their summary.
        weight : {"adaptive", "known-variance", "privacy", "naive"} or float
            ``"adaptive"``: ours, which needs to know nothing, and yields where the groups' means diverge. The others
            are the paper's: the best weight for the ``sd`` that you give, the one that minimises the noise, the share
            of the users. A number is a fixed weight: 1 is trusted only, 0 is local only.
        sd : float, optional
            The standard deviation of the values, for ``"known-variance"``.
        single_group : bool
            Whether an empty group is fine: the answer is then that of a single world, and says so.
        ledger : Ledger, optional
            Where the cost is written down before anything is drawn.
        random_state : int or numpy.random.Generator, optional
            For simulation only: the result says that it is not a private release.
        """
        self._check_rule(weight, sd)
        raw = None if trusted is None else self._trusted_summary(trusted)
        reports = None if local is None else self._local_summary(local)
        has_trusted, has_local = bool(raw and raw.count), bool(reports and reports.count)
        self._check_sizes(raw if has_trusted else None, reports if has_local else None, single_group=single_group)
        local_group = LocalGroup.of(reports.counts, self.channel) if reports is not None and has_local else None
        # Everything has been checked: only now is anything spent.
        released = self._release(raw, ledger, random_state) if raw is not None and has_trusted else None
        trusted_group = TrustedGroup.of(released) if released is not None else None
        flags = {"counted": bool(released and released.counted), "seeded": random_state is not None}
        if trusted_group is None or local_group is None:
            return single_world(self, trusted_group, local_group, **flags)
        chosen = self._choose(trusted_group, local_group, weight, sd)
        return hybrid(self, trusted_group, local_group, chosen, compare=weight == "adaptive", **flags)

    def _release(
        self, raw: TrustedSummary, ledger: Ledger | None, random_state: int | np.random.Generator | None
    ) -> PrivateTotal:
        return release_total(
            raw.count, raw.total, study=self.digest, privacy=self.privacy, ledger=ledger, random_state=random_state
        )

    def _choose(
        self, trusted: TrustedGroup, local: LocalGroup, weight: str | float, sd: float | None
    ) -> weights.Weighting:
        possible = weights.variance_range(trusted, local)
        if weight == "adaptive":
            return weights.adaptive(trusted, local)
        if sd is not None and weight == "known-variance":
            return weights.known_variance(trusted, local, (sd / self.width) ** 2)
        if weight == "privacy":
            fixed = weights.known_variance(trusted, local, 0.0).weight
        elif weight == "naive":
            fixed = trusted.count / (trusted.count + local.count)
        else:
            fixed = float(weight)
        return weights.Weighting(fixed, possible.upper, possible)

    def _check_rule(self, weight: str | float, sd: float | None) -> None:
        if isinstance(weight, str):
            _check.choice("weight", weight, WEIGHTS)
        else:
            _check.number("weight", weight, _check.WEIGHT)
        if (weight == "known-variance") != (sd is not None):
            raise ParameterError("sd", 'given exactly if weight is "known-variance"', sd)
        if sd is not None:
            most = _check.Range("a number from 0 to half of the range", 0.0, self.width / 2)
            _check.number("sd", sd, most)

    def _check_sizes(self, trusted: TrustedSummary | None, local: LocalSummary | None, *, single_group: bool) -> None:
        if (trusted is None or local is None) and not single_group:
            which = "trusted" if trusted is None else "local"
            raise DataError(
                f"The {which} group is empty. Pass single_group=True if the answer of the other group alone will do."
            )
        if trusted is None and local is None:
            raise DataError("Both groups are empty.")
        for name, group in (("trusted", trusted), ("local", local)):
            if group is not None and group.count < self.min_group_size:
                raise DataError(f"The {name} group has {group.count} users; the study asks for {self.min_group_size}.")

    def _trusted_summary(self, trusted: TrustedSummary | ArrayLike) -> TrustedSummary:
        if not isinstance(trusted, TrustedSummary):
            return self.summarize_trusted(trusted)
        self._check_digest(trusted.study)
        return trusted

    def _local_summary(self, local: LocalSummary | ArrayLike) -> LocalSummary:
        if not isinstance(local, LocalSummary):
            return self.summarize_local(local)
        self._check_digest(local.study)
        if len(local.counts) != self.channel.n_codes:
            raise ProtocolError(f"The local summary has {len(local.counts)} codes, the study {self.channel.n_codes}.")
        return local

    def _check_digest(self, digest: str) -> None:
        if digest != self.digest:
            raise ProtocolError(
                f"The summary belongs to study {digest[:12]}…, not to {self.digest[:12]}… ({self.name!r})."
            )


@lru_cache(maxsize=64)
def _channel(epsilon: str) -> WindowChannel:
    return WindowChannel(epsilon=epsilon)
