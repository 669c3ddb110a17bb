"""The interval of a plan is the one that the study will state: within 5 %, by running the study."""

import numpy as np
import pytest

from hybriddp.mean import MeanStudy
from hybriddp.planning import plan
from hybriddp.planning.scenario import crowd_like
from hybriddp.simulation.trial import Scene, play

TRIALS = 400
# users, share who trust, ε, range, mean, sd, sd_at_most; the first three are deployments.
SETTINGS = [
    (2_000_000, 0.002, 1.0, 600, 180, 115, None),
    (8_000, 0.05, 0.5, 60, 6, 7, None),
    (300, 0.4, 1.0, 250_000, 62_000, 28_000, None),
    (300, 0.4, 1.0, 250_000, 62_000, 28_000, 35_000),
    (1_000, 0.05, 0.3, 1, 0.5, 0.1, None),
    (10_000, 0.01, 1.0, 1, 0.5, 0.29, None),
    (10_000, 0.1, 3.0, 1, 0.2, 0.12, None),
    (100_000, 0.05, 1.0, 1, 0.5, 0.11, None),
    (2_000, 0.5, 3.0, 1, 0.05, 0.2, None),
    (5_000, 0.2, 5.0, 1, 0.01, 0.05, None),
    (50_000, 0.001, 0.5, 1, 0.3, 0.2, None),
    (1_000, 0.3, 8.0, 1, 0.5, 0.45, None),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s[0]}-{s[2]}")
def test_the_planned_interval_is_the_stated_one(setting: tuple[int, float, float, float, float, float, float]) -> None:
    n, fraction, epsilon, width, mean, sd, at_most = setting
    made = plan(
        n_users=n, trusted_fraction=fraction, epsilon=epsilon, bounds=(0, width), mean=mean, sd=sd, sd_at_most=at_most
    )
    study = MeanStudy("x", bounds=(0, width), epsilon=epsilon, sd_at_most=at_most)
    crowd = crowd_like(mean / width, sd / width)
    n_trusted = made.n_trusted
    scene = Scene(study, crowd, crowd, n_trusted, n - n_trusted, fixed=False, sd=sd, estimators=("adaptive",))
    rng = np.random.default_rng([n, n_trusted])
    stated = [play(scene, rng).estimates[0].stated_interval(0.95).half_width for _ in range(TRIALS)]
    assert made["adaptive"].half_width.worst == pytest.approx(np.mean(stated), rel=0.05)
