"""One situation in numbers: the error of every estimator of the paper in it, the weights, and when they win."""

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray


@dataclass(frozen=True, slots=True)
class ErrorParts:
    """A mean squared error against the mean of all users' values, split by its cause.

    Attributes
    ----------
    sampling : ndarray
        From weighing some users' values more than others' (the paper's excess sampling error).
    privacy : ndarray
        From the noise.
    bias : ndarray
        From the two groups having different means.
    """

    sampling: FloatArray
    privacy: FloatArray
    bias: FloatArray

    @property
    def total(self) -> FloatArray:
        """The mean squared error itself."""
        result: FloatArray = self.sampling + self.privacy + self.bias
        return result


@dataclass(frozen=True, init=False, eq=False)
class Setting:
    r"""How many users, how many of them trust, how their values spread, and how much noise privacy asks for.

    Errors are mean squared errors against the mean of all users' values ([ADK20], Definition of the MSE). All of them
    follow from $c$ and three numbers:

    $$
    A = \frac{\sigma_T^2}{c n} + \frac{\sigma_L^2}{(1-c) n} + (\mu_T - \mu_L)^2, \qquad
    p = s_T^2, \qquad q = \frac{s_L^2}{(1-c) n}
    $$

    $$
    E_H(w) = A (w - c)^2 + p w^2 + q (1-w)^2, \qquad E_T = E_H(1), \qquad E_L = E_H(0), \qquad E_F = (1-c) q
    $$

    So $A$ is the disagreement of the two groups' sample means, and $p$ and $q$ are the noise on each group's mean.

    Parameters
    ----------
    n_users : array_like
        $n$, the users of both groups, at least 2.
    trusted_fraction : array_like
        $c$, the fraction of them who trust the curator, between 0 and 1.
    trusted_variance, local_variance : array_like
        $\sigma_T^2, \sigma_L^2$, of the values in each group.
    trusted_noise : array_like
        $s_T^2$, variance of the noise on the mean of the trusted group.
    local_noise : array_like
        $s_L^2$, variance of the noise on one local user's report.
    trusted_mean, local_mean : array_like
        $\mu_T, \mu_L$; only their difference matters.

    Notes
    -----
    All arguments broadcast, and so does every result. Nothing rounds $c n$ to whole users. With the noise of
    `laplace_noise` the setting is exactly that of the paper's evaluation. A population that is
    split at random into two groups of fixed sizes is the same setting, with the variance whose divisor is
    $n - 1$.

    Examples
    --------
    >>> from hybriddp.theory import laplace_noise
    >>> noise = laplace_noise(n_users=10_000, trusted_fraction=0.05, width=1.0, epsilon=0.1)
    >>> setting = Setting(n_users=10_000, trusted_fraction=0.05, trusted_variance=1/12, local_variance=1/12,
    ...                   trusted_noise=noise.trusted, local_noise=noise.local)
    >>> float(setting.error_trusted_only()), float(setting.error_full_local())
    (0.00095833, 0.02)
    >>> weight = setting.weight_known_variance()
    >>> float(weight), float(setting.gain_over_best(setting.error_hybrid(weight)))
    (0.95612, 1.0463)
    """

    n_users: FloatArray
    trusted_fraction: FloatArray
    trusted_variance: FloatArray
    local_variance: FloatArray
    trusted_noise: FloatArray
    local_noise: FloatArray
    trusted_mean: FloatArray
    local_mean: FloatArray

    def __init__(
        self,
        *,
        n_users: ArrayLike,
        trusted_fraction: ArrayLike,
        trusted_variance: ArrayLike,
        local_variance: ArrayLike,
        trusted_noise: ArrayLike,
        local_noise: ArrayLike,
        trusted_mean: ArrayLike = 0.0,
        local_mean: ArrayLike = 0.0,
    ) -> None:
        checked = {
            "n_users": _check.numbers("n_users", n_users, _check.USERS),
            "trusted_fraction": _check.numbers("trusted_fraction", trusted_fraction, _check.FRACTION),
            "trusted_variance": _check.numbers("trusted_variance", trusted_variance, _check.NON_NEGATIVE),
            "local_variance": _check.numbers("local_variance", local_variance, _check.NON_NEGATIVE),
            "trusted_noise": _check.numbers("trusted_noise", trusted_noise, _check.NON_NEGATIVE),
            "local_noise": _check.numbers("local_noise", local_noise, _check.NON_NEGATIVE),
            "trusted_mean": _check.numbers("trusted_mean", trusted_mean),
            "local_mean": _check.numbers("local_mean", local_mean),
        }
        _check.same_shape(**checked)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def without_mean_gap(self) -> "Setting":
        """Return the setting of a curator who assumes equal means of the groups.

        Its weight, used in this setting, is the paper's experiment on mean-skewness.
        """
        zero = np.zeros(())
        return replace(self, trusted_mean=zero, local_mean=zero)

    # The numbers that everything follows from -------------------------------------------------------------------

    @cached_property
    def _spread(self) -> FloatArray:
        c, n = self.trusted_fraction, self.n_users
        return np.asarray(self.trusted_variance / (c * n) + self.local_variance / ((1.0 - c) * n))[()]

    @cached_property
    def _gap(self) -> FloatArray:
        return np.asarray((self.trusted_mean - self.local_mean) ** 2)[()]

    @cached_property
    def _q(self) -> FloatArray:
        return np.asarray(self.local_noise / ((1.0 - self.trusted_fraction) * self.n_users))[()]

    @cached_property
    def _terms(self) -> tuple[FloatArray, ...]:
        """$c, A, p, q$, all of one shape."""
        return np.broadcast_arrays(self.trusted_fraction, self._spread + self._gap, self.trusted_noise, self._q)

    # The population ---------------------------------------------------------------------------------------------

    def mixture_mean(self) -> FloatArray:
        r"""$\mu = c \mu_T + (1-c) \mu_L$, the mean of a user drawn from both groups."""
        c = self.trusted_fraction
        return np.asarray(c * self.trusted_mean + (1.0 - c) * self.local_mean)[()]

    def mixture_variance(self) -> FloatArray:
        r"""$c \sigma_T^2 + (1-c) \sigma_L^2 + c (1-c) (\mu_T - \mu_L)^2$, of a user drawn from both groups.

        [ADK20], section 2.2, prints the second raw moment; see the errata, entry 12.
        """
        c = self.trusted_fraction
        within = c * self.trusted_variance + (1.0 - c) * self.local_variance
        return np.asarray(within + c * (1.0 - c) * self._gap)[()]

    def benchmark_variance(self) -> FloatArray:
        r"""$(c \sigma_T^2 + (1-c) \sigma_L^2)/n$: how far the benchmark itself, the mean of all users' values,
        strays from the mean of the population. No error below contains it.
        """
        c = self.trusted_fraction
        return np.asarray((c * self.trusted_variance + (1.0 - c) * self.local_variance) / self.n_users)[()]

    # Errors -----------------------------------------------------------------------------------------------------

    def parts_hybrid(self, weight: ArrayLike) -> ErrorParts:
        """Compute the parts of the hybrid's error.

        [ADK20], Lemma on the MSE of the hybrid estimator.
        """
        w = _check.numbers("weight", weight, _check.WEIGHT)
        _check.same_shape(weight=w, setting=np.broadcast_to(0.0, self.shape))
        off = (w - self.trusted_fraction) ** 2
        return ErrorParts(
            sampling=off * self._spread,
            privacy=w**2 * self.trusted_noise + (1.0 - w) ** 2 * self._q,
            bias=off * self._gap,
        )

    def parts_trusted_only(self) -> ErrorParts:
        """Compute the parts of TCM-Only's error.

        [ADK20], Lemma on the MSE of TCM-Only. This is the hybrid of weight 1.
        """
        return self.parts_hybrid(1.0)

    def parts_local_only(self) -> ErrorParts:
        """Compute the parts of LM-Only's error.

        [ADK20], Lemma on the MSE of LM-Only. This is the hybrid of weight 0.
        """
        return self.parts_hybrid(0.0)

    def parts_full_local(self) -> ErrorParts:
        """Compute the parts of Full-LM's error.

        [ADK20], Lemma on the MSE of Full-LM. All of this error is noise.
        """
        zero = np.zeros(self.shape)[()]
        return ErrorParts(sampling=zero, privacy=self.local_noise / self.n_users + zero, bias=zero)

    def error_non_private(self) -> FloatArray:
        """Zero: the mean of all users' values is what every other error is measured against."""
        return np.zeros(self.shape)[()]

    def error_trusted_only(self) -> FloatArray:
        """$E_T$: only the trusted group's values, in the central model."""
        return self.parts_trusted_only().total

    def error_full_local(self) -> FloatArray:
        """$E_F$: everybody, the trusting too, reports in the local model."""
        return self.parts_full_local().total

    def error_local_only(self) -> FloatArray:
        """$E_L$: only the local group's reports. Never below `error_full_local`."""
        return self.parts_local_only().total

    def error_hybrid(self, weight: ArrayLike) -> FloatArray:
        """$E_H(w)$: ``weight`` on the trusted group's answer, the rest on the local group's."""
        return self.parts_hybrid(weight).total

    def error_known_variance(self) -> FloatArray:
        r"""$E_H(w^*)$, the least that any weight reaches ([ADK20], Lemma on the MSE of KVH).

        $(A p c^2 + A q (1-c)^2 + p q)/(A + p + q)$, without cancellation.
        """
        c, a, p, q = self._terms
        s = a + p + q
        with np.errstate(invalid="ignore"):
            return np.where(s > 0.0, (p * c**2 + q * (1.0 - c) ** 2) * (a / s) + p * (q / s), 0.0)[()]

    # Weights ----------------------------------------------------------------------------------------------------

    def weight_known_variance(self) -> FloatArray:
        """$w^* = (A c + q)/(A + p + q)$, the best of all ([ADK20], Definitions of KVH, homogeneous and heterogeneous).

        It takes the means as known too. A curator who does not know them uses the weight of
        `without_mean_gap`. Where neither noise nor spread is left, every weight is as good and this is
        ``trusted_fraction``.
        """
        c, a, p, q = self._terms
        s = a + p + q
        with np.errstate(invalid="ignore"):
            return np.where(s > 0.0, np.minimum(c * (a / s) + q / s, 1.0), c)[()]

    def weight_privacy(self) -> FloatArray:
        """Compute the weight that minimizes the noise alone.

        [ADK20], Definition of PWH. No variance needs to be known.
        """
        c, _, p, q = self._terms
        return noise_minimizing_weight(c, p, q)

    def weight_naive(self) -> FloatArray:
        """Compute the trusted group's fraction of the users.

        This is its weight in the mean without privacy.
        """
        return np.asarray(self.trusted_fraction + np.zeros(self.shape))[()]

    def weights(self, *, known: "Setting") -> dict[str, float]:
        """Return the weight of each hybrid of the paper by name; ``known`` is what its known-variance weight knows."""
        return {
            "trusted-only": 1.0,
            "local-only": 0.0,
            "naive": float(self.weight_naive()),
            "privacy": float(self.weight_privacy()),
            "known-variance": float(known.weight_known_variance()),
        }

    # Gains ------------------------------------------------------------------------------------------------------

    def gain_over_best(self, error: ArrayLike) -> FloatArray:
        r"""$R(E) = \min(E_T, E_F)/E$ ([ADK20], Definition of R)."""
        return self._gain(np.minimum, error)

    def gain_over_worst(self, error: ArrayLike) -> FloatArray:
        r"""$r(E) = \max(E_T, E_F)/E$ ([ADK20], Definition of r)."""
        return self._gain(np.maximum, error)

    def known_variance_beats_both(self) -> NDArray[np.bool_]:
        r"""Exactly where $R(E_H(w^*)) > 1$: where $|T| s_T^2 < s_L^2$.

        [ADK20] states it as sufficient; it is also necessary, in the heterogeneous setting too (errata, entry 15):

        $$
        E_T - E(w^*) = \frac{((1-c) A + p)^2}{A + p + q}, \qquad
        E_F - E(w^*) = \frac{(c A + q)\,((1-c) q - c p)}{A + p + q}
        $$
        """
        c, a, p, q = self._terms
        wins: NDArray[np.bool_] = ((1.0 - c) * q > c * p) & ((a > 0.0) | (p > 0.0))
        return wins[()]

    def privacy_weight_beats_both(self) -> NDArray[np.bool_]:
        r"""Exactly where $R(E_H(w_P)) > 1$: where $X = (1-c)q - cp > 0$ and $A X < q (p + q)$.

        $$
        E_F - E(w_P) = \frac{X\,(q (p + q) - A X)}{(p+q)^2}, \qquad
        E_T - E(w_P) = \frac{p\,\bigl(A ((1-c)(p+q) + X) + p (p + q)\bigr)}{(p+q)^2}
        $$
        """
        c, a, p, q = self._terms
        x = (1.0 - c) * q - c * p
        with np.errstate(invalid="ignore", divide="ignore"):  # q = 0 makes X <= 0, so what x / q is does not matter
            wins: NDArray[np.bool_] = (x > 0.0) & (p > 0.0) & (a * (x / q) < p + q)
        return wins[()]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that all arguments broadcast to."""
        return np.broadcast_shapes(*(np.shape(getattr(self, field.name)) for field in fields(self)))

    def _gain(self, pick: np.ufunc, error: ArrayLike) -> FloatArray:
        """One of the single models' errors over ``error``; 1 where both are zero, infinite where only ``error`` is."""
        checked = _check.numbers("error", error, _check.NON_NEGATIVE)
        _check.same_shape(error=checked, setting=np.broadcast_to(0.0, self.shape))
        baseline, checked = np.broadcast_arrays(pick(*self._single), checked)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where((checked == 0.0) & (baseline == 0.0), 1.0, baseline / checked)[()]

    @cached_property
    def _single(self) -> tuple[FloatArray, FloatArray]:
        return self.error_trusted_only(), self.error_full_local()


def noise_minimizing_weight(c: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
    """Compute the minimizer of the noise $p w^2 + q (1-w)^2$.

    The result is $q/(p + q)$, or $c$ where there is no noise.
    """
    with np.errstate(invalid="ignore"):
        return np.where(p + q > 0.0, q / (p + q), c)[()]
