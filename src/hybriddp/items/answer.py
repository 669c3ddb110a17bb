r"""The three ways to the shares of frequent items: a public dictionary, the trusted group's list, local discovery.

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
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp._check import FloatArray
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.plausible import bernoulli_divergence
from hybriddp.errors import DataError, ProtocolError
from hybriddp.items.coding import CODE_BITS, NO_STRING, unscramble
from hybriddp.items.counts import ItemCounts
from hybriddp.items.discovery import DiscoveryCounts
from hybriddp.items.estimate import HeavyHitters
from hybriddp.items.open_release import PrivateItems, release_items
from hybriddp.items.prefix_search import local_shares, search_prefixes
from hybriddp.items.records import items_of
from hybriddp.privacy import NEIGHBORS
from hybriddp.release.ledger.ledger import Ledger, require_ledger
from hybriddp.release.release import charge_reports
from hybriddp.release.threshold import ThresholdRule
from hybriddp.reporting.wording import counted
from hybriddp.shares.blend import blend
from hybriddp.shares.categories import is_shown
from hybriddp.shares.law import GroupShares
from hybriddp.shares.listing import Listing
from hybriddp.study.groups import EMPTY, Groups, Options
from hybriddp.study.reports import Reports
from hybriddp.study.result import Statement
from hybriddp.study.summary import LocalSummary, TrustedSummary

if TYPE_CHECKING:
    from hybriddp.items.study import HeavyHitterStudy

Seed = int | np.random.Generator | None


def answer_dictionary(
    study: "HeavyHitterStudy",
    trusted: object,
    local: object,
    *,
    single_group: bool,
    ledger: Ledger | None,
    random_state: Seed,
) -> HeavyHitters:
    """The shares of a public dictionary: those of a known domain."""
    if trusted is not None and not isinstance(trusted, TrustedSummary):
        trusted = items_of(trusted).items
    found = study.dictionary.estimate(
        trusted=trusted,
        local=local,  # type: ignore[arg-type]
        single_group=single_group,
        ledger=ledger,
        random_state=random_state,
    )
    return HeavyHitters.of(
        study,
        study.dictionary.categories,
        found.blend,
        found.privacy,
        "dictionary",
        tied=found.tied,
        implausible_reports=found.implausible_reports,
    )


def answer_list(
    study: "HeavyHitterStudy", released: PrivateItems, local: object, *, single_group: bool, random_state: Seed
) -> HeavyHitters:
    """The shares of the trusted group's list, which has been paid for."""
    seeded = random_state is not None or released.seeded
    listed = np.ones(len(released), np.bool_)
    trusted = trusted_shares(released.counts, released.n_users, released.rule, listed)
    reports, question = None, study.question(released) if released.items else None
    if local is not None and question is not None:
        reports = local if isinstance(local, LocalSummary) else question.summarize_local(local)  # type: ignore[arg-type]
    implausible = 0
    if question is not None and reports is not None and reports.count:
        implausible = Groups.of(question, None, reports, Options(), single_group=True).implausible
    if question is None or reports is None or not reports.count:
        _require_single(single_group or question is None, "local")
        statement = _statement(study, released, seeded=seeded)
        return HeavyHitters.of(study, released.items, blend(trusted, None), statement, "list")
    shares = question.oracle.group_shares(reports.array(), reports.count)
    statement = _statement(study, released, seeded=seeded or reports.seeded)
    blended = blend(trusted, shares)
    return HeavyHitters.of(
        study, released.items, blended, statement, "list", tied=reports.tied, implausible_reports=implausible
    )


