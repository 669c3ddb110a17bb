"""The real pipeline, many times, on simulated people: what the formulas predict against what happens.

Simulation only: it knows every raw value and its randomness is seeded. Nothing here is a private release.
"""

from hybriddp.simulation.outcome import Outcome, Simulation
from hybriddp.simulation.quantiles import QuantileOutcome, QuantileSimulation, simulate_quantiles
from hybriddp.simulation.simulate import simulate

__all__ = [
    "Outcome",
    "QuantileOutcome",
    "QuantileSimulation",
    "Simulation",
    "simulate",
    "simulate_quantiles",
]
