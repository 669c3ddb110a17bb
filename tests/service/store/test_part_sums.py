"""Sums per part in one tally and one integer: what each part has added comes out again."""

import numpy as np
import pytest

from hybriddp.errors import DataError
from hybriddp.grid import UNITS
from hybriddp.service.store.part_sums import PartSums, in_part, trusted_entry

SUMS = PartSums(3, n_codes=256)


def test_parts_are_what_their_people_added() -> None:
    chosen = np.random.default_rng(1)
    people = [(i % 3, units) for i, units in enumerate(chosen.integers(0, UNITS, 200, endpoint=True).tolist())]
    total = SUMS.addend(in_part(units, part) for part, units in people)
    codes = [(i % 3, code) for i, code in enumerate(chosen.integers(0, 256, 200).tolist())]
    tally: dict[int, int] = {}
    for part, code in codes:
        (entry,) = SUMS.entries(in_part(code, part))
        tally[entry] = tally.get(entry, 0) + 1
    for part, _ in people:
        tally[trusted_entry(part)] = tally.get(trusted_entry(part), 0) + 1
    for number, found in enumerate(SUMS.split(total, tally)):
        mine = [units for part, units in people if part == number]
        assert (found.n_trusted, found.total) == (len(mine), sum(mine))
        own = [code for part, code in codes if part == number]
        assert found.tally == {code: own.count(code) for code in set(own)}


def test_what_is_taken_away_leaves_the_others() -> None:
    people = [in_part(UNITS, 0), in_part(7, 1), in_part(0, 2), in_part(9, 1)]
    total = SUMS.change(0, people, 1)
    assert SUMS.change(total, people[1:2], -1) == SUMS.addend([people[0], *people[2:]])
    assert SUMS.change(total, people, -1) == 0


def test_replicas_may_take_away_what_others_added() -> None:
    one, other = SUMS.change(0, [in_part(5, 1)], 1), SUMS.change(0, [in_part(5, 1), in_part(3, 0)], -1)
    third = SUMS.change(0, [in_part(3, 0), in_part(2, 2)], 1)
    assert SUMS.merged([one, other, third]) == SUMS.addend([in_part(2, 2)])
    other.to_bytes(SUMS.total_bytes, "big", signed=True)  # fits, negative as it is


def test_the_length_is_that_of_the_parts_whatever_is_in_them() -> None:
    assert SUMS.total_bytes == 28
    people = 1 << 40
    largest = SUMS.addend([in_part(UNITS, 2)]) * people
    assert largest.bit_length() < 8 * SUMS.total_bytes


@pytest.mark.parametrize(
    ("total", "tally"),
    [
        (-1, {}),
        (1 << 300, {}),
        (1, {}),  # a unit of nobody
        (UNITS + 1, {trusted_entry(0): 1}),
        (0, {trusted_entry(1): -1}),
    ],
)
def test_sums_that_cannot_be(total: int, tally: dict[int, int]) -> None:
    with pytest.raises(DataError, match="do not fit the sizes of its parts"):
        SUMS.split(total, tally)
