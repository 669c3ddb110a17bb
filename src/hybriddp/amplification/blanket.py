r"""What a blanket of uniform codes adds to the curator's noise, for a user of the trusted group.

A row of a window channel gives weight $a$ to every code, whatever the input: with probability $\gamma = n a/2^B$ a
report is a uniform code ([BBGN19] call that the privacy blanket). Given all values, and which reports are of that kind,
the published estimate is a constant plus, in units of the scale of the curator's noise,

$$
Y = X + \kappa \sum_{i=1}^{M} v_{U_i}, \qquad
\kappa = \epsilon\,\frac{(1-w)\, n_T}{w\, n_L},
$$

$X$ Laplace, $U_i$ uniform codes and $M$ binomial. More terms only hide more, so $M$ is replaced by a number $M_0$ that
it falls short of with a probability that is added to δ. A trusted user shifts $Y$ by ε.

The density $p$ of $Y$ is that of a sum with $X$, so $|\log p(y) - \log p(z)| \le |y - z|$. That makes three
roundings harmless, each paid for in ε: a normal dither of standard deviation $g$, which no frequency above some $T$
survives; the step $h$ of the grid on which $p$ is computed by Fourier inversion; and the cells to which the published
value is rounded.
What is left out of the inversion is bounded (frequencies between the last one used and $T$ by a table of
$|E \cos(s\, v_U)|$, the tails by those of $Y$) and added to δ. Where the bound is too large, as for few reports,
there is no amplification to be had this way, and ε is returned.
"""

import math
from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.window import WindowChannel

_LARGEST_S = 400.0  # up to which the characteristic function of a code's value is bounded
_TABLE_STEP = 0.01
_GRID = 4e-4  # the step h at most
_MOST_POINTS = 1 << 20
_TAIL = 36.0  # e^-36 of a Laplace variable is beyond


@dataclass(frozen=True, slots=True)
class Blanket:
    """The density of $Y$ on a grid, and what it is short of.

    Attributes
    ----------
    density : ndarray
        At multiples of ``step``, of the dithered $Y$.
    step : float
        $h$; the shift is ``shift_steps`` of them.
    shift_steps : int
        The shift, in steps.
    slack : float
        What dither, grid and cells cost in ε.
    error : float
        What frequencies and tails cost in δ.
    """

    density: FloatArray
    step: float
    shift_steps: int
    slack: float
    error: float

    def delta(self, epsilon: float) -> float:
        """An upper bound of δ at this ε; below the slack nothing can be shown."""
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
    """The smallest ε′ of a trusted user at δ that this method can show; the promised ε if it can show none.

    ``cell`` is the step between published values, in scales of the curator's noise.
    """
    from scipy.optimize import brentq

    promised = float(channel.epsilon)
    if weight in (0.0, 1.0) or honest == 0:
        return promised
    terms = _surely(honest, _blanket_share(channel), delta / 100)
    kappa = promised * (1 - weight) * n_trusted / (weight * n_local)
    if terms <= 0 or not 1e-100 < kappa < 1e100:
        return promised
    found = _blanket(channel, kappa, terms, promised, cell)
    target = delta * 0.99
    if found is None or found.slack >= promised or found.delta(promised) > target:
        return promised
    if found.delta(found.slack) <= target:
        return found.slack
    low, high = found.slack, promised
    x = float(brentq(lambda e: math.log(found.delta(e) / target), low, high, xtol=2e-5))
    while found.delta(x) > target:
        x += 2e-5
    return min(x, promised)


def _blanket_share(channel: WindowChannel) -> float:
    """γ: how often a report is a uniform code."""
    return channel.window.n_codes * channel.window.low / (1 << channel.window.bits)


def _surely(honest: int, share: float, delta: float) -> int:
    """A number that a binomial variable falls short of with probability at most δ."""
    from scipy.stats import binom

    terms = int(binom.ppf(delta, honest, share))
    while terms > 0 and binom.cdf(terms - 1, honest, share) > delta:
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
    r"""The characteristic function of a sum of ``terms`` uniform codes' values.

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


def _mean_cosine(values: FloatArray, s: FloatArray) -> FloatArray:
    """The characteristic function of a uniform code's value, in blocks that stay in the cache."""
    upper = values[len(values) // 2 :]
    parts = [np.cos(np.outer(s[i : i + 256], upper)).mean(axis=1) for i in range(0, len(s), 256)]
    return np.concatenate(parts)


def _largest_from(channel: WindowChannel, s: float) -> float:
    r"""A bound of $|E \cos(s' v_U)|$ for all $s'$ from $s$ to the end of the table.

    Near 0, where it is nearly 1, $\cos x \le 1 - x^2/2 + x^4/24$ is used, as long as that falls.
    """
    values = channel.values - 0.5
    second, fourth = float(np.mean(values**2)), float(np.mean(values**4))
    near = math.sqrt(2 * second / fourth)  # up to here the polynomial falls, and the mean is not negative
    beyond = float(_largest_cosine(channel)[int(max(s, near) / _TABLE_STEP) :].max())
    if s >= near:
        return min(beyond, 1.0)
    return min(max(beyond, 1 - s**2 * second / 2 + s**4 * fourth / 24), 1.0)


def _largest_cosine(channel: WindowChannel) -> FloatArray:
    key = channel.digest
    if key not in _TABLES:
        _TABLES[key] = _cosine_table(channel)
    return _TABLES[key]


def _cosine_table(channel: WindowChannel) -> FloatArray:
    """For each short interval of $s$, a bound of the absolute value of the characteristic function on it."""
    values = channel.values - 0.5
    s = np.arange(0.0, _LARGEST_S + _TABLE_STEP, _TABLE_STEP)
    steepest = float(np.mean(np.abs(values)))
    return np.abs(_mean_cosine(values, s)) + steepest * _TABLE_STEP


_TABLES: dict[str, FloatArray] = {}
