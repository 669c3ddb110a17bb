import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from hybriddp.channels import LocalHashing
from hybriddp.errors import DataError, ProtocolError
from hybriddp.items import DiscoveryQuestion, DiscoveryRule, ThresholdRule
from hybriddp.items.coding import scramble
from hybriddp.items.discovery import LEVELS
from hybriddp.privacy import Privacy
from tests.levels import LEVEL

SMALL = LocalHashing(epsilon=2, n_functions=16)
QUESTION = DiscoveryQuestion("words", epsilon=2, channel=SMALL)


# The rule


def _rule(epsilon: float, delta: float = 1e-6) -> ThresholdRule:
    return ThresholdRule.of(Privacy(epsilon=epsilon, delta=delta))


@pytest.mark.parametrize(("epsilon", "factor"), [(1, 1.74), (2, 2.03), (4, 3.36)])
@pytest.mark.parametrize("n", [10**5, 10**6, 10**7])
def test_both_groups_see_the_same_at_the_documented_sizes(epsilon: float, factor: float, n: int) -> None:
    """A trusted group of so many times the root of n, to the digits of the table."""
    rule = DiscoveryRule.of(_rule(epsilon), n_trusted=round(factor * math.sqrt(n)), n_local=n)
    assert rule.local_share / rule.trusted_share == pytest.approx(1, abs=0.01)
    assert rule.pays
    more = DiscoveryRule.of(_rule(epsilon), n_trusted=round(1.25 * factor * math.sqrt(n)), n_local=n)
    assert not more.pays


def test_without_a_group_the_other_one_finds() -> None:
    assert DiscoveryRule.of(_rule(1), n_trusted=0, n_local=100).pays
    assert not DiscoveryRule.of(_rule(1), n_trusted=100, n_local=0).pays
    assert not DiscoveryRule.of(_rule(1), n_trusted=0, n_local=0).pays


# Devices


def test_a_report_is_of_the_prefix_of_its_group() -> None:
    """With almost no noise the code of a report is its group, its function and the value of the prefix."""
    channel = LocalHashing(epsilon=20, n_functions=16)
    question = DiscoveryQuestion("words", epsilon=20, channel=channel)
    words = ["sun", "moon", "stars", "ozean"] * 50
    codes = np.array([scramble(question.alphabet.encode([word]))[0] for word in words])
    reports = question.randomize(words, random_state=1)
    group, code = np.divmod(reports.codes.astype(np.int64), channel.n_codes)
    function, value = np.divmod(code, channel.n_values)
    assert set(group.tolist()) == set(range(5))
    for g, bits in enumerate(LEVELS):
        here = group == g
        prefixes = codes[here] >> np.uint64(48 - bits)
        np.testing.assert_array_equal(channel.family.values(prefixes, function[here]), value[here])


def test_words_without_a_code_report_the_same() -> None:
    codes = QUESTION.codes(["much longer", "also long", "word", "(other)"])
    assert codes[0] == codes[1] == codes[3] != codes[2]


@pytest.mark.statistical
def test_groups_are_of_equal_size() -> None:
    """Chi-square; one that is a fifth too small does not pass."""
    reports = QUESTION.randomize(["word"] * 30_000)
    counts = np.bincount(reports.codes // SMALL.n_codes, minlength=5)
    assert stats.chisquare(counts).pvalue > LEVEL
    wrong = np.array([0.8, 1, 1, 1, 1])
    assert stats.chisquare(counts, wrong / wrong.sum() * counts.sum()).pvalue < LEVEL


def test_a_seed_gives_the_same_reports_and_they_say_so() -> None:
    one, again = (QUESTION.randomize(["a"] * 100, random_state=5) for _ in range(2))
    assert one == again
    assert one.seeded
    assert not QUESTION.randomize(["a"]).seeded
    assert len(QUESTION.randomize([])) == 0


# Summaries


def test_parts_add_up_to_the_whole() -> None:
    reports = QUESTION.randomize(["a", "b"] * 500, random_state=1)
    whole = QUESTION.summarize_local(reports)
    parts = 0 + QUESTION.summarize_local(reports[:300]) + QUESTION.summarize_local(reports[300:])
    assert parts == whole
    assert (parts.count, parts.tied, parts.seeded) == (1000, True, True)
    levels = QUESTION.levels(whole)
    assert [level.shape for level in levels] == [(16, SMALL.n_values)] * 5
    assert sum(int(level.sum()) for level in levels) == 1000


def test_plain_integers_are_taken_but_not_tied_and_few_invalid_ones_left_out() -> None:
    assert not QUESTION.summarize_local([1, 2, 3]).tied
    assert QUESTION.summarize_local([]).count == 0
    summary = QUESTION.summarize_local([*range(200), -5])
    assert (summary.count, summary.rejected) == (200, 1)


def test_reports_of_something_else_are_refused() -> None:
    other = DiscoveryQuestion("other", epsilon=2, channel=SMALL)
    with pytest.raises(ProtocolError, match="^The reports belong to study"):
        QUESTION.summarize_local(other.randomize(["a"]))
    with pytest.raises(ProtocolError, match="different studies cannot be added"):
        QUESTION.summarize_local([1]) + other.summarize_local([1])
    with pytest.raises(DataError, match="3 of 3 reports are outside"):
        QUESTION.summarize_local([-1, QUESTION.n_codes, 10**9])
    with pytest.raises(DataError, match="^reports must be a one-dimensional array of integers from 0 to 639, got text"):
        QUESTION.summarize_local(["a"])
    with pytest.raises(DataError, match="^reports must all be there, but some are masked"):
        QUESTION.summarize_local(np.ma.array([1, 2, 3], mask=[False, False, True]))
    few = DiscoveryQuestion("words", epsilon=2, channel=LocalHashing(epsilon=2, n_functions=32)).summarize_local([1])
    with pytest.raises(ProtocolError, match="^The local summary has 1,280 counts, the study 640"):
        QUESTION.summary(replace(few, study=QUESTION.digest))
    with pytest.raises(ProtocolError, match="^The summary belongs to study"):
        QUESTION.summary(few)
