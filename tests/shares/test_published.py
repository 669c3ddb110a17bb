"""What is published of shares: multiples of a step that is small beside the noise, with intervals rounded outwards."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hybriddp import FrequencyStudy, HeavyHitterStudy
from hybriddp.items import HeavyHitters
from hybriddp.shares import Frequencies

STUDY = FrequencyStudy("fruit", categories=["apple", "pear", "plum"], epsilon=1, other=True)
ITEMS = ["apple"] * 600 + ["pear"] * 300 + ["kiwi"] * 100
FOUND = STUDY.estimate(trusted=ITEMS[::10], local=STUDY.randomize(ITEMS * 5, random_state=1), random_state=2)
WORDS = HeavyHitterStudy("word", epsilon=2, delta=1e-6)
LIST = WORDS.release(ITEMS, random_state=1)
REPORTS = WORDS.question(LIST).randomize(ITEMS * 5, random_state=2)
ITEMS_FOUND = WORDS.estimate(trusted=LIST, local=REPORTS)


@pytest.mark.parametrize("found", [FOUND, ITEMS_FOUND], ids=["categories", "items"])
def test_the_step_is_a_tenth_of_the_noise_and_texts_are_short(found: Frequencies | HeavyHitters) -> None:
    (step,) = {row.step for row in found.published().rows}
    groups = [group for group in (found.blend.trusted, found.blend.local) if group is not None]
    sd = math.sqrt(1 / sum(1 / float(np.min(group.noise)) for group in groups))
    assert sd / 30 < step <= sd / 10
    told = found.to_dict(full=True)
    for name in ("value", "standard_error", "lower", "upper"):
        assert all(len(repr(row[name])) <= 8 for row in told["rows"]), name
    assert all(len(repr(row["standard_error"])) > 10 for row in told["curator"]["rows"])


def test_the_level_and_one_group_alone() -> None:
    wide, narrow = FOUND.published(level=0.99).rows, FOUND.published(level=0.5).rows
    assert {(row.level, other.level) for row, other in zip(wide, narrow, strict=True)} == {(0.99, 0.5)}
    assert all(row.interval.half_width > other.interval.half_width for row, other in zip(wide, narrow, strict=True))
    alone = STUDY.estimate(trusted=ITEMS, local=None, single_group=True, random_state=1).published()
    assert {row.step for row in alone.rows} == {Fraction("0.0002")}
    assert repr(alone).startswith("PublishedShares(apple 0.")


def test_a_list_with_nothing_on_it() -> None:
    empty = WORDS.estimate(trusted=WORDS.release(["a", "b", "c"], random_state=1), local=None, single_group=True)
    told = empty.to_dict()
    assert (told["rows"], told["other_share"]) == ([], 1.0)
