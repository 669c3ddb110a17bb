"""From values and reports to the summaries of a study: how many are in each bin, and how many are each report."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hybriddp.channels.channel import CHUNK
from hybriddp.channels.masked import N_BINS
from hybriddp.distribution.summary import BinCounts, PatternCounts
from hybriddp.errors import DataError
from hybriddp.grid import as_array, as_floats, type_words
from hybriddp.mean.summary import Reports

if TYPE_CHECKING:
    from hybriddp.distribution.study import DistributionStudy


def count_values(study: "DistributionStudy", values: ArrayLike) -> BinCounts:
    """How many values are in each bin; see `DistributionStudy.summarize_trusted`."""
    array = np.atleast_1d(as_array(values))
    if array.ndim != 1:
        raise DataError(f"values must be a scalar or one-dimensional, got shape {array.shape}.")
    (lower, upper), counts, clamped = study.bounds, np.zeros(N_BINS, np.int64), 0
    for start in range(0, len(array), CHUNK):
        x = as_floats(array[start : start + CHUNK])
        finite = np.isfinite(x)
        if not finite.all():
            x = x[finite]
        clamped += int(np.count_nonzero(x < lower)) + int(np.count_nonzero(x > upper))
        counts += np.bincount(study.bins.of_units(study.grid.units(x)), minlength=N_BINS)
    return BinCounts(study.digest, tuple(counts.tolist()), len(array) - int(counts.sum()), clamped)


def count_reports(study: "DistributionStudy", reports: Reports | ArrayLike) -> PatternCounts:
    """How many reports are 0, 1, …; see `DistributionStudy.summarize_local`."""
    tied = seeded = False
    if isinstance(reports, Reports):
        study.check_digest(reports.study, "reports")
        tied, seeded = True, reports.seeded
    if np.ma.is_masked(reports):
        raise DataError("reports must all be there, but some are masked. Leave them out first.")
    array = np.atleast_1d(np.asarray(as_array(reports, "reports")))
    if array.shape == (0,):
        array = np.empty(0, np.int64)  # an empty list has no integers to tell by
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(f"reports must be a one-dimensional array of integers, got {type_words(array)}.")
    n_codes = study.channel.n_codes
    good = (array >= 0) & (array < n_codes)
    rejected = len(array) - int(np.count_nonzero(good))
    study.refuse_bad_reports(rejected, len(array))
    counts = np.bincount(array[good].astype(np.intp), minlength=n_codes)
    return PatternCounts(study.digest, tuple(counts.tolist()), rejected, tied, seeded)
