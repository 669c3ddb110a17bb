"""Page loads of two groups that are alike, and of two that differ, estimated once for all tests."""

import numpy as np
import pytest

from hybriddp.distribution import DistributionEstimate, DistributionStudy

STUDY = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1.0, scale="log")
LOAD = np.random.default_rng(0).lognormal(6.0, 0.8, 62_000)


def estimated(factor: float) -> DistributionEstimate:
    """Estimate page loads that are longer by a factor for those who trust."""
    reports = STUDY.randomize(LOAD[2000:], random_state=1)
    return STUDY.estimate(trusted=factor * LOAD[:2000], local=reports, random_state=2)


@pytest.fixture(scope="session")
def estimate() -> DistributionEstimate:
    return estimated(1)


@pytest.fixture(scope="session")
def different() -> DistributionEstimate:
    return estimated(3)
