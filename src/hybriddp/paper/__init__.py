"""The paper [ADK20] as printed, and BLENDER before it: for comparison, and for its figures. Never a private release."""

import numpy as np

from hybriddp.errors import ParameterError
from hybriddp.randomness import simulation_generator


def seeded(random_state: int | np.random.Generator | None, purpose: str) -> np.random.Generator:
    """Make the generator of a simulation; refuse to run without a seed."""
    if random_state is None:
        raise ParameterError("random_state", "an integer or a numpy.random.Generator: this is a simulation", None)
    return simulation_generator(random_state, purpose)
