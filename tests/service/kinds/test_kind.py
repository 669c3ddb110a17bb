"""What is gathered for a study of any kind, and whether that is enough."""

import re

import pytest

from hybriddp.errors import DataError
from hybriddp.service.kinds import Gathered, require_sizes, usable


def test_neither_sums_nor_their_total_are_shown() -> None:
    assert "987654" not in repr(Gathered(2, 987_654, {1: 2}))


@pytest.mark.parametrize(
    ("gathered", "single", "group"),
    [
        (Gathered(1, 0, {0: 5}), False, "trusted"),
        (Gathered(0, 0, {0: 5}), False, "trusted"),
        (Gathered(1, 0, {0: 2}), True, "trusted"),
        (Gathered(0, 0, {}), True, "trusted"),
        (Gathered(2, 0, {0: 2}), False, "local"),
        (Gathered(2, 0, {}), False, "local"),
        (Gathered(0, 0, {0: 1, 1: 1}), True, "trusted"),
    ],
)
def test_a_group_that_is_too_small(gathered: Gathered, single: bool, group: str) -> None:
    with pytest.raises(
        DataError, match=f"The {group} group has .* Nothing was released. A closed study .* withdraw it."
    ):
        require_sizes(gathered, min_trusted=2, min_local=3, single_group=single)


@pytest.mark.parametrize("gathered", [Gathered(2, 0, {0: 3}), Gathered(0, 0, {0: 3}), Gathered(2, 0, {})])
def test_an_empty_group_is_fine_if_one_is_enough(gathered: Gathered) -> None:
    require_sizes(gathered, min_trusted=2, min_local=3, single_group=True)
    assert gathered.n_trusted in (0, 2)


@pytest.mark.parametrize(
    ("gathered", "left", "words"),
    [
        (
            Gathered(1, 9, {0: 3}),
            Gathered(0, 0, {0: 3}),
            "The trusted group's 1 contribution was left out: .* for 2 at",
        ),
        (
            Gathered(2, 9, {0: 1, 1: 1}),
            Gathered(2, 9, {}),
            "The local group's 2 contributions were left out: .* for 3 at",
        ),
    ],
)
def test_a_few_who_choose_the_other_group_do_not_stop_a_study_that_one_answers(
    gathered: Gathered, left: Gathered, words: str
) -> None:
    require_sizes(gathered, min_trusted=2, min_local=3, single_group=True)
    used = usable(gathered, min_trusted=2, min_local=3, single_group=True)
    assert used.gathered == left
    assert re.match(words, used.warning)
    both = usable(gathered, min_trusted=2, min_local=3, single_group=False)
    assert (both.gathered, both.warning) == (gathered, "")


@pytest.mark.parametrize("gathered", [Gathered(2, 9, {0: 3}), Gathered(0, 0, {0: 3}), Gathered(2, 9, {})])
def test_nobody_is_left_out_of_groups_that_are_empty_or_large_enough(gathered: Gathered) -> None:
    used = usable(gathered, min_trusted=2, min_local=3, single_group=True)
    assert (used.gathered, used.warning) == (gathered, "")


def test_only_entries_that_are_not_negative_count_reports() -> None:
    assert Gathered(0, 0, {0: 5, -1: 4, -2: 3}).n_local == 5
    assert Gathered(0, 0, {7: 2, 200: 1}).n_local == 3
