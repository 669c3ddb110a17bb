"""The figures of [ADK20], each from its data to its picture, in one file of its own.

`FIGURES` has them in the order of the paper, `make` writes them. The numbers need no matplotlib, the pictures do.
"""

from hybriddp.figures.paper.make import Made, make
from hybriddp.figures.paper.registry import FIGURES, select

__all__ = ["FIGURES", "Made", "make", "select"]
