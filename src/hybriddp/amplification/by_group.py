"""ε′ of each group: numbers or arrays."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from hybriddp._check import FloatArray

Numbers = TypeVar("Numbers", float, FloatArray)


@dataclass(frozen=True, slots=True)
class GroupEpsilon(Generic[Numbers]):
    """ε′ of one group."""

    epsilon: Numbers


@dataclass(frozen=True, slots=True)
class Amplification(Generic[Numbers]):
    """ε′ of each group, and of everyone: the larger one."""

    trusted: GroupEpsilon[Numbers]
    local: GroupEpsilon[Numbers]

    @property
    def everyone(self) -> GroupEpsilon[Numbers]:
        """What holds for every user."""
        return GroupEpsilon(np.maximum(self.trusted.epsilon, self.local.epsilon)[()])
