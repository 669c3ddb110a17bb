"""The paper's estimators at work on a real population: what the formulas predict against what happens.

Simulation only: it knows every raw value, its noise is floating-point and its randomness is seeded. Nothing here is
a private release.
"""

from hybriddp.simulation.play import Play, Player, play

__all__ = ["Play", "Player", "play"]
