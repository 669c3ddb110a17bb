import numpy as np
import pytest

from hybriddp.channels import MaskedResponse
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


def test_reports_of_a_larger_epsilon_about_a_constant_are_refused() -> None:
    larger = MaskedResponse(epsilon=6, label_bits=2)
    reports = larger.sample(np.full(60_000, 77), random_state=1)
    with pytest.raises(DataError, match="cannot come from this study's channel"):
        STUDY.estimate(trusted=VALUES, local=reports)


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_real_reports_about_a_constant_are_not(value: float) -> None:
    for seed in range(20):
        reports = STUDY.randomize(np.full(20_000, value), random_state=seed)
        assert STUDY.implausible(STUDY.summarize_local(reports.codes)) == 0


# Reports that are tied to their study are not refused, but told


@pytest.mark.parametrize("n", [200, 5000])
@pytest.mark.parametrize("epsilon", [0.4, 1, 4])
def test_colluders_are_counted_from_below(epsilon: float, n: int) -> None:
    """Exactly: unless the real reports raise an alarm, which they do with a probability below 1e-6 each time."""
    study, rng = DistributionStudy("x", bounds=(0, 1), epsilon=epsilon), np.random.default_rng(2)
    channel, told = study.channel, 0
    for seed in range(3):
        real = study.randomize(rng.random(n), random_state=seed)
        assert study.implausible(study.summarize_local(real)) == 0
        for planted in (1, n // 40, n // 5, n):
            patterns = rng.integers(0, channel.n_patterns, planted)  # the same label under all of them
            for codes in (np.full(planted, channel.n_codes - 3), patterns * channel.n_labels):
                sent = Reports(np.concatenate([real.codes[planted:], codes]), study.digest)
                found = study.implausible(study.summarize_local(sent))
                assert found <= planted
                told = max(told, found)
    assert told > n / 2


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
