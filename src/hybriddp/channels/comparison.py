r"""What other local mechanisms would cost, as variances on the unit range, for comparison.

For a mechanism whose variance depends on the input, the largest over all inputs is given. All of them are unbiased.
"""

import math


def laplace(epsilon: float) -> float:
    r"""Laplace noise, as in [ADK20]: $2/\epsilon^2$."""
    return 2 / epsilon**2


def one_bit(epsilon: float) -> float:
    r"""The one-bit mechanism of [DJW18]: $C^2/4$ with $C = \coth(\epsilon/2)$, at the middle of the range."""
    return 1 / (4 * math.tanh(epsilon / 2) ** 2)


def piecewise(epsilon: float) -> float:
    r"""The piecewise mechanism of [WXYZ19], at the bounds.

    $$
    \frac14\left(\frac{h + 3}{3(h-1)^2} + \frac{1}{h-1}\right), \qquad h = e^{\epsilon/2}
    $$
    """
    h = math.exp(epsilon / 2)
    return ((h + 3) / (3 * (h - 1) ** 2) + 1 / (h - 1)) / 4


def hybrid(epsilon: float) -> float:
    r"""The hybrid mechanism of [WXYZ19], a mixture of both for ε > 0.61: its variance is the same everywhere."""
    if epsilon <= 0.61:
        return one_bit(epsilon)
    h = math.exp(epsilon / 2)
    share = 1 - math.exp(-epsilon / 2)
    return (share * (h + 3) / (3 * (h - 1) ** 2) + (1 - share) / math.tanh(epsilon / 2) ** 2) / 4
