import re

import pytest

from hybriddp.planning.curves import ErrorCurves
from hybriddp.service.pages.curves import LINES, _ticks, axis_range, curves_figure, place_range, swatch

CURVES = ErrorCurves("epsilon", (0.1, 1.0, 10.0), 1.0, dict.fromkeys(LINES, (8.0, 4.0, 2.0)), (8.0, 4.0, 2.0))


def test_a_place_in_the_middle_is_drawn_in_the_middle() -> None:
    html = curves_figure(CURVES, 4.0, x_label="x", y_label="y")
    lines = re.findall('<polyline points="(.*?)"', html)
    xs = [[float(point.split(",")[0]) for point in line.split()] for line in lines]
    assert len(xs) == len(LINES)
    assert all(x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.2) for x in xs)  # logarithmic
    dot = re.search('<circle cx="(.*?)" cy="(.*?)"', html)
    assert dot is not None
    assert f"{dot[1]},{dot[2]}" in lines[-1].split()  # on our line
    assert 'aria-label="y against x' in html


def test_a_hopeless_estimator_does_not_flatten_the_others() -> None:
    worst = dict(CURVES.worst) | {"naive": (1e9, 1e9, 1e9)}
    low, high = axis_range(ErrorCurves("epsilon", CURVES.x, 1.0, worst, CURVES.best))
    assert (low, high) == pytest.approx((1.4, 64))
    assert axis_range(CURVES) == pytest.approx((1.4, 9.6))


def test_ends_and_marks_of_axes() -> None:
    assert place_range(CURVES) == (0.1, 10.0)
    assert place_range(ErrorCurves("opt-ins", (0.5,), 0.5, {}, ())) == (0.25, 1.0)
    assert _ticks(0.9, 11) == [1, 2, 5, 10]
    assert _ticks(0.001, 1000) == pytest.approx([10.0**power for power in range(-3, 4)])
    assert 'stroke-dasharray="8 4"' in swatch("known-variance")
    assert "dasharray" not in swatch("adaptive")
