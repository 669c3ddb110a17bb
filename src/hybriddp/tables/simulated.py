"""Trying a study out on a raw table: the reports of those who do not trust are made here, not on their devices.

That is a simulation. It shows what the study would give; it protects nobody, since all raw values were in one place.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import ParameterError
from hybriddp.mean.study import MeanStudy
from hybriddp.mean.summary import LaplaceSummary, LocalSummary, Reports
from hybriddp.tables.batches import computed
from hybriddp.tables.frames import require_narwhals
from hybriddp.tables.query import Query, finite_value
from hybriddp.tables.summaries import Key

if TYPE_CHECKING:
    import pyarrow as pa


def simulated_reports(
    frames: Iterable[Any], query: Query, key: Key | None, study: MeanStudy, rng: np.random.Generator | None
) -> LocalSummary | LaplaceSummary:
    """The reports that the devices of those who do not trust would have sent, of all users or of a key's.

    In Spark the workers draw them, without a seed.
    """
    summary = study.summarize_local(Reports(np.empty(0, np.int64), study.digest))
    for frame in frames:
        values = _values(frame, query, key)
        generator = None if hasattr(values.to_native(), "mapInArrow") else rng
        for codes in computed(values, partial(_codes, text=study.to_json(), rng=generator), np.int64):
            summary = summary + study.summarize_local(Reports(codes, study.digest, seeded=True))
    return summary


def _values(frame: Any, query: Query, key: Key | None) -> Any:  # noqa: ANN401
    """The finite values of those who do not trust."""
    nw, schema = require_narwhals(), frame.collect_schema()
    if query.trust is None or query.value is None:
        raise ParameterError("trusted_if", "given with value, to say whose reports are simulated", None)
    trusts, _ = query.trust.expressions(nw, schema[query.trust.column])
    x, finite = finite_value(nw, schema[query.value], query.value)
    wanted = finite & ~trusts
    if query.group is not None:
        wanted = wanted & (nw.col(query.group).cast(nw.String) == str(key))
    return frame.filter(wanted).select(x=x)


def _codes(
    batches: Iterable["pa.RecordBatch"], text: str, rng: np.random.Generator | None
) -> Iterator[NDArray[np.int64]]:
    study = MeanStudy.from_json(text)
    for batch in batches:
        x = batch.column(0).to_numpy(zero_copy_only=False)
        yield study.randomize(x, random_state=rng).astype(np.int64)
