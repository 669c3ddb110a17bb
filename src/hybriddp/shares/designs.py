r"""Block designs: which sets of codes stand for which categories, so that `ChoiceResponse` counts categories.

Subset selection [YB18] reports a random set of categories that the true one is likely to be in. Turned around, a
category is a set of $k$ of $n$ codes and a report is one code, likely one of the set. If any two sets have the same
number $\lambda$ of codes in common, every other category is supported with the same probability, and hits, misses and
variances are those of subset selection of $k$ out of $n$, in a report of one byte.

Two kinds of such families have a number of codes that is a power of two:

- **(16, 6, 2)**: the 16 codes are the cells of a square of four by four, and the set of a cell is the other cells of
  its row and its column. Two sets share two codes.
- **(n, n/2, n/4)**: set $v$ holds the codes $c$ for which the number of ones in $v \,\&\, c$ is odd, $0 < v < n$: the
  rows of Sylvester's matrix. Two sets share a quarter of the codes.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import ParameterError
from hybriddp.grid import read_only

SHAPES = ((4, 2), (8, 4), (16, 6), (16, 8), (32, 16))
"""Numbers of codes, and how many of them a set has."""


def n_sets(n_codes: int, n_chosen: int) -> int:
    """Return the number of categories that such a design has a set for.

    The number is 0 if the design does not exist.
    """
    if (n_codes, n_chosen) not in SHAPES:
        return 0
    return n_codes if n_chosen == 6 else n_codes - 1


def common_codes(n_codes: int, n_chosen: int) -> int:
    r"""$\lambda$: how many codes two different sets have in common."""
    return 2 if n_chosen == 6 else n_codes // 4


@lru_cache(maxsize=8)
def code_sets(n_codes: int, n_chosen: int) -> NDArray[np.int64]:
    """Return the set of each category as the bits of an integer.

    Examples
    --------
    >>> [f"{bits:04b}" for bits in code_sets(4, 2)]
    ['1010', '1100', '0110']
    """
    if not n_sets(n_codes, n_chosen):
        raise ParameterError("n_codes and n_chosen", f"one of {SHAPES}", (n_codes, n_chosen))
    code = np.arange(n_codes)
    if n_chosen == 6:
        row, column = code // 4, code % 4
        inside = (row[:, None] == row) ^ (column[:, None] == column)
    else:
        inside = np.bitwise_count(code[1:, None] & code) % 2 == 1
    return read_only((inside.astype(np.int64) << code).sum(axis=1))


@lru_cache(maxsize=8)
def membership(n_codes: int, n_chosen: int) -> NDArray[np.int64]:
    """1 where a code, by column, is in the set of a category, by row."""
    return read_only(code_sets(n_codes, n_chosen)[:, None] >> np.arange(n_codes) & 1)
