import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError
from hybriddp.paper.kmeans.sphere_packing import sphere_packing
from tests.levels import z_limit


def _radius(centers: FloatArray) -> float:
    """The largest balls around the centers that neither meet nor leave the box."""
    apart = np.linalg.norm(centers[:, None] - centers[None], axis=2)[~np.eye(len(centers), dtype=bool)]
    return float(min(apart.min() / 2, centers.min(), 1 - centers.max()))


@pytest.mark.slow
def test_centers_keep_apart_from_each_other_and_from_the_walls() -> None:
    for n_clusters, n_dimensions, least, most in (
        (2, 1, 0.24, 1 / 4),  # the best there is: a quarter from each wall
        (4, 2, 0.20, 1 / 4),  # the quarters of the square
        (8, 3, 0.17, 1 / 4),  # the eighths of the cube
        (8, 8, 0.26, 1 / 2),
        (30, 2, 0.06, 0.0917),  # the best known packing of 30 circles in a square
    ):
        for seed in range(40):
            centers = sphere_packing(n_clusters, n_dimensions, generator=np.random.default_rng(seed))
            assert centers.shape == (n_clusters, n_dimensions)
            assert least < _radius(centers) < most + 1e-6


@pytest.mark.statistical
def test_centers_differ_from_seed_to_seed_and_favor_no_direction() -> None:
    starts = np.stack([sphere_packing(3, 2, generator=np.random.default_rng(seed)) for seed in range(400)])
    again = sphere_packing(3, 2, generator=np.random.default_rng(0))
    assert np.array_equal(starts[0], again)
    assert len(np.unique(starts[:, 0, 0])) == 400
    limit = z_limit(2, 400) * starts.mean(axis=1).std(axis=0) / 20
    assert np.all(np.abs(starts.mean(axis=(0, 1)) - 0.5) < limit)
    assert np.all(np.abs(1.2 * starts.mean(axis=(0, 1)) - 0.5) > limit)


def test_edges() -> None:
    for n_dimensions in (1, 5):
        middle = sphere_packing(1, n_dimensions, generator=np.random.default_rng(0))
        assert np.array_equal(middle, np.full((1, n_dimensions), 0.5))
    crowded = sphere_packing(700, 1, generator=np.random.default_rng(0))
    assert len(np.unique(crowded)) == 700
    assert np.all((crowded >= 0) & (crowded <= 1))
    for name, k, d in (("n_clusters", 0, 2), ("n_dimensions", 2, 0), ("n_clusters", 2.0, 2)):
        with pytest.raises(ParameterError, match=f"{name} must be an integer of at least 1"):
            sphere_packing(k, d, generator=np.random.default_rng(0))
