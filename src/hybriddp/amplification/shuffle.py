r"""Amplification by shuffling: what local reports promise together if a shuffler hides who sent which ([FMT21]).

$n$ users send one report each through the same ε₀-private randomizer $R$, and a shuffler hides who sent which. Let one
user's value be $x_0$ or $x_1$. Because neither report is more than $e^{\epsilon_0}$ times as likely as the other,

$$
U = \frac{e^{\epsilon_0} R(x_0) - R(x_1)}{e^{\epsilon_0} - 1}, \qquad
V = \frac{e^{\epsilon_0} R(x_1) - R(x_0)}{e^{\epsilon_0} - 1}
$$

are distributions, and with $\alpha = e^{\epsilon_0}/(e^{\epsilon_0}+1)$ the two reports are randomized response between
them: $R(x_0) = \alpha U + (1-\alpha) V$ and $R(x_1) = (1-\alpha) U + \alpha V$.

Any other user's report is at least $e^{-\epsilon_0}$ times as likely as a report of $x_0$ or of $x_1$, hence

$$
R(x) \ge e^{-\epsilon_0}\,\tfrac12 \bigl(R(x_0) + R(x_1)\bigr) = e^{-\epsilon_0}\,\tfrac12 (U + V) :
$$

with probability $e^{-\epsilon_0}$ it comes from a *clone*, who sends a draw from $U$ or $V$ as a fair coin says. An
observer who is told every report that is neither from a clone nor from the one user, and for the rest whether they were
drawn from $U$ or $V$, still only sees

$$
(A + \Delta,\; C - A + 1 - \Delta), \qquad
C \sim \mathrm{Bin}(n-1, e^{-\epsilon_0}),\; A \sim \mathrm{Bin}(C, \tfrac12),
$$

with $\Delta \sim \mathrm{Bern}(\alpha)$ for $x_0$ and $\mathrm{Bern}(1-\alpha)$ for $x_1$. So δ(ε) of this pair bounds
δ(ε) of the shuffled reports, whatever $R$ and the other values are. Exchanging the two counts exchanges $x_0$ and
$x_1$: one direction is enough.

The sharper pair of [FMT23] is not used: by its erratum it does not hold for every randomizer.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError

Method = Literal["numerical", "closed form", "local"]

SLACK = 1e-10
"""How much is added for rounding, relative to the terms before they are subtracted (they are right to about 1e-11)."""

BRACKET = 1e-7
"""How far, relatively, `numerical_epsilon` may lie above the ε where its δ is met."""

_MOST_OTHERS = 10**8  # beyond, the tails lose digits; fewer others than there are is the safe side
_BLOCKS = 400
_ONE_BY_ONE = 20  # this many numbers of clones, from 0 on, are never taken together
_FARTHEST = 38.0  # standard deviations of C; what lies beyond weighs less than the smallest float

_LOCAL_EPSILON = _check.Range("a number from 0.01 to 20", lower=0.01, upper=20.0)
_DELTA = _check.Range("a number from 1e-100 to below 1", lower=1e-100, upper=1.0, upper_open=True)
_PER_DECADE = 900  # numbers of three digits: 100 to 999
_LAST_CANDIDATE = 3 * _PER_DECADE + 100  # 20.0; the first is 0.0100


@dataclass(frozen=True, slots=True)
class ShuffledPrivacy:
    """What every user is promised if nobody can tell which of the shuffled reports is whose.

    Attributes
    ----------
    epsilon, delta : float
        The promise of the shuffled reports together, for one replaced value.
    local_epsilon : float
        The promise of one report by itself. It stays if the shuffler fails.
    n_reports, colluding : int
        Number of reports, and how many of them are counted as known to the curator.
    method : {"numerical", "closed form", "local"}
        Which bound gave ε; "local" if neither is below `local_epsilon`.
    assumptions : tuple of str
        What it rests on, in sentences.
    """

    epsilon: float
    delta: float
    local_epsilon: float
    n_reports: int
    colluding: int
    method: Method
    assumptions: tuple[str, ...]

    def __str__(self) -> str:
        count = "1 report" if self.n_reports == 1 else f"{self.n_reports:,} reports"
        alone = f"Each report is {self.local_epsilon:g}-private by itself, whatever the shuffler does."
        if self.method == "local":
            return f"{alone} Shuffling {count} promises no more than that."
        promise = f"Shuffling {count} makes them ({_up(self.epsilon)}, {self.delta:g})-private together"
        conditions = "\n".join(f"- {sentence}" for sentence in self.assumptions)
        return f"{alone} {promise} ({self.method} bound), if\n{conditions}"


def shuffled(*, local_epsilon: float, n_reports: int, delta: float, colluding: int = 0) -> ShuffledPrivacy:
    r"""Bound what shuffled reports promise together.

    The bound is the better of two proven ones, and never above ε₀.

    Parameters
    ----------
    local_epsilon : float
        $\epsilon_0$ of one report, from 0.01 to 20. It must be pure: a report with a δ of its own is not covered.
    n_reports : int
        $n$, the number of users who send one report each.
    delta : float
        δ of the promise.
    colluding : int
        How many other users may tell the curator their reports; only the other reports hide a user's report.

    Examples
    --------
    >>> promise = shuffled(local_epsilon=4.0, n_reports=100_000, delta=1e-6)
    >>> promise.epsilon
    0.1698
    >>> promise.method
    'numerical'
    >>> shuffled(local_epsilon=4.0, n_reports=100_000, delta=1e-6, colluding=50_000).epsilon
    0.2467
    """
    local = _check.number("local_epsilon", local_epsilon, _LOCAL_EPSILON)
    dlt = _check.number("delta", delta, _DELTA)
    honest = _honest(n_reports, colluding)
    epsilon, method = _best(local, honest, dlt)
    n, known = int(n_reports), int(colluding)
    return ShuffledPrivacy(epsilon, dlt, local, n, known, method, _assumptions(n, known))


def largest_local_epsilon(*, epsilon: float, delta: float, n_reports: int, colluding: int = 0) -> float:
    """Find the largest ε₀ whose shuffled reports keep (ε, δ) together.

    It has three digits and is at most 20.

    It is never below ε itself (in three digits), which needs no shuffler. `ParameterError` if not even reports of
    ε₀ = 0.01, the smallest that a channel has, keep it. The other parameters are those of `shuffled`.

    Examples
    --------
    >>> largest_local_epsilon(epsilon=0.5, delta=1e-6, n_reports=100_000)
    5.91
    >>> largest_local_epsilon(epsilon=0.5, delta=1e-6, n_reports=10)
    0.5
    """
    eps = _check.number("epsilon", epsilon, _check.POSITIVE)
    dlt = _check.number("delta", delta, _DELTA)
    honest = _honest(n_reports, colluding)
    if not _keeps(0, honest, eps, dlt):
        remedy = (
            "Without a shuffler, reports of local_epsilon = epsilon would keep it, but no channel goes below 0.01: "
            "ask for more reports or a larger epsilon."
        )
        expected = f"large enough for shuffled reports of local_epsilon = 0.01 ({honest:,} count)"
        raise ParameterError("epsilon", expected, epsilon, remedy=remedy)
    holding, failing = 0, _LAST_CANDIDATE + 1
    while failing - holding > 1:
        middle = (holding + failing) // 2
        holding, failing = (middle, failing) if _keeps(middle, honest, eps, dlt) else (holding, middle)
    return _candidate(holding)


def _best(local_epsilon: float, honest: int, delta: float) -> tuple[float, Method]:
    best: tuple[float, Method] = (local_epsilon, "local")
    if honest == 1:
        return best  # nobody to hide among
    numerical = numerical_epsilon(local_epsilon=local_epsilon, n_reports=honest, delta=delta)
    if numerical < best[0]:
        best = numerical, "numerical"
    closed_form = closed_form_epsilon(local_epsilon=local_epsilon, n_reports=honest, delta=delta)
    if closed_form is not None and closed_form < best[0]:
        best = closed_form, "closed form"
    return best


def _honest(n_reports: int, colluding: int) -> int:
    """Return the number of reports that the curator cannot set aside."""
    n = _check.integer("n_reports", n_reports, at_least=1)
    known = _check.integer("colluding", colluding, at_least=0)
    if known >= n:
        raise ParameterError("colluding", f"below n_reports ({n:,}), since it counts other users", colluding)
    return n - known


def _keeps(index: int, honest: int, epsilon: float, delta: float) -> bool:
    """Whether reports of the candidate keep (ε, δ) together; once a candidate fails, all larger ones do."""
    return _best(_candidate(index), honest, delta)[0] <= epsilon


def _candidate(index: int) -> float:
    decade, digits = divmod(index, _PER_DECADE)
    return float(f"{100 + digits}e{decade - 4}")  # the float nearest to the decimal


def _assumptions(n_reports: int, colluding: int) -> tuple[str, ...]:
    pooling = f"At most {colluding:,} other users pool" if colluding else "No other user pools"
    return (
        "The shuffler removes origin and order of the reports, and everything else that tells users apart, "
        "and colludes with nobody.",
        "All users send through the same channel with the same ε, which is pure (its δ is 0).",
        "Each user sends one report.",
        f"{pooling} what they know with the curator, so that {n_reports - colluding:,} reports count.",
        "Neighbors differ in one user's value; how many reports there are is public.",
        "The shuffled reports are published once; what else is published about the same values adds to it.",
        "Values of the trusted group are not covered: they do not go through the shuffler.",
    )


def _up(x: float, digits: int = 3) -> str:
    """Format a number with a few digits, rounded up."""
    if x == 0.0:
        return "0"
    unit = math.floor(math.log10(x)) - digits + 1
    rounded = math.ceil(x / 10.0**unit * (1.0 - 1e-12))
    return f"{float(f'{rounded}e{unit}'):g}"


# Two bounds


def closed_form_epsilon(*, local_epsilon: float, n_reports: int, delta: float) -> float | None:
    r"""Theorem 3.1 of [FMT21]; None outside of its range, $\epsilon_0 \le \log\frac{n}{16\log(2/\delta)}$.

    $$
    \epsilon = \log\left(1 + \frac{e^{\epsilon_0}-1}{e^{\epsilon_0}+1}
    \left(8\sqrt{\frac{e^{\epsilon_0}\log(4/\delta)}{n}} + \frac{8 e^{\epsilon_0}}{n}\right)\right)
    $$

    Notes
    -----
    Why it holds. Let $p = e^{-\epsilon_0}$ and $L = \log(2/\delta)$, so $np \ge 16L$. By Chernoff's inequality,
    $C < np/2$ has probability at most $\delta/2$; by Hoeffding's, $A > C/2 + \sqrt{CL/2}$ has too. Otherwise
    $C \ge 8L$, so $s = \sqrt{CL/2} \le C/4$, and if the user is known to send a draw from $U$ for one value and
    from $V$ for the other, the likelihood ratio of the two counts is

    $$
    \frac{A+1}{C-A} \le 1 + \frac{1 + 2s}{C/2 - s} \le 1 + \frac{4 + 8s}{C}
    \le 1 + 8\sqrt{\frac{L}{np}} + \frac{8}{np} .
    $$

    In truth it is so with probability $2\alpha - 1 = (e^{\epsilon_0}-1)/(e^{\epsilon_0}+1)$, and else a fair coin for
    both values; for such mixtures $e^\epsilon - 1$ shrinks by that factor. The theorem has $\log(4/\delta)$ for $L$.
    """
    odds = math.exp(local_epsilon)
    if n_reports < 16.0 * odds * math.log(2.0 / delta):
        return None
    spread = 8.0 * math.sqrt(odds * math.log(4.0 / delta) / n_reports) + 8.0 * odds / n_reports
    return math.log1p(math.tanh(0.5 * local_epsilon) * spread) * (1.0 + SLACK)


def numerical_delta(*, epsilon: float, local_epsilon: float, n_reports: int) -> float:
    r"""δ(ε) of the pair of counts, from above.

    The number of clones is seen, so δ is the mean over $C$ of $\delta_c$, that of the pair given $C = c$. There the
    likelihood ratio grows with the first count, so that the worst event is a tail:

    $$
    \delta_c = \frac{e^{\epsilon_0} - e^\epsilon}{e^{\epsilon_0}+1}\Pr[A = t-1] - (e^\epsilon - 1)\Pr[A \ge t], \qquad
    t = 1 + \left\lfloor (c+1)\,\frac{e^{\epsilon+\epsilon_0} - 1}{(e^\epsilon+1)(e^{\epsilon_0}-1)} \right\rfloor .
    $$

    $\delta_c$ falls as $c$ grows, because an observer can add clones without help. So values of $c$ that are close
    together are taken as one, the smallest of them.
    """
    return _delta(epsilon, local_epsilon, *_clones(local_epsilon, n_reports))


def numerical_epsilon(*, local_epsilon: float, n_reports: int, delta: float) -> float:
    """Compute the smallest ε at which `numerical_delta` is at most δ.

    The result is rounded up, and at most `local_epsilon`.
    """
    fewest, weight = _clones(local_epsilon, n_reports)
    if _delta(0.0, local_epsilon, fewest, weight) <= delta:
        return 0.0
    not_enough, enough = 0.0, local_epsilon
    while enough - not_enough > BRACKET * enough:
        middle = 0.5 * (not_enough + enough)
        met = _delta(middle, local_epsilon, fewest, weight) <= delta
        not_enough, enough = (not_enough, middle) if met else (middle, enough)
    return enough


def _clones(local_epsilon: float, n_reports: int) -> tuple[FloatArray, FloatArray]:
    """Blocks of numbers of clones: the smallest number in each, and how likely the block is."""
    from scipy import stats

    others = min(n_reports - 1, _MOST_OTHERS)
    p = math.exp(-local_epsilon)
    mean, sd = others * p, math.sqrt(others * p * (1.0 - p))
    # Finest in the middle, and still fine where few clones make a large δ_c.
    reach = math.asinh(_FARTHEST / 2.0)
    steps = 2.0 * np.sinh(np.linspace(-reach, reach, _BLOCKS))
    starts = np.concatenate([np.arange(_ONE_BY_ONE), np.floor(mean + sd * steps)])
    fewest = np.unique(np.clip(starts, 0.0, others))
    below = np.append(stats.binom.cdf(fewest - 1.0, others, p), 1.0)
    above = np.append(stats.binom.sf(fewest - 1.0, others, p), 0.0)
    # A difference of small tails, not of numbers near 1.
    weight = np.where(fewest <= mean, np.diff(below), -np.diff(above))
    return fewest, weight


def _delta(epsilon: float, local_epsilon: float, fewest: FloatArray, weight: FloatArray) -> float:
    from scipy import stats

    if epsilon >= local_epsilon:
        return 0.0
    advantage = math.exp(epsilon) * math.expm1(local_epsilon - epsilon) / (math.exp(local_epsilon) + 1.0)
    cut = math.expm1(epsilon + local_epsilon) / ((math.exp(epsilon) + 1.0) * math.expm1(local_epsilon))
    threshold = np.floor((fewest + 1.0) * cut) + 1.0
    gain = advantage * stats.binom.pmf(threshold - 1.0, fewest, 0.5)
    loss = math.expm1(epsilon) * stats.binom.sf(threshold - 1.0, fewest, 0.5)
    given_clones = np.maximum(gain - loss, 0.0) + SLACK * (gain + loss)
    return min(float(weight @ given_clones) * (1.0 + SLACK), 1.0)
