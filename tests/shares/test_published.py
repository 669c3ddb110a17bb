"""What is published of shares: multiples of a step that is small beside the noise, with intervals rounded outwards."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from hybriddp import FrequencyStudy, HeavyHitterStudy
from hybriddp.errors import ParameterError
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
@pytest.mark.parametrize("step", [None, "0.01", Fraction(1, 3), 0.05])
def test_every_number_is_a_multiple_and_nearly_what_it_was(
    found: Frequencies | HeavyHitters, step: Fraction | str | float | None
) -> None:
    p = found.published(step=step)
    s, ends = float(p.step), found.stated_intervals()
    for numbers in (p.shares, p.standard_errors, p.lower, p.upper):
        inside = numbers[(numbers > 0) & (numbers < 1)]
        np.testing.assert_allclose(inside / s, np.round(inside / s), atol=1e-9)
    assert np.all(np.abs(p.shares - found.shares) <= s / 2 + 1e-9)
    assert np.all((p.lower <= ends.lower + 1e-9) & (p.lower > ends.lower - s - 1e-9))
    assert np.all((p.upper >= ends.upper - 1e-9) & (p.upper < ends.upper + s + 1e-9))
    assert np.all((p.standard_errors >= found.standard_errors - 1e-9) & (p.lower <= p.shares) & (p.shares <= p.upper))
    assert json.loads(p.to_json()) == p.to_dict()
    assert p.items == found.items


@pytest.mark.parametrize("found", [FOUND, ITEMS_FOUND], ids=["categories", "items"])
def test_the_step_is_a_tenth_of_the_noise_and_texts_are_short(found: Frequencies | HeavyHitters) -> None:
    step = found.published().step
    groups = [group for group in (found.blend.trusted, found.blend.local) if group is not None]
    sd = math.sqrt(1 / sum(1 / float(np.min(group.noise)) for group in groups))
    assert sd / 30 < step <= sd / 10
    told = found.to_dict()
    for name in ("shares", "standard_errors", "lower", "upper"):
        assert all(len(repr(x)) <= 8 for x in told[name]), name
    assert all(len(repr(x)) > 10 for x in found.to_dict(full=True)["curator"]["standard_errors"])


def test_the_level_and_one_group_alone() -> None:
    wide, narrow = FOUND.published(level=0.99), FOUND.published(level=0.5)
    assert (wide.level, narrow.level) == (0.99, 0.5)
    assert np.all(wide.upper - wide.lower > narrow.upper - narrow.lower)
    alone = STUDY.estimate(trusted=ITEMS, local=None, single_group=True, random_state=1)
    assert float(alone.published().step) == 0.0002
    assert repr(alone.published()) == "PublishedShares(4 items, step 0.0002)"


@pytest.mark.parametrize("step", [0, -0.1, 0.6, "x", True, None.__class__])
def test_what_is_no_step(step: float | str) -> None:
    with pytest.raises(ParameterError, match="step"):
        FOUND.published(step=step)


def test_a_list_with_nothing_on_it() -> None:
    empty = WORDS.estimate(trusted=WORDS.release(["a", "b", "c"], random_state=1), local=None, single_group=True)
    told = empty.to_dict()
    assert (told["items"], told["shares"], told["other_share"]) == ([], [], 1.0)
