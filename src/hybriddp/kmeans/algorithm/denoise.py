r"""Frequencies on a grid without most of their noise: wavelet shrinkage, then the nearest point of the simplex.

A cluster that is spread over many vertices stands out of the noise at none of them, and a threshold on frequencies
would lose it. But it stands out in sums over blocks. Haar wavelets are the differences of such sums, at all scales at
once: with the noise $\sigma$ of a frequency, one that averages over a block of $m$ vertices has the noise
$\sigma/\sqrt m$. Those below a few standard deviations are set to 0 [DJ94], and all placements of the blocks are
averaged, so that their edges leave no trace [CD95]. Outside of the grid there is nobody. Last, frequencies are not
negative and add up to 1: the nearest such ones [DSSC08] are smaller by a constant, where that is not below 0.
"""

import math

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm import tuning


def denoised(values: FloatArray, sizes: tuple[int, ...], noise_sd: float) -> FloatArray:
    """Frequencies on a grid of these sizes that are not negative and add up to 1, from noisy ones."""
    return at_most_all(haar_shrunk(values.reshape(sizes), noise_sd).ravel())


def haar_shrunk(values: FloatArray, noise_sd: float) -> FloatArray:
    """Values on a grid from those Haar coefficients that are above the threshold, in units of one value's noise."""
    d, scales = values.ndim, math.ceil(math.log2(max(values.shape)))
    margin = 1 << scales
    rough = np.pad(values, margin)
    kept = []
    for scale in range(scales):
        bands = _split(rough, 1 << scale)
        rough = bands[0]
        blocks = max(values.size * 2.0 ** (-scale * d), 1.0)
        level = max(tuning.HAAR_LEVEL * math.sqrt(2 * math.log(blocks)), tuning.HAAR_LEAST)
        least = level * noise_sd * 2 ** (-(scale + 1) * d / 2)
        kept.append([np.where(np.abs(band) > least, band, 0.0) for band in bands[1:]])
    for scale in reversed(range(scales)):
        rough = _join([rough, *kept[scale]], 1 << scale)
    inside: FloatArray = rough[tuple(slice(margin, margin + size) for size in values.shape)]
    return inside


def _split(values: FloatArray, step: int) -> list[FloatArray]:
    """Half sums and half differences of neighbors along every axis: the band of sums alone comes first."""
    bands = [values]
    for axis in range(values.ndim):
        pairs = [(band, np.roll(band, -step, axis)) for band in bands]
        bands = [(a + b) / 2 for a, b in pairs] + [(a - b) / 2 for a, b in pairs]
    return bands


def _join(bands: list[FloatArray], step: int) -> FloatArray:
    """What `_split` was given; every value is told by two pairs, and is their average."""
    for axis in reversed(range(bands[0].ndim)):
        half = len(bands) // 2
        pairs = zip(bands[:half], bands[half:], strict=True)
        bands = [((a + b) + np.roll(a - b, step, axis)) / 2 for a, b in pairs]
    return bands[0]


def at_most_all(values: FloatArray) -> FloatArray:
    """The nearest values that are not negative and add up to at most 1."""
    positive: FloatArray = np.maximum(values, 0.0)
    if positive.sum() <= 1:
        return positive
    largest = np.sort(values)[::-1]
    excess = (np.cumsum(largest) - 1) / np.arange(1, len(values) + 1)
    above = np.flatnonzero(largest > excess)[-1]
    nearest: FloatArray = np.maximum(values - excess[above], 0.0)
    return nearest
