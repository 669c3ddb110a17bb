r"""From two summaries to shares: check, release, blend.

**The release.** The trusted group's counts leave through one release. If one user's item is replaced, one count goes
down by 1 and another one up by 1, so the counts change by at most 2 all together, however many there are: discrete
Laplace noise of scale $2/\epsilon$ on each is ε-private. Of two categories one count says it all, because the size of
the group is public: the first one changes by at most 1 and gets noise of scale $1/\epsilon$, and the second one is the
rest. The cost is written into the ledger before anything is drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.privacy import NEIGHBORS
from hybriddp.randomness import simulation_generator
from hybriddp.release.charging import charge_study
from hybriddp.release.event import Event, Part
from hybriddp.release.ledger.ledger import Ledger, require_ledger
from hybriddp.release.mechanisms import release_vector
from hybriddp.shares.blend import blend
from hybriddp.shares.check import CheckedCounts, check_counts
from hybriddp.shares.estimate import Frequencies
from hybriddp.shares.law import GroupShares
from hybriddp.shares.summary import LocalCounts, TrustedCounts
from hybriddp.study.reports import Reports
from hybriddp.study.result import Statement
from hybriddp.study.study import refused_parts

if TYPE_CHECKING:
    from hybriddp.shares.study import FrequencyStudy

CountsPair = tuple[TrustedCounts | None, LocalCounts | None]
"""The summaries of one part of the users."""


@dataclass(frozen=True, slots=True, eq=False)
class PrivateCounts:
    """The trusted group's counts with noise: safe to publish unless they are ``seeded``."""

    count: int  # of users, which is public
    values: FloatArray  # one per category, with noise; some may be negative
    variance: float  # of the noise on each
    counted: bool  # whether a ledger has it
    seeded: bool  # whether the noise can be repeated, and so hides nothing


def sensitivity(n_categories: int) -> int:
    """By how much one replaced item changes what is released, all changes added up: the first of two counts, or all."""
    return 1 if n_categories == 2 else 2


def release_counts(
    study: "FrequencyStudy",
    raw: TrustedCounts,
    *,
    ledger: Ledger | None = None,
    paid: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> PrivateCounts:
    """The counts of the trusted group with noise, paid for first.

    With ``paid`` the cost has been written down already, together with that of other parts. With a ``random_state`` it
    is a simulation, which is no release and costs nothing.
    """
    exact, n, bound = raw.array(), raw.count, sensitivity(len(raw.counts))
    seeded = random_state is not None
    if ledger is not None and not seeded and not paid:
        charge_study(ledger, [counts_event(study, study.users)], promised=study.privacy)
    released = exact[:1] if bound == 1 else exact
    private = release_vector(released, sensitivity=bound, privacy=study.privacy, random_state=random_state)
    noisy = private.values.astype(np.float64)
    values = np.array([noisy[0], n - noisy[0]]) if bound == 1 else noisy
    counted = (ledger is not None or paid) and not seeded
    return PrivateCounts(n, values, private.variance, counted=counted, seeded=seeded)


def counts_event(study: "FrequencyStudy", part: Part | None) -> Event:
    """Make the event that `release_counts` charges."""
    what, digest = "counts of the trusted group", study.whole_digest
    return Event.now(what, who="trusted", study=digest, privacy=study.privacy, part=part, name=study.name)


def answer_shares(
    study: "FrequencyStudy",
    trusted: object,
    local: LocalCounts | Reports | ArrayLike | None,
    *,
    single_group: bool,
    ledger: Ledger | None,
    random_state: int | np.random.Generator | None,
) -> Frequencies:
    """The shares of a study; see `FrequencyStudy.estimate`."""
    require_ledger(ledger)
    checked = check_counts(study, trusted, local, single_group=single_group)
    return _estimate(checked, ledger=ledger, paid=False, random_state=random_state)


def answer_share_parts(
    study: "FrequencyStudy",
    by: str,
    summaries: Mapping[Any, CountsPair],
    *,
    single_group: bool,
    ledger: Ledger | None,
    random_state: int | np.random.Generator | None,
) -> dict[str | int, Frequencies]:
    """The shares of the parts of a study, all checked and paid for together; see `FrequencyStudy.estimate_parts`."""
    require_ledger(ledger)
    if not summaries:
        raise ParameterError("summaries", "those of at least one part", summaries)
    parts: dict[Any, CheckedCounts] = {}
    problems = []
    for key, pair in summaries.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DataError(f"{key}: summaries must hold a pair of trusted and local counts, or None, for every key.")
        try:
            parts[key] = check_counts(study.part(by, key), *pair, single_group=single_group)
        except DataError as problem:
            problems.append(f"{key}: {problem}")
    if problems:
        raise refused_parts(problems, len(summaries))
    rng = None if random_state is None else simulation_generator(random_state, "parts")
    paid = ledger is not None and rng is None
    if ledger is not None and paid:
        releases = [counts_event(study, part.study.users) for part in parts.values() if part.n_trusted]
        reports = [part.study.reports_event() for part in parts.values() if _is_from_reports(part)]
        charge_study(ledger, releases, reports, promised=study.privacy)
    return {key: _estimate(part, ledger=None, paid=paid, random_state=rng) for key, part in parts.items()}


def _estimate(
    checked: CheckedCounts, *, ledger: Ledger | None, paid: bool, random_state: int | np.random.Generator | None
) -> Frequencies:
    study, raw, reports = checked.study, checked.trusted, checked.local
    local_shares = None
    if reports is not None and reports.count:
        local_shares = study.oracle.group_shares(reports.array(), reports.count)
    released = None
    if raw is not None and raw.count:  # last, so that nothing is paid for what fails
        released = release_counts(study, raw, ledger=ledger, paid=paid, random_state=random_state)
    trusted_shares = None
    if released is not None:
        trusted_shares = GroupShares.of_counts(released.values, released.count, released.variance)
    seeded = random_state is not None or (reports is not None and reports.seeded)
    statement = Statement(
        study.privacy.epsilon,
        study.privacy.delta,
        NEIGHBORS,
        released=released is not None,
        counted=released is not None and released.counted,
        seeded=seeded,
    )
    if ledger is not None and random_state is None and _is_from_reports(checked):
        statement = statement.charged(charge_study(ledger, [], [study.reports_event()], promised=study.privacy))
    tied = reports is None or not reports.count or reports.tied
    blended = blend(trusted_shares, local_shares)
    return Frequencies(study, blended, statement, tied=tied, implausible_reports=checked.implausible)


def _is_from_reports(checked: CheckedCounts) -> bool:
    """Whether there is no trusted group, and reports that are no simulation."""
    reports = checked.local
    return not checked.n_trusted and reports is not None and reports.count > 0 and not reports.seeded
