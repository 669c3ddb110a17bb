"""Rounding of what is published: steps that people write, and exact multiples of them."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hybriddp.errors import ParameterError

_MOST_STEP = 0.5  # of the width of the bounds
_STEPS_PER_SD = 10


def step_for(sd: float, most: float = math.inf) -> Fraction:
    """Choose a step of at most a tenth of a standard deviation: rounding adds a thousandth to its square at most."""
    return nice_below(min(sd / _STEPS_PER_SD, most))


def nice_below(size: float) -> Fraction:
    """Return the largest 1, 2 or 5 times a power of ten not above ``size``."""
    if not size > 0:
        return Fraction(1, 10**300)  # next to nothing, where noise is: at most a float can say
    ten = Fraction(10) ** math.floor(math.log10(size) + 1e-9)
    nice = [ten * factor for factor in (Fraction(1, 2), 1, 2, 5) if ten * factor <= Fraction(size)]
    return max(nice) if nice else ten / 10


def exact_step(step: Fraction | Decimal | str | float, width: float) -> Fraction:
    """Return a step as an exact fraction.

    A float counts as the decimal that it is written as.
    """
    try:
        exact = Fraction(repr(float(step))) if isinstance(step, float | np.floating) else Fraction(step)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ParameterError("step", "a positive number, such as 0.5 or a Fraction", step) from None
    if isinstance(step, bool) or not 0 < exact <= _MOST_STEP * Fraction(width):
        raise ParameterError("step", "a positive number of at most half of the range", step)
    return exact


def nearest(x: Fraction, step: Fraction) -> Fraction:
    r"""Round to the nearest multiple of a step.

    The result is $\lfloor x/s + 1/2 \rfloor s$, so that each multiple stands for a half-open interval.
    """
    return math.floor(x / step + Fraction(1, 2)) * step


def number(x: float, step: Fraction) -> str:
    """Format a number for readers, with as many digits as the step justifies."""
    return f"{x + 0.0:,.{decimals(step)}f}"


def decimals(step: Fraction) -> int:
    """Return the number of decimals that a multiple of the step needs.

    A step that is not a decimal number gets two digits of its own.
    """
    for places in range(20):
        if (step * 10**places).denominator == 1:
            return places
    return min(max(2 - math.floor(math.log10(step)), 0), 300)
