import numpy as np
import pytest

from hybriddp.channels import MaskedResponse
from hybriddp.distribution import DistributionStudy, PatternCounts
from hybriddp.distribution.check import check_groups
from hybriddp.errors import DataError, ProtocolError
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger

STUDY = DistributionStudy("x", bounds=(0, 1), epsilon=1, min_group_size=10)
VALUES = np.random.default_rng(0).random(3000)


def test_groups_that_are_too_small_or_empty_spend_nothing() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    reports = STUDY.randomize(VALUES, random_state=1)
    cases = [
        ({"trusted": [], "local": []}, "Both groups are empty"),
        ({"trusted": None, "local": None}, "Both groups are empty"),
        ({"trusted": None, "local": reports}, "The trusted group is empty. Pass single_group=True"),
        ({"trusted": VALUES, "local": None}, "The local group is empty. Pass single_group=True"),
        ({"trusted": VALUES[:9], "local": reports}, "The trusted group has 9 users; the study asks for 10"),
        ({"trusted": VALUES, "local": reports[:1]}, "The local group has 1 user; the study asks for 10"),
    ]
    for groups, message in cases:
        with pytest.raises(DataError, match=message):
            STUDY.estimate(**groups, ledger=ledger)
    assert ledger.events == ()


def test_labels_that_were_not_randomized_are_refused() -> None:
    channel = STUDY.channel
    assert isinstance(channel, MaskedResponse)
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
        checked = check_groups(STUDY, None, reports, single_group=True, groups_may_differ=False)
        assert checked.n_local == 20_000


def test_summaries_of_another_kind_are_refused() -> None:
    with pytest.raises(ProtocolError, match="has 2 codes, the study 1996"):
        STUDY.estimate(trusted=VALUES, local=PatternCounts(STUDY.digest, (50, 50)))
    with pytest.raises(DataError, match="^reports must be"):
        STUDY.estimate(trusted=VALUES, local=STUDY.summarize_trusted(VALUES))
    with pytest.raises(DataError, match="^values must be"):
        STUDY.estimate(trusted=STUDY.summarize_local([1, 2]), local=[1] * 20)
