"""The real pipeline, many times, on simulated people: what the formulas predict against what happens.

Simulation only: it knows every raw value and its randomness is seeded. Nothing here is a private release.
"""

from hybriddp.simulation.mean import MeanOutcome, MeanSimulation
from hybriddp.simulation.quantiles import QuantileOutcome, QuantileSimulation
from hybriddp.simulation.shares import ShareOutcome, ShareSimulation
from hybriddp.simulation.simulate import simulate
from hybriddp.simulation.trials import Simulation

__all__ = [
    "MeanOutcome",
    "MeanSimulation",
    "QuantileOutcome",
    "QuantileSimulation",
    "ShareOutcome",
    "ShareSimulation",
    "Simulation",
    "simulate",
]
