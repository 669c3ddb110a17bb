r"""BLENDER [AKZHL17], the first hybrid algorithm, for comparison: popular (query, URL) records of two groups.

Opt-in users trust the curator. A fraction $f_O$ of them, drawn at random, makes the list of records; the others count
its records. Clients report through a two-level randomized response, first of the query, then of one of its URLs. The
two estimates are combined by inverse estimated variances, and projected on the simplex.

Its parameters are those that were published: ε = 4, δ = $10^{-6}$, $f_C = 0.85$ of a client's ε for the query,
$f_O = 0.95$, one record per user, and a list of 50 queries. With one level, items take the place of queries and all of
ε is for them.

Two things are not as printed in every source. With $t$ and $t_q$ the chances that a query and a URL are kept, $k$
queries, $k_q$ URLs of query $q$ and $r$ the fractions of reports, the unbiased share of a record is

$$
\hat p_{qu} = \frac{r_{qu} - t\frac{1-t_q}{k_q-1}\hat p_q - \frac{(1-t)(1-\hat p_q)}{(k-1)k_q}}
{t\left(t_q - \frac{1-t_q}{k_q-1}\right)};
$$

with $1 - t_q$ in the last term of the numerator it would be biased. And its variance takes into account that $r_{qu}$
and $r_q$ come from the same reports: with $\hat p_{qu} = \alpha r_{qu} - \beta r_q + \text{const}$ it is
$[\alpha^2 r_{qu}(1-r_{qu}) + \beta^2 r_q(1-r_q) - 2\alpha\beta r_{qu}(1-r_q)]/n$.

It is a simulation of that algorithm, with noise in floating point: **not a private release**. For one, there is
`HeavyHitterStudy`, which is at least as accurate.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray, IntArray
from hybriddp.errors import DataError
from hybriddp.paper import seeded
from hybriddp.privacy import Privacy
from hybriddp.release.release import simulate_printed_noise
from hybriddp.release.threshold import require_delta
from hybriddp.shares.blend import project_to_simplex
from hybriddp.shares.categories import OTHER

Record = str | tuple[str, str]
"""A query, or a query and its URL."""


@dataclass(frozen=True, slots=True, eq=False)
class BlenderResult:
    """Records with their estimated shares, the most frequent first. A simulation: not private."""

    items: tuple[Record, ...]
    shares: FloatArray
    """Shares after projection on the simplex of all records, unknown ones included."""
    blended: FloatArray
    """Shares before the projection."""
    list_size: int
    """Number of records on the list, before the most frequent queries were kept."""


@dataclass(frozen=True, eq=False)
class HeadList:
    """Public records, query by query: the URLs of each, an unknown one (⋆) last, and the unknown query last."""

    records: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, listed: Iterable[Record]) -> "HeadList":
        """Arrange records, and add the unknown ones."""
        urls: dict[str, list[str]] = {}
        for item in listed:
            query, url = _pair(item)
            urls.setdefault(query, []).extend([url] if url != OTHER else [])
        return cls((*((query, url) for query in urls for url in (*urls[query], OTHER)), (OTHER, OTHER)))

    @cached_property
    def query(self) -> IntArray:
        """Number of each record's query."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(name for name, _ in self.records))}
        return np.array([numbers[name] for name, _ in self.records])

    @cached_property
    def sizes(self) -> IntArray:
        """$k_q$, number of records of each query."""
        return np.bincount(self.query)

    @cached_property
    def first(self) -> IntArray:
        """First record of each query."""
        return np.cumsum(self.sizes) - self.sizes

    def find(self, items: Sequence[Record]) -> IntArray:
        """Look up the number of each item's record; unknown ones are ⋆."""
        number = {record: i for i, record in enumerate(self.records)}
        unknown, places = len(self.records) - 1, {}
        for item in set(items):
            pair = _pair(item)
            places[item] = number.get(pair, number.get((pair[0], OTHER), unknown))
        return np.array([places[item] for item in items], np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class TwoLevelResponse:
    """A client's randomized response: keep the query with probability $t$, then the URL with $t_q$."""

    head: HeadList
    keep_query: float
    keep_url: FloatArray

    @classmethod
    def of(cls, head: HeadList, privacy: Privacy, query_fraction: float) -> "TwoLevelResponse":
        """Spend a fraction of (ε, δ) on the query."""
        epsilon, delta = float(privacy.epsilon), float(privacy.delta)

        def keep(k: FloatArray | float, fraction: float) -> FloatArray | float:
            e = math.exp(fraction * epsilon)
            return (e + fraction * delta / 2 * (k - 1)) / (e + k - 1)

        urls = np.asarray(keep(head.sizes.astype(np.float64), 1 - query_fraction), np.float64)
        return cls(head, float(keep(float(len(head.sizes)), query_fraction)), urls)

    def sample(self, held: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw one report per client, from the record that they hold."""
        sizes, first, query = self.head.sizes, self.head.first, self.head.query[held]
        n, k, url = len(held), len(sizes), held - first[query]
        other_query = (query + rng.integers(1, max(k, 2), n)) % k
        kept = (rng.random(n) < self.keep_query) | (k == 1)
        size = sizes[query]
        other_url = (url + 1 + np.floor(rng.random(n) * np.maximum(size - 1, 1)).astype(np.int64)) % size
        own = np.where(rng.random(n) < self.keep_url[query], url, other_url)
        anything = np.floor(rng.random(n) * sizes[other_query]).astype(np.int64)
        return np.asarray(np.where(kept, first[query] + own, first[other_query] + anything))

    def estimate(self, reports: IntArray) -> tuple[FloatArray, FloatArray]:
        """Estimate the share of each record without bias, and its variance."""
        q, n, k, t = self.head.query, len(reports), len(self.head.sizes), self.keep_query
        if k == 1:
            return np.ones(len(q)), np.full(len(q), 1 / max(n, 1))
        r_qu = np.bincount(reports, minlength=len(q)) / n
        r_q = np.bincount(q, r_qu)[q]
        c0 = (1 - t) / (k - 1)
        size, t_q = self.head.sizes[q], self.keep_url[q]
        miss = (1 - t_q) / np.maximum(size - 1, 1)
        alpha = 1 / (t * (t_q - miss))
        p_q = (r_q - c0) / (t - c0)
        shares = alpha * (r_qu - t * miss * p_q - (1 - t) * (1 - p_q) / ((k - 1) * size))
        beta = alpha * (t * miss - (1 - t) / ((k - 1) * size)) / (t - c0)
        spread = alpha**2 * r_qu * (1 - r_qu) + beta**2 * r_q * (1 - r_q) - 2 * alpha * beta * r_qu * (1 - r_q)
        return shares, spread / max(n - 1, 1)


def blender(
    trusted: Sequence[Record],
    local: Sequence[Record],
    *,
    random_state: int | np.random.Generator | None,
    epsilon: float | str = 4,
    delta: float | str = 1e-6,
    head_size: int | None = 50,
    list_fraction: float = 0.95,
    query_fraction: float = 0.85,
) -> BlenderResult:
    """Run BLENDER as published, in a simulation.

    Parameters
    ----------
    trusted, local : sequence
        One record per user: a pair (query, URL), or a text for one level.
    random_state : int or numpy.random.Generator
        Required: this is a simulation.
    epsilon, delta : float or str
        Promise to every user.
    head_size : int, optional
        $M$, number of queries that are kept; all of them if None.
    list_fraction : float
        $f_O$, fraction of the opt-in users who make the list.
    query_fraction : float
        $f_C$, fraction of a client's ε for the query. With one level it is 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> items = rng.choice(["a", "b", "c"], 20_000, p=[0.5, 0.3, 0.2]).tolist()
    >>> found = blender(items[:2000], items[2000:], random_state=1)
    >>> found.items, found.shares.round(2).tolist()
    (('a', 'b', 'c'), [0.5, 0.3, 0.2])
    """
    privacy = Privacy.promised(epsilon=epsilon, delta=delta)
    require_delta(privacy)
    _check.number("list_fraction", list_fraction, _check.FRACTION)
    _check.number("query_fraction", query_fraction, _check.FRACTION)
    if head_size is not None:
        _check.integer("head_size", head_size, at_least=1)
    if len(trusted) < 4 or len(local) < 2:
        raise DataError("BLENDER needs at least four opt-in users and two clients.")
    rng = seeded(random_state, "blender")
    scale = 2 / float(privacy.epsilon)
    order = rng.permutation(len(trusted))
    cut = min(max(round(list_fraction * len(trusted)), 1), len(trusted) - 2)
    makers, counters = ([trusted[i] for i in part.tolist()] for part in (order[:cut], order[cut:]))
    threshold = 1 + scale * math.log(1 / float(privacy.delta))
    made = Counter(makers)
    candidates = sorted(made, key=repr)
    counted = simulate_printed_noise(np.array([made[item] for item in candidates], np.float64), scale, rng)
    listed = [item for item, count in zip(candidates, counted.tolist(), strict=True) if count > threshold]
    head = HeadList.of(listed)
    n = len(counters)
    exact = np.bincount(head.find(counters), minlength=len(head.records)).astype(np.float64)
    noisy = simulate_printed_noise(exact, scale, rng) / n
    if head_size is not None and len(head.sizes) - 1 > head_size:
        by_query = np.bincount(head.query, noisy)[:-1]
        best = {head.records[head.first[q]][0] for q in np.argsort(-by_query, kind="stable")[:head_size].tolist()}
        shorter = HeadList.of(item for item in listed if _pair(item)[0] in best)
        noisy = np.bincount(shorter.find(head.records), noisy, len(shorter.records)).astype(
            float
        )  # other records become part of ⋆
        head = shorter
    of_trusted = np.clip(noisy, 0.0, 1.0)
    v_trusted = of_trusted * (1 - of_trusted) / (n - 1) + 2 * scale**2 / (n * (n - 1))
    one_level = all(isinstance(item, str) for item in listed)
    response = TwoLevelResponse.of(head, privacy, 1.0 if one_level else query_fraction)
    of_local, v_local = response.estimate(response.sample(head.find(local), rng))
    weight = v_local / (v_trusted + v_local)
    blended = weight * noisy + (1 - weight) * of_local
    shares = project_to_simplex(blended)
    known = [i for i, (q, u) in enumerate(head.records) if q != OTHER and (one_level or u != OTHER)]
    known.sort(key=lambda i: -blended[i])
    items = tuple(head.records[i][0] if one_level else head.records[i] for i in known)
    return BlenderResult(items, shares[known], blended[known], len(listed))


def _pair(item: Record) -> tuple[str, str]:
    """Write a query alone as one with an unknown URL."""
    return (item, OTHER) if isinstance(item, str) else item
