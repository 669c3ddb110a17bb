r"""Optimized local hashing: one short code for a category out of any number of them, even of all strings.

A device picks one of $F$ public hash functions, hashes its key to one of $G$ values and reports function and value, the
value through randomized response [WBLJ17]. The function says nothing about the key: it is drawn first, from its own
random bits. So the report is ε-private exactly if randomized response is, $(a + b)/a \le e^\epsilon$ in integers.

**Estimates.** A report supports a key if the key's value under the report's function is the reported one. With $p$ and
$q' $ the probabilities of the true and of any other value, and $K$ (about $1/G$) that of a collision of two keys, a
report supports its own key with probability $p$ and another one with $q = q' + (p - q')K$. So $S_x$ supports give

$$
\hat n_x = \frac{S_x - nq}{p - q}, \qquad
V = \frac{q(1-q)}{(p-q)^2} \approx \frac{(e^\epsilon + G - 1)^2}{(e^\epsilon - 1)^2(G - 1)}
$$

per user for a rare key, smallest at $G = e^\epsilon + 1$: then $4e^\epsilon/(e^\epsilon - 1)^2$, as for unary encoding.

**What few functions cost.** If every user had a function of their own, estimating $D$ keys from $n$ reports would take
$nD$ hashes. With $F$ functions it takes $FD$. But then two keys collide under more or fewer than $FK$ functions, always
the same ones, and no number of users averages that out. If $c_{xz}$ is the fraction of functions under which two keys
collide, this moves the estimated share of $x$ by $\sum_z f_z(c_{xz} - K)/(1 - K)$, with variance

$$
V_F = \frac{\sum_{z \ne x} f_z^2}{F}\,\frac{K}{1 - K}
$$

over the choice of the functions. The functions are public, so the $c_{xz}$ are known: `corrected_counts` finds the
frequent keys and takes away what their collisions add. What is left of $V_F$ is the part of keys that are too rare to
be seen; for shares like $1/\text{rank}$ it is 1 to 3 % of the variance of the reports with a million users.
"""

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.channel import integer_inputs, is_integer, require
from hybriddp.channels.hash_family import HashFamily
from hybriddp.channels.response import SupportChannel
from hybriddp.channels.window import OfWindow, Window
from hybriddp.errors import DataError, ParameterError
from hybriddp.privacy import canonical_epsilon

N_FUNCTIONS = 4096
MOST_FUNCTIONS = 1 << 16
MOST_VALUES = 1 << 10
_MOST_FREQUENT = 256  # keys whose collisions are corrected
_POOL = 1024  # keys among which the frequent ones are looked for
_CLEARLY = 4.5  # standard deviations of an estimate that make a key frequent: one in 300,000 others passes by chance
_ROUNDS = 8  # of solving for the frequent keys, whose collisions touch each other


def best_values(epsilon: str) -> int:
    """Return the number of values with the least variance, at most 1,024.

    $G - 1$ is one of the two integers next to $e^ε$.
    """
    factor = math.exp(float(epsilon))
    below = max(1, math.floor(factor))
    others = min((below, below + 1), key=lambda g: (factor + g) ** 2 / g)
    return min(others + 1, MOST_VALUES)


