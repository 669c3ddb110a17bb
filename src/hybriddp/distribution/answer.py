"""From two summaries to an estimate, in three steps: check (`hybriddp.distribution.check`), pay, fit.

`check_groups` looks at everything before anything is spent. `pay` writes the cost into the ledger and draws the
curator's noise: the only release about the trusted group. The fits are post-processing of private numbers.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hybriddp.distribution.check import CheckedGroups, check_groups
from hybriddp.distribution.estimate import DistributionEstimate
from hybriddp.distribution.fit import fit_groups
from hybriddp.distribution.least_squares import MaskedEvidence
from hybriddp.distribution.release import PrivateHistogram, histogram_event, release_histogram
from hybriddp.distribution.summary import BinCounts, PatternCounts
from hybriddp.errors import DataError, ParameterError
from hybriddp.privacy import NEIGHBORS
from hybriddp.randomness import simulation_generator
from hybriddp.release.charging import Charged, charge_study
from hybriddp.release.ledger.ledger import Ledger, require_ledger
from hybriddp.study.reports import Reports
from hybriddp.study.result import Statement
from hybriddp.study.study import refused_parts

if TYPE_CHECKING:
    from hybriddp.distribution.study import DistributionStudy

CountPair = tuple[BinCounts | None, PatternCounts | None]
"""The summaries of one part of the users."""


def answer_distribution(
    study: "DistributionStudy",
    trusted: BinCounts | ArrayLike | None,
    local: PatternCounts | Reports | ArrayLike | None,
    *,
    groups_may_differ: bool,
    single_group: bool,
    ledger: Ledger | None,
    random_state: int | np.random.Generator | None,
) -> DistributionEstimate:
    """The estimate of a study; see `DistributionStudy.estimate`."""
    require_ledger(ledger)
    checked = check_groups(study, trusted, local, single_group=single_group)
    released = pay(checked, ledger=ledger, random_state=random_state)
    charged = Charged.NOT
    if ledger is not None and random_state is None and _is_from_reports(checked):
        charged = charge_study(ledger, [], [study.reports_event()], promised=study.privacy)
    estimate = estimate_from(checked, released, groups_may_differ, seeded=random_state is not None)
    return replace(estimate, privacy=estimate.privacy.charged(charged))


def _is_from_reports(checked: CheckedGroups) -> bool:
    """Whether there is no trusted group, and reports that are no simulation."""
    reports = checked.local
    return not checked.n_trusted and reports is not None and reports.count > 0 and not reports.seeded


def answer_distribution_parts(
    study: "DistributionStudy",
    by: str,
    summaries: Mapping[Any, CountPair],
    *,
    groups_may_differ: bool,
    single_group: bool,
    ledger: Ledger | None,
    random_state: int | np.random.Generator | None,
) -> dict[str | int, DistributionEstimate]:
    """The estimates of the parts of a study; see `DistributionStudy.estimate_parts`. All are paid for together."""
    require_ledger(ledger)
    if not summaries:
        raise ParameterError("summaries", "those of at least one part", summaries)
    parts: dict[Any, CheckedGroups] = {}
    problems = []
    for key, pair in summaries.items():
        trusted, local = _pair(key, pair)
        try:
            parts[key] = check_groups(study.part(by, key), trusted, local, single_group=single_group)
        except DataError as problem:
            problems.append(f"{key}: {problem}")
    if problems:
        raise refused_parts(problems, len(summaries))
    rng = None if random_state is None else simulation_generator(random_state, "parts")
    paid = ledger is not None and rng is None
    if ledger is not None and paid:
        asked = [part.study for part in parts.values() if part.n_trusted]
        releases = [histogram_event(one.whole_digest, one.privacy, one.users, one.name) for one in asked]
        reports = [part.study.reports_event() for part in parts.values() if _is_from_reports(part)]
        charge_study(ledger, releases, reports, promised=study.privacy)
    return {
        key: estimate_from(part, pay(part, paid=paid, random_state=rng), groups_may_differ, seeded=rng is not None)
        for key, part in parts.items()
    }


def _pair(key: object, pair: Any) -> CountPair:  # noqa: ANN401
    kinds = (BinCounts, PatternCounts)
    right = isinstance(pair, tuple) and len(pair) == 2
    if not right or not all(item is None or isinstance(item, kind) for item, kind in zip(pair, kinds, strict=True)):
        raise DataError(f"{key}: summaries must hold a pair of a trusted and a local summary, or None, for every key.")
    return pair[0], pair[1]


def pay(
    checked: CheckedGroups,
    *,
    ledger: Ledger | None = None,
    paid: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> PrivateHistogram | None:
    """The trusted group's histograms with noise, paid for first; None if there is nobody in it.

    With ``paid`` the cost has been written down already, together with that of other parts. With a ``random_state`` it
    is a simulation, which is no release and costs nothing.
    """
    raw, study = checked.trusted, checked.study
    if raw is None or not raw.count:
        return None
    return release_histogram(
        np.array(raw.counts, np.int64),
        study=study.whole_digest,
        privacy=study.privacy,
        part=study.users,
        name=study.name,
        ledger=ledger,
        paid=paid,
        random_state=random_state,
    )


def evidence_of(study: "DistributionStudy", reports: PatternCounts | None) -> MaskedEvidence | None:
    """What the reports say, read with the study's channel; None if there are none."""
    if reports is None or not reports.count:
        return None
    channel = study.channel
    counts = np.array(reports.counts, np.int64).reshape(channel.n_patterns, channel.n_labels)
    return MaskedEvidence(counts, channel)


def estimate_from(
    checked: CheckedGroups, released: PrivateHistogram | None, groups_may_differ: bool, *, seeded: bool
) -> DistributionEstimate:
    """The estimate from what was released."""
    study, reports = checked.study, checked.local
    promise = study.privacy
    return DistributionEstimate(
        study=study,
        fits=fit_groups(released, evidence_of(study, reports)),
        n_trusted=checked.n_trusted,
        n_local=checked.n_local,
        privacy=Statement(
            promise.epsilon,
            promise.delta,
            NEIGHBORS,
            released=released is not None,
            counted=released is not None and released.counted,
            seeded=seeded or (reports is not None and reports.seeded),
        ),
        tied=reports is None or not reports.count or reports.tied,
        groups_may_differ=groups_may_differ,
        implausible_reports=checked.implausible,
    )
