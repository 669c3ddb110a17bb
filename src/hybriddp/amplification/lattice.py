r"""What rounding an estimate to a step costs: the pure bound of a noise on a lattice.

In steps $u$ of its lattice the noise is discrete Laplace, $P[N = k] \propto e^{-\lambda |k|}$ with
$\lambda = \epsilon/2^{24}$, and the published number is the nearest multiple of $s$ to $N u$ plus the rest. So it tells
that $N$ lies in a half-open interval $[x, x + s/u)$, where $x$ is any real number that the rest decides. A user moves
the rest by $D$ steps $u$ at most.

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
"""

import math
from fractions import Fraction

from hybriddp.grid import UNITS


def rounding_cost(step: Fraction, lattice: Fraction) -> float:
    """The logarithm of $(m+1)/m$ for a step that is no multiple of the lattice's, 0 for one that is; rounded up.

    Infinite for a step below the lattice's: the published number would tell where the lattice lies.

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
    """ε′ at δ = 0 of a user who moves the rest by at most ``moved``, behind noise that is ε-private for $2^{24}$ steps.

    All lengths in one unit. Never more than the promised ε, which no rounding takes away.
    """
    if moved == 0:
        return 0.0
    if moved >= lattice * UNITS:  # as far as somebody of the other group: only the promise is left
        return float(epsilon)
    shifted = _up(float(epsilon * math.ceil(moved / lattice) / UNITS))
    return min(float(epsilon), shifted + rounding_cost(step, lattice))


def _up(x: float) -> float:
    """A float that is not below what ``x`` was rounded from."""
    return x * (1 + 4e-16)
