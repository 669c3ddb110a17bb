"""Data sets for K-means: the paper's, and more that nobody tunes on.

Every set is drawn anew from a seed: points, and for the random ones centers too. Points come in random order, so that
the first ones are a fair sample, and are clipped to the box, which is the unit cube. Centers of one set are at least
six standard deviations of a cluster apart; those like S1, 4.7.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

APART = 6.0  # least distance of two centers, in standard deviations of a cluster
PAPER_SD = 0.028
PAPER_SIZE = 160_000
OTHER_SIZE = 100_000

# The paper does not print its centers. The first layout was used when the algorithm was designed; the other two were
# written down here before anything was run on them: two close clusters, and a crowd far from the center of the box.
LAYOUTS = MappingProxyType(
    {
        "paper": ((0.20, 0.25), (0.35, 0.80), (0.65, 0.40), (0.85, 0.75)),
        "paper-pair": ((0.30, 0.30), (0.44, 0.42), (0.75, 0.20), (0.60, 0.85)),
        "paper-crowd": ((0.62, 0.68), (0.80, 0.62), (0.71, 0.88), (0.12, 0.10)),
    }
)

# Where the first eight principal components of scikit-learn's digits lie, rounded outwards to multiples of four.
DIGITS_LOWER = (-32.0, -32.0, -36.0, -36.0, -28.0, -24.0, -28.0, -24.0)
DIGITS_UPPER = (32.0, 28.0, 32.0, 32.0, 24.0, 20.0, 24.0, 20.0)
DIGITS_JITTER = 0.02


@dataclass(frozen=True, slots=True)
class DataSet:
    """Points to cluster.

    Attributes
    ----------
    name : str
        The set's key in :data:`SETS`.
    points : ndarray, shape (n, d)
        The users' points, in random order.
    n_clusters : int
        How many centers to look for.
    bounds : tuple of pairs
        Lower and upper end of each coordinate: public, not taken from the points.
    """

    name: str
    points: Points
    n_clusters: int
    bounds: tuple[tuple[float, float], ...]


def paper(layout: str, seed: int, *, size: int = PAPER_SIZE) -> DataSet:
    """Four equal clusters of the paper's standard deviation in the unit square [ADK20, section 7]."""
    generator = generator_of(layout, seed)
    centers = np.array(LAYOUTS[layout])
    noise = PAPER_SD * generator.standard_normal((size, 2))
    return data_set(layout, centers[_labels(size, len(centers))] + noise, len(centers), generator)


def s1_like(seed: int, *, size: int = 105_000) -> DataSet:
    """Fifteen small clusters in the unit square, like the benchmark set S1 of Fränti and Virmajoki (2006)."""
    sd, margin, distance = 0.03, 0.1, 0.14
    generator = generator_of("s1", seed)
    return _blobs("s1", generator, separated(generator, 15, 2, distance, margin), sd, size)


def blobs(name: str, seed: int, *, dimensions: int, n_clusters: int, sd: float, size: int = OTHER_SIZE) -> DataSet:
    """Round clusters of one size around centers drawn uniformly, those too close to another drawn again."""
    generator = generator_of(name, seed)
    return _blobs(name, generator, separated(generator, n_clusters, dimensions, APART * sd, 0.15), sd, size)


def anisotropic(seed: int, *, size: int = OTHER_SIZE) -> DataSet:
    """Stretched clusters of unequal sizes 1 : 2 : 4 : ... in eight dimensions, each stretched by a map of its own.

    The map's singular values go from 1 to 5 in equal ratios, scaled to a root mean square of .06, in random directions.
    """
    name, n_clusters, dimensions, sd = "aniso8", 6, 8, 0.06
    generator = generator_of(name, seed)
    centers = separated(generator, n_clusters, dimensions, APART * sd, 0.15)
    points = generator.standard_normal((size, dimensions))
    start = 0
    for center, end in zip(centers, doubling_ends(size, n_clusters), strict=True):
        points[start:end] = center + points[start:end] @ stretch(generator, dimensions, sd)
        start = end
    return data_set(name, points, n_clusters, generator)


