import math
from fractions import Fraction
from typing import Any

import pytest

from hybriddp.errors import ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Event, MechanismRecord
from hybriddp.theory import gaussian_sigma
from tests.refusals import refused
from tests.release.numbers import total_event


def test_noise_about_which_nothing_is_known_is_refused() -> None:
    with pytest.raises(ParameterError, match="^scale must be at least 1 for discrete Gaussian noise"):
        MechanismRecord.noise("discrete-gaussian", sensitivity=1, scale=0.9)
    with pytest.raises(ParameterError, match="^scale must be within a factor of 1e100"):
        MechanismRecord.noise("gaussian", sensitivity=1, scale=1e200)


@pytest.mark.parametrize(
    ("kind", "sensitivity", "scales", "message"),
    [
        ("uniform", "1", ["1"], "^kind must be one of laplace"),
        ("laplace", None, ["1"], "^sensitivity must be a positive decimal"),
        ("laplace", "1", ["0", "-1", "1/3", 2.0], "^scale must be a positive decimal"),
        ("discrete-laplace", "1.5", ["2"], "^sensitivity must be a whole number"),
        ("thresholded", "1", [None], "^sensitivity must be None"),
    ],
)
def test_bad_mechanisms_are_named(kind: str, sensitivity: Any, scales: list[Any], message: str) -> None:
    for scale in scales:
        refused(ParameterError, message, MechanismRecord, kind, sensitivity, scale)
    for scale in (0.0, -1.0, math.inf, math.nan, True, None, [1.0]):
        with pytest.raises(ParameterError, match="^scale must be a positive decimal"):
            MechanismRecord.noise("laplace", sensitivity=1, scale=scale)


def test_a_scale_is_kept_exactly() -> None:
    assert MechanismRecord.noise("laplace", sensitivity="0.1", scale=0.1).exact_scale == Fraction(0.1)
    assert MechanismRecord.noise("laplace", sensitivity="0.1", scale=0.1).exact_sensitivity == Fraction(1, 10)
    released = total_event("d", Privacy(epsilon="0.3"), None).mechanism
    assert released is not None
    assert (released.kind, released.sensitivity) == ("discrete-laplace", "16777216")
    assert Fraction("0.3") - Fraction(1, 10**15) < released.exact_sensitivity / released.exact_scale <= Fraction("0.3")
    assert total_event("d", Privacy(epsilon="0.3", delta="1e-7"), None).mechanism.kind == "discrete-gaussian"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kind", "scale", "privacy"),
    [
        ("laplace", 0.99, Privacy(epsilon=1)),
        ("gaussian", 3.7, Privacy(epsilon=1, delta="1e-5")),
        ("gaussian", 100.0, Privacy(epsilon=1)),
        ("discrete-gaussian", 2.0, Privacy(epsilon=1, delta="1e-5")),
    ],
)
def test_noise_that_is_too_little_for_its_claim_is_refused(kind: str, scale: float, privacy: Privacy) -> None:
    noise = MechanismRecord.noise(kind, sensitivity=1, scale=scale)
    with pytest.raises(ParameterError, match="mechanism must be noise that is enough for ε = 1"):
        Event.now("a", who="trusted", study="d", privacy=privacy, mechanism=noise)
    enough = float(gaussian_sigma(epsilon=1.0, delta=1e-5, sensitivity=1.0))
    event = Event.now(
        "a",
        who="trusted",
        study="d",
        privacy=Privacy(epsilon=1, delta="1e-5"),
        mechanism=MechanismRecord.noise("gaussian", sensitivity=1, scale=enough),
    )
    assert event.mechanism is not None
    assert Event.now("a", who="local", study="d", privacy=privacy, mechanism=MechanismRecord("thresholded")).who
