"""Products in place of quotients, and a hash in place of dice: what must still hold."""

import numpy as np
import pytest

from hybriddp.errors import ProtocolError
from hybriddp.kmeans.protocol.round import question_of
from hybriddp.kmeans.reports.base import GridQuestion
from hybriddp.kmeans.statistics import STEP_PARTS, Histogram
from hybriddp.kmeans.study import Box


def test_placed_points_stay_in_the_unit_box_and_reach_its_ends() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2000):
        lower = rng.normal(0, 100, 3)
        box = Box.of(list(zip(lower, lower + rng.lognormal(0, 3, 3), strict=True)))
        placed = box.place([box.lower, box.upper, box.upper + 1, box.lower - 1])
        assert placed.clamped == 2
        assert (placed.points >= 0).all()
        assert (placed.points <= box.widths).all()
        assert not placed.points[0].any()
        np.testing.assert_allclose(placed.points[1], box.widths, rtol=4 * np.finfo(float).eps)
        np.testing.assert_array_equal(placed.points[2:], placed.points[[1, 0]])


@pytest.mark.parametrize(
    "spacing", [1, 37, 1024, STEP_PARTS // 10, STEP_PARTS // 2, STEP_PARTS * 3 // 7, STEP_PARTS + 1003]
)
def test_rounding_by_a_hash_keeps_the_mean_of_values_on_any_lattice(spacing: int) -> None:
    """Dice would be off by 0.013 steps on average; a hash that rounds to the nearest vertex by up to a half."""
    grid = GridQuestion(None, np.zeros(1), np.ones(1), (4096,))
    starts = np.random.default_rng(1).integers(0, 40 * STEP_PARTS, 50)
    off = []
    for start in starts:
        position = (start + spacing * np.arange(1000)) % (4095 * STEP_PARTS) / STEP_PARTS
        counts = Histogram(grid).compute(position[:, None])
        off.append(counts @ np.arange(4096) / 1000 - position.mean())
    assert float(np.sqrt(np.mean(np.square(off)))) < 0.01


def test_a_step_without_an_inverse_is_refused() -> None:
    fields = {"kind": "grid", "low": [0.0], "step": [5e-324], "sizes": [3]}
    with pytest.raises(ProtocolError, match="its step must be numbers .* at least 1e-100"):
        question_of(1, fields)
    tiny = question_of(1, fields | {"step": [2e-100]})
    assert isinstance(tiny, GridQuestion)
    assert tiny.position(np.array([[0.0], [1.0]])).tolist() == [[0.0], [2.0]]
