"""What is drawn while a test watches: by OpenDP alone, from no seed."""

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import hybriddp
from hybriddp import randomness
from hybriddp._check import IntArray
from hybriddp.release import mechanisms
from hybriddp.release.mechanisms import Mechanism
from tests.levels import LEVEL

SOURCE = Path(hybriddp.__file__).parent
SEEDED = {  # what numpy draws without any harm
    "kmeans/algorithm/problem.py": "public draws, the same for everybody",
    "kmeans/reports/codebook.py": "public draws, the same for everybody",
    "kmeans/protocol/round.py": "the rounding of simulated devices, from the system's bytes",
}
Draws = list[tuple[Mechanism, IntArray]]


def watch(patched: pytest.MonkeyPatch) -> Draws:
    """Collect what is drawn for releases, each time by OpenDP. Everything that could be seeded is refused."""
    drawn: Draws = []
    outputs: list[list[int]] = []
    draw, measurement, default = Mechanism.draw, mechanisms._measurement, np.random.default_rng

    def of_opendp(mechanism: Mechanism) -> Any:
        real = measurement(mechanism)

        def release(values: list[int]) -> list[int]:
            outputs.append(real(values))
            return outputs[-1]

        return real if sys._getframe(1).f_code is not draw.__code__ else release

    def spied(self: Mechanism, shape: tuple[int, ...], random_state: object) -> IntArray:
        assert random_state is None
        noise = draw(self, shape, None)
        np.testing.assert_array_equal(noise.ravel(), outputs[-1])
        drawn.append((self, noise))
        return noise

    def refused(*_: object, **__: object) -> NoReturn:
        raise AssertionError("Something was seeded.")

    def unseeded(*seed: Any) -> np.random.Generator:
        file = Path(sys._getframe(1).f_code.co_filename)
        assert file.is_relative_to(SOURCE)
        assert file.relative_to(SOURCE).as_posix() in SEEDED or seed == ()
        return default(*seed)

    patched.setattr(Mechanism, "draw", spied)
    patched.setattr(mechanisms, "_measurement", of_opendp)
    patched.setattr(randomness.SeededBytes, "__init__", refused)
    patched.setattr(np.random, "default_rng", unseeded)
    for name in ("seed", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"):
        patched.setattr(np.random, name, refused)
    patched.setattr(np.random, "RandomState", type("Refused", (np.random.RandomState,), {"__init__": refused}))
    return drawn


def require_differing(release: Callable[[], Draws]) -> None:
    """Release until equal noise could not be chance, and raise `AssertionError` if it was equal every time.

    ``release`` returns what was drawn for it. A number has any one value with a chance of tanh(1/2b) at most.
    """
    runs: list[list[Any]] = []
    chance = 1.0
    while chance > LEVEL:
        draws = release()
        assert draws
        if runs:
            chance *= math.prod(math.tanh(0.5 / mechanism.scale) ** noise.size for mechanism, noise in draws)
        runs.append([noise.tolist() for _, noise in draws])
    assert any(run != runs[0] for run in runs)


def drawn_by(release: Callable[[], object], patched: pytest.MonkeyPatch) -> Draws:
    """Watch one release."""
    with patched.context() as watched:
        draws = watch(watched)
        release()
    return draws
