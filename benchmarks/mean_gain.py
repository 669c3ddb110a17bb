"""Gain of the adaptive mean over the better single model, also where nearly everybody trusts.

    python -m benchmarks.mean_gain [TRIALS [USERS]]

R is the squared error of the better single model over that of the hybrid. Where trusted users alone are better, both
errors are of the same trials, which differ far less than errors of separate ones. Otherwise the error of the better
model is exact. The real pipeline, seeded; groups are alike. Takes twenty minutes of processor time with 16,000 trials;
R of 4,000 trials has a standard error of up to 0.02, because few of them differ.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

from hybriddp.mean import MeanStudy
from hybriddp.simulation import simulate

LEAST = 0.95
FRACTIONS, EPSILONS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9), (0.5, 1.0, 4.0)
# Pay: mean, standard deviation and largest value of the salaries of the University of California in 2010 [ADK20].
SHAPES = {
    "uniform": ((0.0, 1.0), "uniform(0, 1)"),
    "UC-like pay": ((0.0, 2_349_033.0), "lognormal(39531, 53254)"),
    "nearly constant": ((0.0, 1.0), "normal(0.5, 0.005)"),
}


@dataclass(frozen=True)
class Gain:
    """One line of the table."""

    shape: str
    trusted_fraction: float
    epsilon: float
    r: float
    weight: float

    def __str__(self) -> str:
        return f"| {self.shape} | {self.trusted_fraction:.0%} | {self.epsilon:g} | {self.r:.3f} | {self.weight:.4f} |"


def measure(shape: str, trusted_fraction: float, epsilon: float, n_users: int, trials: int) -> Gain:
    """Measure R in one cell."""
    bounds, values = SHAPES[shape]
    result = simulate(
        MeanStudy(shape, bounds=bounds, epsilon=epsilon), values, n_users=n_users,
        trusted_fraction=trusted_fraction, trials=trials, estimators=("trusted-only", "adaptive"), random_state=5,
    )  # fmt: skip
    adaptive, trusted = result["adaptive"], result["trusted-only"]
    trusted_is_better = trusted.predicted_mse <= float(result.setting.gain_over_best(1.0)) * (1 + 1e-9)
    r = trusted.observed_mse / adaptive.observed_mse if trusted_is_better else adaptive.gain_over_best
    return Gain(shape, trusted_fraction, epsilon, r, adaptive.weight)


def main() -> None:
    """All cells, on all cores."""
    trials, n_users = ([int(text) for text in sys.argv[1:]] + [16_000, 2500][len(sys.argv) - 1 :])[:2]
    shapes, fractions, epsilons = zip(*product(SHAPES, FRACTIONS, EPSILONS), strict=True)
    cells = len(shapes)
    print("| values | trusted | ε | R | weight |\n| --- | ---: | ---: | ---: | ---: |")
    with ProcessPoolExecutor() as pool:
        gains = pool.map(measure, shapes, fractions, epsilons, [n_users] * cells, [trials] * cells)
        found = []
        for gain in gains:
            found.append(gain)
            print(gain, flush=True)
    low = [gain for gain in found if gain.r < LEAST]
    print(f"\nLeast R {min(gain.r for gain in found):.3f}; {len(low)} of {cells} cells below {LEAST}.")


if __name__ == "__main__":
    main()
