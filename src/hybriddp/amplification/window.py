r"""Amplification in a study with a window channel.

The others' codes depend on the others' values, which an adversary may know, so for local users they do not count as
noise here; for trusted users the part of them does that depends on nothing (`blanket`), if a δ is allowed for. In units
of the range over $2^{24}$ the published estimate is

$$
\frac{w}{n_T}(S_T + N) + \frac{1-w}{n_L}\,2^{24} \sum_i v_i,
$$

$N$ the curator's discrete Laplace noise with $P[N = k] \propto e^{-\epsilon |k|/2^{24}}$ and $v_i$ the values of the
codes. It is published as a multiple of $g = 2^{j} w/n_T$ units, so that each published value stands for $2^j$
neighbouring values of $N$, wherever the rest of the sum lies. Then whatever moves the sum by $D$ units changes the odds
of no published value by more than $e^{\epsilon \lceil D n_T/w \rceil / 2^{24}}$: pure, and in whole numbers.

A trusted user moves it by $w 2^{24}/n_T$: she keeps ε, at δ = 0. A local user moves it by at most
$(1-w) 2^{24} v_{\max}/n_L$, $v_{\max}$ the largest difference of two codes' values.
"""

import math
from dataclasses import dataclass

from hybriddp import _check
from hybriddp.amplification.blanket import trusted_epsilon
from hybriddp.channels.window import WindowChannel
from hybriddp.grid import UNITS

_CELL = 1 << 9  # lattice points of the curator's noise that share a published value: 2^-15 of the range over n_T


@dataclass(frozen=True, slots=True)
class WindowAmplification:
    """ε′ of each group (the local one is pure), and the step between published values as a share of the range."""

    trusted: float
    local: float
    resolution: float


def exact(
    channel: WindowChannel,
    *,
    n_trusted: int,
    n_local: int,
    weight: float,
    honest_local: int | None = None,
    delta: float = 0.0,
) -> WindowAmplification:
    """The bound for a weight that was fixed before any data was seen.

    ``honest_local`` are those whose codes the adversary does not know, all of them if not given; they matter for
    trusted users only, and only with ``delta`` above 0.

    Examples
    --------
    >>> found = exact(WindowChannel(epsilon=1.0), n_trusted=1000, n_local=99_000, weight=0.5)
    >>> found.trusted, found.local
    (1.0, 0.028192)
    """
    n_t, n_l = _check.integer("n_trusted", n_trusted, at_least=1), _check.integer("n_local", n_local, at_least=1)
    w = _check.number("weight", weight, _check.WEIGHT)
    epsilon = float(channel.epsilon)
    if w == 0:  # nothing of the trusted group is published, and no noise of the curator
        return WindowAmplification(trusted=0.0, local=epsilon, resolution=0.0)
    moved = (1 - w) / n_l * channel.largest_value * n_t  # in ranges times w
    steps = math.ceil(moved / w * UNITS) if moved < w else UNITS
    honest = n_l if honest_local is None else _check.integer("honest_local", honest_local, at_least=0)
    trusted = epsilon
    if delta > 0:
        cell = _CELL * epsilon / UNITS
        trusted = trusted_epsilon(
            channel, n_trusted=n_t, n_local=n_l, honest=min(honest, n_l), weight=w, delta=delta, cell=cell
        )
    return WindowAmplification(
        trusted=trusted,
        local=min(epsilon, epsilon * steps / UNITS),
        resolution=w / n_t * _CELL / UNITS,
    )
