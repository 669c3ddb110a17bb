r"""From two summaries to shares: check, release, blend.

**The release.** The trusted group's counts leave through one release. If one user's item is replaced, one count goes
down by 1 and another one up by 1, so the counts change by at most 2 all together, however many there are: discrete
Laplace noise of scale $2/\epsilon$ on each is ε-private. Of two categories one count says it all, because the size of
the group is public: the first one changes by at most 1 and gets noise of scale $1/\epsilon$, and the second one is the
rest. The cost is written into the ledger before anything is drawn.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hybriddp.errors import DataError, ParameterError
from hybriddp.randomness import simulation_generator
from hybriddp.release.charging import Charged
from hybriddp.release.ledger.ledger import Ledger, require_ledger
from hybriddp.release.release import ReleasedNumbers, release_all
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


def sensitivity(n_categories: int) -> int:
    """By how much one replaced item changes what is released, all changes added up: the first of two counts, or all."""
    return 1 if n_categories == 2 else 2


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
    return _released_answers({None: checked}, ledger=ledger, random_state=random_state)[None]


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
    return _released_answers(parts, ledger=ledger, random_state=rng)


def _released_answers(
    parts: Mapping[Any, CheckedCounts], *, ledger: Ledger | None, random_state: int | np.random.Generator | None
) -> dict[Any, Frequencies]:
    """Release the counts of all parts together, and blend the shares of each; reports are decoded before."""
    local = {
        key: part.study.oracle.group_shares(part.local.array(), part.local.count)
        for key, part in parts.items()
        if part.local is not None and part.n_local
    }
    asked = {
        key: (part.study.statistic(part.trusted), part.study.cost)
        for key, part in parts.items()
        if part.trusted is not None and part.n_trusted
    }
    reports = [part.study.cost for part in parts.values() if part.is_from_reports]
    batch = release_all(list(asked.values()), reports, ledger=ledger, random_state=random_state)
    released = dict(zip(asked, batch.released, strict=True))
    seeded = random_state is not None
    return {
        key: _estimate(part, released.get(key), local.get(key), batch.charged, seeded=seeded)
        for key, part in parts.items()
    }


def _estimate(
    checked: CheckedCounts,
    released: ReleasedNumbers | None,
    local_shares: GroupShares | None,
    charged: Charged,
    *,
    seeded: bool,
) -> Frequencies:
    study, reports = checked.study, checked.local
    trusted_shares = None if released is None else GroupShares.of_release(released, len(study.names))
    statement = Statement.of(
        study,
        released=released is not None,
        counted=released is not None and released.counted,
        seeded=seeded or (reports is not None and reports.seeded),
    ).charged(charged if checked.is_from_reports else Charged.NOT)
    tied = reports is None or not reports.count or reports.tied
    blended = blend(trusted_shares, local_shares)
    return Frequencies(study, blended, privacy=statement, tied=tied, implausible_reports=checked.implausible)
