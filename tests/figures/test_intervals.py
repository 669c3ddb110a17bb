from pathlib import Path
from typing import Any

import pytest
from matplotlib.text import Text

from hybriddp.figures.intervals import IntervalRow, draw

ROWS = [IntervalRow("p50", 3.0, 2.0, 5.0), IntervalRow("$x^2$ " + "w" * 60, 7.0, 6.0, 9.0)]


def test_every_row_has_its_number_its_interval_and_its_words() -> None:
    figure = draw(ROWS, title="half of $100 and $200", below="95 % intervals")
    axes: Any = figure.axes[0]
    lines = [(list(line.get_xdata()), set(line.get_ydata())) for line in axes.lines]
    assert lines == [([2.0, 5.0], {0}), ([3.0], {0}), ([6.0, 9.0], {1}), ([7.0], {1})]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == "p50"
    assert labels[1].startswith("$x^2$")
    assert len(labels[1]) <= 33
    assert axes.get_title(loc="left") == "half of $100 and $200"
    shown = [text for text in figure.findobj(Text) if isinstance(text, Text) and "$" in text.get_text()]
    assert {text.get_parse_math() for text in shown} == {False}  # what looks like a formula stays as it is


@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_a_picture_is_written(tmp_path: Path, ending: str) -> None:
    draw(ROWS, title="t", path=tmp_path / f"x{ending}")
    assert (tmp_path / f"x{ending}").stat().st_size > 1000
