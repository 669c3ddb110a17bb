from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybriddp.errors import DataError
from hybriddp.frequency import Frequencies, FrequencyStudy


def _found(k: int, name: str = "x") -> Frequencies:
    study = FrequencyStudy(name, categories=[f"$c_{i}$" for i in range(k)], epsilon=4)
    items = [f"$c_{i}$" for i in range(k) for _ in range(100)]
    return study.estimate(trusted=items, local=study.randomize(items, random_state=1), random_state=2)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_is_written(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "new" / f"shares.{ending}"
    _found(3).plot(path)
    assert path.stat().st_size > 1000
    with pytest.raises(DataError, match="its name must end in"):
        _found(3).plot(tmp_path / "shares")


def test_bars_are_shares_and_whiskers_are_intervals() -> None:
    found = _found(3, "a $ b $")
    axes: Any = found.plot().axes[0]
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], 100 * found.shares)
    (whiskers,) = [c for c in axes.collections if len(c.get_segments()) == 3]
    ends = found.stated_intervals()
    np.testing.assert_allclose([segment[0][0] for segment in whiskers.get_segments()], 100 * ends.lower)
    np.testing.assert_allclose([segment[1][0] for segment in whiskers.get_segments()], 100 * ends.upper)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["$c_0$", "$c_1$", "$c_2$"]
    assert not any(label.get_parse_math() for label in axes.get_yticklabels())
    assert axes.get_title("left") == "a $ b $"


def test_of_many_only_the_largest_are_drawn() -> None:
    (axes,) = _found(60).plot().axes
    assert len(axes.patches) == 30
