import numpy as np
import pytest

from hybriddp.distribution.axis import label, places, readable_ticks, ticks, values_at
from hybriddp.distribution.bins import Bins
from hybriddp.grid import Grid

UNEVEN = np.concatenate([np.linspace(0, 1, 128), np.linspace(10, 300, 127)])


@pytest.mark.parametrize("scale", ["equal", "log", UNEVEN.tolist()])
def test_edges_are_equally_far_apart_and_places_are_values_again(scale: str | list[float]) -> None:
    bins = Bins(Grid(0, 300), scale)
    found = places(bins, bins.edges)
    np.testing.assert_allclose(np.diff(found), 1 / 254)
    np.testing.assert_allclose(values_at(bins, found), bins.edges)
    assert places(bins, [-5, 400]).tolist() == [0, 1]


def test_ticks_of_equal_bins_are_round_steps() -> None:
    assert ticks(Bins(Grid(0, 100))) == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert ticks(Bins(Grid(-1, 1))) == [-1, -0.8, -0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.8, 1]
    assert ticks(Bins(Grid(18, 97))) == [20, 30, 40, 50, 60, 70, 80, 90]


@pytest.mark.parametrize("bounds", [(0, 10_000), (0.001, 7.3), (-5, 1e9)])
def test_ticks_of_a_log_scale_have_room_between_them(bounds: tuple[float, float]) -> None:
    bins = Bins(Grid(*bounds), "log")
    found = ticks(bins)
    assert (found[0], found[-1]) == bounds
    assert len(found) >= 5
    assert np.min(np.diff(places(bins, found))) >= 0.1


def test_labels_are_written_as_people_do() -> None:
    assert [label(x) for x in (10_000, 0.5, -0.2, 1e6, 0)] == ["10,000", "0.5", "-0.2", "1,000,000", "0"]


def test_wide_labels_get_fewer_ticks() -> None:
    assert len(readable_ticks(Bins(Grid(0, 100)))) == 11
    assert readable_ticks(Bins(Grid(0, 2_349_033))) == [0, 500_000, 1_000_000, 1_500_000, 2_000_000]
    assert len(readable_ticks(Bins(Grid(0, 10_000)), 48)) == 6
