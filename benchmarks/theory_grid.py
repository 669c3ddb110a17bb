"""Every estimator, weight and gain of the paper on a grid of 1,000 trusted fractions × 1,000 values of ε."""

import numpy as np

from benchmarks.timing import medians
from hybriddp.theory import UC_SALARIES, Setting, laplace_noise

C = np.geomspace(0.001, 0.1, 1000)[:, None]
EPSILON = np.geomspace(0.1, 10, 1000)[None, :]


def everything() -> None:
    """All of it, from the parameters on."""
    noise = laplace_noise(n_users=UC_SALARIES.n_users, trusted_fraction=C, width=UC_SALARIES.width, epsilon=EPSILON)
    setting = Setting(
        n_users=UC_SALARIES.n_users,
        trusted_fraction=C,
        trusted_variance=UC_SALARIES.variance,
        local_variance=UC_SALARIES.variance,
        trusted_noise=noise.trusted,
        local_noise=noise.local,
    )
    weights = (setting.weight_known_variance(), setting.weight_privacy(), setting.weight_naive())
    errors = [setting.error_trusted_only(), setting.error_full_local(), setting.error_local_only()]
    errors += [setting.error_hybrid(weight) for weight in weights]
    errors += [setting.error_known_variance()]
    for error in errors:
        setting.gain_over_best(error)
        setting.gain_over_worst(error)
    setting.known_variance_beats_both()
    setting.privacy_weight_beats_both()


def bare() -> None:
    """One numpy expression of the same size: the trusted noise."""
    _ = 2.0 * (UC_SALARIES.width / (C * UC_SALARIES.n_users * EPSILON)) ** 2


def main() -> None:
    """Measure and print."""
    seconds = medians({"everything": everything, "bare": bare}, rounds=15)
    print(f"theory grid, 1,000 × 1,000: {seconds['everything']:.3f} s for 7 errors, 3 weights, 14 gains, 2 conditions")
    print(f"one bare numpy expression of the same size: {seconds['bare']:.4f} s")
    print(f"ratio: {seconds['everything'] / seconds['bare']:.0f}")


if __name__ == "__main__":
    main()
