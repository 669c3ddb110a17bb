"""Without a random_state nothing is seeded: neither the noise of a release nor the code of a report."""

import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np
import pytest

import hybriddp
from hybriddp import randomness
from hybriddp._check import IntArray
from hybriddp.errors import ParameterError
from hybriddp.kmeans import paper
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.release import mechanisms
from hybriddp.release.mechanisms import Mechanism
from tests.levels import LEVEL
from tests.release.releases import ANSWERS, BINARY, EVERY_KIND, ITEMS, KMEANS, LOCAL, MEANS, QUANTILES, RELEASES, SHARES

SOURCE = Path(hybriddp.__file__).parent
SEEDED = {  # what numpy draws without any harm
    "kmeans/algorithm/problem.py": "public draws, the same for everybody",
    "kmeans/reports/codebook.py": "public draws, the same for everybody",
    "kmeans/protocol/devices.py": "the rounding of simulated devices, from the system's bytes",
}


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Mechanism, IntArray]]:
    """What is drawn for releases, each time by OpenDP. Everything that could be seeded is refused."""
    drawn: list[tuple[Mechanism, IntArray]] = []
    outputs: list[list[int]] = []
    draw, measurement, default = Mechanism.draw, mechanisms._measurement, np.random.default_rng

    def of_opendp(mechanism: Mechanism) -> Any:  # noqa: ANN401
        real = measurement(mechanism)

        def release(values: list[int]) -> list[int]:
            outputs.append(real(values))
            return outputs[-1]

        return real if sys._getframe(1).f_code is not draw.__code__ else release

    def spied(self: Mechanism, shape: tuple[int, ...], random_state: object) -> IntArray:
        assert random_state is None
        found = draw(self, shape, None)
        np.testing.assert_array_equal(found.ravel(), outputs[-1])
        drawn.append((self, found))
        return found

    def refused(*_: object, **__: object) -> NoReturn:
        raise AssertionError("Something was seeded.")

    def unseeded(*seed: Any) -> np.random.Generator:  # noqa: ANN401
        file = Path(sys._getframe(1).f_code.co_filename)
        assert file.is_relative_to(SOURCE)
        assert file.relative_to(SOURCE).as_posix() in SEEDED or seed == ()
        return default(*seed)

    monkeypatch.setattr(Mechanism, "draw", spied)
    monkeypatch.setattr(mechanisms, "_measurement", of_opendp)
    monkeypatch.setattr(randomness.SeededBytes, "__init__", refused)
    monkeypatch.setattr(np.random, "default_rng", unseeded)
    for name in ("seed", "PCG64", "MT19937"):
        monkeypatch.setattr(np.random, name, refused)
    return drawn


@pytest.mark.repeated
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_releases_of_the_same_data_differ_and_nothing_is_seeded(
    kind: str, draws: list[tuple[Mechanism, IntArray]]
) -> None:
    """A number has any one value with a chance of tanh(1/2b) at most. It is drawn until that is below `LEVEL`."""
    runs: list[list[Any]] = []
    chance = 1.0
    while chance > LEVEL:
        draws.clear()
        RELEASES[kind](1)
        assert draws
        if runs:
            chance *= math.prod(math.tanh(0.5 / mechanism.scale) ** noise.size for mechanism, noise in draws)
        runs.append([noise.tolist() for _, noise in draws])
    assert any(run != runs[0] for run in runs)


REPORTS: dict[str, Callable[[], Any]] = {
    **{name: partial(study.randomize, LOCAL) for name, study in MEANS.items()},
    "quantiles": lambda: QUANTILES.randomize(LOCAL),
    "shares": lambda: SHARES.randomize(ANSWERS[1]),
    "shares of yes and no": lambda: BINARY.randomize(["a"] * 400),
    "items found by reports": lambda: ITEMS.discovery.randomize(["fig"] * 400),
}


@pytest.mark.parametrize("kind", REPORTS)
def test_the_same_values_are_reported_anew(kind: str, draws: list[tuple[Mechanism, IntArray]]) -> None:
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
    for run in (
        lambda: paper.hybrid(points, points, **public, random_state=nothing),
        lambda: paper.full_local(points, **public, random_state=nothing),
        lambda: paper.trusted_only(points, **public, random_state=nothing),
    ):
        with pytest.raises(ParameterError, match=r"random_state must be an integer or a numpy.random.Generator"):
            run()
