r"""How well a user hides among the clones: two bounds for shuffled local reports ([FMT21]).

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

import numpy as np

from hybriddp._check import FloatArray

SLACK = 1e-10
"""How much is added for rounding, relative to the terms before they are subtracted (they are right to about 1e-11)."""

BRACKET = 1e-7
"""How far, relatively, `numerical_epsilon` may lie above the ε where its δ is met."""

_MOST_OTHERS = 10**8  # beyond, the tails lose digits; fewer others than there are is the safe side
_BLOCKS = 400
_ONE_BY_ONE = 20  # this many numbers of clones, from 0 on, are never taken together
_FARTHEST = 38.0  # standard deviations of C; what lies beyond weighs less than the smallest float


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
    """The smallest ε at which `numerical_delta` is at most δ, from above, at most `local_epsilon`."""
    fewest, weight = _clones(local_epsilon, n_reports)
    if _delta(0.0, local_epsilon, fewest, weight) <= delta:
        return 0.0
    not_enough, enough = 0.0, local_epsilon
    while enough - not_enough > BRACKET * enough:
        middle = 0.5 * (not_enough + enough)
        if _delta(middle, local_epsilon, fewest, weight) <= delta:
            enough = middle
        else:
            not_enough = middle
    return enough


def _clones(local_epsilon: float, n_reports: int) -> tuple[FloatArray, FloatArray]:
    """Blocks of numbers of clones: the smallest number in each, and how likely the block is."""
    from scipy import stats

    others = min(n_reports - 1, _MOST_OTHERS)
    share = math.exp(-local_epsilon)
    mean, sd = others * share, math.sqrt(others * share * (1.0 - share))
    # Finest in the middle, and still fine where few clones make a large δ_c.
    reach = math.asinh(_FARTHEST / 2.0)
    steps = 2.0 * np.sinh(np.linspace(-reach, reach, _BLOCKS))
    starts = np.concatenate([np.arange(_ONE_BY_ONE), np.floor(mean + sd * steps)])
    fewest = np.unique(np.clip(starts, 0.0, others))
    below = np.append(stats.binom.cdf(fewest - 1.0, others, share), 1.0)
    above = np.append(stats.binom.sf(fewest - 1.0, others, share), 0.0)
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
