from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Ellipse

from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.kmeans.report import doubt_words


def _model(d: int, **change: Any) -> HybridKMeans:
    points = np.random.default_rng(0).random((400, d)) * [10, 20, 30, 40][:d]
    bounds = [(0, width) for width in (10, 20, 30, 40)[:d]]
    return HybridKMeans(**{"n_clusters": 3, "epsilon": 2, "bounds": bounds, "random_state": 1, **change}).fit(points)


def test_a_picture_shows_the_centers_and_their_errors() -> None:
    model = _model(2)
    (axes,) = model.plot().axes
    dots = [np.ravel(line.get_xydata()) for line in axes.lines if line.get_marker() == "."]
    np.testing.assert_allclose(dots, model.cluster_centers_)
    ellipses = [(patch.width, patch.height) for patch in axes.patches if isinstance(patch, Ellipse)]
    np.testing.assert_allclose(ellipses, 2 * np.sqrt(-2 * np.log(0.05)) * model.standard_errors_, rtol=1e-3)
    assert axes.get_xlim() == (0, 10)
    assert axes.get_ylim() == (0, 20)
    assert "(a simulation)" in axes.get_title("left")
    assert "simulation" not in _model(2, random_state=None).plot().axes[0].get_title("left")


def test_a_picture_says_if_the_answer_is_doubtful() -> None:
    noisy, sure = _model(2, n_clusters=6, epsilon=0.3), _model(2, n_clusters=1, epsilon=20)
    assert noisy.doubtful_
    assert not sure.doubtful_
    assert "6 centers, " in noisy.plot().axes[0].get_title("left")
    assert "1 center, " in sure.plot().axes[0].get_title("left")
    for model in (noisy, sure):
        texts = [text.get_text() for text in model.plot().axes[0].texts]
        assert any(text.startswith("Doubtful: may cost over 1.2") for text in texts) == model.doubtful_
        assert any(doubt_words(model.result_) in text for text in texts if "\n" in text) == model.doubtful_


def test_other_dimensions_can_be_looked_at() -> None:
    model = _model(4)
    (axes,) = model.plot(dimensions=(3, 1)).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("dimension 3", "dimension 1")
    assert axes.get_xlim() == (0, 40)
    dots = [np.ravel(line.get_xydata()) for line in axes.lines if line.get_marker() == "."]
    np.testing.assert_allclose(dots, model.cluster_centers_[:, [3, 1]])


def test_one_dimension_is_a_line() -> None:
    model = _model(1)
    (axes,) = model.plot().axes
    assert not axes.patches
    bars = sorted(np.ptp(line.get_xdata()) for line in axes.lines if line.get_linestyle() == "-")
    np.testing.assert_allclose(bars, np.sort(2 * 1.96 * model.standard_errors_[:, 0]))
    assert axes.get_xlabel() == "dimension 0"
    assert list(axes.get_yticks()) == []


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    points = pd.DataFrame(np.random.default_rng(0).random((400, 2)), columns=["$x_{$", r"\frac $, $"])
    model = HybridKMeans(n_clusters=3, epsilon=2, bounds=[(0, 1), (0, 1)], random_state=1).fit(points)
    (axes,) = model.plot(tmp_path / "centers.svg").axes
    assert not any(axis.label.get_parse_math() for axis in (axes.xaxis, axes.yaxis))
    assert all(f"<!-- {name} -->" in (tmp_path / "centers.svg").read_text() for name in points.columns)


def test_what_cannot_be_drawn_is_refused() -> None:
    model = _model(4)
    for dimensions in [(0, 0), (0, 4), (-1, 0), (0,), (0, 1, 2), None, 5, "ab", (0.5, 1), (True, 1)]:
        with pytest.raises(ParameterError, match="^dimensions must be"):
            model.plot(dimensions=dimensions)
    with pytest.raises(ProtocolError, match="is not fitted"):
        HybridKMeans(2, epsilon=1, bounds=[(0, 1)]).plot()
