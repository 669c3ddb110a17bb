"""Releases whose numbers are the same whatever they are about."""

from typing import Any

import numpy as np
import pytest

from hybriddp._check import IntArray
from hybriddp.release import Statistic
from hybriddp.release import release as door
from hybriddp.release.statistic import OpenStatistic


def _fixed_numbers(statistic: Statistic, *_: object) -> IntArray:
    rng, size = np.random.default_rng(statistic.values.size), statistic.values.shape
    if statistic.label.startswith("total"):
        return np.array([77 << 24])
    return rng.integers(-3, 60, size) if size != (1,) else np.array([2800])  # a count of users


def _fixed_items(statistic: OpenStatistic, *_: object) -> Any:
    candidates = statistic.candidates
    return ("fig", "pear", *candidates), (90, 70, *range(len(candidates)))


def fix_releases(patched: pytest.MonkeyPatch) -> None:
    """Release numbers that do not depend on what was counted, at the only door."""
    patched.setattr(door, "_add_noise", _fixed_numbers)
    patched.setattr(door, "_shown_items", _fixed_items)
