r"""Variance of other reports of a bounded number, and the least that is possible.

All are unbiased, and variances are for the unit range. For a mechanism whose variance depends on the input, the largest
over all inputs is given.
"""

import math

LOWER_BOUNDS = {
    "0.01": 9999.999843964506,
    "0.02": 2499.999852400102,
    "0.05": 399.99985438318106,
    "0.1": 99.9998629427149,
    "0.25": 15.999968820309922,
    "0.5": 4.000415879683739,
    "0.75": 1.7792062270214997,
    "1": 0.9975742114762939,
    "1.25": 0.6281388287690443,
    "1.5": 0.42281024900858827,
    "1.75": 0.29748175742934385,
    "2": 0.21631605661930373,
    "2.5": 0.12328126109853017,
    "3": 0.07598841838919876,
    "3.5": 0.04831893067267806,
    "4": 0.03174773022214716,
    "5": 0.014321271055631702,
    "6": 0.006759561746698224,
    "7": 0.003266530971896832,
    "8": 0.001601611901300081,
    "10": 0.00038892214373321065,
}
"""Least worst-case variance of any unbiased ε-private report, by ε: tests check a certificate of each.

From ε = 6 on the bound itself may be a percent or more too low.
"""


def laplace(epsilon: float) -> float:
    r"""Compute the variance of Laplace noise, as in [ADK20]: $2/\epsilon^2$."""
    return 2 / epsilon**2


def one_bit(epsilon: float) -> float:
    r"""Compute that of the one-bit mechanism of [DJW18]: $C^2/4$, $C = \coth(\epsilon/2)$, at the middle."""
    return 1 / (4 * math.tanh(epsilon / 2) ** 2)


def piecewise(epsilon: float) -> float:
    r"""Compute the variance of the piecewise mechanism of [WXYZ19], at the bounds.

    $$
    \frac14\left(\frac{h + 3}{3(h-1)^2} + \frac{1}{h-1}\right), \qquad h = e^{\epsilon/2}
    $$
    """
    h = math.exp(epsilon / 2)
    return ((h + 3) / (3 * (h - 1) ** 2) + 1 / (h - 1)) / 4


def hybrid(epsilon: float) -> float:
    r"""Compute the variance of the hybrid mechanism of [WXYZ19], for ε > 0.61 a mixture of both, equal everywhere."""
    if epsilon <= 0.61:
        return one_bit(epsilon)
    h = math.exp(epsilon / 2)
    weight = 1 - math.exp(-epsilon / 2)
    return (weight * (h + 3) / (3 * (h - 1) ** 2) + (1 - weight) / math.tanh(epsilon / 2) ** 2) / 4
