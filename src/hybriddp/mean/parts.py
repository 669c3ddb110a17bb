"""A mean for each part of the users, by country for example: all is checked before the first part is paid for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp.errors import DataError, ParameterError
from hybriddp.mean.answer import answer, check_reports, check_sizes, local_summary, trusted_summary
from hybriddp.mean.estimate import Estimate
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, TrustedSummary
from hybriddp.randomness import simulation_generator
from hybriddp.release.ledger import Ledger
from hybriddp.release.mechanisms import total_event

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
    checked: dict[Any, Pair] = {}
    problems = []
    for key, pair in summaries.items():
        trusted, local = _pair(key, pair)
        checked[key] = (
            None if trusted is None else trusted_summary(studies[key], trusted),
            None if local is None else local_summary(studies[key], local),
        )
        try:
            check_sizes(studies[key], *checked[key], single_group=single_group)
            check_reports(studies[key], checked[key][1])
        except DataError as problem:
            problems.append(f"{key}: {problem}")
    if problems:
        raise DataError(f"{len(problems)} of {len(summaries)} parts cannot be estimated. {' '.join(problems[:5])}")
    rng = None if random_state is None else simulation_generator(random_state, "parts")
    paid = ledger is not None and rng is None
    if ledger is not None and paid:
        asked = [studies[key].users for key, (trusted, _) in checked.items() if trusted is not None and trusted.count]
        ledger.spend_all([total_event(study.digest, study.privacy, part) for part in asked], promised=study.privacy)
    return {
        key: answer(
            studies[key],
            trusted,
            local,
            "adaptive",
            None,
            single_group=single_group,
            ledger=None,
            random_state=rng,
            paid=paid,
        )
        for key, (trusted, local) in checked.items()
    }


def _pair(key: object, pair: Any) -> Pair:  # noqa: ANN401
    kinds = (TrustedSummary, LocalSummary | LaplaceSummary)
    right = isinstance(pair, tuple) and len(pair) == 2
    if not right or not all(item is None or isinstance(item, kind) for item, kind in zip(pair, kinds, strict=True)):
        raise DataError(f"{key}: summaries must hold a pair of a trusted and a local summary, or None, for every key.")
    return pair[0], pair[1]
