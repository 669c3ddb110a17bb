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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray, IntArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.randomness import simulation_generator
from hybriddp.release.release import simulate_printed_noise
from hybriddp.release.threshold import require_delta
from hybriddp.shares.blend import project_to_simplex
from hybriddp.shares.categories import OTHER

Record = str | tuple[str, str]
"""A query, or a query and its URL."""


@dataclass(frozen=True, slots=True, eq=False)
class BlenderResult:
    """Records with their shares, the most frequent first, as BLENDER estimates them. A simulation: not private."""

    items: tuple[Record, ...]
    shares: FloatArray
    """After projection on the simplex of all records, unknown ones included."""
    blended: FloatArray
    """Before the projection."""
    list_size: int
    """Records on the list, before the most frequent queries were kept."""


@dataclass(frozen=True, slots=True)
class HeadList:
    """Public records by query: the URLs of each, an unknown one (⋆) included, and the unknown query last."""

    queries: tuple[str, ...]
    urls: tuple[tuple[str, ...], ...]

    @property
    def sizes(self) -> IntArray:
        """$k_q$."""
        return np.array([len(urls) for urls in self.urls])

    def records(self) -> list[tuple[int, int]]:
        """All records, as the numbers of query and URL."""
        return [(q, u) for q, urls in enumerate(self.urls) for u in range(len(urls))]

    def places(self, items: Sequence[Record]) -> tuple[IntArray, IntArray]:
        """The numbers of the query and the URL of each item; unknown ones are ⋆."""
        query = {name: number for number, name in enumerate(self.queries)}
        url = {(q, name): u for q, urls in enumerate(self.urls) for u, name in enumerate(urls)}
        last = len(self.queries) - 1
        found = {}
        for item in set(items):
            name, link = (item, OTHER) if isinstance(item, str) else item
            q = query.get(name, last)
            found[item] = (q, url.get((q, link), len(self.urls[q]) - 1))
        pairs = np.array([found[item] for item in items], np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]


