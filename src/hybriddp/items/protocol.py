r"""The steps to frequent items and their shares: a public dictionary, the trusted group's list, or local discovery.

A generator yields what comes next, is sent what came of it, and returns the answer in the end. What is asked next
follows from published numbers only. Where both groups are in one place, `take_steps` takes all steps in one call.

Whichever it is, one private share of every item comes from each group, and one of all others together; `blend` combines
them at pooled shares. The trusted group's share of the others is what is left of 1: its noise is that of all counts.

**Which candidates of local discovery are shown.** A candidate is one of $2^{48}$ strings, so it must be told from noise
at that many chances: it is shown if $n_L\mathrm{KL}(r \| q) + y^+\epsilon/2 > 48\ln 2$, with $r = q + S(p - q)$ the
fraction of reports that its score $S$ stands for, and $y^+$ its noisy count among trusted users, if that is positive.
The two terms are what the reports and the count say for it, as logarithms of likelihood: by Chernoff a string that
nobody has reaches such an $r$ with a probability of at most $e^{-n_L\mathrm{KL}}$. With many users $\mathrm{KL}$ is
$z^2/2n_L$, $z$ being the score in standard deviations; with few of them that would be far too much. Items whose noisy
count reached the threshold are shown anyway.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.plausible import bernoulli_divergence
from hybriddp.items.coding import CODE_BITS, NO_STRING, unscramble
from hybriddp.items.counts import ItemCounts
from hybriddp.items.discovery import DICTIONARY, DISCOVERY, LIST, DiscoveryQuestion
from hybriddp.items.estimate import HeavyHitters
from hybriddp.items.open_release import PrivateItems
from hybriddp.items.prefix_search import local_shares, search_prefixes
from hybriddp.release.charging import Charged
from hybriddp.release.ledger.ledger import Ledger, require_ledger
from hybriddp.release.release import Seed, charge_reports
from hybriddp.release.threshold import ThresholdRule
from hybriddp.shares.blend import blend
from hybriddp.shares.categories import is_shown
from hybriddp.shares.law import GroupShares
from hybriddp.shares.listing import Listing
from hybriddp.shares.study import FrequencyStudy
from hybriddp.study.groups import Groups, Options, check_sizes
from hybriddp.study.reports import Reports
from hybriddp.study.result import Statement
from hybriddp.study.summary import LocalSummary, TrustedSummary

if TYPE_CHECKING:
    from hybriddp.items.study import HeavyHitterStudy

AskedQuestion = FrequencyStudy | DiscoveryQuestion


@dataclass(frozen=True, slots=True)
class AskLocal:
    """A question to the local group; the summary of its reports is sent back."""

    question: AskedQuestion


@dataclass(frozen=True, slots=True)
class ReleaseList:
    """A release of the trusted group's list with public candidates; the list is sent back."""

    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChargeReports:
    """A charge for reports where nobody trusts; a `Charged` is sent back."""


Step = AskLocal | ReleaseList | ChargeReports
Steps = Generator[Step, Any, HeavyHitters]


def take_steps(
    study: "HeavyHitterStudy",
    method: str,
    trusted: ItemCounts | PrivateItems | None,
    ask: Callable[[AskedQuestion], LocalSummary | None],
    *,
    n_local: int,
    single_group: bool,
    ledger: Ledger | None,
    random_state: Seed,
) -> HeavyHitters:
    """Take all steps by one of the three ways; ``ask`` has the local group answer a question."""
    require_ledger(ledger)
    if method == DICTIONARY:
        local = ask(study.dictionary) if n_local else None
        return of_dictionary(study, trusted, local, single_group=single_group, ledger=ledger, random_state=random_state)
    n_trusted = 0 if trusted is None else trusted.n_users
    check_sizes(n_trusted, n_local, study.min_group_size, single_group=single_group)
    seeded = random_state is not None
    by_list = list_steps(study, n_local, seeded=seeded)
    steps = by_list if method == LIST else discovery_steps(study, n_trusted, seeded=seeded)

    def answer(step: Step) -> LocalSummary | PrivateItems | Charged | None:
        if isinstance(step, AskLocal):
            return ask(step.question)
        if isinstance(step, ChargeReports):
            return charge_reports(study.cost, ledger=ledger)
        if isinstance(trusted, PrivateItems):
            return trusted
        return study.release(trusted, candidates=step.candidates, ledger=ledger, random_state=random_state)

    step = next(steps)
    while True:
        try:
            step = steps.send(answer(step))
        except StopIteration as end:
            result: HeavyHitters = end.value
            return result


def list_steps(study: "HeavyHitterStudy", n_local: int, *, seeded: bool) -> Steps:
    """Release the trusted group's list, then ask the local group about it, if there is one and anything is listed."""
    released: PrivateItems = yield ReleaseList()
    trusted = trusted_shares(released.counts, released.n_users, released.rule, np.ones(len(released), np.bool_))
    seeded = seeded or released.seeded
    if not (n_local and released.items):
        statement = _statement(study, released, seeded=seeded)
        return HeavyHitters.of(study, released.items, blend(trusted, None), statement, LIST)
    question = study.question(released)
    local: LocalSummary = yield AskLocal(question)
    groups = Groups.of(question, None, local, Options(), single_group=True)
    return HeavyHitters.of(
        study,
        released.items,
        blend(trusted, groups.evidence),
        _statement(study, released, seeded=seeded or groups.seeded),
        LIST,
        tied=groups.tied,
        implausible_reports=groups.implausible,
    )