def answer_discovery(
    study: "HeavyHitterStudy",
    trusted: ItemCounts | None,
    local: object,
    *,
    single_group: bool,
    ledger: Ledger | None,
    random_state: Seed,
) -> HeavyHitters:
    """The shares of strings that local users' reports led to, and of those that the trusted group's release shows."""
    require_ledger(ledger)
    if isinstance(local, LocalSummary):
        raise ProtocolError("Reports on a list need the list: give what release() returned as trusted.")
    reports = _discovery_counts(study, local)
    n_trusted, n_local = trusted.n_users if trusted else 0, reports.count if reports else 0
    if not n_trusted and not n_local:
        raise DataError(EMPTY)
    _require_single(single_group or bool(n_trusted), "trusted")
    _require_single(single_group or bool(n_local), "local")
    if not n_local:
        alone = study.release(trusted, ledger=ledger, random_state=random_state)
        return answer_list(study, alone, None, single_group=True, random_state=random_state)
    question, channel = study.discovery, study.discovery.channel
    if reports is None or n_local < study.min_group_size:
        raise DataError(f"The local group has {counted(n_local, 'user')}; the study asks for {study.min_group_size:,}.")
    tallies, implausible = reports.levels(channel), question.implausible(reports)
    found = search_prefixes(tallies, channel)
    texts = question.alphabet.decode(unscramble(found.codes))
    # Strings that no study shows are no items, whatever the reports say.
    scores = {t: s for t, s in zip(texts, found.scores.tolist(), strict=True) if t and is_shown(t)}
    released: PrivateItems | None = None
    items, counts = tuple(scores), np.zeros(len(scores))
    reached = np.zeros(len(scores), np.bool_)
    if trusted is not None and n_trusted:
        released = release_items(
            trusted.counts,
            n_trusted,
            study.rule,
            study.cost,
            candidates=items,
            ledger=ledger,
            random_state=random_state,
        )
        items, counts, reached = released.items, np.array(released.counts, np.float64), released.reached
    said = n_local * report_evidence(np.array([scores.get(item, 0.0) for item in items]), channel)
    likelihood = said + np.maximum(counts, 0.0) * float(study.privacy.epsilon) / 2
    shown = np.flatnonzero(reached | (likelihood > CODE_BITS * math.log(2)))
    items, counts = tuple(items[i] for i in shown.tolist()), counts[shown]
    has_code = question.alphabet.encode(items) != NO_STRING
    of_local = _with_others(local_shares(tallies, question.codes(list(items)), channel, has_code))
    of_trusted = None
    if released is not None:
        listed = np.array([item not in scores for item in items], np.bool_)
        of_trusted = trusted_shares(counts, n_trusted, released.rule, listed)
    statement = _statement(study, released, seeded=random_state is not None or reports.seeded)
    if released is None and not statement.seeded:
        statement = statement.charged(charge_reports(study.cost, ledger=ledger))
    return HeavyHitters.of(
        study,
        items,
        blend(of_trusted, of_local),
        statement,
        "discovery",
        tied=reports.tied,
        n_without_code=int(np.count_nonzero(~has_code)),
        implausible_reports=implausible,
    )


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
    """The local group's shares, and what they leave of 1."""
    noise = np.append(local.noise, max(float(np.sum(local.noise)), float(np.max(local.noise, initial=0.0))))
    return GroupShares(local.count, np.append(local.shares, 1 - local.shares.sum()), noise, local.slope)


def _discovery_counts(study: "HeavyHitterStudy", local: object) -> DiscoveryCounts | None:
    if local is None:
        return None
    if not isinstance(local, DiscoveryCounts):
        reports: Reports | ArrayLike = local  # type: ignore[assignment]
        return study.discovery.summarize(reports)
    if local.study != study.discovery.digest:
        mine = f"{study.discovery.digest[:12]}… ({study.name!r})"
        raise ProtocolError(f"The summary belongs to study {local.study[:12]}…, not to {mine}.")
    return local


def _require_single(fine: bool, empty: str) -> None:
    if not fine:
        raise DataError(
            f"The {empty} group is empty. Pass single_group=True if the answer of the other group alone will do."
        )


def _statement(study: "HeavyHitterStudy", released: PrivateItems | None, *, seeded: bool) -> Statement:
    promise = study.privacy
    return Statement(
        promise.epsilon,
        promise.delta,
        NEIGHBORS,
        released=released is not None,
        counted=released is not None and released.counted,
        seeded=seeded,
    )
