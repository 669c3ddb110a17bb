"""Settings of the errata."""

from typing import Any

from hybriddp.theory import Setting, laplace_noise


def homogeneous(n: Any, c: Any, variance: Any, trusted_noise: Any, local_noise: Any) -> Setting:
    """Both groups have this variance and the same mean."""
    return Setting(
        n_users=n,
        trusted_fraction=c,
        trusted_variance=variance,
        local_variance=variance,
        trusted_noise=trusted_noise,
        local_noise=local_noise,
    )


def laplace_setting(n: Any, c: Any, epsilon: Any, variance: Any, width: Any = 1.0) -> Setting:
    """The same with Laplace noise."""
    noise = laplace_noise(n_users=n, trusted_fraction=c, width=width, epsilon=epsilon)
    return homogeneous(n, c, variance, noise.trusted, noise.local)
