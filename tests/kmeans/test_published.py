"""What is published of a model."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from hybriddp import HybridKMeans
from hybriddp.errors import ProtocolError
from hybriddp.kmeans import HybridKMeansServer, KMeansStudy
from hybriddp.kmeans.published import picture


def model(d: int) -> HybridKMeans:
    rng = np.random.default_rng(1)
    points = rng.choice(np.array([[2.0] * d, [7.0] * d]), 3000) + 0.3 * rng.standard_normal((3000, d))
    bounds = [(0.0, 10.0)] * d
    return HybridKMeans(n_clusters=2, epsilon=4, bounds=bounds, random_state=1, name="visits & more").fit(
        points[:1500], points[1500:]
    )


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_the_picture_is_one_of_the_centers(d: int) -> None:
    fitted = model(d)
    drawn = ElementTree.fromstring(picture(fitted))  # noqa: S314  (our own)
    assert len(drawn.findall(".//ellipse")) == 2 * -(-d // 2)
    assert "script" not in picture(fitted)
    page = fitted.to_html()
    assert "visits &amp; more" in page
    assert "visits & more" not in page
    assert "A simulation" in page


def test_plain_values() -> None:
    fitted = model(2)
    told = json.loads(json.dumps(fitted.to_dict()))
    assert told["centers"] == fitted.cluster_centers_.tolist()
    assert sum(told["sizes"]) == pytest.approx(1)
    assert (told["n_trusted"], told["n_local"], told["n_answered"]) == (1500, 1500, 1500)
    assert told["warnings"][0] == "A simulation, not a private release."
    assert sum(float(step["trusted_epsilon"]) for step in told["steps"]) <= 4
    assert fitted.answer().startswith("visits & more: 2 centers; ")


def test_many_centers_are_told_by_the_largest() -> None:
    points = np.random.default_rng(0).random((2000, 5))
    fitted = HybridKMeans(n_clusters=5, epsilon=4, bounds=[(0, 1)] * 5, random_state=1).fit(
        points[:1000], points[1000:]
    )
    assert "; and others." in fitted.answer()
    assert ", …)" in fitted.answer()


def test_the_model_of_a_server() -> None:
    study = KMeansStudy("visits", n_clusters=2, bounds=[(0, 10)], epsilon=2)
    points = np.random.default_rng(0).choice([2.0, 7.0], (500, 1))
    server = HybridKMeansServer(study, n_local=0, trusted=points, random_state=1)
    with pytest.raises(ProtocolError, match="no result yet"):
        HybridKMeans.from_server(server)
    server.start()
    fitted = HybridKMeans.from_server(server)
    assert np.array_equal(fitted.cluster_centers_, server.cluster_centers)
    assert fitted.study == study


def test_nothing_is_published_before_fit() -> None:
    for show in (HybridKMeans.to_dict, HybridKMeans.to_html, HybridKMeans.answer):
        with pytest.raises(ProtocolError, match="not fitted"):
            show(HybridKMeans(epsilon=1, bounds=[(0, 1)]))