class LocalHashing(OfWindow, SupportChannel):
    r"""A report of one of any number of categories, given by keys of 64 bits, as one small integer.

    The code of function $f$ and value $v$ is $fG + v$.

    Parameters
    ----------
    epsilon : float or str
        What a report promises, from 0.01 to 20.
    n_functions : int
        $F$: a power of two from 2 to 65,536.
    n_values : int, optional
        $G$, from 2 to 1,024; the best one for this ε if left out.
    seed : int
        Which family of public functions it is, from 0 to $2^{32} - 1$.

    Examples
    --------
    >>> channel = LocalHashing(epsilon=1.0)
    >>> channel
    LocalHashing(epsilon='1', n_codes=16384)
    >>> keys = np.repeat(np.array([10, 20, 30], np.uint64), [6000, 3000, 1000])
    >>> counts = np.bincount(channel.sample(keys, random_state=0), minlength=channel.n_codes)
    >>> tally = counts.reshape(channel.n_functions, channel.n_values)  # tallies add up
    >>> channel.corrected_counts(tally, [10, 20, 30, 40]).round(-3).tolist()
    [6000.0, 3000.0, 1000.0, 0.0]
    """

    kind: ClassVar[str] = "hashing"

    def __init__(
        self, *, epsilon: float | str, n_functions: int = N_FUNCTIONS, n_values: int | None = None, seed: int = 0
    ) -> None:
        self.epsilon = canonical_epsilon(epsilon)
        n_functions = _check.integer("n_functions", n_functions, at_least=2, at_most=MOST_FUNCTIONS)
        if n_functions & (n_functions - 1):
            raise ParameterError("n_functions", "a power of two", n_functions)
        if n_values is None:
            n_values = best_values(self.epsilon)
        n_values = _check.integer("n_values", n_values, at_least=2, at_most=MOST_VALUES)
        seed = _check.integer("seed", seed, at_least=0, at_most=(1 << 32) - 1)
        self.family = HashFamily(n_functions, n_values, seed)
        self.window = Window.for_epsilon(self.epsilon, n_codes=n_values, width=1)
        self._seal()

    def verify(self) -> None:
        """Prove that the function is drawn uniformly and that the value is private whichever function it is."""
        super().verify()
        f, g, seed = self.family.n_functions, self.family.n_values, self.family.seed
        power = is_integer(f, 2, MOST_FUNCTIONS) and f & (f - 1) == 0
        require(power, f"its number of functions is not a power of two from 2 to {MOST_FUNCTIONS}")
        require(is_integer(g, 2, MOST_VALUES), f"its number of values is not an integer from 2 to {MOST_VALUES}")
        require(g == self.window.n_codes, "its functions and its weights have different numbers of values")
        require(is_integer(seed, 0, (1 << 32) - 1), "its seed is not an integer below 2^32")

    @property
    def n_functions(self) -> int:
        """$F$: how many public functions there are."""
        return self.family.n_functions

    @property
    def n_values(self) -> int:
        """$G$: how many values a function has."""
        return self.family.n_values

    @property
    def n_codes(self) -> int:
        return self.n_functions * self.n_values

    @property
    def code_type(self) -> np.dtype[Any]:
        """Two bytes up to 65,536 codes, four beyond."""
        return np.dtype(np.uint16 if self.n_codes <= 1 << 16 else np.uint32)

    @property
    def bytes_per_report(self) -> int:
        """A word for the value, and one of the same size whose low bits choose the function."""
        return 2 * self.window.bytes_of_a_draw

    def check_inputs(self, inputs: ArrayLike) -> NDArray[Any]:
        return integer_inputs(inputs, (1 << 64) - 1, "keys").astype(np.uint64)

    def codes(self, inputs: NDArray[Any], raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Per report, little endian: a word that chooses the value, and one whose low bits are the function."""
        words = self.draws(raw)
        u = words[0::2].copy()  # contiguous is faster
        function = (words[1::2] & words.dtype.type(self.n_functions - 1)).astype(np.int64)
        true = self.family.values(inputs, function).astype(u.dtype)
        value = self.window.code(true, u)
        codes: NDArray[Any] = (function * self.n_values + value.astype(np.int64)).astype(self.code_type)
        return codes

    # Probabilities and variances

    @property
    def hit_probability(self) -> float:
        return self.window.inside

    @property
    def miss_probability(self) -> float:
        """$q$: how likely a report is to support another key, over all functions that there could be."""
        other = self.window.outside
        return other + (self.hit_probability - other) * self.family.collision_probability

    @property
    def code_bounds(self) -> tuple[float, float]:
        """Least and largest probability of a code, whatever the category is."""
        return self.window.outside / self.n_functions, self.hit_probability / self.n_functions

    def collision_variance(self, sum_of_squares: float) -> float:
        r"""$V_F$: the variance of an estimated share over the choice of the functions, however many users there are.

        ``sum_of_squares`` is $\sum_z f_z^2$ of the shares of all other keys whose collisions are not corrected.
        """
        collide = self.family.collision_probability
        return sum_of_squares * collide / (1 - collide) / self.n_functions

    # Counting

    def supports(self, tally: IntArray, keys: ArrayLike) -> IntArray:
        """Count the tallied reports that support each key.

        This takes one pass over all functions.
        """
        return self.family.sums(self._check_tally(tally), self.check_inputs(keys)).astype(np.int64)

    def unbiased_counts(self, tally: IntArray, keys: ArrayLike) -> FloatArray:
        r"""$\hat n$ of each key, whatever other keys there are."""
        return self._counts(self.supports(tally, keys), int(tally.sum()))

    def corrected_counts(self, tally: IntArray, keys: ArrayLike) -> FloatArray:
        r"""$\hat n$ of each key without what the frequent ones of these keys add by collisions.

        Keys that lie clearly above the noise are frequent, up to 256 of them. Their counts solve a linear system, by
        Jacobi's method, since they collide with each other too; what has been found makes more of them stand out. The
        keys must be different ones.
        """
        checked, users = self.check_inputs(keys), tally.sum(axis=1, keepdims=True)
        n_users = int(users.sum())
        first = self.unbiased_counts(tally, checked)
        top = np.argsort(-first, kind="stable")[:_POOL]
        values = self.family.table(checked[top])
        cells = np.arange(0, tally.size, self.n_values)[:, None] + values
        counts, frequent = first[top], np.zeros(len(top))
        for _ in range(_ROUNDS):
            frequent = self._frequent(counts, frequent > 0, n_users)
            left = tally - self._collisions(frequent, cells, users)
            counts = self._counts(np.take(left, cells).sum(axis=0), n_users) + frequent
        if not frequent.any():
            return first
        result = self._counts(self.family.sums(left, checked), n_users)
        result[top] = counts
        return result

    def _counts(self, supports: NDArray[Any], n_users: int) -> FloatArray:
        counts: FloatArray = (supports - n_users * self.miss_probability) / self.gap
        return counts

    def _frequent(self, counts: FloatArray, corrected: NDArray[np.bool_], n_users: int) -> FloatArray:
        """Return the counts that are clearly above the noise, and 0 for others.

        These counts are few enough that Jacobi's method converges.
        """
        variance = n_users * self.count_variance
        # Collisions with keys that have been found are gone already.
        others = counts[~corrected & (counts > _CLEARLY * math.sqrt(variance))]
        limit = _CLEARLY * math.sqrt(variance + self.collision_variance(float(np.sum(others**2))))
        most = min(_MOST_FREQUENT, self.n_functions * (self.n_values - 1) // 16)
        if len(counts) > most:
            limit = max(limit, float(np.partition(counts, -most - 1)[-most - 1]))
        return np.where(counts > limit, counts, 0.0)

    def _collisions(self, counts: FloatArray, cells: IntArray, users: IntArray) -> FloatArray:
        """Compute the tally of keys with these counts beyond the average.

        The average is over all functions.
        """
        found = np.flatnonzero(counts)
        shares = counts[found] / max(int(users.sum()), 1)
        weights = np.broadcast_to(shares, (self.n_functions, len(found)))
        held = np.bincount(cells[:, found].ravel(), weights.ravel(), minlength=self.n_codes)
        held = held.reshape(self.n_functions, self.n_values)
        spread = self.hit_probability - self.window.outside
        added: FloatArray = users * spread * (held - shares.sum() * self.family.collision_probability)
        return added

    def _check_tally(self, tally: IntArray) -> IntArray:
        if np.shape(tally) != (self.n_functions, self.n_values):
            expected = f"shape ({self.n_functions:,}, {self.n_values:,})"
            raise DataError(f"A tally of this channel has the {expected}, got {np.shape(tally)}.")
        return tally

    def fields(self) -> dict[str, Any]:
        names = {"functions": self.n_functions, "values": self.n_values, "seed": self.family.seed}
        return {"epsilon": self.epsilon, **names, **self.window.fields()}

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        window = Window.from_fields(fields, fields["values"], 1)
        family = HashFamily(fields["functions"], fields["values"], fields["seed"])
        return cls.of(epsilon=fields["epsilon"], family=family, window=window)
