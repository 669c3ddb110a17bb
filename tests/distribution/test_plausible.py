import numpy as np
import pytest

from hybriddp.distribution import DistributionStudy
from hybriddp.errors import DataError
from hybriddp.study.reports import Reports

STUDY = DistributionStudy("x", bounds=(0, 1), epsilon=1, min_group_size=10)
VALUES = np.random.default_rng(0).random(3000)


def test_labels_that_were_not_randomized_are_refused() -> None:
    channel = STUDY.channel
    pattern = np.random.default_rng(1).integers(0, channel.n_patterns, 60_000)
    labels = channel.labels(np.full(60_000, 77, np.uint8), pattern)
    with pytest.raises(DataError, match="labels that were not randomized, or like reports of a larger ε"):
        STUDY.estimate(trusted=VALUES, local=pattern * channel.n_labels + labels)


# Reports that are tied to their study are not refused, but told


def test_patterns_have_the_probabilities_with_which_they_are_drawn() -> None:
    channel = STUDY.channel
    words = np.linspace(0, 2**32 - 1, 400_003).astype(np.uint32)
    drawn = np.bincount(channel.draw_patterns(words), minlength=channel.n_patterns) / len(words)
    assert np.abs(drawn - channel.pattern_probabilities).max() < 2 / len(words)
    assert channel.pattern_probabilities.sum() == pytest.approx(1)


def test_both_answers_tell() -> None:
    real = STUDY.randomize(VALUES, random_state=1)
    sent = Reports(np.concatenate([real.codes, np.full(400, 900)]), STUDY.digest)
    found = STUDY.estimate(trusted=VALUES[:500], local=sent, random_state=2)
    assert 200 < found.implausible_reports <= 400
    assert found.allowing_groups_to_differ().implausible_reports == found.implausible_reports
