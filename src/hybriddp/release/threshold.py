r"""Threshold of a release of an open domain: noise and cut that hide an item which a single person has.

Nobody knows beforehand which items there are. So noise is added to the count of every item that somebody has, and an
item is shown, with its noisy count, if that reaches a threshold $T$; nothing else leaves. What is shown is list *and*
estimate: no users are held back for a second look.

**Why the threshold hides a single person.** Every user has one item. Let $X$ and $X'$ differ in the item of one user:
at most two counts change, by 1 each. The noise is discrete Laplace, $P[Z = k] \propto e^{-|k|/b}$, of scale
$b \ge 2/\epsilon$, independent for all items, and

$$
\delta_1 = P[1 + Z \ge T] = \frac{e^{-(T-1)/b}}{1 + e^{-1/b}}
$$

is the chance that an item of a single person is shown. An item whose count is 0 is never shown. Compare what is shown
of each item whose count changes, from $X$ to $X'$:

- *common* (in both data sets): a function of a count with noise, so the odds of anything are at most $e^{1/b}$;
- *appearing* (count 0 in $X$, 1 in $X'$): under $X$ surely not shown, under $X'$ not shown with probability
  $1 - \delta_1$. The odds are at most $1/(1 - \delta_1) \le e^{1/b}$, which `verify` requires;
- *vanishing* (count 1 in $X$, 0 in $X'$), at most one: let $E$ be the event that it is shown under $X$,
  $P[E] \le \delta_1$. If it is not shown, that is what $X'$ surely shows, with odds at most 1.

The items are independent, so for every set $S$ of results, with at most two common and appearing items,

$$
P[A(X) \in S] \le P[E] + P[A(X) \in S, \text{not } E] \le \delta_1 + e^{2/b} P[A(X') \in S]
\le \delta + e^\epsilon P[A(X') \in S] \quad \text{if } \delta_1 \le \delta.
$$

The smallest such $T$ is an integer next to $1 + \frac{2}{\epsilon}\ln\frac{1}{2\delta}$, found and proven in exact
arithmetic: $\delta_1 \le \delta$ says that $e^{(T-1)/b} + e^{(T-2)/b} \ge 1/\delta$.

**Public candidates** may be given, found from other data (the local group's reports). Their counts, 0 included, are
shown with noise and without a threshold: they are common items in the proof.

**What the result gives away.** Items are shown in the order of their noisy counts, and by their texts where these are
equal: never in an order that the data came in. How many items there are below the threshold is not shown.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from hybriddp.errors import NumericalError, ParameterError
from hybriddp.privacy import SHIFT, Privacy, exponential
from hybriddp.release.mechanisms import Mechanism, laplace_scale, laplace_variance

SENSITIVITY = 2
"""A user has one item: if it is replaced, two counts change by 1."""


@dataclass(frozen=True, slots=True)
class ThresholdRule:
    """The noise and the threshold of a release of an open domain.

    Attributes
    ----------
    privacy : Privacy
        What it costs every trusted user.
    scale : float
        $b$ of the discrete Laplace noise.
    threshold : int
        $T$: what a noisy count must reach.

    Examples
    --------
    >>> ThresholdRule.of(Privacy(epsilon=1, delta=1e-6)).threshold
    28
    """

    privacy: Privacy
    scale: float
    threshold: int

    @classmethod
    def of(cls, privacy: Privacy) -> "ThresholdRule":
        """Find the least noise and the lowest threshold that keep the promise."""
        require_delta(privacy)
        return _rule(privacy)

    def verify(self) -> None:
        """Prove the release's (ε, δ) in exact arithmetic, or raise `NumericalError`."""
        b, delta = Fraction(self.scale), self.privacy.exact_delta
        if SENSITIVITY / b > self.privacy.exact_epsilon:
            raise NumericalError("The noise of the release is too little for its ε.")
        if not _hides(b, self.threshold, delta):
            raise NumericalError("The threshold of the release is too low for its δ.")
        # 1/(1 - δ) <= e^(1/b), of which 1 + 1/b is a lower bound.
        if (1 - delta) * (1 + 1 / b) < 1:
            raise NumericalError("The δ of the release is too large for its ε.")

    @property
    def mechanism(self) -> Mechanism:
        """Noise on every count."""
        return Mechanism("discrete-laplace", self.scale)

    @property
    def variance(self) -> float:
        """The variance of the noise on a count."""
        return laplace_variance(self.scale)

    @property
    def single_chance(self) -> float:
        r"""$\delta_1$: how likely an item is to be shown that only one person has."""
        return math.exp(-(self.threshold - 1) / self.scale) / (1 + math.exp(-1 / self.scale))


def require_delta(privacy: Privacy) -> None:
    """Raise `ParameterError` if δ is 0, with the reason."""
    if privacy.exact_delta == 0:
        remedy = (
            "Without a list of items beforehand, an item that only one person has shows that they are there whenever "
            "it is shown, and δ bounds how likely that is. With a public list of items (domain=…) δ may be 0."
        )
        raise ParameterError("delta", "above 0 for an open domain", privacy.delta, remedy=remedy)


@lru_cache(maxsize=256)
def _rule(privacy: Privacy) -> ThresholdRule:
    scale = laplace_scale(SENSITIVITY, Privacy(epsilon=privacy.epsilon))
    target = privacy.exact_delta
    threshold = max(2, math.floor(1 + scale * math.log(1 / (2 * float(target)))) - 2)
    while threshold > 2 and _hides(Fraction(scale), threshold - 1, target):
        threshold -= 1
    while not _hides(Fraction(scale), threshold, target):
        threshold += 1
    rule = ThresholdRule(privacy, scale, threshold)
    rule.verify()
    return rule


def _hides(scale: Fraction, threshold: int, chance: Fraction) -> bool:
    r"""Whether $e^{(T-1)/b} + e^{(T-2)/b} \ge 1/\text{chance}$, by lower bounds of both terms."""
    terms = sum(exponential((threshold - k) / scale, SHIFT) for k in (1, 2))
    return terms * chance >= 1 << SHIFT
