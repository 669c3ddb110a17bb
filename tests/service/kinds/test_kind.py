"""What is gathered for a study of any kind, and whether that is enough."""

import pytest

from hybriddp.errors import DataError
from hybriddp.service.kinds import Gathered, require_sizes


def test_neither_sums_nor_their_total_are_shown() -> None:
    assert "987654" not in repr(Gathered(2, 987_654, {1: 2}))


@pytest.mark.parametrize(
    ("gathered", "single", "group"),
    [
        (Gathered(1, 0, {0: 5}), False, "trusted"),
        (Gathered(0, 0, {0: 5}), False, "trusted"),
        (Gathered(1, 0, {0: 5}), True, "trusted"),
        (Gathered(2, 0, {0: 2}), False, "local"),
        (Gathered(2, 0, {}), False, "local"),
        (Gathered(2, 0, {0: 1, 1: 1}), True, "local"),
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


def test_only_entries_that_are_not_negative_count_reports() -> None:
    assert Gathered(0, 0, {0: 5, -1: 4, -2: 3}).n_local == 5
    assert Gathered(0, 0, {7: 2, 200: 1}).n_local == 3
