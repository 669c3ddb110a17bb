"""`HeavyHitterStudy`: which items of an open domain are frequent, and how frequent they are."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.items.answer import answer_dictionary, answer_discovery, answer_list
from hybriddp.items.coding import Alphabet
from hybriddp.items.counts import ItemCounts
from hybriddp.items.discovery import DiscoveryCounts, DiscoveryQuestion, DiscoveryRule
from hybriddp.items.estimate import HeavyHitters
from hybriddp.items.open_release import PrivateItems, release_items
from hybriddp.items.records import items_of, shown_item
from hybriddp.privacy import Privacy
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.release import ReleaseCost
from hybriddp.release.threshold import ThresholdRule, require_delta
from hybriddp.reporting.wording import counted
from hybriddp.shares.categories import OTHER, is_shown
from hybriddp.shares.study import FrequencyStudy
from hybriddp.study.reports import Reports
from hybriddp.study.summary import LocalSummary, TrustedSummary

DICTIONARY, LIST, DISCOVERY = "dictionary", "list", "discovery"
_ONE_TEXT = {"max_records": 1, "records": "sample", "levels": 1}
"""A user has one item, a text. This is in every study's text, so that digests stay as they are."""


@dataclass(frozen=True, init=False, repr=False)
class HeavyHitterStudy:
    """A study of the frequent items of an open domain: what is asked of whom, under which promise.

    There are three ways, and public numbers decide (`method`):

    - ``"dictionary"``: a public list of items (``domain``) beats everything else, because nothing must be discovered.
      Both groups are asked about it.
    - ``"list"``: one thresholded release of all trusted users' items is list and estimate (`release`). Local users then
      report on the list and *other* (`question`).
    - ``"discovery"``: where few people trust, local users report hashed prefixes of their strings first (`discovery`),
      and the trusted group's release counts the strings that were found, and shows others above the threshold.

    Parameters
    ----------
    name : str
        What the items are.
    epsilon, delta : float or str
        What every user is promised in total. Without a dictionary δ must be above 0.
    domain : sequence of str, optional
        A public dictionary. It must not come from these users' data.
    alphabet : str
        For local discovery: the characters of items as one text, or ``"bytes"``, ``"letters"``, ``"digits"``,
        ``"letters and digits"``, ``"capitals and digits"``, ``"host names"``. Strings of up to 6 bytes can be
        discovered, or more of a smaller alphabet; longer ones count as other.
    min_group_size : int
        A group with fewer users is refused.

    Examples
    --------
    >>> study = HeavyHitterStudy("fruit", epsilon=2, delta=1e-6)
    >>> people = ["apple"] * 6000 + ["pear"] * 3000 + ["quince"] * 10 + ["medlar"]
    >>> released = study.release(study.summarize_trusted(people[::10]), random_state=1)
    >>> released.items
    ('apple', 'pear')
    >>> question = study.question(released)  # a public text, which devices get
    >>> reports = question.randomize([item for i, item in enumerate(people) if i % 10], random_state=2)
    >>> found = study.estimate(trusted=released, local=reports)
    >>> [(row.item, round(row.share, 1)) for row in found.rows()]
    [('apple', 0.7), ('pear', 0.3)]
    """

    name: str
    privacy: Privacy
    domain: tuple[str, ...] | None
    alphabet: Alphabet
    min_group_size: int

    def __init__(
        self,
        name: str,
        *,
        epsilon: float | str,
        delta: float | str = 0,
        domain: Sequence[str] | None = None,
        alphabet: str = "bytes",
        min_group_size: int = 2,
    ) -> None:
        _check.text("name", name, "what the items are")
        privacy = Privacy.promised(epsilon=epsilon, delta=delta)
        _check.integer("min_group_size", min_group_size, at_least=1)
        listed = None if domain is None else _domain(domain)
        if listed is None:
            require_delta(privacy)
        values = (name, privacy, listed, Alphabet.of(alphabet), int(min_group_size))
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)
        if listed is not None:
            _ = self.dictionary  # an error if the domain is none

    def __repr__(self) -> str:
        name = self.name if len(self.name) <= 60 else f"{self.name[:59]}…"
        listed = "" if self.domain is None else f", domain=[{len(self.domain):,} items]"
        return f"HeavyHitterStudy({name!r}, epsilon={self.privacy.epsilon!r}, delta={self.privacy.delta!r}{listed})"

    # As text

    def to_json(self) -> str:
        """The study as text."""
        content = {
            "type": "heavy-hitters",
            "version": 1,
            "name": self.name,
            "epsilon": self.privacy.epsilon,
            "delta": self.privacy.delta,
            "domain": None if self.domain is None else list(self.domain),
            **_ONE_TEXT,
            "alphabet": self.alphabet.name,
            "min_group_size": self.min_group_size,
        }
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "HeavyHitterStudy":
        """The study that a text describes; refused unless it is in the form it is written in."""
        try:
            f = _check.json_fields(text)
            given = {name: f[name] for name in ("epsilon", "delta", "domain", "alphabet", "min_group_size")}
            study = cls(f["name"], **given)
            one_text = {name: f[name] for name in _ONE_TEXT} == _ONE_TEXT
        except (KeyError, TypeError, ValueError) as reason:
            raise ProtocolError("The text does not describe a study of heavy hitters.") from reason
        if not one_text:
            raise ProtocolError("The study is about several items per user, or about pairs, which is not supported.")
        if study.to_json() != text:
            raise ProtocolError("The text is not in the form that studies are written in. Write it anew with to_json.")
        return study

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text, by which summaries, lists and ledgers know the study."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    # Public numbers

    @property
    def cost(self) -> ReleaseCost:
        """What the release, or an estimate from reports alone, costs each user."""
        return ReleaseCost(self.digest, self.name, self.privacy, self.privacy)

    @property
    def rule(self) -> ThresholdRule:
        """The noise and the threshold of the trusted group's release."""
        return ThresholdRule.of(self.privacy)

    def discovery_rule(self, *, n_trusted: int, n_local: int) -> DiscoveryRule:
        """The smallest shares that either group can find."""
        return DiscoveryRule.of(self.rule, n_trusted=n_trusted, n_local=n_local)

    def method(self, *, n_trusted: int, n_local: int) -> str:
        """Which way is best for groups of these sizes: ``"dictionary"``, ``"list"`` or ``"discovery"``."""
        if self.domain is not None:
            return DICTIONARY
        return DISCOVERY if self.discovery_rule(n_trusted=n_trusted, n_local=n_local).pays else LIST

    # What devices are asked

    @cached_property
    def dictionary(self) -> FrequencyStudy:
        """The question about a public dictionary and all other items."""
        if self.domain is None:
            raise ProtocolError("This study has no public dictionary. Give it a domain, or release a list first.")
        return self.question_about(self.domain)

    def question(self, released: PrivateItems) -> FrequencyStudy:
        """The public question about the items of a list and all others: a study with a text and a digest of its own."""
        self._check_list(released)
        if not released.items:
            raise DataError("No item is on the list, so there is nothing to ask the local group.")
        return self.question_about(released.items)

    @cached_property
    def discovery(self) -> DiscoveryQuestion:
        """The question of local discovery."""
        return DiscoveryQuestion(self.name, epsilon=self.privacy.epsilon, alphabet=self.alphabet.name)

    def question_about(self, items: Sequence[str]) -> FrequencyStudy:
        """What the local group is asked about these public items; the same for everybody who has the study's text."""
        return FrequencyStudy(
            self.name,
            categories=items,
            epsilon=self.privacy.epsilon,
            other=True,
            min_group_size=self.min_group_size,
        )

    def check_question(self, question: FrequencyStudy) -> None:
        """Raise `ProtocolError` unless this is a question of this study: its name and ε, about texts and all others.

        Which items are on a list cannot be known beforehand, but all of them can be shown: of two that look alike,
        people could not see which one they are asked about. The channel is the question's own: reading its text has
        proven that it keeps ε.
        """
        mine = (self.name, self.privacy.epsilon, self.min_group_size, True, True, None)
        its = (question.name, question.privacy.epsilon, question.min_group_size)
        if mine != (*its, question.other, question.domain.are_texts, question.users):
            raise ProtocolError(
                f"The question is not one of study {self.digest[:12]}… ({self.name!r}): name, epsilon and group size "
                "must be the study's, and all other items must count as other."
            )
        if not all(map(is_shown, question.categories)):
            raise ProtocolError("The question is about items that no list shows: some of their characters are unseen.")

    # At the curator

    def summarize_trusted(self, users: object) -> ItemCounts:
        """How many trusted users have each item: exact, not private, and adding up over shards."""
        read = items_of(users)
        return ItemCounts(self.digest, len(read.items), read.counts(), read.missing)

    def release(
        self,
        trusted: ItemCounts | object,
        *,
        ledger: Ledger | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> PrivateItems:
        """The list of frequent items with noisy counts: the only release about the trusted group."""
        summary = self._summary(trusted)
        self.check_size("trusted", summary.n_users)
        return release_items(
            summary.counts,
            summary.n_users,
            self.rule,
            self.cost,
            ledger=ledger,
            random_state=random_state,
        )

    def estimate(
        self,
        *,
        trusted: PrivateItems | ItemCounts | TrustedSummary | object | None,
        local: LocalSummary | DiscoveryCounts | Reports | ArrayLike | None,
        single_group: bool = False,
        ledger: Ledger | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> HeavyHitters:
        """The frequent items and their shares among all users.

        Parameters
        ----------
        trusted : PrivateItems, ItemCounts, TrustedSummary or array_like
            After `release`, the list: its cost has been paid. For local discovery the trusted group's items or their
            summary: the release is made here. With a dictionary, the items or their summary by `dictionary`.
        local : LocalSummary, DiscoveryCounts, Reports or array_like
            The local group's reports to the question that belongs to it, or their summary.
        single_group : bool
            Whether an empty group is fine: the answer is then that of a single model, and says so.
        ledger : Ledger, optional
            Where the cost is written down before anything is drawn.
        random_state : int or numpy.random.Generator, optional
            For simulation only: the result says that it is not a private release.
        """
        options: dict[str, Any] = {"single_group": single_group, "random_state": random_state}
        if self.domain is not None:
            return answer_dictionary(self, trusted, local, ledger=ledger, **options)
        if isinstance(trusted, PrivateItems):
            self._check_list(trusted)
            if ledger is not None and not trusted.counted and not trusted.seeded:
                raise ProtocolError(
                    "The list was released without a ledger, and it cannot be paid for afterwards. Give the ledger to "
                    "release(), before the noise is drawn."
                )
            return answer_list(self, trusted, local, **options)
        summary = None if trusted is None else self._summary(trusted)
        if summary is not None and summary.n_users:
            self.check_size("trusted", summary.n_users)
        return answer_discovery(self, summary, local, ledger=ledger, **options)

    def _summary(self, trusted: ItemCounts | object) -> ItemCounts:
        if not isinstance(trusted, ItemCounts):
            return self.summarize_trusted(trusted)
        self._check_digest(trusted.study, "summary belongs")
        return trusted

    def _check_list(self, released: PrivateItems) -> None:
        self._check_digest(released.study, "list belongs")
        if released.rule != self.rule:
            raise ProtocolError("The list was released by another rule than this study's, or its text was changed.")

    def _check_digest(self, digest: str, what: str) -> None:
        if digest != self.digest:
            mine = f"{self.digest[:12]}… ({self.name!r})"
            raise ProtocolError(
                f"The {what} to study {digest[:12]}…, not to {mine}: name, epsilon, delta and everything else about "
                "the study must be the same."
            )

    def check_size(self, name: str, n_users: int) -> None:
        """Raise `DataError` if a group has fewer users than the study asks for."""
        if n_users < self.min_group_size:
            raise DataError(
                f"The {name} group has {counted(n_users, 'user')}; the study asks for {self.min_group_size:,}."
            )


def _domain(domain: Sequence[str]) -> tuple[str, ...]:
    """The texts of a public dictionary."""
    if isinstance(domain, str | bytes) or not isinstance(domain, Sequence | np.ndarray):
        raise ParameterError("domain", "a list of items", domain)
    try:
        texts = tuple(map(shown_item, domain))
    except DataError as reason:
        raise ParameterError("domain", "a list of items like the users' own", str(reason), shown_as="one") from None
    if not texts or OTHER in texts or len(set(texts)) < len(texts):
        raise ParameterError("domain", "different readable items, at least one", len(texts), shown_as="their number")
    return texts
