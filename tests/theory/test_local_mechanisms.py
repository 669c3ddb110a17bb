import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from hybriddp.channels import WindowChannel
from hybriddp.theory.local_mechanisms import LOWER_BOUNDS, hybrid, laplace, one_bit, piecewise
from tests.theory.certificates import certificates


@pytest.mark.repeated
@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_a_linear_program_over_all_channels_agrees(epsilon: float) -> None:
    """The primal: the best channel with 17 inputs and 121 possible values, whatever its structure.

    Variables are the base measure q(y) and the rows p(y | t); q <= p <= e^ε q, rows sum to 1 and average to t. Fewer
    inputs make the optimum lower and fewer values make it higher, so it lies near the bound.
    """
    t = np.linspace(0, 1, 9)  # and their mirror images
    y = np.linspace(-1, 1, 121) * 1.3 / math.tanh(epsilon / 2)
    k, m = len(t), len(y)
    n = k * m + m + 1  # p, q, V
    eye, kron = sparse.identity(m), sparse.kron
    ones = np.ones((k, 1))
    below = sparse.hstack([-sparse.identity(k * m), kron(ones, eye), sparse.csr_matrix((k * m, 1))])
    above = sparse.hstack([sparse.identity(k * m), kron(ones, -math.exp(epsilon) * eye), sparse.csr_matrix((k * m, 1))])
    variance = sparse.hstack([kron(sparse.identity(k), y[None, :] ** 2), sparse.csr_matrix((k, m)), -ones])
    total = sparse.hstack([kron(sparse.identity(k), np.ones((1, m))), sparse.csr_matrix((k, m + 1))])
    mean = sparse.hstack([kron(sparse.identity(k), y[None, :]), sparse.csr_matrix((k, m + 1))])
    # q is symmetric, so that the mirror images of the rows are allowed too.
    mirror = sparse.hstack(
        [sparse.csr_matrix((m, k * m)), eye - sparse.identity(m).tocsr()[::-1], sparse.csr_matrix((m, 1))]
    )
    found = linprog(
        np.append(np.zeros(n - 1), 1.0),
        A_ub=sparse.vstack([below, above, variance]),
        b_ub=np.concatenate([np.zeros(2 * k * m), t**2]),
        A_eq=sparse.vstack([total, mean, mirror]),
        b_eq=np.concatenate([np.ones(k), t, np.zeros(m)]),
        method="highs",
    )
    optimum = found.fun / 4
    assert optimum == pytest.approx(LOWER_BOUNDS[str(epsilon)], rel=2e-3)
    assert optimum <= WindowChannel(epsilon=epsilon).worst_variance * 1.001


@pytest.mark.repeated
def test_every_bound_has_a_certificate_that_holds_on_a_fine_grid() -> None:
    """The exact minimum of G is not above what a hundred thousand points see."""
    bounds = {epsilon: certificate.bound(float(epsilon)) for epsilon, certificate in certificates().items()}
    assert bounds == pytest.approx(LOWER_BOUNDS, rel=1e-12)
    for epsilon, certificate in certificates().items():
        odds = math.exp(float(epsilon))
        place, level = certificate.valleys(float(epsilon))
        y = np.linspace(0, 3 * place[level <= level.min() + 1].max() + 3, 100_001)[:, None]
        parts = [certificate.square * s**2 - certificate.slope * s - certificate.level for s in (y, -y)]
        seen = sum(np.minimum(c, odds * c).sum(axis=1) for c in parts).min()
        assert level.min() <= seen + 1e-9 * abs(seen) + 1e-12
        assert certificate.square.min() >= 0


def test_no_known_mechanism_is_below_the_bound() -> None:
    for epsilon, bound in LOWER_BOUNDS.items():
        e = float(epsilon)
        assert 0 < bound <= WindowChannel(epsilon=e).worst_variance
        assert bound < min(laplace(e), one_bit(e), piecewise(e), hybrid(e))


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        (1.0, {"laplace": 2.0, "one_bit": 1.171, "piecewise": 1.306, "hybrid": 1.072}),
        (4.0, {"laplace": 0.125, "one_bit": 0.269, "piecewise": 0.0603, "hybrid": 0.05475}),
        (0.5, {"laplace": 8.0, "one_bit": 4.168, "piecewise": 5.31, "hybrid": 4.168}),
    ],
)
def test_the_other_mechanisms_have_their_published_variances(epsilon: float, expected: dict[str, float]) -> None:
    for mechanism in (laplace, one_bit, piecewise, hybrid):
        assert mechanism(epsilon) == pytest.approx(expected[mechanism.__name__], rel=2e-3)
