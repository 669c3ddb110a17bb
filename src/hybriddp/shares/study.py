"""`FrequencyStudy`: public, frozen, the same on devices, at the curator and in every record."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import IntArray
from hybriddp.channels.plausible import wrong_in_counts
from hybriddp.errors import DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release.event import Part
from hybriddp.release.release import ReleasedNumbers, Seed
from hybriddp.release.statistic import Statistic
from hybriddp.shares.blend import blend
from hybriddp.shares.categories import Categories, Item
from hybriddp.shares.estimate import Frequencies
from hybriddp.shares.law import GroupShares
from hybriddp.shares.oracle import FrequencyChannel, FrequencyOracle, UnaryOracle, frequency_channel, oracle_of
from hybriddp.study.groups import Forged, Groups, Options
from hybriddp.study.result import Statement
from hybriddp.study.study import Study
from hybriddp.study.summary import LocalSummary, TrustedSummary

_CONSTANT = 0.9  # a fraction of all reports that have one code


def sensitivity(n_categories: int) -> int:
    """Return how much one replaced item changes what is released, all changes added up.

    If one user's item is replaced, one count goes down by 1 and another one up by 1, however many there are. Of two
    categories one count says it all, because the size of the group is public: the first one changes by at most 1, and
    the second one is the rest.
    """
    return 1 if n_categories == 2 else 2


@dataclass(frozen=True, init=False, repr=False)
class FrequencyStudy(Study[GroupShares, Options, Frequencies]):
    """A study of how frequent some public categories are: what is asked of whom, under which promise.

    Parameters
    ----------
    name : str
        What is asked.
    categories : sequence of str or of int
        What the items can be: at least two, different, in the order that results have.
    epsilon : float or str
        What every user is promised in total.
    other : bool, optional
        Whether all other items together are one more category; if not given, only of three categories or more, since
        a third one would double the sensitivity of two. Without it a user whose item is none of the categories is not
        counted; *whether* an item is one of them is then public, and only which one is protected.
    min_group_size : int
        A group with fewer users is refused.
    max_bytes : int, optional
        How long a report may be. Shorter ones may have a larger variance.
    channel : Channel, optional
        What the devices of local users do, if not the best for this ε and so many categories. It travels with the
        study's text, so that all parties have the same one.
    users : Part, optional
        Whom it is about, if not everybody: see `part`.

    Examples
    --------
    >>> study = FrequencyStudy("opened the app", categories=["yes", "no"], epsilon=1.0)
    >>> answers = np.random.default_rng(0).choice(["yes", "no"], 21_000, p=[0.3, 0.7])
    >>> reports = study.randomize(answers[1000:], random_state=1)  # on the devices of those who do not trust
    >>> found = study.estimate(trusted=answers[:1000], local=reports, random_state=2)
    >>> print(f"{found.share('yes'):.3f}, give or take {found.standard_error('yes'):.3f}")
    0.294, give or take 0.006
    """

    _what: ClassVar[str] = "study of frequencies"
    _kind: ClassVar[str] = "frequency"
    _version: ClassVar[int] = 1

    name: str
    categories: tuple[Item, ...]
    other: bool
    privacy: Privacy
    min_group_size: int
    channel: FrequencyChannel
    users: Part | None

    def __init__(
        self,
        name: str,
        *,
        categories: Sequence[Item] | NDArray[Any],
        epsilon: float | str,
        other: bool | None = None,
        min_group_size: int = 2,
        max_bytes: int | None = None,
        channel: FrequencyChannel | None = None,
        users: Part | None = None,
    ) -> None:
        domain = Categories.of(categories, other=other)
        privacy = Privacy(epsilon=epsilon)
        if channel is None:
            channel = frequency_channel(privacy.epsilon, len(domain), max_bytes=max_bytes)
        elif max_bytes is not None:
            raise ParameterError("max_bytes", "left out if there is a channel", max_bytes)
        oracle_of(channel, len(domain))  # an error if it is none
        if channel.epsilon != privacy.epsilon:
            raise ParameterError("channel", f"one for epsilon {privacy.epsilon}", channel)
        self._fill(
            name=name,
            categories=domain.items,
            other=domain.other,
            privacy=privacy,
            min_group_size=min_group_size,
            channel=channel,
            users=users,
        )

    @cached_property
    def domain(self) -> Categories:
        """The categories, and where items are among them."""
        return Categories(self.categories, self.other)

    @cached_property
    def oracle(self) -> FrequencyOracle:
        """The channel as an oracle for the shares."""
        return oracle_of(self.channel, len(self.domain))

    @property
    def names(self) -> tuple[Item, ...]:
        """All categories as results name them, other items included."""
        return self.domain.names

    def __repr__(self) -> str:
        listed = repr(list(self.categories)) if len(self.categories) <= 5 else f"[… {len(self.categories):,} in all]"
        listed = listed if len(listed) <= 60 else f"{listed[:58]}…]"
        other = "" if self.other == (len(self.categories) > 2) else f", other={self.other}"
        return f"FrequencyStudy({self.short_title!r}, categories={listed}, epsilon={self.privacy.epsilon!r}{other})"

    # Text

    def _content(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "categories": list(self.categories),
            "other": self.other,
            "epsilon": self.privacy.epsilon,
            "min_group_size": self.min_group_size,
            **self._last_fields(),
        }

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> "FrequencyStudy":
        given = {key: fields[key] for key in ("categories", "epsilon", "other", "min_group_size")}
        return cls(fields["name"], **given, **cls._read_last(fields))

    # From items to an answer

    @property
    def n_counts(self) -> int:
        """Number of counts that summarize all reports."""
        return len(self.domain) if self.reports_are_bits else self.n_codes

    @property
    def reports_are_bits(self) -> bool:
        """Whether a report is counted bit by bit, so that it adds to several counts or to none."""
        return isinstance(self.oracle, UnaryOracle)

    @property
    def n_sums(self) -> int:
        """Number of exact counts that summarize the trusted group: one per category."""
        return len(self.domain)

    def draw_codes(self, values: object, random_state: Seed) -> NDArray[Any]:
        """Draw one code for each item."""
        placed = self.domain.place(values)
        n = len(placed.categories) + placed.missing + placed.outside
        if placed.missing:
            raise DataError(
                f"items must all be there, but {placed.missing:,} of {n:,} are missing. Leave them out: there is no "
                "report for what is not there."
            )
        if placed.outside:
            raise DataError(
                f"items must be among the categories, but {placed.outside:,} of {n:,} are not. Leave them out, or ask "
                "with other=True, which counts them."
            )
        return self.oracle.randomize(placed.categories, random_state)

    def summarize_trusted(self, values: object) -> TrustedSummary:
        """Summarize the trusted group's items as one count per category: not private.

        Missing items (None, NaN) are left out and counted. Items outside of the categories are counted as other, if the
        study has that; if not, they are left out and counted.
        """
        placed = self.domain.place(values)
        counts = np.bincount(placed.categories, minlength=self.n_sums)
        n = len(placed.categories)
        return TrustedSummary(self.digest, n, tuple(counts.tolist()), placed.missing, placed.outside)

    def tally(self, codes: NDArray[Any]) -> IntArray:
        """Count valid reports, so that the counts of shards add up: how many have each code, or each bit."""
        return self.oracle.tally(codes)

    def statistic(self, trusted: TrustedSummary) -> Statistic:
        """Counts of the trusted group; of two categories one count says it all, because the group's size is public."""
        exact, bound = trusted.array(), sensitivity(self.n_sums)
        return Statistic("counts of the trusted group", exact[:1] if bound == 1 else exact, bound, trusted.count)

    def forged(self, local: LocalSummary) -> Forged:
        """Test whether reports can have come out of the channel, whatever their users' categories are."""
        wrong = wrong_in_counts(self.channel, local.array(), local.count)
        constant = max(local.counts) > _CONSTANT * local.count and self.oracle.hit < 0.8
        looks = "a constant" if constant else "raw categories, or like codes of a larger ε"
        words = "The local reports cannot come from this study's channel: they are too concentrated, so they look like"
        return Forged(wrong, f"{words} {looks}.")

    def decode(self, local: LocalSummary) -> GroupShares:
        """Estimate the share of every category from reports."""
        return self.oracle.group_shares(local.array(), local.count)

    def combine(
        self, groups: Groups[GroupShares, Options], released: ReleasedNumbers | None, statement: Statement
    ) -> Frequencies:
        """Blend the groups' shares, category by category."""
        trusted = None if released is None else GroupShares.of_release(released, self.n_sums)
        blended = blend(trusted, groups.evidence, n_users=groups.n_users)
        return Frequencies(self, blended, privacy=statement)
