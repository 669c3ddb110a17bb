r"""Amplification in a study with a window channel.

The others' codes depend on the others' values, which an adversary may know, so for local users they do not count as
noise here; for trusted users the part of them does that depends on nothing (`blanket`), if a δ is allowed for. In units
of the range over $2^{24}$ the published estimate is

$$
\frac{w}{n_T}(S_T + N) + \frac{1-w}{n_L}\,2^{24} \sum_i v_i,
$$

$N$ the curator's discrete Laplace noise with $P[N = k] \propto e^{-\epsilon |k|/2^{24}}$ and $v_i$ the values of the
codes. It is published as a multiple of a step $g$, at the finest $2^{9} w/n_T$ units exactly, so that each published
value stands for $2^9$ neighboring values of $N$, wherever the rest of the sum lies. Then whatever moves the sum by $D$
units changes the odds of no published value by more than $e^{\epsilon \lceil D n_T/w \rceil / 2^{24}}$: pure, and in
whole numbers. A step that is no multiple of the lattice's costs $\log((m+1)/m)$ more (`lattice` has the proof).

A trusted user moves it by $w 2^{24}/n_T$: she keeps ε, at δ = 0. A local user moves it by at most
$(1-w) 2^{24} v_{\max}/n_L$, $v_{\max}$ the largest difference of two codes' values.
"""

from dataclasses import dataclass
from fractions import Fraction

from hybriddp import _check
from hybriddp.amplification.blanket import trusted_epsilon
from hybriddp.amplification.lattice import pure_epsilon, rounding_cost
from hybriddp.channels.numeric import VALUE_BITS
from hybriddp.channels.window import WindowChannel
from hybriddp.grid import UNITS
from hybriddp.mean.published import CELL


@dataclass(frozen=True, slots=True)
class WindowAmplification:
    """ε′ of each group (the local one is pure), and the exact step between published values as a share of the range."""

    trusted: float
    local: float
    resolution: Fraction


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
    """The bound for a weight that was fixed before any data was seen.

    ``honest_local`` are those whose codes the adversary does not know, all of them if not given; they matter for
    trusted users only, and only with ``delta`` above 0. ``step`` is what the estimate is rounded to, as a share of the
    range: the finest step of the proof if not given.

    Examples
    --------
    >>> found = exact(WindowChannel(epsilon=1.0), n_trusted=1000, n_local=99_000, weight=0.5)
    >>> found.trusted, found.local, found.resolution
    (1.0, 0.028192, Fraction(1, 65536000))
    """
    n_t, n_l = _check.integer("n_trusted", n_trusted, at_least=1), _check.integer("n_local", n_local, at_least=1)
    w = _check.number("weight", weight, _check.WEIGHT)
    promised = Fraction(channel.epsilon)
    epsilon = float(promised)
    if w == 0:  # nothing of the trusted group is published, and no noise of the curator
        return WindowAmplification(trusted=0.0, local=epsilon, resolution=step or Fraction(0))
    lattice = Fraction(w) / (n_t * UNITS)
    g = CELL * lattice if step is None else step
    # The two codes that are furthest apart differ by twice the largest value in half ranges.
    moved = (1 - Fraction(w)) / n_l * Fraction(max(map(abs, channel.code_values)), 1 << VALUE_BITS)
    honest = n_l if honest_local is None else _check.integer("honest_local", honest_local, at_least=0)
    trusted = epsilon
    if delta > 0:
        # Given the reports, a published value has the same probability under continuous noise but for e^±(λ + cost),
        # λ = ε/2^24: its run of lattice points and its interval differ by less than one point (`lattice`).
        cell = max(CELL * epsilon / UNITS, epsilon / UNITS + rounding_cost(g, lattice))
        trusted = trusted_epsilon(
            channel, n_trusted=n_t, n_local=n_l, honest=min(honest, n_l), weight=w, delta=delta, cell=cell
        )
    return WindowAmplification(
        trusted=trusted, local=pure_epsilon(promised, moved, step=g, lattice=lattice), resolution=g
    )
