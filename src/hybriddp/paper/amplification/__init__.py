"""Amplification against outsiders [ADK20, section 8]: ε′ of each group, with Gaussian and with Laplace noise.

`gaussian` and `laplace` have an ``exact`` of the same parameters. The product's own second tier of protection, for the
reports that devices send, is `hybriddp.amplification`.
"""

from hybriddp.paper.amplification import gaussian, laplace
from hybriddp.paper.amplification.groups import PerGroup, sensitivities

__all__ = ["PerGroup", "gaussian", "laplace", "sensitivities"]
