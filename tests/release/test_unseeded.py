"""Without a random_state nothing is seeded: neither the noise of a release nor the code of a report."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import pytest

from hybriddp.errors import ParameterError
from hybriddp.items import heavy_hitters
from hybriddp.kmeans import HybridKMeans, KMeansStudy
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.paper import kmeans as paper
from tests.release.drawing import Draws, drawn_by, require_differing, watch
from tests.release.numbers import noisy_total
from tests.release.releases import (
    ANSWERS,
    BINARY,
    EVERY_KIND,
    ITEMS,
    KMEANS,
    LOCAL,
    MEAN,
    MEANS,
    POINTS,
    QUANTILES,
    RELEASES,
    SHARES,
    WORDS,
)


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> Draws:
    """What is drawn for releases."""
    return watch(monkeypatch)


@pytest.mark.repeated
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_releases_of_the_same_data_differ_and_nothing_is_seeded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require_differing(lambda: drawn_by(lambda: RELEASES[kind](1), monkeypatch))


def _fit(study: KMeansStudy) -> None:
    points = POINTS[study.box.n_dimensions][1]
    options: dict[str, Any] = {"epsilon": study.privacy.epsilon, "bounds": study.box.bounds}
    HybridKMeans(study.n_clusters, **options).fit(points, np.tile(points, (10, 1)))


IN_ONE_CALL: dict[str, Callable[[], object]] = {
    "a total": lambda: noisy_total(10**9, MEAN.privacy),
    "frequent items": lambda: heavy_hitters(trusted=WORDS[1], local=WORDS[1], epsilon=1, delta=1e-6),
    "frequent items of a dictionary": lambda: heavy_hitters(
        trusted=WORDS[1], local=WORDS[1], epsilon="0.01", domain=["fig", "kiwi"]
    ),
    **{f"{name}, in memory": partial(_fit, study) for name, study in KMEANS.items()},
}


@pytest.mark.repeated
@pytest.mark.parametrize("kind", IN_ONE_CALL)
def test_what_releases_in_one_call_is_not_seeded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require_differing(lambda: drawn_by(IN_ONE_CALL[kind], monkeypatch))


REPORTS: dict[str, Callable[[], Any]] = {
    **{name: partial(study.randomize, LOCAL) for name, study in MEANS.items()},
    "quantiles": lambda: QUANTILES.randomize(LOCAL),
    "shares": lambda: SHARES.randomize(ANSWERS[1]),
    "shares of yes and no": lambda: BINARY.randomize(["a"] * 400),
    "items found by reports": lambda: ITEMS.discovery.randomize(["fig"] * 400),
}


@pytest.mark.parametrize("kind", REPORTS)
def test_the_same_values_are_reported_anew(kind: str, draws: Draws) -> None:
    one, other = REPORTS[kind](), REPORTS[kind]()
    assert not np.array_equal(np.asarray(one), np.asarray(other))
    assert not one.seeded
    assert draws == []


@pytest.mark.usefixtures("draws")
def test_devices_answer_rounds_anew() -> None:
    for study in KMEANS.values():
        points = np.full((2000, study.box.n_dimensions), 0.3)
        server = HybridKMeansServer(study, n_local=2000)
        server.start()
        assert server.round is not None
        one, other = (server.round.answer(points) for _ in range(2))
        assert not all(np.array_equal(a.codes, b.codes) for a, b in zip(one, other, strict=True))
        assert not any(report.seeded for report in one)


def test_the_papers_algorithms_are_simulations_and_want_a_seed() -> None:
    points, nothing = np.full((50, 1), 0.3), cast("int", None)
    public: dict[str, Any] = {"n_clusters": 1, "epsilon": 1, "iterations": 1, "bounds": [(0, 1)]}
    with pytest.raises(ParameterError, match=r"random_state must be an integer or a numpy.random.Generator"):
        paper.hybrid(points, points, **public, random_state=nothing)
