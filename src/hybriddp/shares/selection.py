r"""Levels of intervals for rows that were selected by their estimates.

The largest of many noisy shares is large because its category is frequent, or because its noise is. Plain intervals of
selected shares therefore hold less often than their level says. If $R$ of $m$ rows are selected, intervals at level

$$
1 - (1 - \ell) \frac{R}{m}
$$

control the *false-coverage rate*: of the intervals of selected rows, a fraction of at least $\ell$ holds on average
(Benjamini and Yekutieli 2005), however the rows were selected by their estimates, if the same $R$ would be selected
whatever one of them is. That is so for the $R$ largest, with any rule for ties. A table of all rows selects nothing:
its level stays $\ell$.
"""

import math

import numpy as np

from hybriddp._check import FloatArray, IntArray

LEVEL = 0.95
"""Level of intervals that are stated unless another one is asked for."""


def selected_level(n_selected: int, n_rows: int, level: float = LEVEL) -> float:
    """Compute the level of each interval, so that selected ones hold as often as ``level`` says.

    Examples
    --------
    >>> selected_level(10, 1000)
    0.9995
    >>> selected_level(5, 5)
    0.95
    """
    if n_selected >= n_rows:
        return level
    return 1 - (1 - level) * max(n_selected, 1) / n_rows


def largest(shares: FloatArray, n: int) -> IntArray:
    """Find the ``n`` largest shares, the largest first; equal ones in their order."""
    return np.argsort(-shares, kind="stable")[:n]


def level_words(level: float) -> str:
    """Write a level in percent, with two digits of what is missing to 100.

    Examples
    --------
    >>> level_words(0.95), level_words(0.99975)
    ('95 %', '99.975 %')
    """
    digits = max(1 - math.floor(math.log10(100 * (1 - level))), 1)
    return f"{100 * level:.{digits}f}".rstrip("0").rstrip(".") + " %"


def selection_lines(n_selected: int, n_rows: int) -> list[str]:
    """Explain the intervals of the largest of many rows in a sentence; no line if all are shown."""
    if n_selected >= n_rows:
        return []
    level = level_words(selected_level(n_selected, n_rows))
    return [
        f"The {n_selected:,} largest of {n_rows:,} shares were selected by their size. So each of their intervals has "
        f"a level of {level}, and {level_words(LEVEL)} of those shown hold on average."
    ]
