"""`FrequencyStudy`: public, frozen, the same on devices, at the curator and in every record."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp.channels.channel import channel_from_json
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.privacy import Privacy
from hybriddp.release.event import Part
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.statistic import Statistic
from hybriddp.shares.answer import CountsPair, answer_share_parts, answer_shares, sensitivity
from hybriddp.shares.categories import Categories, Item
from hybriddp.shares.estimate import Frequencies
from hybriddp.shares.oracle import FrequencyChannel, FrequencyOracle, frequency_channel, oracle_of
from hybriddp.shares.summary import LocalCounts, TrustedCounts
from hybriddp.study.document import compact
from hybriddp.study.reports import Reports
from hybriddp.study.study import Study, check_study, require_same_text


@dataclass(frozen=True, init=False, repr=False)
class FrequencyStudy(Study):
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
        check_study(name, "what is asked", min_group_size, users)
        domain = Categories.of(categories, other=other)
        privacy = Privacy(epsilon=epsilon)
        if channel is None:
            channel = frequency_channel(privacy.epsilon, len(domain), max_bytes=max_bytes)
        elif max_bytes is not None:
            raise ParameterError("max_bytes", "left out if there is a channel", max_bytes)
        oracle_of(channel, len(domain))  # an error if it is none
        if channel.epsilon != privacy.epsilon:
            raise ParameterError("channel", f"one for epsilon {privacy.epsilon}", channel)
        values = (name, domain.items, domain.other, privacy, int(min_group_size), channel, users)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

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

    def with_users(self, users: Part | None) -> "FrequencyStudy":
        """The same study of other users."""
        return FrequencyStudy(
            self.name,
            categories=self.categories,
            epsilon=self.privacy.epsilon,
            other=self.other,
            min_group_size=self.min_group_size,
            channel=self.channel,
            users=users,
        )

    def __repr__(self) -> str:
        listed = repr(list(self.categories)) if len(self.categories) <= 5 else f"[… {len(self.categories):,} in all]"
        listed = listed if len(listed) <= 60 else f"{listed[:58]}…]"
        other = "" if self.other == (len(self.categories) > 2) else f", other={self.other}"
        return f"FrequencyStudy({self.short_title!r}, categories={listed}, epsilon={self.privacy.epsilon!r}{other})"

    # As text ----------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The study as text, the channel included: what devices get."""
        content = {
            "type": "frequency",
            "version": 1,
            "name": self.name,
            "categories": list(self.categories),
            "other": self.other,
            "epsilon": self.privacy.epsilon,
            "min_group_size": self.min_group_size,
            "channel": json.loads(self.channel.to_json()),
            "users": self.users and asdict(self.users),
        }
        return compact(content)

    @classmethod
    def from_json(cls, text: str) -> "FrequencyStudy":
        """The study that a text describes, its channel verified; refused unless it is in the form it is written in."""
        try:
            f = _check.json_fields(text)
            channel: Any = channel_from_json(compact(f["channel"]), epsilon=f["epsilon"])
            given = {key: f[key] for key in ("categories", "epsilon", "other", "min_group_size")}
            study = cls(f["name"], **given, channel=channel, users=f["users"] and Part(**f["users"]))
        except (KeyError, TypeError, ValueError) as reason:
            raise ProtocolError("The text does not describe a study of frequencies.") from reason
        require_same_text(study, text)
        return study

    # On devices and at the curator ------------------------------------------------------------------------------------

    def randomize(self, items: object, *, random_state: int | np.random.Generator | None = None) -> Reports:
        """One report per item, with the study's digest: what devices send.

        With a ``random_state`` it is a simulation, and not private.
        """
        placed = self.domain.place(items)
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
        return Reports(self.oracle.randomize(placed.categories, random_state), self.digest, random_state is not None)

    def summarize_trusted(self, items: object) -> TrustedCounts:
        """The trusted group's items as one count per category.

        Missing items (None, NaN) are left out and counted. Items outside of the categories are counted as other, if the
        study has that; if not, they are left out and counted.
        """
        placed = self.domain.place(items)
        counts = np.bincount(placed.categories, minlength=len(self.domain))
        return TrustedCounts(self.digest, tuple(counts.tolist()), placed.missing, placed.outside)

    def statistic(self, trusted: TrustedCounts) -> Statistic:
        """Counts of the trusted group; of two categories one count says it all, because the group's size is public."""
        exact, bound = trusted.array(), sensitivity(len(trusted.counts))
        return Statistic("counts of the trusted group", exact[:1] if bound == 1 else exact, bound, trusted.count)

    def summarize_local(self, reports: Reports | ArrayLike) -> LocalCounts:
        """The local group's reports as one count per code or bit; what is no code is left out and counted.

        `Reports` of another study are refused. Plain integers are taken at their word: nothing ties them to the study,
        and the summary says so (``tied`` is False).
        """
        got = self.receive(reports)
        counts = self.oracle.tally(got.codes)
        return LocalCounts(self.digest, len(got.codes), tuple(counts.tolist()), got.rejected, got.tied, got.seeded)

    @property
    def reports_between(self) -> tuple[int, int]:
        """The smallest and the largest report that a device can send."""
        return 0, self.oracle.n_codes - 1

    def estimate(
        self,
        *,
        trusted: TrustedCounts | ArrayLike | None,
        local: LocalCounts | Reports | ArrayLike | None,
        single_group: bool = False,
        ledger: Ledger | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> Frequencies:
        """The share of every category, from both groups: the only release about the trusted group.

        Parameters
        ----------
        trusted : TrustedCounts or array_like
            The trusted group's raw items, or their summary.
        local : LocalCounts, Reports or array_like
            The local group's reports, or their summary; plain integers are accepted, but not tied to the study.
        single_group : bool
            Whether an empty group is fine: the answer is then that of a single model, and says so.
        ledger : Ledger, optional
            Where the cost is written down before anything is drawn.
        random_state : int or numpy.random.Generator, optional
            For simulation only: the result says that it is not a private release.
        """
        return answer_shares(self, trusted, local, single_group=single_group, ledger=ledger, random_state=random_state)

    def estimate_parts(
        self,
        by: str,
        summaries: Mapping[Any, CountsPair],
        *,
        single_group: bool = False,
        ledger: Ledger | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> dict[str | int, Frequencies]:
        """The shares of every part of the users, for example by country.

        Nobody is in two parts, so every user pays for one release only. If one of the parts cannot be estimated or
        paid for, none is.

        Parameters
        ----------
        by : str
            What the users are grouped by.
        summaries : mapping
            For each public key the pair of summaries of `part` (``by``, key).
        single_group, ledger, random_state
            As for `estimate`.
        """
        return answer_share_parts(
            self, by, summaries, single_group=single_group, ledger=ledger, random_state=random_state
        )