def doubling_ends(size: int, n_clusters: int) -> list[int]:
    """Where clusters end of which each is twice as large as the one before it."""
    return [round(size * (2**k - 1) / (2**n_clusters - 1)) for k in range(1, n_clusters + 1)]


def stretch(generator: np.random.Generator, dimensions: int, sd: float, *, condition: float = 5.0) -> Points:
    """A linear map of that condition number in random directions; its singular values' root mean square is ``sd``."""
    widths = np.geomspace(1.0, condition, dimensions)
    widths *= sd / np.sqrt(np.mean(widths**2))
    directions, _ = np.linalg.qr(generator.standard_normal((dimensions, dimensions)))
    stretched: Points = widths[:, None] * directions
    return stretched


def digits(seed: int, *, size: int = OTHER_SIZE) -> DataSet:
    """Scikit-learn's 1,797 digits: eight principal components, drawn with replacement, a little noise on each copy."""
    from sklearn.datasets import load_digits

    generator = generator_of("digits", seed)
    images = load_digits().data
    images = images - images.mean(axis=0)
    axes = np.linalg.svd(images, full_matrices=False)[2][: len(DIGITS_LOWER)]
    largest = np.argmax(np.abs(axes), axis=1)[:, None]
    axes = axes * np.sign(np.take_along_axis(axes, largest, axis=1))  # the library may give either sign
    lower, upper = np.array(DIGITS_LOWER), np.array(DIGITS_UPPER)
    scores = (images @ axes.T - lower) / (upper - lower)
    points = scores[generator.integers(len(scores), size=size)]
    points += DIGITS_JITTER * generator.standard_normal(points.shape)
    return data_set("digits", points, 10, generator)


def _named_layout(layout: str) -> Callable[[int], DataSet]:
    return lambda seed: paper(layout, seed)


def _named_blobs(name: str, dimensions: int, n_clusters: int, sd: float) -> Callable[[int], DataSet]:
    return lambda seed: blobs(name, seed, dimensions=dimensions, n_clusters=n_clusters, sd=sd)


PLANE = MappingProxyType({**{layout: _named_layout(layout) for layout in LAYOUTS}, "s1": s1_like})
"""Sets in the plane: a function of the seed for each name."""

SPACE = MappingProxyType(
    {
        "blobs4": _named_blobs("blobs4", 4, 6, 0.05),
        "blobs8": _named_blobs("blobs8", 8, 8, 0.06),
        "blobs16": _named_blobs("blobs16", 16, 10, 0.06),
        "aniso8": anisotropic,
        "digits": digits,
    }
)
"""Sets of more than three dimensions."""

SETS = MappingProxyType({**PLANE, **SPACE})


def generator_of(name: str, seed: int) -> np.random.Generator:
    """A stream of its own for each set and seed, so that no noise added later repeats what made the points."""
    return np.random.default_rng([crc32(name.encode()), seed])


def _labels(size: int, n_clusters: int) -> NDArray[np.intp]:
    """Equal clusters; where they cannot be equal, the first ones have one point more."""
    return np.arange(size) % n_clusters


def separated(
    generator: np.random.Generator, n_clusters: int, dimensions: int, distance: float, margin: float
) -> Points:
    """Centers uniform in the box without its margin, none nearer to another than ``distance``."""
    centers = np.empty((n_clusters, dimensions))
    found = 0
    for _ in range(100_000):
        center = generator.uniform(margin, 1 - margin, dimensions)
        if np.all(np.sum((centers[:found] - center) ** 2, axis=1) >= distance**2):
            centers[found] = center
            found += 1
            if found == n_clusters:
                return centers
    message = f"no room for {n_clusters} centers {distance} apart in {dimensions} dimensions"
    raise RuntimeError(message)


def _blobs(name: str, generator: np.random.Generator, centers: Points, sd: float, size: int) -> DataSet:
    noise = sd * generator.standard_normal((size, centers.shape[1]))
    return data_set(name, centers[_labels(size, len(centers))] + noise, len(centers), generator)


def data_set(name: str, points: Points, n_clusters: int, generator: np.random.Generator) -> DataSet:
    """The points in random order, clipped to the unit cube."""
    generator.shuffle(points)
    return DataSet(name, np.clip(points, 0.0, 1.0), n_clusters, ((0.0, 1.0),) * points.shape[1])
