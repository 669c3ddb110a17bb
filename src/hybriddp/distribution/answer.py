"""From two summaries to an estimate, in three steps: check (`hybriddp.distribution.check`), release, fit.

`check_groups` looks at everything before anything is spent. The door (`hybriddp.release.release`) releases the trusted
group's histograms: the only release about the group. The fits are post-processing of private numbers.
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
from hybriddp.distribution.release import PrivateHistogram
from hybriddp.distribution.summary import BinCounts, PatternCounts
from hybriddp.errors import DataError, ParameterError
from hybriddp.privacy import NEIGHBORS
from hybriddp.randomness import simulation_generator
from hybriddp.release.charging import Charged
from hybriddp.release.ledger.ledger import Ledger, require_ledger
from hybriddp.release.release import release_all
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
    return _released_answers({None: checked}, groups_may_differ, ledger=ledger, random_state=random_state)[None]


def _released_answers(
    parts: Mapping[Any, CheckedGroups],
    groups_may_differ: bool,
    *,
    ledger: Ledger | None,
    random_state: int | np.random.Generator | None,
) -> dict[Any, DistributionEstimate]:
    """Release the histograms of all parts together, and make an estimate of each; reports are decoded before."""
    evidence = {key: evidence_of(part.study, part.local) for key, part in parts.items()}
    asked = {
        key: (part.study.statistic(part.trusted), part.study.cost)
        for key, part in parts.items()
        if part.trusted is not None and part.n_trusted
    }
    reports = [part.study.cost for part in parts.values() if part.is_from_reports]
    batch = release_all(list(asked.values()), reports, ledger=ledger, random_state=random_state)
    released = {key: PrivateHistogram.of(one) for key, one in zip(asked, batch.released, strict=True)}
    seeded, found = random_state is not None, {}
    for key, part in parts.items():
        one = estimate_from(part, released.get(key), evidence[key], groups_may_differ, seeded=seeded)
        charged = batch.charged if part.is_from_reports else Charged.NOT
        found[key] = replace(one, privacy=one.privacy.charged(charged))
    return found


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
    return _released_answers(parts, groups_may_differ, ledger=ledger, random_state=rng)


def _pair(key: object, pair: Any) -> CountPair:  # noqa: ANN401
    kinds = (BinCounts, PatternCounts)
    right = isinstance(pair, tuple) and len(pair) == 2
    if not right or not all(item is None or isinstance(item, kind) for item, kind in zip(pair, kinds, strict=True)):
        raise DataError(f"{key}: summaries must hold a pair of a trusted and a local summary, or None, for every key.")
    return pair[0], pair[1]


def evidence_of(study: "DistributionStudy", reports: PatternCounts | None) -> MaskedEvidence | None:
    """What the reports say, read with the study's channel; None if there are none."""
    if reports is None or not reports.count:
        return None
    channel = study.channel
    counts = np.array(reports.counts, np.int64).reshape(channel.n_patterns, channel.n_labels)
    return MaskedEvidence(counts, channel)


def estimate_from(
    checked: CheckedGroups,
    released: PrivateHistogram | None,
    evidence: MaskedEvidence | None,
    groups_may_differ: bool,
    *,
    seeded: bool,
) -> DistributionEstimate:
    """The estimate from what was released."""
    study, reports = checked.study, checked.local
    promise = study.privacy
    return DistributionEstimate(
        study=study,
        fits=fit_groups(released, evidence),
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
