r"""Reports that were collected for a mean, read as reports about a distribution.

A window channel turns a value into one of its codes with probabilities that depend on the value, so the counts of
codes are linear in the masses of the bins: $E[\text{count}_y] = n \sum_i Q_{yi} p_i$. The table $Q$ averages the
probabilities over a bin, as if values were spread evenly in it. Many different distributions give nearly the same
counts, so this needs a trusted group; with one, the many reports correct the coarse shape of the few values.

**Within bins.** Values need not be spread evenly: they may all be the same. Then the codes of bin $i$ have the
probabilities $q(x)$ of that one value $x$, not their average, and no number of reports makes the difference smaller. It
counts as an error of the reports, as large as if every bin held one value at a random place in it,

$$
V = \sum_i p_i^2 \operatorname{Cov}_{x \in i}(q(x)), \qquad
\operatorname{Cov}(\text{count}/n) = (\operatorname{diag} \pi - \pi \pi^T)/n + V.
$$

Where no bin holds much it is far below the noise. Where one does, or where bins are wide, the reports say less.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.masked import N_BINS
from hybriddp.channels.window_channel import CELL_BITS, CELLS, SHARE_BITS, WindowChannel
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.least_squares import Information, Observed, equal_pieces, walsh
from hybriddp.grid import UNITS, read_only

_PLACES = 4  # at least, in each bin, and as many more in those that are wider than one in 256


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
        r"""$M = Q^T A^{-1} Q$ and $h = Q^T A^{-1} \text{count}/n$ with $A = \operatorname{diag} \pi/n + V$, $\pi = Qp$.

        Codes have the sum 1 whatever the masses are, so $A$ serves as well as the covariance $A - \pi\pi^T/n$.
        """
        turned = code_table(self.channel, self.bins) @ walsh()
        solved = np.linalg.solve(self._covariance(masses), np.column_stack([turned, self.counts / self.count]))
        said = turned.T @ solved
        return Information(said[:, :-1], said[:, -1])

    def observed(self, masses: FloatArray) -> Observed:
        """The cumulated frequencies of the codes, cut into 16 pieces."""
        table = code_table(self.channel, self.bins)
        chance = table @ masses
        below = np.tri(len(chance))[equal_pieces(chance)]
        covariance = self._covariance(masses) - np.outer(chance, chance) / self.count
        return Observed(below @ (self.counts / self.count), below @ covariance @ below.T, below @ table)

    def _covariance(self, masses: FloatArray) -> FloatArray:
        """$A$."""
        places = within_bins(self.channel, self.bins)
        within = places.deviations * masses[places.bins]
        chance = code_table(self.channel, self.bins) @ masses
        found: FloatArray = np.diag(chance / self.count) + within @ within.T
        return found


@lru_cache(maxsize=8)
def code_table(channel: WindowChannel, bins: Bins) -> FloatArray:
    """$Q$: how likely each code is, by bin; shape (n_codes, 256)."""
    return read_only((_cell_weights(bins) @ _at_cells(channel)).T.copy())


class Places(NamedTuple):
    """Places in the bins, and how far the codes' probabilities are there from their average over the bin."""

    bins: NDArray[np.intp]  # the bin of each place
    deviations: FloatArray  # (codes, places), over the root of the number of places in the bin


@lru_cache(maxsize=8)
def within_bins(channel: WindowChannel, bins: Bins) -> Places:
    r"""Places whose deviations, times the masses of their bins, have $V$ as the sum of their squares."""
    starts = np.concatenate([[0], bins.cuts, [UNITS + 1]])
    widths = np.diff(starts)
    numbers = np.maximum(_PLACES, -(-_PLACES * N_BINS * widths // UNITS))
    bin_of = np.repeat(np.arange(N_BINS), numbers)
    nth = np.arange(len(bin_of)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    units = starts[bin_of] + (widths[bin_of] - 1) * (nth + 0.5) / numbers[bin_of]
    cells, share = np.divmod(units / (1 << CELL_BITS), 1.0)
    below, at_cells = cells.astype(np.intp), _at_cells(channel)
    above = np.minimum(below + 1, CELLS)
    found = (1 - share)[:, None] * at_cells[below] + share[:, None] * at_cells[above]
    average = np.add.reduceat(found, np.cumsum(numbers) - numbers) / numbers[:, None]
    deviations = (found - average[bin_of]) / np.sqrt(numbers[bin_of])[:, None]
    return Places(read_only(bin_of), read_only(deviations.T.copy()))


def _at_cells(channel: WindowChannel) -> FloatArray:
    """How likely each code is for a value at the edge of each cell, shape (n_cells + 1, n_codes)."""
    rows = (channel.lookup >> SHARE_BITS).astype(np.intp)
    share = ((channel.lookup & ((1 << SHARE_BITS) - 1)) / (1 << SHARE_BITS))[:, None]
    above = np.minimum(rows + 1, channel.n_rows - 1)
    found: FloatArray = (1 - share) * channel.probabilities[rows] + share * channel.probabilities[above]
    return found


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
