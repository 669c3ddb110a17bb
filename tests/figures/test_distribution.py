from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybriddp.distribution import DistributionEstimate, DistributionStudy
from hybriddp.figures.distribution import draw

VALUES = np.random.default_rng(0).gamma(2.0, 20.0, 20_000)


def _estimate(name: str = "minutes", key: str | None = None, **more: Any) -> DistributionEstimate:
    study = DistributionStudy(name, bounds=(0, 240), epsilon=2)
    study = study if key is None else study.part("country", key)
    groups = {"trusted": VALUES[:2000], "local": study.randomize(VALUES[2000:], random_state=1)}
    return study.estimate(**{**groups, "random_state": 2, **more})


@pytest.fixture(scope="module")
def estimate() -> DistributionEstimate:
    return _estimate()


def _curves(axes: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axes.get_lines()}


def test_the_curves_are_the_fits_and_the_dots_the_quantiles(estimate: DistributionEstimate) -> None:
    (axes,) = draw([estimate.with_quantiles((0.5, 0.9))]).axes
    curves, fits = _curves(axes), estimate.fits
    assert fits.trusted is not None
    assert fits.local is not None
    for name, fit in (
        ("both groups", fits.both),
        ("trusted group alone", fits.trusted),
        ("local group alone", fits.local),
    ):
        np.testing.assert_array_equal(curves[name].get_ydata()[1:-1], fit.cdf)
    assert curves["both groups"].get_linewidth() > 2 * curves["local group alone"].get_linewidth()
    dots = [line for line in axes.get_lines() if line.get_marker() == "o"]
    marked = sorted(tuple(np.ravel(line.get_xydata()).tolist()) for line in dots)
    assert marked == [(estimate.quantile(q).value, q) for q in (0.5, 0.9)]


def test_labels_of_near_quantiles_do_not_overlap(estimate: DistributionEstimate) -> None:
    (axes,) = draw([estimate.with_quantiles((0.95, 0.96, 0.97, 0.98, 0.99))]).axes
    texts: list[Any] = list(axes.texts)
    heights = sorted(text.xyann[1] for text in texts)
    assert len(heights) == 5
    assert min(np.diff(heights)) > 0.045


def test_one_group_has_one_curve() -> None:
    single = _estimate(local=None, single_group=True)
    (axes,) = draw([single]).axes
    assert "the only group" in _curves(axes)
    assert not any("alone" in name for name in _curves(axes))


def test_the_legend_does_not_lie_on_the_curve(estimate: DistributionEstimate) -> None:
    """Values near the upper bound leave the upper left corner free, the others the lower right one."""
    flipped = _estimate(trusted=240 - VALUES[:2000], local=None, single_group=True)
    corners = [draw([one]).axes[0].get_legend()._loc for one in (estimate, flipped)]  # type: ignore[union-attr]
    assert corners == [4, 2]


@pytest.mark.slow
def test_parts_are_panels_and_names_are_shown_as_they_are(tmp_path: Path) -> None:
    name = r"cost in $, $x_{ in \frac $"
    parts = [_estimate(name, key) for key in ("DE", "up to $2^$", "FR")]
    figure = draw(parts, path=tmp_path / "parts.svg")
    assert [axes.get_visible() for axes in figure.axes] == [True, True, True, False]
    assert "up to $2^$" in (tmp_path / "parts.svg").read_text()