def discovery_steps(study: "HeavyHitterStudy", n_trusted: int, *, seeded: bool) -> Steps:
    """Ask the local group for strings, then release the trusted group's counts of these and its list."""
    question, channel = study.discovery, study.discovery.channel
    local: LocalSummary = yield AskLocal(question)
    implausible, tallies = question.implausible(local), question.levels(local)
    scores = _scores(question, tallies)
    items, counts, reached = tuple(scores), np.zeros(len(scores)), np.zeros(len(scores), np.bool_)
    released: PrivateItems | None = None
    charged, seeded = Charged.NOT, seeded or local.seeded
    if n_trusted:
        released = yield ReleaseList(items)
        items, counts, reached = released.items, np.array(released.counts, np.float64), released.reached
    elif not seeded:
        charged = yield ChargeReports()
    said = local.count * report_evidence(np.array([scores.get(item, 0.0) for item in items]), channel)
    likelihood = said + np.maximum(counts, 0.0) * float(study.privacy.epsilon) / 2
    shown = np.flatnonzero(reached | (likelihood > CODE_BITS * math.log(2)))
    items, counts = tuple(items[i] for i in shown.tolist()), counts[shown]
    has_code = question.alphabet.encode(items) != NO_STRING
    of_local = _with_others(local_shares(tallies, question.codes(list(items)), channel, has_code))
    of_trusted = None
    if released is not None:
        listed = np.array([item not in scores for item in items], np.bool_)
        of_trusted = trusted_shares(counts, n_trusted, released.rule, listed)
    return HeavyHitters.of(
        study,
        items,
        blend(of_trusted, of_local),
        _statement(study, released, seeded=seeded).charged(charged),
        DISCOVERY,
        tied=local.tied,
        n_without_code=int(np.count_nonzero(~has_code)),
        implausible_reports=implausible,
    )


def of_dictionary(
    study: "HeavyHitterStudy",
    trusted: object,
    local: LocalSummary | Reports | ArrayLike | None,
    *,
    single_group: bool,
    ledger: Ledger | None,
    random_state: Seed,
) -> HeavyHitters:
    """Estimate the shares of a public dictionary in one step: those of known categories."""
    question = study.dictionary
    if not isinstance(trusted, TrustedSummary | None):
        counts = study.counts(trusted)
        known = [counts.counts.get(item, 0) for item in study.domain or ()]
        sums = (*known, counts.n_users - sum(known))
        trusted = TrustedSummary(question.digest, counts.n_users, sums, counts.missing)
    found = question.estimate(
        trusted=trusted, local=local, single_group=single_group, ledger=ledger, random_state=random_state
    )
    return HeavyHitters.of(
        study,
        question.categories,
        found.blend,
        found.privacy,
        DICTIONARY,
        tied=found.tied,
        implausible_reports=found.implausible_reports,
    )


def _scores(question: DiscoveryQuestion, tallies: list[IntArray]) -> dict[str, float]:
    """Score the strings that reports lead to; those that no study shows are no items."""
    found = search_prefixes(tallies, question.channel)
    texts = question.alphabet.decode(unscramble(found.codes))
    return {t: s for t, s in zip(texts, found.scores.tolist(), strict=True) if t and is_shown(t)}


def _statement(study: "HeavyHitterStudy", released: PrivateItems | None, *, seeded: bool) -> Statement:
    counted = released is not None and released.counted
    return Statement.of(study, released=released is not None, counted=counted, seeded=seeded)


def report_evidence(scores: FloatArray, channel: LocalHashing) -> FloatArray:
    r"""$\mathrm{KL}(r \| q)$ for each score: what a report says, on average, against a string that nobody has."""
    p, q = channel.hit_probability, channel.miss_probability
    return bernoulli_divergence(np.clip(q + np.maximum(scores, 0.0) * (p - q), q, 1.0), q)


def trusted_shares(counts: ArrayLike, n_users: int, rule: ThresholdRule, listed: NDArray[np.bool_]) -> GroupShares:
    """Trusted group's share of every item, and of all others.

    ``listed`` are the items that are there because their counts reached the threshold.
    """
    shares: FloatArray = np.asarray(counts, np.float64) / n_users
    noise = rule.variance / n_users**2
    each = np.append(np.full(len(shares), noise), max(len(shares), 1) * noise)
    listing = Listing(rule.threshold, rule.scale, np.append(listed, False))
    return GroupShares(n_users, np.append(shares, 1 - shares.sum()), each, laplace=True, listing=listing)


def _with_others(local: GroupShares) -> GroupShares:
    """Append the remainder to 1 to the local group's shares."""
    noise = np.append(local.noise, max(float(np.sum(local.noise)), float(np.max(local.noise, initial=0.0))))
    return GroupShares(local.count, np.append(local.shares, 1 - local.shares.sum()), noise, local.slope)
