"""An independent oracle: the errors from their definition, user by user, in rational arithmetic.

An estimator is a linear form in the users' values plus noise. Its error against the mean of all values is the sum of
the squared differences of the coefficients times the variances, plus the noise, plus the squared bias. None of the
closed forms of the package is used.
"""

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

from hybriddp._check import FloatArray
from hybriddp.theory import Setting


@dataclass(frozen=True)
class Exact:
    n: Fraction
    c: Fraction
    vt: Fraction
    vl: Fraction
    st: Fraction
    sl: Fraction
    mt: Fraction
    ml: Fraction

    @classmethod
    def of(cls, setting: Setting) -> "Exact":
        return cls(
            *(
                Fraction(float(x))
                for x in (
                    setting.n_users,
                    setting.trusted_fraction,
                    setting.trusted_variance,
                    setting.local_variance,
                    setting.trusted_noise,
                    setting.local_noise,
                    setting.trusted_mean,
                    setting.local_mean,
                )
            )
        )

    def hybrid(self, w: Fraction) -> Fraction:
        trusted, local = self.c * self.n, (1 - self.c) * self.n
        sampling = trusted * (w / trusted - 1 / self.n) ** 2 * self.vt
        sampling += local * ((1 - w) / local - 1 / self.n) ** 2 * self.vl
        noise = w**2 * self.st + local * ((1 - w) / local) ** 2 * self.sl
        bias = w * self.mt + (1 - w) * self.ml - (self.c * self.mt + (1 - self.c) * self.ml)
        return sampling + noise + bias**2

    def full_local(self) -> Fraction:
        return self.n * (1 / self.n) ** 2 * self.sl

    def best_weight(self) -> Fraction | None:
        """The vertex of the parabola through three points; None if it is flat."""
        e0, e1, eh = self.hybrid(Fraction(0)), self.hybrid(Fraction(1)), self.hybrid(Fraction(1, 2))
        curvature = 2 * (e0 + e1 - 2 * eh)
        return None if curvature == 0 else (e0 - e1 + curvature) / (2 * curvature)


def settings_strategy() -> st.SearchStrategy[Setting]:
    """Settings from the whole parameter space, the extremes included."""
    edges = st.sampled_from([1e-9, 1e-3, 0.5, 1 - 1e-3, 1 - 1e-9])
    variance = st.one_of(st.just(0.0), st.floats(1e-12, 1e6))
    mean = st.one_of(st.just(0.0), st.floats(1e-6, 1e3), st.floats(-1e3, -1e-6))  # squares stay normal numbers
    return st.builds(
        Setting,
        n_users=st.one_of(st.sampled_from([2.0, 3.0, 1e12]), st.floats(2, 1e9)),
        trusted_fraction=st.one_of(edges, st.floats(1e-6, 1 - 1e-6)),
        trusted_variance=variance,
        local_variance=variance,
        trusted_noise=variance,
        local_noise=variance,
        trusted_mean=mean,
        local_mean=mean,
    )


def laplace_strategy() -> st.SearchStrategy[Setting]:
    """Homogeneous settings with Laplace noise, ε from 1e-3 to 50."""

    def build(n: int, trusted: float, epsilon: float, relative_sd: float, width: float) -> Setting:
        from hybriddp.theory import laplace_noise

        n_trusted = min(max(1, round(trusted * n)), n - 1)
        c = n_trusted / n
        noise = laplace_noise(n_users=n, trusted_fraction=c, width=width, epsilon=epsilon)
        variance = (relative_sd * width) ** 2
        return Setting(
            n_users=n,
            trusted_fraction=c,
            trusted_variance=variance,
            local_variance=variance,
            trusted_noise=noise.trusted,
            local_noise=noise.local,
        )

    return st.builds(
        build,
        n=st.one_of(st.just(2), st.integers(2, 10**9)),
        trusted=st.floats(1e-9, 1.0),
        epsilon=st.one_of(st.sampled_from([1e-3, 1.0, 50.0]), st.floats(1e-3, 50)),
        relative_sd=st.one_of(st.sampled_from([0.0, 0.5]), st.floats(0.0, 0.5)),
        width=st.sampled_from([1e-6, 1.0, 2_349_033.0]),
    )


def close(actual: float | FloatArray, expected: Fraction, relative: float = 1e-9) -> bool:
    """Whether a float agrees with an exact number, up to rounding."""
    return abs(Fraction(float(actual)) - expected) <= abs(expected) * Fraction(relative)