@dataclass(frozen=True, slots=True, eq=False)
class TwoLevelResponse:
    """A client's randomized response: keep the query with probability $t$, then the URL with $t_q$."""

    keep_query: float
    keep_url: FloatArray
    sizes: IntArray

    @classmethod
    def of(cls, sizes: IntArray, privacy: Privacy, query_fraction: float) -> "TwoLevelResponse":
        """The one that spends a fraction of (ε, δ) on the query."""
        epsilon, delta = float(privacy.epsilon), float(privacy.delta)

        def keep(k: FloatArray | float, fraction: float) -> FloatArray | float:
            e = math.exp(fraction * epsilon)
            return (e + fraction * delta / 2 * (k - 1)) / (e + k - 1)

        urls = np.asarray(keep(sizes.astype(np.float64), 1 - query_fraction), np.float64)
        return cls(float(keep(float(len(sizes)), query_fraction)), urls, sizes)

    def sample(self, query: IntArray, url: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """One report per client."""
        n, k = len(query), len(self.sizes)
        other_query = (query + rng.integers(1, max(k, 2), n)) % k
        kept = (rng.random(n) < self.keep_query) | (k == 1)
        size = self.sizes[query]
        other_url = (url + 1 + np.floor(rng.random(n) * np.maximum(size - 1, 1)).astype(np.int64)) % size
        own = np.where(rng.random(n) < self.keep_url[query], url, other_url)
        anything = np.floor(rng.random(n) * self.sizes[other_query]).astype(np.int64)
        return np.where(kept, query, other_query), np.where(kept, own, anything)

    def estimate(self, query: IntArray, url: IntArray, records: list[tuple[int, int]]) -> tuple[FloatArray, FloatArray]:
        """The unbiased share of each record and its variance, from reports."""
        n, k, t = len(query), len(self.sizes), self.keep_query
        if k == 1:
            return np.ones(len(records)), np.full(len(records), 1 / max(n, 1))
        q = np.array([record[0] for record in records])
        counts = np.zeros((k, int(self.sizes.max())))
        np.add.at(counts, (query, url), 1)
        r_qu, r_q = counts[q, [record[1] for record in records]] / n, counts.sum(axis=1)[q] / n
        c0 = (1 - t) / (k - 1)
        size, t_q = self.sizes[q], self.keep_url[q]
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
    """BLENDER as published, in a simulation.

    Parameters
    ----------
    trusted, local : sequence
        One record per user: a pair (query, URL), or a text for one level.
    random_state : int or numpy.random.Generator
        Always needed: this is no private release.
    epsilon, delta : float or str
        What every user is promised.
    head_size : int, optional
        $M$: how many queries are kept; all of them if None.
    list_fraction : float
        $f_O$: the fraction of the opt-in users who make the list.
    query_fraction : float
        $f_C$: the fraction of a client's ε for the query. With one level it is 1.

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
    if random_state is None:
        remedy = "This is a simulation of BLENDER, never a private release."
        raise ParameterError("random_state", "an integer or a numpy.random.Generator", None, remedy=remedy)
    rng = simulation_generator(random_state, "blender")
    scale = 2 / float(privacy.epsilon)
    order = rng.permutation(len(trusted))
    cut = min(max(round(list_fraction * len(trusted)), 1), len(trusted) - 2)
    makers, counters = ([trusted[i] for i in part.tolist()] for part in (order[:cut], order[cut:]))
    threshold = 1 + scale * math.log(1 / float(privacy.delta))
    made = Counter(makers)
    candidates = sorted(made, key=repr)
    counted = simulate_printed_noise(np.array([made[item] for item in candidates], np.float64), scale, rng)
    listed = [item for item, count in zip(candidates, counted.tolist(), strict=True) if count > threshold]
    head = _head(listed)
    noisy = _noisy_shares(head, counters, scale, rng)
    if head_size is not None and len(head.queries) - 1 > head_size:
        by_query = np.bincount([q for q, _ in head.records()], noisy)[:-1]
        best = {head.queries[q] for q in np.argsort(-by_query, kind="stable")[:head_size].tolist()}
        kept = [item for item in listed if (item if isinstance(item, str) else item[0]) in best]
        noisy, head = _folded(head, noisy, kept)
    records = head.records()
    n = len(counters)
    of_trusted = np.clip(noisy, 0.0, 1.0)
    v_trusted = of_trusted * (1 - of_trusted) / (n - 1) + 2 * scale**2 / (n * (n - 1))
    one_level = all(isinstance(item, str) for item in listed)
    response = TwoLevelResponse.of(head.sizes, privacy, 1.0 if one_level else query_fraction)
    reports = response.sample(*head.places(local), rng)
    of_local, v_local = response.estimate(*reports, records)
    weight = v_local / (v_trusted + v_local)
    blended = weight * noisy + (1 - weight) * of_local
    shares = project_to_simplex(blended)
    known = [i for i, (q, u) in enumerate(records) if _is_known(head, q, u, one_level=one_level)]
    known.sort(key=lambda i: -blended[i])
    items = tuple(
        head.queries[q] if one_level else (head.queries[q], head.urls[q][u]) for q, u in map(records.__getitem__, known)
    )
    return BlenderResult(items, shares[known], blended[known], len(listed))


def _head(listed: Sequence[Record]) -> HeadList:
    by_query: dict[str, list[str]] = {}
    for item in listed:
        name, urls = (item, []) if isinstance(item, str) else (item[0], [item[1]])
        by_query.setdefault(name, []).extend(urls)
    return HeadList((*by_query, OTHER), (*((*urls, OTHER) for urls in by_query.values()), (OTHER,)))


def _noisy_shares(head: HeadList, items: Sequence[Record], scale: float, rng: np.random.Generator) -> FloatArray:
    q, u = head.places(items)
    counts = np.zeros((len(head.queries), int(head.sizes.max())))
    np.add.at(counts, (q, u), 1)
    exact = np.array([counts[record] for record in head.records()])
    return simulate_printed_noise(exact, scale, rng) / len(items)


def _folded(head: HeadList, noisy: FloatArray, kept: Sequence[Record]) -> tuple[FloatArray, HeadList]:
    """The shares on a shorter list: what is not on it is part of ⋆."""
    shorter = _head(kept)
    place = {(shorter.queries[q], shorter.urls[q][u]): i for i, (q, u) in enumerate(shorter.records())}
    shares = np.zeros(len(place))
    for (q, u), share in zip(head.records(), noisy.tolist(), strict=True):
        shares[place.get((head.queries[q], head.urls[q][u]), len(shares) - 1)] += share
    return shares, shorter


def _is_known(head: HeadList, q: int, u: int, *, one_level: bool) -> bool:
    return head.queries[q] != OTHER and (one_level or head.urls[q][u] != OTHER)
