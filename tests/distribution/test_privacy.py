"""The privacy of both groups, by enumeration: all neighbors of a trusted group, all patterns and bins of a report."""

from fractions import Fraction

import numpy as np
import pytest

from hybriddp.channels import MaskedResponse
from hybriddp.channels.masked import N_BINS
from hybriddp.distribution import DistributionStudy
from hybriddp.distribution.release import SENSITIVITY
from hybriddp.privacy import SHIFT, odds

OTHERS = [-1.0, 0.2, 0.2, 0.7, 5.0]  # two of them outside of the bounds
EDGES = np.concatenate([np.linspace(0, 0.1, 200), np.linspace(0.11, 1, 55)])
STUDIES = [
    DistributionStudy("x", bounds=(0, 1), epsilon=1),
    DistributionStudy("x", bounds=(0, 1), epsilon=1, scale="log"),
    DistributionStudy("x", bounds=(0, 1), epsilon=1, scale=EDGES.tolist()),
]
ONE_OF_EACH_SIZE = ("0.5", "1", "2", "4", "5", "5.5", "6", "8")  # label bits 1 to 8


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.bins.scale)
def test_no_neighbor_changes_what_is_released_by_more_than_the_noise_is_for(study: DistributionStudy) -> None:
    """A user's value in every bin, from the values to the vector that gets the noise, against every other bin."""
    handed: list[np.ndarray] = []

    for value in [*study.bins.middles.tolist(), -1e9, 1e9]:
        statistic = study.statistic(study.summarize_trusted([*OTHERS, value]))
        assert statistic.sensitivity == SENSITIVITY
        handed.append(statistic.values)
    vectors = np.array(handed)
    assert len(np.unique(vectors, axis=0)) == N_BINS  # so that every bin is among them
    distances = {int(d) for vector in vectors for d in np.abs(vectors - vector).sum(axis=1)}
    assert distances == {0, 2, SENSITIVITY}


@pytest.mark.parametrize("epsilon", ONE_OF_EACH_SIZE)
def test_what_a_device_does_has_exact_odds_under_every_pattern(epsilon: str) -> None:
    """Labels as the device computes them, of all bins under all patterns; rows in whole numbers."""
    channel = DistributionStudy("x", bounds=(0, 1), epsilon=epsilon).channel
    every = np.repeat(np.arange(channel.n_patterns), N_BINS)
    bins = np.tile(np.arange(N_BINS, dtype=np.uint8), channel.n_patterns)
    labels = channel.labels(bins, every).reshape(channel.n_patterns, N_BINS)
    for i in range(channel.label_bits):
        masks = np.array([pattern.masks[i] for pattern in channel.patterns])[:, None]
        parity = np.array([[bin(n).count("1") % 2 for n in range(N_BINS)]])[0][masks & np.arange(N_BINS)]
        assert np.array_equal(labels >> i & 1, parity)
    used = np.array([np.bincount(row, minlength=channel.n_labels) for row in labels])
    assert np.all(used == N_BINS // channel.n_labels)  # every pattern can give every label, and no other
    rows = [channel.response.weights(label) for label in range(channel.n_labels)]
    assert {sum(row) for row in rows} == {1 << channel.response.bits}
    limit = Fraction(odds(epsilon), 1 << SHIFT)
    worst = max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))
    assert limit * (1 - Fraction(1, 10**6)) < worst <= limit


def test_the_label_bits_of_these_are_all_there_are() -> None:
    assert [MaskedResponse(epsilon=one).label_bits for one in ONE_OF_EACH_SIZE] == [1, 2, 3, 4, 5, 6, 7, 8]
