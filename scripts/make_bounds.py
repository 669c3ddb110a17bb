"""Make tests/theory/bounds.json: parabolas that certify lower bounds, by linear programming.

    python -m scripts.make_bounds

The programme has one variable triple per input and one constraint per value that a report might have. Values at which
the solution is found to be infeasible are added until the certified bound is within a few parts in 10,000 of the
programme's optimum. Takes some minutes.
"""

import json
import math
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from hybriddp._check import FloatArray
from hybriddp.channels import WindowChannel
from tests.theory.certificates import STORED, Certificate

EPSILONS = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10]
INPUTS = np.linspace(0, 1, 24)


def solve(epsilon: float, values: FloatArray) -> tuple[Certificate, float] | None:
    """The best parabolas if reports can only have these values and their negatives; None if the solver gives up."""
    odds, t = math.exp(epsilon), INPUTS
    k, y = len(t), np.concatenate([-values[::-1], values])
    m = len(y)
    each = np.arange(k * m)
    of_input, of_value = each // m, each % m

    def below(factor: float) -> sparse.csr_matrix:
        """Say w[i, y] <= factor * c_i(y)."""
        entries = [np.ones(k * m), -factor * y[of_value] ** 2, factor * y[of_value], np.full(k * m, factor)]
        columns = [3 * k + each, of_input, k + of_input, 2 * k + of_input]
        place = (np.concatenate([each] * 4), np.concatenate(columns))
        return sparse.csr_matrix((np.concatenate(entries), place), shape=(k * m, 3 * k + k * m))

    pair = np.where(of_value >= m // 2, of_value - m // 2, m // 2 - 1 - of_value)
    nonnegative = sparse.csr_matrix((-np.ones(k * m), (pair, 3 * k + each)), shape=(m // 2, 3 * k + k * m))
    constraints = sparse.vstack([below(1.0), below(odds), nonnegative])
    found = linprog(
        np.concatenate([t**2, -t, -np.ones(k), np.zeros(k * m)]),
        A_ub=constraints,
        b_ub=np.zeros(constraints.shape[0]),
        A_eq=sparse.csr_matrix((np.ones(k), (np.zeros(k, int), np.arange(k))), shape=(1, 3 * k + k * m)),
        b_eq=[1.0],
        bounds=[(0, None)] * k + [(None, None)] * (2 * k + k * m),
        method="highs",
    )
    if found.x is None:
        return None
    square, slope, level = (np.array(found.x[i * k : (i + 1) * k]) for i in range(3))
    return Certificate(t, np.maximum(square, 0.0), slope, level), -found.fun / 4


def violated(certificate: Certificate, epsilon: float) -> FloatArray:
    """The places where G dips below zero."""
    place, level = certificate.valleys(epsilon)
    order = np.argsort(place)
    y, g = place[order], level[order]
    lowest = (g <= np.append(np.inf, g[:-1])) & (g <= np.append(g[1:], np.inf)) & (g < 1e-3 * g.min())
    dips: FloatArray = y[lowest]
    return dips


def best(epsilon: float) -> tuple[float, Certificate, float]:
    """The best certificate for one epsilon, and its bound."""
    channel = WindowChannel(epsilon=epsilon)
    half = np.array(channel.half) / (1 << 24)
    values = np.unique(np.append(half[::4], half[-1] * np.array([1, 1.02, 1.05, 1.1, 1.2, 1.5])))
    kept, bound = None, -math.inf
    for _ in range(16):
        solution = solve(epsilon, values)
        if solution is None:
            break
        certificate, optimum = solution
        if certificate.bound(epsilon) > bound:
            kept, bound = certificate, certificate.bound(epsilon)
        if optimum - bound < 2e-4 * optimum:
            break
        values = np.unique(np.append(values, violated(certificate, epsilon)))
    if kept is None:
        raise RuntimeError(f"no certificate for epsilon {epsilon}")
    print(f"epsilon {epsilon}: bound {bound:.6g}, channel {channel.worst_variance / bound:.5f} of it", flush=True)
    return epsilon, kept, bound


def main() -> None:
    """Solve for every epsilon and store the parabolas to nine digits."""
    with ProcessPoolExecutor(2) as pool:
        solutions = list(pool.map(best, EPSILONS))
    stored = {
        "inputs": INPUTS.tolist(),
        "parabolas": {
            str(epsilon): {
                name: [float(f"{x:.9g}") for x in getattr(certificate, name)] for name in ("square", "slope", "level")
            }
            for epsilon, certificate, _ in solutions
        },
    }
    STORED.write_text(json.dumps(stored, indent=None, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
