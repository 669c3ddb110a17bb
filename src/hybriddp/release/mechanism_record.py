r"""The record of an event's mechanism: what an accountant needs to know beyond (ε, δ).

Discrete noise is not continuous noise, and the formulas for continuous noise do not hold for it as they are. But it is
never far above it. Let $K$ be discrete Laplace or (for $\sigma \ge 1$) discrete Gaussian noise and $X$ the continuous
noise of the same scale. Then $K$ is stochastically below $X + 1$:

- for $m \ge 1$, $P[K \ge m] \le P[X \ge m - 1]$. Laplace: $e^{-m/b}/(1 + e^{-1/b}) \le e^{-(m-1)/b}/2$. Gaussian: a sum
  of a falling function is below the integral from one step before, and by Poisson's summation the sum over all integers
  is above the integral, by the factor $1 + \theta$ with $\theta = 2\sum_{j \ge 1} e^{-2\pi^2\sigma^2j^2}$;
- for $m \le 0$ it says that $P[K \ge n] \ge P[X \ge n]$, $n = 1 - m \ge 1$. Laplace: $1/(1 + e^{-1/b}) \ge 1/2$.
  Gaussian: the sum from $n$ on is above the integral. What it has in excess beyond the point of inflection, where it is
  half of the first term at least, is more than $1/20\sigma$ of the whole already, and θ is less.

The privacy loss is a rising function of the noise, of slope at most $\Delta/\sigma^2$ (Gaussian) or $2/b$ (Laplace). So
the loss of the discrete mechanism is stochastically below that of the continuous one plus this slope. δ as a function
of ε is the mean of a rising function of the loss, also of a sum of losses: whatever ε continuous noise costs at some δ,
in whatever composition, discrete noise costs at most the sum of these `lattice_shift` more. For a total in units of
$2^{-24}$ of the range it is about a ten-millionth.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from hybriddp.errors import ParameterError
from hybriddp.privacy import Privacy
from hybriddp.theory.gaussian import gaussian_delta

LAPLACE = ("laplace", "discrete-laplace")
GAUSSIAN = ("gaussian", "discrete-gaussian")
KINDS = (*LAPLACE, *GAUSSIAN, "thresholded")
_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?")
_LONGEST = 400  # any float between 1e-300 and 1e300 that a computation would end in is shorter


@dataclass(frozen=True, slots=True)
class MechanismRecord:
    """The mechanism of a release of *one* number, as an event records it.

    Attributes
    ----------
    kind : str
        ``"laplace"``, ``"discrete-laplace"``, ``"gaussian"`` or ``"discrete-gaussian"`` noise, or ``"thresholded"``:
        ε-private except with probability δ, both the event's.
    sensitivity, scale : str or None
        How far one user can move the number, and the scale of the noise (b or σ) in the same units, as exact
        decimals; None if it is thresholded.

    Examples
    --------
    >>> MechanismRecord.noise("gaussian", sensitivity=1, scale=2.5)
    MechanismRecord(kind='gaussian', sensitivity='1', scale='2.5')
    >>> MechanismRecord.noise("gaussian", sensitivity=1, scale=2.5).rho
    Fraction(2, 25)
    """

    kind: str
    sensitivity: str | None = None
    scale: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError("kind", f"one of {', '.join(KINDS)}", self.kind)
        for name in ("sensitivity", "scale"):
            value = getattr(self, name)
            if self.kind == "thresholded":
                if value is not None:
                    raise ParameterError(name, "None for a thresholded mechanism", value)
            elif not _is_positive_decimal(value):
                raise ParameterError(name, "a positive decimal as a text, like '16777216'", value)
        if self.kind.startswith("discrete") and self.exact_sensitivity.denominator != 1:
            raise ParameterError("sensitivity", "a whole number for discrete noise", self.sensitivity)
        if self.kind == "discrete-gaussian" and self.exact_scale < 1:
            raise ParameterError(
                "scale", "at least 1 for discrete Gaussian noise: below it nothing is known", self.scale
            )
        if self.kind in GAUSSIAN and not Fraction(1, 10**100) <= self.exact_sensitivity / self.exact_scale <= 10**100:
            raise ParameterError("scale", "within a factor of 1e100 of the sensitivity", self.scale)

    @classmethod
    def noise(cls, kind: str, *, sensitivity: float | str, scale: float | str) -> "MechanismRecord":
        """Record noise. A float is taken as the exact number that it is, because the noise is drawn with it."""
        return cls(kind, _text(sensitivity), _text(scale))

    @property
    def exact_sensitivity(self) -> Fraction:
        """Δ without rounding."""
        return Fraction(self.sensitivity or 0)

    @property
    def exact_scale(self) -> Fraction:
        """Scale b or σ without rounding."""
        return Fraction(self.scale or 0)

    @property
    def rho(self) -> Fraction:
        r"""Gaussian noise is $\Delta^2/2\sigma^2$-zCDP, discrete or not [CKS20]."""
        return (self.exact_sensitivity / self.exact_scale) ** 2 / 2

    @property
    def lattice_shift(self) -> Fraction:
        """What ε of continuous noise is raised by to hold for this noise."""
        if not self.kind.startswith("discrete"):
            return Fraction(0)
        if self.kind in LAPLACE:
            return 2 / self.exact_scale
        return self.exact_sensitivity / self.exact_scale**2

    def check(self, privacy: Privacy) -> None:
        """Raise `ParameterError` if this noise is too little for what is claimed of it."""
        if self.kind == "thresholded":
            return
        if self.kind in LAPLACE:
            enough = self.exact_sensitivity / self.exact_scale <= privacy.exact_epsilon
        else:
            enough = privacy.exact_delta > 0 and self._least_delta(privacy) <= (1 + 1e-9) * float(privacy.delta)
        if not enough:
            expected = f"noise that is enough for {privacy}"
            raise ParameterError("mechanism", expected, self, remedy="Claim what the noise costs, or add more of it.")

    def _least_delta(self, privacy: Privacy) -> float:
        """Bound δ of this Gaussian noise from below: its loss is no further *below* that of continuous noise."""
        epsilon = float(privacy.exact_epsilon + self.lattice_shift)
        return float(gaussian_delta(epsilon=epsilon, sensitivity=(2 * float(self.rho)) ** 0.5, sigma=1.0))


def _is_positive_decimal(value: object) -> bool:
    if not isinstance(value, str) or len(value) > _LONGEST:
        return False
    return _DECIMAL.fullmatch(value) is not None and Fraction(value) > 0


def _text(value: float | str) -> str:
    """Write a number as its exact decimal."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return format(Decimal(value), "f") if is_number else value  # type: ignore[return-value]
