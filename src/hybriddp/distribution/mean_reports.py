r"""Reports that were collected for a mean, read as reports about a distribution.

A window channel turns a value into one of its codes with probabilities that depend on the value, so the counts of
codes are linear in the masses of the bins: $E[\text{count}_y] = n \sum_i Q_{yi} p_i$. The table $Q$ averages the
probabilities over a bin, as if values were spread evenly in it. Many different distributions give nearly the same
counts, so this needs a trusted group; with one, the many reports correct the coarse shape of the few values.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.numeric import CELL_BITS, CELLS, SHARE_BITS
from hybriddp.channels.window import WindowChannel
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.least_squares import Information, walsh
from hybriddp.grid import UNITS, read_only


@dataclass(frozen=True, slots=True, eq=False)
class WindowEvidence:
    """Counts of the codes of a window channel, and the bins that their users' values lie in."""

    counts: IntArray
    channel: WindowChannel
    bins: Bins

    @property
    def count(self) -> int:
        """How many reports there are."""
        return int(self.counts.sum())

    def information(self, masses: FloatArray) -> Information:
        r"""$M = n\,Q^T \operatorname{diag}(1/\pi)\, Q$ and $h = Q^T(\text{count}/\pi)$, with $\pi = Q p$."""
        table = code_table(self.channel, self.bins)
        chance = table @ masses
        turned = table @ walsh()
        return Information(self.count * (turned.T / chance) @ turned, turned.T @ (self.counts / chance))


@lru_cache(maxsize=8)
def code_table(channel: WindowChannel, bins: Bins) -> FloatArray:
    """$Q$: how likely each code is, by bin; shape (n_codes, 256)."""
    rows = (channel.lookup >> SHARE_BITS).astype(np.intp)
    share = ((channel.lookup & ((1 << SHARE_BITS) - 1)) / (1 << SHARE_BITS))[:, None]
    above = np.minimum(rows + 1, channel.n_rows - 1)
    at_cells = (1 - share) * channel.probabilities[rows] + share * channel.probabilities[above]
    return read_only((_cell_weights(bins) @ at_cells).T.copy())


def _cell_weights(bins: Bins) -> FloatArray:
    """How much the edge of each cell has to do with each bin, shape (256, n_cells + 1).

    Between the edges of cells the probabilities are linear in the units, so a bin's average is a sum over edges, with
    the areas of triangles as weights. The first and the last bin are a single unit at the edge of a cell.
    """
    starts = bins.cuts / (1 << CELL_BITS)
    edges = np.arange(CELLS + 1)
    area = _triangle_area(starts[:, None] - edges)
    weights = np.zeros((len(starts) + 1, CELLS + 1))
    weights[1:-1] = np.diff(area, axis=0) / np.diff(starts)[:, None]
    weights[0, 0] = weights[-1, UNITS >> CELL_BITS] = 1.0
    return weights


def _triangle_area(x: FloatArray) -> FloatArray:
    """The area, up to x, under the triangle from -1 over (0, 1) to 1."""
    x = np.clip(x, -1.0, 1.0)
    return np.where(x < 0, (1 + x) ** 2 / 2, 1 - (1 - x) ** 2 / 2)
