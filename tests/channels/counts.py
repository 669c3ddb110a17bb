"""Tallies of reports whose public part, a function or a pattern, was drawn first."""

import numpy as np
from numpy.typing import ArrayLike

from hybriddp._check import IntArray
from hybriddp.channels import LocalHashing, MaskedResponse


def tally_of(channel: LocalHashing | MaskedResponse, reports: ArrayLike) -> IntArray:
    """Count reports by function and value, or by pattern and code."""
    counts = np.bincount(np.asarray(reports, np.int64), minlength=channel.n_codes).astype(np.int64)
    return counts.reshape(channel.n_functions if isinstance(channel, LocalHashing) else channel.n_patterns, -1)
