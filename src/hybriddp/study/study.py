"""`Study`: the pipeline of every kind of study, from values on devices to an answer from both groups.

A study is a public document: a name, a promise, a channel, whom it is about. Its digest is how reports, summaries and
ledgers know it. A kind of study says how values become reports and sums, what is released and how the groups are
combined. The rest is written here once, and the order is always the same: check and decode, charge, draw.
"""

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar

from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp.channels.channel import channel_from_json
from hybriddp.errors import ParameterError
from hybriddp.randomness import simulation_generator
from hybriddp.release.charging import Charged
from hybriddp.release.event import Part
from hybriddp.release.ledger.ledger import Ledger, require_ledger
from hybriddp.release.release import ReleasedNumbers, Seed, release_all
from hybriddp.release.statistic import Statistic
from hybriddp.study.groups import EvidenceT, Groups, Options, OptionsT, Pair, groups_of_parts
from hybriddp.study.question import DeviceQuestion
from hybriddp.study.reports import Reports
from hybriddp.study.result import Statement
from hybriddp.study.summary import LocalSummary, TrustedSummary

ResultT = TypeVar("ResultT")


class Study(DeviceQuestion, Generic[EvidenceT, OptionsT, ResultT]):
    """A study of some kind: frozen, the same on devices, at the curator and in every record.

    Its type parameters are what reports are decoded to, the options of an estimate, and the result.
    """

    _options: ClassVar[type[Any]] = Options  # of an estimate, with defaults
    contribution: ClassVar[tuple[int, int]] = (1, 1)
    """The least and the most that one trusted user adds to all sums together."""

    min_group_size: int

    def _fill(self, **values: Any) -> None:  # noqa: ANN401  (of the fields of a kind)
        """Check what all studies have in common, and set the fields."""
        _check.integer("min_group_size", values["min_group_size"], at_least=1)
        if not isinstance(values["users"], Part | None):
            raise ParameterError("users", "None or a Part", values["users"])
        super()._fill(**{**values, "min_group_size": int(values["min_group_size"])})

    # Whom it is about

    def part(self, by: str, key: str | int) -> Self:
        """Return the study of only those users whose public key is this one, for example ``part("country", "DE")``.

        Nobody has two keys, so a user who is in one part pays for that part only. Who has which key is public.
        """
        if self.users is not None:
            raise ParameterError("by", f"used on the study of everybody, not on that of {self.users}", by)
        return self.with_users(Part(by, key))

    def with_users(self, users: Part | None) -> Self:
        """Return the same study of other users."""
        study = object.__new__(type(self))
        study._fill(**{**{name: getattr(self, name) for name in self._names()}, "users": users})
        return study

    @cached_property
    def whole_digest(self) -> str:
        """The digest of the study of everybody: users pay once for it, in whichever part they are."""
        return self.digest if self.users is None else self.with_users(None).digest

    # Text

    def _last_fields(self) -> dict[str, Any]:
        """Return the fields that end the text of every kind: channel and users."""
        return {"channel": json.loads(self.channel.to_json()), "users": self.users and asdict(self.users)}

    @classmethod
    def _read_last(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Read and verify the channel and the users of a text."""
        channel = channel_from_json(_check.compact(content["channel"]), epsilon=content["epsilon"])
        return {"channel": channel, "users": content["users"] and Part(**content["users"])}

    # Reports and summaries

    @property
    @abstractmethod
    def n_sums(self) -> int:
        """Number of exact sums that summarize the trusted group."""

    @abstractmethod
    def summarize_trusted(self, values: ArrayLike) -> TrustedSummary:
        """Summarize the trusted group's values as exact sums: not private.

        Missing, NaN and infinite values are left out and counted.
        """

    @abstractmethod
    def decode(self, local: LocalSummary) -> EvidenceT:
        """Decode reports, of which there are some, with the study's channel."""

    # Estimates

    @abstractmethod
    def statistic(self, trusted: TrustedSummary) -> Statistic:
        """Return the only numbers about the trusted group that leave the curator, and how far one user moves them."""

    def check_options(self, groups: Groups[EvidenceT, OptionsT]) -> None:
        """Raise `DataError` if the groups cannot be combined as the options ask for."""

    @abstractmethod
    def combine(
        self, groups: Groups[EvidenceT, OptionsT], released: ReleasedNumbers | None, statement: Statement
    ) -> ResultT:
        """Combine the groups: post-processing of private numbers.

        Noise and numbers of people come from ``groups`` and ``released``, not from the study.
        """

    def estimate(
        self,
        *,
        trusted: TrustedSummary | ArrayLike | None,
        local: LocalSummary | Reports | ArrayLike | None,
        single_group: bool = False,
        ledger: Ledger | None = None,
        random_state: Seed = None,
        **options: Any,  # noqa: ANN401
    ) -> ResultT:
        """Estimate from both groups: the only release about the trusted group.

        Parameters
        ----------
        trusted : TrustedSummary or array_like
            The trusted group's raw values, or their summary.
        local : LocalSummary, Reports or array_like
            The local group's reports, or their summary; plain integers are accepted, but not tied to the study.
        single_group : bool
            Whether an empty group is fine: the answer is then that of a single model, and says so.
        ledger : Ledger, optional
            Where the cost is written down before anything is drawn.
        random_state : int or numpy.random.Generator, optional
            For simulation only: the result says that it is not a private release.
        **options
            How the groups are combined: see `hybriddp.mean.WeightRule` and `hybriddp.distribution.FitOptions`.
        """
        require_ledger(ledger)
        groups = Groups.of(self, trusted, local, self._options(**options), single_group=single_group)
        estimates: dict[None, ResultT] = _estimates({None: groups}, ledger, random_state)
        return estimates[None]

    def estimate_parts(
        self,
        by: str,
        summaries: Mapping[Any, Pair],
        *,
        single_group: bool = False,
        ledger: Ledger | None = None,
        random_state: Seed = None,
        **options: Any,  # noqa: ANN401
    ) -> dict[str | int, ResultT]:
        """Estimate every part of the users, for example every country.

        Nobody is in two parts, so every user pays for one release only. If one of the parts cannot be estimated or
        paid for, none is.

        Parameters
        ----------
        by : str
            What the users are grouped by.
        summaries : mapping
            For each public key the pair of summaries of `part` (``by``, key), as `hybriddp.summarize` gives them.
        single_group, ledger, random_state, **options
            As for `estimate`.

        Examples
        --------
        >>> from hybriddp import MeanStudy
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
        require_ledger(ledger)
        parts = groups_of_parts(self, by, summaries, self._options(**options), single_group=single_group)
        rng = None if random_state is None else simulation_generator(random_state, "parts")
        return _estimates(parts, ledger, rng)


def _estimates(parts: Mapping[Any, Groups[Any, Any]], ledger: Ledger | None, random_state: Seed) -> dict[Any, Any]:
    """Release the statistics of all parts together, after everything was checked, and combine each part."""
    asked = {
        key: (groups.study.statistic(groups.to_release), groups.study.cost)
        for key, groups in parts.items()
        if groups.to_release is not None
    }
    reports = [groups.study.cost for groups in parts.values() if groups.is_from_reports]
    batch = release_all(list(asked.values()), reports, ledger=ledger, random_state=random_state)
    released = dict(zip(asked, batch.released, strict=True))
    seeded, estimates = random_state is not None, {}
    for key, groups in parts.items():
        numbers = released.get(key)
        statement = Statement.of(
            groups.study,
            released=numbers is not None,
            counted=numbers is not None and numbers.counted,
            seeded=seeded or groups.seeded,
        ).charged(batch.charged if groups.is_from_reports else Charged.NOT)
        result = groups.study.combine(groups, numbers, statement)
        estimates[key] = replace(result, tied=groups.tied, implausible_reports=groups.implausible)
    return estimates
