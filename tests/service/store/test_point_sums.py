"""Points as one integer."""

import pytest

from hybriddp.errors import DataError
from hybriddp.kmeans.study import integer_of_units
from hybriddp.service.store.point_sums import MOST_PEOPLE, ROOM, PointSums

SUMS = PointSums(2)
ONE, OTHER = integer_of_units((5, 1 << 24)), integer_of_units((0, 0))


def test_people_come_and_go() -> None:
    total = SUMS.change(0, [ONE, OTHER, ONE], 1)
    assert SUMS.units(total) == [(0, 0), (5, 1 << 24), (5, 1 << 24)]
    assert SUMS.units(SUMS.change(total, [ONE], -1)) == [(0, 0), (5, 1 << 24)]
    assert SUMS.change(total, [ONE, ONE, OTHER], -1) == 0


def test_the_order_in_which_they_came_is_not_there() -> None:
    assert SUMS.change(0, [ONE, OTHER], 1) == SUMS.change(SUMS.change(0, [OTHER], 1), [ONE], 1)
    assert SUMS.merged([SUMS.change(0, [ONE], 1), 0, SUMS.change(0, [OTHER], 1)]) == SUMS.change(0, [OTHER, ONE], 1)


def test_nobody_is_taken_away_who_is_not_there() -> None:
    with pytest.raises(DataError, match="not there"):
        SUMS.change(SUMS.change(0, [ONE], 1), [OTHER], -1)


def test_points_of_another_study() -> None:
    with pytest.raises(DataError, match="not those of this study"):
        PointSums(3).units(SUMS.change(0, [ONE], 1))


@pytest.mark.parametrize("d", [1, 2, 8, 256])
def test_all_people_have_room(d: int) -> None:
    sums = PointSums(d)
    assert sums.most_people <= MOST_PEOPLE
    assert 4 * d * sums.most_people <= ROOM
    assert sums.most_people > 1000
    assert f"{sums.most_people:,}" in sums.full
    assert 4 * d * sums.most_people + 2 <= sums.total_bytes


def test_more_than_there_is_room_for() -> None:
    sums = PointSums(256)
    one = integer_of_units((7,) * 256)
    with pytest.raises(DataError, match="as many as it has room for"):
        sums.change(0, [one] * 7000, 1)
    assert sums.entries(0) == (0,)
