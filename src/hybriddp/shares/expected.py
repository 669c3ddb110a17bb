"""Shares that both groups are expected to reveal, and their errors, before anything is collected."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.privacy import Privacy
from hybriddp.release.mechanisms import laplace_scale, laplace_variance
from hybriddp.shares.blend import Blend
from hybriddp.shares.law import GroupShares


@dataclass(frozen=True, eq=False)
class ExpectedShares:
    """What either group would know about shares, and both together."""

    shares: FloatArray
    trusted: GroupShares
    local: GroupShares

    @classmethod
    def of(
        cls,
        shares: FloatArray,
        *,
        n_trusted: int,
        n_local: int,
        epsilon: str,
        sensitivity: int,
        hit: float,
        miss: float,
    ) -> "ExpectedShares":
        """Return what both groups would know, for reports that support a category with these probabilities."""
        noise = laplace_variance(laplace_scale(sensitivity, Privacy(epsilon=epsilon)))
        trusted = GroupShares.of_counts(shares * n_trusted, n_trusted, noise)
        return cls(shares, trusted, GroupShares.of_reports(shares, n_local, hit=hit, miss=miss))

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of the trusted group in each share."""
        v_t, v_l = self.trusted.variance(self.shares), self.local.variance(self.shares)
        return np.asarray(v_l / (v_t + v_l))

    def standard_errors(self, weights: FloatArray) -> FloatArray:
        """Return the typical errors with these weights, against the shares of all users."""
        n_users = self.trusted.count + self.local.count
        return Blend(self.trusted, self.local, weights, None, n_users).law().standard_errors
