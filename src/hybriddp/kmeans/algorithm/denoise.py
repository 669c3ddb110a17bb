r"""Frequencies on a grid without most of their noise: wavelet shrinkage, and no more users than there are.

A cluster that is spread over many vertices stands out of the noise at none of them, and a threshold on frequencies
would lose it. But it stands out in sums over blocks. Haar wavelets are differences of such sums, at all scales at once:
where a frequency has noise of the standard deviation $\sigma$, a coefficient that is an average over $m$ vertices has
$\sigma/\sqrt m$. With $M/m$ blocks, noise alone rarely exceeds $\sqrt{2\log(M/m)}$ standard deviations; what is below
that is set to 0 [DJ94]. Where many coefficients of a scale stand out, as with many small places at a large ε, that
is too strict: there the threshold is the lowest at which at most a tenth of what passes is noise [BH95]. All placements
of the blocks are averaged, so that their edges leave no trace [CD95]. Outside of the grid there is nobody, so that
blocks grow along an axis until they are as long as the grid is there.
"""

import math

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.reports.chi_square import erfc

_LEAST_NOISE = 1e-150  # frequencies that are exact are divided by it


def denoised(values: FloatArray, sizes: tuple[int, ...], noise_sd: float) -> FloatArray:
    """Frequencies on a grid of these sizes that are not negative and add up to at most 1, from noisy ones."""
    return at_most_all(haar_shrunk(values.reshape(sizes), noise_sd).ravel())


def haar_shrunk(values: FloatArray, noise_sd: float) -> FloatArray:
    """Values on a grid by those of their Haar coefficients that stand out of noise."""
    scales = [math.ceil(math.log2(size)) for size in values.shape]  # along each axis
    rough: FloatArray = np.pad(values, [(1 << own, 1 << own) for own in scales])
    kept = []
    for scale in range(max(scales)):
        rough, *details = _split(rough, 1 << scale, _axes(scales, scale))
        placements = _vertices(scales, scale + 1)  # of a block, which are as many as its vertices
        sd = max(noise_sd, _LEAST_NOISE) / math.sqrt(placements)
        most = _level(values.size / _vertices(scales, scale))
        many = tuning.HAAR_MANY * placements  # one place of noise is seen in as many placements
        least = [sd * threshold(np.abs(band) / sd, most, many) for band in details]
        kept.append([np.where(np.abs(band) > low, band, 0.0) for band, low in zip(details, least, strict=True)])
    for scale in reversed(range(max(scales))):
        rough = _join([rough, *kept[scale]], 1 << scale, _axes(scales, scale))
    inside: FloatArray = rough[tuple(slice(1 << own, -(1 << own)) for own in scales)]
    return inside


def _axes(scales: list[int], scale: int) -> list[int]:
    """The axes along which blocks still grow at a scale."""
    return [axis for axis, own in enumerate(scales) if scale < own]


def _vertices(scales: list[int], scale: int) -> int:
    """How many vertices a block of a scale has."""
    return math.prod(1 << min(scale, own) for own in scales)


def _level(blocks: float) -> float:
    """How many standard deviations a coefficient must have, if there are so many of its scale."""
    return max(tuning.HAAR_LEVEL * math.sqrt(2 * math.log(max(blocks, 1.0))), tuning.HAAR_LEAST)


def threshold(sizes: FloatArray, most: float, many: int) -> float:
    """What a coefficient must exceed, in standard deviations of its noise: ``most``, and less if at least ``many`` do.

    Of those that exceed it, noise alone would make at most the fraction `tuning.HAAR_FALSE` [BH95]. Coefficients that
    are 0 are those outside of the grid, and do not count.
    """
    high = np.sort(sizes[sizes > tuning.HAAR_LEAST])[::-1]
    by_noise = erfc(high / math.sqrt(2)) * np.count_nonzero(sizes)
    number = np.arange(1, len(high) + 1)
    passes = high[(by_noise <= tuning.HAAR_FALSE * number) & (number >= many)]
    return float(np.clip(passes.min(initial=most), tuning.HAAR_LEAST, most)) - 1e-12


def _split(values: FloatArray, step: int, axes: list[int]) -> list[FloatArray]:
    """Half sums and half differences of neighbors along each of the axes; sums along all of them come first."""
    bands = [values]
    for axis in axes:
        pairs = [(band, np.roll(band, -step, axis)) for band in bands]
        bands = [(a + b) / 2 for a, b in pairs] + [(a - b) / 2 for a, b in pairs]
    return bands


def _join(bands: list[FloatArray], step: int, axes: list[int]) -> FloatArray:
    """What `_split` was given: each value is in two pairs, and is the average of what they say."""
    for axis in reversed(axes):
        half = len(bands) // 2
        pairs = zip(bands[:half], bands[half:], strict=True)
        bands = [((a + b) + np.roll(a - b, step, axis)) / 2 for a, b in pairs]
    return bands[0]


def at_most_all(values: FloatArray) -> FloatArray:
    r"""The nearest values that are not negative and add up to at most 1: $\max(v - t, 0)$ with the least $t \ge 0$.

    Examples
    --------
    >>> at_most_all(np.array([0.5, -0.1, 0.25])).tolist()
    [0.5, 0.0, 0.25]
    >>> at_most_all(np.array([1.0, 0.5, -0.25])).tolist()
    [0.75, 0.25, 0.0]
    """
    positive: FloatArray = np.maximum(values, 0.0)
    if positive.sum() <= 1:
        return positive
    largest = np.sort(values)[::-1]
    excess = (np.cumsum(largest) - 1) / np.arange(1, len(values) + 1)
    least = excess[np.flatnonzero(largest > excess)[-1]]
    nearest: FloatArray = np.maximum(values - least, 0.0)
    return nearest
