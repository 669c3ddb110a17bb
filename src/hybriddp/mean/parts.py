"""A mean for each part of the users, by country for example: all is checked before the first part is paid for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp.errors import DataError, ParameterError
from hybriddp.mean.answer import check_sizes
from hybriddp.mean.estimate import Estimate
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.release.ledger import Ledger
from hybriddp.release.total import total_event

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy

Pair = tuple[TrustedSummary | None, LocalSummary | LaplaceSummary | None]


def estimate_parts(
    study: "MeanStudy",
    by: str,
    summaries: Mapping[Any, Pair],
    *,
    single_group: bool,
    ledger: Ledger | None,
    random_state: int | np.random.Generator | None,
) -> dict[str | int, Estimate]:
    """The estimates; see `MeanStudy.estimate_parts`."""
    if not summaries:
        raise ParameterError("summaries", "those of at least one part", summaries)
    studies = {key: study.part(by, key) for key in summaries}
    problems = []
    for key, (trusted, local) in summaries.items():
        try:
            check_sizes(studies[key], trusted, local, single_group=single_group)
        except DataError as problem:
            problems.append(f"{key}: {problem}")
    if problems:
        raise DataError(f"{len(problems)} of {len(summaries)} parts cannot be estimated. {' '.join(problems[:5])}")
    if ledger is not None and random_state is None:
        for key, (trusted, _) in summaries.items():
            if trusted is not None and trusted.count:
                ledger.check(
                    total_event(studies[key].digest, study.privacy, studies[key].users), promised=study.privacy
                )
    rng = None if random_state is None else np.random.default_rng(random_state)
    return {
        key: studies[key].estimate(
            trusted=trusted, local=local, single_group=single_group, ledger=ledger, random_state=rng
        )
        for key, (trusted, local) in summaries.items()
    }
