r"""Amplification in a study with a window channel.

The codes of other users depend on their values, which an adversary may know, so for local users they do not count as
noise here; for trusted users that part of them does which depends on nothing (the blanket), if a δ is allowed for. In
units of the range over $2^{24}$ the published estimate is

$$
\frac{w}{n_T}(S_T + N) + \frac{1-w}{n_L}\,2^{24} \sum_i v_i,
$$

$N$ the curator's discrete Laplace noise with $P[N = k] \propto e^{-\epsilon |k|/2^{24}}$ and $v_i$ the values of the
codes. It is published as a multiple of a step $g$, at the finest $2^{9} w/n_T$ units exactly, so that each published
value stands for $2^9$ neighboring values of $N$, wherever the rest of the sum lies. Then whatever moves the sum by $D$
units changes the odds of no published value by more than $e^{\epsilon \lceil D n_T/w \rceil / 2^{24}}$: pure, and in
whole numbers.

A trusted user moves it by $w 2^{24}/n_T$ and keeps ε, at δ = 0. A local user moves it by at most
$(1-w) 2^{24} v_{\max}/n_L$, $v_{\max}$ the largest difference of two codes' values.

**Rounding to a step.** In steps $u$ of its lattice the noise is discrete Laplace, $P[N = k] \propto e^{-\lambda |k|}$
with $\lambda = \epsilon/2^{24}$, and the published number is the nearest multiple of $s$ to $N u$ plus the rest. So it
tells that $N$ lies in a half-open interval $[x, x + s/u)$, where $x$ is any real number that the rest decides. A user
moves the rest by $D$ steps $u$ at most.

**Theorem.** With $m = \lfloor s/u \rfloor \ge 1$, no published number gets likelier by more than

$$
e^{\lambda \lceil D \rceil} \cdot \tfrac{m+1}{m}, \qquad \text{and only by } e^{\lambda \lceil D \rceil}
\text{ if } s/u \text{ is whole.}
$$

*Proof.* Both intervals hold runs of $m$ or $m + 1$ whole numbers, whose first ones and whose last ones are at most
$\lceil D \rceil$ apart. Runs of one length (always, if $s/u$ is whole) are the same run moved by at most
$\lceil D \rceil$, and each term changes by $e^{\lambda \lceil D \rceil}$ at most. If the first has one more, leave out
its smallest term: that is at an end, since the terms rise and fall once, so what is left is a run, and at least
$m/(m+1)$ of the whole; its first or its last number is that of the other run moved by at most $\lceil D \rceil$. If the
first has one less, the other run has an end to spare. ∎

Mixtures over the rest, and over which code a user sends, keep the bound. Any other step will not do: a step close to a
multiple of $u$ but not quite it has runs of $m$ and $m + 1$, and must pay for that.

**The blanket**: what uniform codes add to the curator's noise, for a user of the trusted group. A row of a window
channel gives weight $a$ to every code, whatever the input: with probability $\gamma = n a/2^B$ a report is a uniform
code ([BBGN19] call that the privacy blanket). Given all values, and which reports are of that kind, the published
estimate is a constant plus, in units of the scale of the curator's noise,

$$
Y = X + \kappa \sum_{i=1}^{M} v_{U_i}, \qquad
\kappa = \epsilon\,\frac{(1-w)\, n_T}{w\, n_L},
$$

$X$ Laplace, $U_i$ uniform codes and $M$ binomial. More terms only hide more, so $M$ is replaced by a number $M_0$ that
it falls short of with a probability that is added to δ. A trusted user shifts $Y$ by ε.

The density $p$ of $Y$ is that of a sum with $X$, so $|\log p(y) - \log p(z)| \le |y - z|$. That makes three roundings
harmless, each paid for in ε: a normal dither of standard deviation $g$, which no frequency above some $T$ survives; the
step $h$ of the grid on which $p$ is computed by Fourier inversion; and the cells to which the published value is
rounded. What is left out of the inversion is bounded (frequencies between the last one used and $T$ by a table of
$|E \cos(s\, v_U)|$, the tails by those of $Y$) and added to δ. Where the bound is too large, as for few reports,
there is no amplification to be had this way, and ε is returned.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.window_channel import VALUE_BITS, WindowChannel
from hybriddp.grid import UNITS, read_only
from hybriddp.mean.published import CELL

_LARGEST_S = 400.0  # up to which the characteristic function of a code's value is bounded
_TABLE_STEP = 0.01
_GRID = 4e-4  # the step h at most
_MOST_POINTS = 1 << 20
_TAIL = 36.0  # e^-36 of a Laplace variable is beyond


@dataclass(frozen=True, slots=True)
class WindowAmplification:
    """ε′ of each group, at δ for trusted users and pure for local ones."""

    trusted: float
    local: float


def exact(
    channel: WindowChannel,
    *,
    n_trusted: int,
    n_local: int,
    weight: float,
    honest_local: int | None = None,
    delta: float = 0.0,
    step: Fraction | None = None,
) -> WindowAmplification:
    """Bound ε′ of both groups for a weight that was fixed before any data was seen.

    ``honest_local`` are the users whose codes the adversary does not know, all local ones if not given; they matter for
    trusted users only, and only with ``delta`` above 0. ``step`` is the step that the estimate is rounded to, in widths
    of the range: the finest step of the proof if not given.

    Examples
    --------
    >>> tiers = exact(WindowChannel(epsilon=1.0), n_trusted=1000, n_local=99_000, weight=0.5)
    >>> tiers.trusted, tiers.local
    (1.0, 0.028192)
    """
    promised = Fraction(channel.epsilon)
    epsilon = float(promised)
    if weight == 0:  # nothing of the trusted group is published, and no noise of the curator
        return WindowAmplification(trusted=0.0, local=epsilon)
    lattice = Fraction(weight) / (n_trusted * UNITS)
    g = CELL * lattice if step is None else step
    # The two codes that are furthest apart differ by twice the largest value in half ranges.
    moved = (1 - Fraction(weight)) / n_local * Fraction(max(map(abs, channel.code_values)), 1 << VALUE_BITS)
    honest = n_local if honest_local is None else honest_local
    trusted = epsilon
    if delta > 0:
        # Given the reports, a published value has the same probability under continuous noise but for e^±(λ + cost),
        # λ = ε/2^24: its run of lattice points and its interval differ by less than one point.
        cell = max(CELL * epsilon / UNITS, epsilon / UNITS + rounding_cost(g, lattice))
        trusted = trusted_epsilon(
            channel, n_trusted=n_trusted, n_local=n_local, honest=honest, weight=weight, delta=delta, cell=cell
        )
    return WindowAmplification(trusted=trusted, local=pure_epsilon(promised, moved, step=g, lattice=lattice))


# Rounding


def rounding_cost(step: Fraction, lattice: Fraction) -> float:
    """Compute the logarithm of $(m+1)/m$, rounded up; 0 for a step that is a multiple of the lattice's.

    It is infinite for a step below the lattice's: the published number would reveal where the lattice lies.

    Examples
    --------
    >>> rounding_cost(Fraction(512), Fraction(1)), rounding_cost(Fraction(512), Fraction(3, 2))
    (0.0, 0.0029282)
    """
    cell = step / lattice
    if cell < 1:
        return math.inf
    return 0.0 if cell.denominator == 1 else _up(math.log1p(1 / math.floor(cell)))


def pure_epsilon(epsilon: Fraction, moved: Fraction, *, step: Fraction, lattice: Fraction) -> float:
    """Bound ε′ at δ = 0 of a user who moves the rest by at most ``moved``, behind noise of scale $2^{24}/ε$ steps.

    All lengths in one unit. It is at most the promised ε, which no rounding takes away.
    """
    if moved == 0:
        return 0.0
    if moved >= lattice * UNITS:  # as far as somebody of the other group: only the promise is left
        return float(epsilon)
    shifted = _up(float(epsilon * math.ceil(moved / lattice) / UNITS))
    return min(float(epsilon), shifted + rounding_cost(step, lattice))


def _up(x: float) -> float:
    """Round up, so that the result is not below what ``x`` was rounded from."""
    return x * (1 + 4e-16)


# The blanket


@dataclass(frozen=True, slots=True)
class Blanket:
    """Density of the dithered $Y$ at multiples of a step $h$, the shift in steps, and the cost of approximations.

    ``slack`` is the cost of dither, grid and cells in ε, ``error`` that of frequencies and tails in δ.
    """

    density: FloatArray
    step: float
    shift_steps: int
    slack: float
    error: float

    def delta(self, epsilon: float) -> float:
        """Bound δ at this ε from above; below the slack nothing can be shown."""
        if epsilon < self.slack:
            return 1.0
        excess = np.exp(epsilon - self.slack) * self.density[: -self.shift_steps]
        np.subtract(self.density[self.shift_steps :], excess, out=excess)
        np.maximum(excess, 0.0, out=excess)
        edge = self.density[: self.shift_steps].sum()
        return float((excess.sum() + edge) * self.step * math.exp(self.slack)) + self.error * (1 + math.exp(epsilon))


def trusted_epsilon(
    channel: WindowChannel, *, n_trusted: int, n_local: int, honest: int, weight: float, delta: float, cell: float
) -> float:
    """Compute the smallest ε′ of a trusted user at δ that this method can show; else the promised ε.

    ``cell`` is the step between published values, in scales of the curator's noise.
    """
    from scipy.optimize import brentq

    promised = float(channel.epsilon)
    if weight in (0.0, 1.0) or honest == 0:
        return promised
    terms = _surely(honest, _blanket_probability(channel), delta / 100)
    kappa = promised * (1 - weight) * n_trusted / (weight * n_local)
    if terms <= 0 or not 1e-100 < kappa < 1e100:
        return promised
    blanket = _blanket(channel, kappa, terms, promised, cell)
    target = delta * 0.99
    if blanket is None or blanket.slack >= promised or blanket.delta(promised) > target:
        return promised
    if blanket.delta(blanket.slack) <= target:
        return blanket.slack
    x = float(brentq(lambda e: math.log(blanket.delta(e) / target), blanket.slack, promised, xtol=2e-5))
    while blanket.delta(x) > target:
        x += 2e-5
    return min(x, promised)


def _blanket_probability(channel: WindowChannel) -> float:
    """Compute γ, the probability that a report is a uniform code."""
    return channel.window.n_codes * channel.window.low / (1 << channel.window.bits)


def _surely(honest: int, probability: float, delta: float) -> int:
    """Find a number that a binomial variable falls short of with probability at most δ."""
    from scipy.stats import binom

    terms = int(binom.ppf(delta, honest, probability))
    while terms > 0 and binom.cdf(terms - 1, honest, probability) > delta:
        terms -= 1
    return terms


def _blanket(channel: WindowChannel, kappa: float, terms: int, shift: float, cell: float) -> Blanket | None:
    from scipy.fft import next_fast_len

    values = channel.values - 0.5  # symmetric about 0
    spread = kappa * math.sqrt(terms * float(np.mean(values**2)))
    half = _TAIL + shift + 9 * spread
    step = shift / math.ceil(shift / max(_GRID, 2 * half / _MOST_POINTS))
    points = next_fast_len(2 * math.ceil(half / step), real=True)
    period = points * step
    # Frequencies are used while the sum of codes lets them through.
    reach = math.sqrt(2 * 42.0 / terms) / float(np.sqrt(np.mean(values**2))) * 1.1
    used = min(math.ceil(reach / kappa * period / (2 * math.pi)), points // 2 - 1)
    t = 2 * math.pi / period * np.arange(used + 1)
    highest = _LARGEST_S / kappa  # T: what lies above dies of the dither
    dither = 8.7 / highest
    if kappa * t[-1] > _LARGEST_S or dither > 0.05:
        return None
    transform = _power(values, kappa * t, terms) * np.exp(-((dither * t) ** 2) / 2) / (1 + t**2)
    spectrum = np.zeros(points // 2 + 1)
    spectrum[: used + 1] = transform
    density = np.fft.fftshift(np.fft.irfft(spectrum, points)) / step
    between = _largest_from(channel, kappa * float(t[-1]))
    left_out = (between**terms + math.exp(-(8.7**2) / 2)) * math.atan(1 / t[-1]) / math.pi
    tails = 2 * math.exp(-_TAIL) + 4 * math.exp(-(9**2) / 2)
    # A fast Fourier transform errs by at most a few rounding errors per level, of the sum of what goes in.
    # The transform itself has a relative error of some rounding errors of its exponent, which is 50 at most.
    relative = 8 * np.finfo(float).eps * (math.log2(points) + 100)
    rounding = relative * float(np.abs(transform).sum()) * 2 / period
    error = period * (left_out + rounding) + tails
    slack = 2 * (dither + dither**2 + step + cell)
    return Blanket(np.maximum(density, 0.0), step, round(shift / step), slack, error)


def _power(values: FloatArray, s: FloatArray, terms: int) -> FloatArray:
    r"""Compute the characteristic function of a sum of ``terms`` uniform codes' values.

    $E \cos(s v) = 1 - 2 E \sin^2(s v/2)$: near 1 only the second form keeps the digits that a large power needs.
    """
    upper = values[len(values) // 2 :] / 2
    parts = [2 * (np.sin(np.outer(s[i : i + 256], upper)) ** 2).mean(axis=1) for i in range(0, len(s), 256)]
    below = np.concatenate(parts)
    with np.errstate(divide="ignore"):
        size = np.where(below < 0.5, np.log1p(-np.minimum(below, 0.5)), np.log(np.abs(1 - below)))
    sign = np.where((below > 1) & (terms % 2 == 1), -1.0, 1.0)
    result: FloatArray = sign * np.exp(np.maximum(terms * size, -700.0))
    return result


def _largest_from(channel: WindowChannel, s: float) -> float:
    r"""Bound $|E \cos(s' v_U)|$ for all $s'$ from $s$ to the end of the table.

    Near 0, where it is nearly 1, $\cos x \le 1 - x^2/2 + x^4/24$ is used, as long as that falls.
    """
    values = channel.values - 0.5
    second, fourth = float(np.mean(values**2)), float(np.mean(values**4))
    near = math.sqrt(2 * second / fourth)  # up to here the polynomial falls, and the mean is not negative
    beyond = float(_cosine_table(channel)[int(max(s, near) / _TABLE_STEP) :].max())
    if s >= near:
        return min(beyond, 1.0)
    return min(max(beyond, 1 - s**2 * second / 2 + s**4 * fourth / 24), 1.0)


@lru_cache(maxsize=64)
def _cosine_table(channel: WindowChannel) -> FloatArray:
    """Bound the absolute value of the characteristic function on each short interval of $s$."""
    values = channel.values - 0.5
    upper = values[len(values) // 2 :]  # symmetric about 0
    s = np.arange(0.0, _LARGEST_S + _TABLE_STEP, _TABLE_STEP)
    parts = [np.cos(np.outer(s[i : i + 256], upper)).mean(axis=1) for i in range(0, len(s), 256)]  # fit the cache
    steepest = float(np.mean(np.abs(values)))
    return read_only(np.asarray(np.abs(np.concatenate(parts)) + steepest * _TABLE_STEP))
