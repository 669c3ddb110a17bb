"""`HeavyHitterStudy`: which items of an open domain are frequent, and how frequent they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.items.coding import Alphabet
from hybriddp.items.counts import ItemCounts
from hybriddp.items.discovery import DICTIONARY, DISCOVERY, LIST, DiscoveryQuestion, DiscoveryRule
from hybriddp.items.estimate import HeavyHitters
from hybriddp.items.open_release import PrivateItems, release_items
from hybriddp.items.protocol import of_dictionary, take_steps
from hybriddp.items.records import items_of, shown_item
from hybriddp.privacy import Privacy
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.release import Seed
from hybriddp.release.threshold import ThresholdRule, require_delta
from hybriddp.shares.categories import OTHER, is_shown
from hybriddp.shares.study import FrequencyStudy
from hybriddp.study.groups import check_size
from hybriddp.study.question import StudyText
from hybriddp.study.reports import Reports
from hybriddp.study.summary import LocalSummary, TrustedSummary

_ONE_TEXT = {"max_records": 1, "records": "sample", "levels": 1}
"""A user has one item, a text. This is in every study's text, so that digests stay as they are."""


@dataclass(frozen=True, init=False, repr=False)
class HeavyHitterStudy(StudyText):
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
    >>> [(row.name, round(row.value, 1)) for row in found.rows()]
    [('apple', 0.7), ('pear', 0.3)]
    """

    _what: ClassVar[str] = "study of heavy hitters"
    _kind: ClassVar[str] = "heavy-hitters"
    _version: ClassVar[int] = 1

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
        self._fill(
            name=name,
            privacy=Privacy.promised(epsilon=epsilon, delta=delta),
            domain=None if domain is None else _domain(domain),
            alphabet=Alphabet.of(alphabet),
            min_group_size=_check.integer("min_group_size", min_group_size, at_least=1),
        )
        if self.domain is None:
            require_delta(self.privacy)
        else:
            _ = self.dictionary  # an error if the domain is none

    def __repr__(self) -> str:
        listed = "" if self.domain is None else f", domain=[{len(self.domain):,} items]"
        promise = f"epsilon={self.privacy.epsilon!r}, delta={self.privacy.delta!r}"
        return f"HeavyHitterStudy({self.short_title!r}, {promise}{listed})"

    def _content(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "epsilon": self.privacy.epsilon,
            "delta": self.privacy.delta,
            "domain": None if self.domain is None else list(self.domain),
            **_ONE_TEXT,
            "alphabet": self.alphabet.name,
            "min_group_size": self.min_group_size,
        }

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> "HeavyHitterStudy":
        one_text = {name: fields[name] for name in _ONE_TEXT} == _ONE_TEXT
        cls.require(one_text, "it is about several items per user, or about pairs, which is not supported")
        given = {name: fields[name] for name in ("epsilon", "delta", "domain", "alphabet", "min_group_size")}
        return cls(fields["name"], **given)

    # Public numbers

    @property
    def rule(self) -> ThresholdRule:
        """The noise and the threshold of the trusted group's release."""
        return ThresholdRule.of(self.privacy)

    def method(self, *, n_trusted: int, n_local: int) -> str:
        """Choose the best way for groups of these sizes: ``"dictionary"``, ``"list"`` or ``"discovery"``."""
        if self.domain is not None:
            return DICTIONARY
        return DISCOVERY if DiscoveryRule.of(self.rule, n_trusted=n_trusted, n_local=n_local).pays else LIST

    # What devices are asked

    @cached_property
    def dictionary(self) -> FrequencyStudy:
        """The question about a public dictionary and all other items."""
        if self.domain is None:
            raise ProtocolError("This study has no public dictionary. Give it a domain, or release a list first.")
        return self.question_about(self.domain)

    @cached_property
    def discovery(self) -> DiscoveryQuestion:
        """The question of local discovery."""
        return DiscoveryQuestion(self.name, epsilon=self.privacy.epsilon, alphabet=self.alphabet.name)

    def question(self, released: PrivateItems) -> FrequencyStudy:
        """Return the public question about a list and all other items: a study with a text and a digest of its own."""
        if not self.check_list(released).items:
            raise DataError("No item is on the list, so there is nothing to ask the local group.")
        return self.question_about(released.items)

    def question_about(self, items: Sequence[str]) -> FrequencyStudy:
        """Return the question about these public items, the same for everybody who has the study's text."""
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

    def check_list(self, released: PrivateItems) -> PrivateItems:
        """Return a list; `ProtocolError` unless it was released for this study, by its rule."""
        self.check_digest(released.study, "list belongs")
        if released.rule != self.rule:
            raise ProtocolError("The list was released by another rule than this study's, or its text was changed.")
        return released

    # At the curator

    def summarize_trusted(self, users: object) -> ItemCounts:
        """Count the trusted users who have each item: exact, not private, and adding up over shards."""
        read = items_of(users)
        return ItemCounts(self.digest, len(read.items), read.counts(), read.missing)

    def release(
        self,
        trusted: ItemCounts | object,
        *,
        candidates: Sequence[str] = (),
        ledger: Ledger | None = None,
        random_state: Seed = None,
    ) -> PrivateItems:
        """Release the list of frequent items with noisy counts: the only release about the trusted group.

        Public ``candidates`` are on the list, whether anybody has them or not.
        """
        summary = self.counts(trusted)
        check_size("trusted", summary.n_users, self.min_group_size)
        given: dict[str, Any] = {"ledger": ledger, "random_state": random_state}
        return release_items(summary.counts, summary.n_users, self.rule, self.cost, candidates=candidates, **given)

    def estimate(
        self,
        *,
        trusted: PrivateItems | ItemCounts | TrustedSummary | object | None,
        local: LocalSummary | Reports | ArrayLike | None,
        single_group: bool = False,
        ledger: Ledger | None = None,
        random_state: Seed = None,
    ) -> HeavyHitters:
        """Estimate the frequent items and their shares among all users.

        Parameters
        ----------
        trusted : PrivateItems, ItemCounts, TrustedSummary or array_like
            After `release`, the list: its cost has been charged. For local discovery the trusted group's items or their
            summary: the release is made here. With a dictionary, the items or their summary by `dictionary`.
        local : LocalSummary, Reports or array_like
            The local group's reports to the question that belongs to it, or their summary.
        single_group : bool
            Whether an empty group is fine: the answer is then a single model's, and is marked as such.
        ledger : Ledger, optional
            Where the cost is written down before anything is drawn.
        random_state : int or numpy.random.Generator, optional
            For simulation only: the result says that it is not a private release.
        """
        given: dict[str, Any] = {"single_group": single_group, "ledger": ledger, "random_state": random_state}
        if self.domain is not None:
            return of_dictionary(self, trusted, local, **given)
        question: FrequencyStudy | DiscoveryQuestion | None = self.discovery
        if isinstance(trusted, PrivateItems):
            question = self.question(trusted) if self.check_list(trusted).items else None
            given["single_group"] = single_group or question is None
            if ledger is not None and not trusted.counted and not trusted.seeded:
                raise ProtocolError(
                    "The list was released without a ledger, and it cannot be paid for afterwards. Give the ledger to "
                    "release(), before the noise is drawn."
                )
        elif trusted is not None:
            trusted = self.counts(trusted)
        reports = None if local is None or question is None else question.summary(local)
        n_local = 0 if reports is None else reports.count
        method = LIST if isinstance(trusted, PrivateItems) or not n_local else DISCOVERY
        return take_steps(self, method, trusted, lambda _: reports, n_local=n_local, **given)

    def counts(self, trusted: ItemCounts | object) -> ItemCounts:
        """Return the trusted group's counts, whether its items have been counted or not."""
        if not isinstance(trusted, ItemCounts):
            return self.summarize_trusted(trusted)
        self.check_digest(trusted.study, "summary belongs")
        return trusted


def _domain(domain: Sequence[str]) -> tuple[str, ...]:
    """Validate the texts of a public dictionary."""
    if isinstance(domain, str | bytes) or not isinstance(domain, Sequence | np.ndarray):
        raise ParameterError("domain", "a list of items", domain)
    try:
        texts = tuple(map(shown_item, domain))
    except DataError as reason:
        raise ParameterError("domain", "a list of items like the users' own", str(reason), shown_as="one") from None
    if not texts or OTHER in texts or len(set(texts)) < len(texts):
        raise ParameterError("domain", "different readable items, at least one", len(texts), shown_as="their number")
    return texts
