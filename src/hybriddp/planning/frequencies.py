r"""What a study of frequencies would give, before anything is collected: how long a list, and how large errors.

Shares are assumed to follow Zipf's law, $f_r \propto r^{-s}$ for the item of rank $r$ (or are given). For them

- the *chance of being listed* is exact: $P[X + Z \ge T]$ with $X \sim \mathrm{Bin}(n_T, f)$ the number of trusted users
  who have the item, $Z$ the discrete Laplace noise and $T$ the threshold of the release; the expected length of the
  list is the sum of it over all items;
- the *error* of an item that is listed is that of the blend, from the exact variances of both groups
  (`hybriddp.shares.blend`), with the reports that so many categories get. That items get onto the list by their
  noisy count is left out of it: near the threshold listed shares are somewhat too large.

Where local discovery pays, an item of share $f$ is shown if $z^2/2 + y\epsilon/2 > 48 \ln 2$, with $z$ its score in
standard deviations, a normal variable of mean $f/\sqrt{V/n_L}$, and $y = n_T f$: the chance is that of $z$, and
approximate, since a search that loses a prefix is not in it (lists are about a tenth shorter).
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError
from hybriddp.items.coding import CODE_BITS
from hybriddp.items.discovery import DICTIONARY, DISCOVERY, LIST, DiscoveryRule
from hybriddp.planning.alternatives import Poisoning
from hybriddp.planning.scenario import MOST_USERS
from hybriddp.privacy import Privacy
from hybriddp.release.mechanisms import laplace_scale, laplace_variance
from hybriddp.release.threshold import ThresholdRule
from hybriddp.shares.blend import Blend
from hybriddp.shares.law import GroupShares
from hybriddp.shares.oracle import frequency_channel, oracle_of
from hybriddp.shares.study import sensitivity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ITEMS = 10**6
_COMPUTED = 500  # shares for which the chance of being listed is computed; between them it is interpolated
_SURE = 40  # scales of the noise beyond which an item is surely listed
_SHOWN_RANKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


class RankRow(NamedTuple):
    """The item of one rank: its share, the chance that it is listed, and the standard error of its share if it is."""

    rank: int
    share: float
    chance: float
    standard_error: float
    trusted_error: float
    """Of the trusted group alone."""
    local_error: float
    """Of the local group alone, asked the same."""


@dataclass(frozen=True, repr=False)
class FrequencyPlan:
    """What a study of frequencies would give, item by item: the most frequent one first."""

    n_users: int
    n_trusted: int
    privacy: Privacy
    shares: tuple[float, ...]
    """The assumed shares, in descending order."""
    slope: float | None
    """Of Zipf's law; None if the shares were given."""
    method: str
    """``"dictionary"`` for categories that are public, ``"list"`` or ``"discovery"`` for an open domain."""

    def __repr__(self) -> str:
        length = f"{self.list_length:,.3g} of {len(self.shares):,} items listed"
        return f"<FrequencyPlan: {length}, typical error {self.rmse(10):.2g} of the top 10; explain() says more>"

    @property
    def n_local(self) -> int:
        """Number of local users."""
        return self.n_users - self.n_trusted

    @cached_property
    def _f(self) -> FloatArray:
        return np.array(self.shares)

    @cached_property
    def chances(self) -> FloatArray:
        """How likely each item is to be listed; 1 for public categories."""
        f = self._f
        if self.method == DICTIONARY:
            return np.ones_like(f)
        rule = ThresholdRule.of(self.privacy)
        listed = _interpolated(f, lambda x: chance_listed(x, self.n_trusted, rule))
        if self.method == LIST:
            return listed
        return np.maximum(listed, self._chance_discovered())

    def _chance_discovered(self) -> FloatArray:
        from scipy.special import ndtr

        need = CODE_BITS * math.log(2) - self.n_trusted * self._f * float(self.privacy.epsilon) / 2
        limit = np.sqrt(2 * np.maximum(need, 0.0))
        sd = self._discovery_share / math.sqrt(2 * CODE_BITS * math.log(2))
        found: FloatArray = ndtr(self._f / sd - limit)
        return found

    @property
    def _discovery_share(self) -> float:
        rule = ThresholdRule.of(self.privacy)
        return DiscoveryRule.of(rule, n_trusted=self.n_trusted, n_local=self.n_local).local_share

    @property
    def list_length(self) -> float:
        """How many items would be listed, on average; all of them, if they are public."""
        return float(self.chances.sum())

    @property
    def list_length_sd(self) -> float:
        """By how much that would vary."""
        return float(np.sqrt((self.chances * (1 - self.chances)).sum()))

    @property
    def surely_listed(self) -> float:
        """The share from which on an item is listed with a probability of 95 %; infinite if none is."""
        sure = self._f[self.chances >= 0.95]
        return float(sure.min()) if sure.size else math.inf

    @cached_property
    def _groups(self) -> tuple[GroupShares, GroupShares]:
        """What either group would know about all items, were they all listed."""
        epsilon, f = self.privacy.epsilon, self._f
        k = self._n_asked
        changed = sensitivity(k) if self.method == DICTIONARY else 2
        noise = laplace_variance(laplace_scale(changed, Privacy(epsilon=epsilon)))
        trusted = GroupShares.of_counts(f * self.n_trusted, self.n_trusted, noise)
        hit, miss = self._local_channel
        return trusted, GroupShares.of_reports(f, self.n_local, hit=hit, miss=miss)

    @property
    def _n_asked(self) -> int:
        """How many categories local users are asked about."""
        return len(self._f) if self.method == DICTIONARY else max(round(self.list_length), 1) + 1

    @cached_property
    def _local_channel(self) -> tuple[float, float]:
        """How likely a report is to support its own category, and another one."""
        if self.method == DISCOVERY:
            return 0.5, 1 / (math.exp(float(self.privacy.epsilon)) + 1)
        oracle = oracle_of(frequency_channel(self.privacy.epsilon, self._n_asked), self._n_asked)
        return oracle.hit, oracle.miss

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of the trusted group in each share."""
        trusted, local = self._groups
        v_t, v_l = trusted.variance(self._f), local.variance(self._f)
        return np.asarray(v_l / (v_t + v_l))

    @cached_property
    def standard_errors(self) -> FloatArray:
        """The typical error of each share, if it is listed, against that of all users."""
        return Blend(*self._groups, self.weights, None, self.n_users).law().standard_errors

    def poisoning(self, forged: int) -> Poisoning:
        r"""How far ``forged`` contributions can move the share that they move most.

        A report supports a category or not, which moves the local share by $1/((p - q) n_L)$ at most. Forged ones make
        the groups differ, and then the weight of the trusted group yields, to its fraction of the users at most. A
        trusted item moves the share of its group by $1/n_T$.
        """
        count = _check.integer("forged", forged, at_least=0)
        hit, miss = self._local_channel
        least_weight = min(float(self.weights.min()), self.n_trusted / self.n_users)
        return Poisoning(
            forged=count,
            local=(1 - least_weight) * min(count / self.n_local, 1.0) / (hit - miss),
            trusted=float(self.weights.max()) * min(count / self.n_trusted, 1.0),
        )

    @property
    def forged_to_list(self) -> int | None:
        r"""How many forged contributions list an item that nobody has, about half of the time; None if all are public.

        Trusted ones must reach the threshold. In local discovery forged reports all support their item, and count as
        $(1 - q)/(p - q)$ honest ones each.
        """
        if self.method == DICTIONARY:
            return None
        if self.method == LIST:
            return math.ceil(ThresholdRule.of(self.privacy).threshold)
        hit, miss = self._local_channel
        return math.ceil(self._discovery_share * self.n_local * (hit - miss) / (1 - miss))

    def errors_alone(self) -> tuple[FloatArray, FloatArray]:
        """The typical errors of the trusted group alone, and of the local one."""
        trusted, local = self._groups
        one, none = np.ones_like(self._f), np.zeros_like(self._f)
        laws = [Blend(trusted, local, w, None, self.n_users).law() for w in (one, none)]
        return laws[0].standard_errors, laws[1].standard_errors

    def rmse(self, n: int = 10) -> float:
        """The typical error over the ``n`` most frequent items; one that is not listed counts as a share of 0."""
        _check.integer("n", n, at_least=1)
        p, f, error = (x[:n] for x in (self.chances, self._f, self.standard_errors))
        return float(np.sqrt(np.mean(p * error**2 + (1 - p) * f**2)))

    def rows(self) -> list[RankRow]:
        """Some ranks: the first ones, and then a few of each power of ten."""
        trusted, local = self.errors_alone()
        columns = (self._f, self.chances, self.standard_errors, trusted, local)
        last = len(self._f)
        ranks = [rank for rank in _SHOWN_RANKS if rank <= last]
        if last <= 10:
            ranks = list(range(1, last + 1))
        return [RankRow(rank, *(float(column[rank - 1]) for column in columns)) for rank in ranks]

    def with_dictionary(self) -> "FrequencyPlan":
        """The same with a public dictionary of all items: nothing must be discovered, and δ is not needed."""
        privacy = Privacy(epsilon=self.privacy.epsilon)
        return FrequencyPlan(self.n_users, self.n_trusted, privacy, self.shares, self.slope, DICTIONARY)

    # How it is shown

    def explain(self) -> str:
        """The plan in plain words."""
        from hybriddp.planning.frequency_words import explanation

        return explanation(self)

    def __str__(self) -> str:
        return self.explain()

    def plot(self, path: "Path | str | None" = None) -> "Figure":
        """Shares and errors by rank, and where the list ends; written to ``path`` if given."""
        from hybriddp.figures.frequency_plan import draw

        return draw(self, path=None if path is None else Path(path))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, of some ranks."""
        return {
            "n_users": self.n_users,
            "n_trusted": self.n_trusted,
            "epsilon": self.privacy.epsilon,
            "delta": self.privacy.delta,
            "n_items": len(self.shares),
            "slope": self.slope,
            "method": self.method,
            "list_length": self.list_length,
            "list_length_sd": self.list_length_sd,
            "rmse_top_10": self.rmse(10),
            "rmse_top_50": self.rmse(50),
            "ranks": [row._asdict() for row in self.rows()],
        }

    def to_json(self) -> str:
        """What `to_dict` gives, as text."""
        return json.dumps(self.to_dict(), indent=2)


def plan_frequencies(
    *,
    n_users: int,
    trusted_fraction: float,
    epsilon: float | str,
    delta: float | str = 0,
    n_items: int | None = None,
    slope: float = 1.0,
    shares: Sequence[float] | None = None,
) -> FrequencyPlan:
    """What a study of frequencies would give: how long the list would be, and how large the errors.

    Parameters
    ----------
    n_users : int
        How many users there would be.
    trusted_fraction : float
        The fraction of them who would trust the curator, rounded to whole users.
    epsilon : float or str
        What everybody would be promised.
    delta : float or str
        0 if the categories are public (`FrequencyStudy`). Above 0 for an open domain (`HeavyHitterStudy`).
    n_items : int, optional
        How many different items there are, about; needed unless ``shares`` are given.
    slope : float
        Of Zipf's law: the item of rank r has a share in proportion to r to the power of minus this. 0 if all are
        equally frequent; words, names and pages are near 1.
    shares : sequence of float, optional
        The assumed shares themselves, instead of ``n_items`` and ``slope``.

    Examples
    --------
    >>> made = plan_frequencies(n_users=10**6, trusted_fraction=0.01, epsilon=1, delta=1e-6, n_items=10_000)
    >>> print(f"{made.method}: {made.list_length:.0f} items, give or take {made.list_length_sd:.0f}")
    list: 38 items, give or take 2
    >>> asked = plan_frequencies(n_users=20_000, trusted_fraction=0.05, epsilon=1, shares=[0.3, 0.7])
    >>> print(f"30 %, give or take {100 * asked.standard_errors[0]:.1f} %")
    30 %, give or take 0.6 %
    """
    users = _check.integer("n_users", n_users, at_least=4, at_most=MOST_USERS)
    n_trusted = round(_check.number("trusted_fraction", trusted_fraction, _check.FRACTION) * users)
    if not 2 <= n_trusted <= users - 2:
        words = f"such that each of the two groups of {users:,} users has at least two"
        raise ParameterError("trusted_fraction", words, trusted_fraction)
    privacy = Privacy.promised(epsilon=epsilon, delta=delta)
    if shares is None:
        count = _check.integer("n_items", 0 if n_items is None else n_items, at_least=2, at_most=MOST_ITEMS)
        law = np.arange(1, count + 1, dtype=np.float64) ** -_check.number("slope", slope, _check.NON_NEGATIVE)
        assumed = law / law.sum()
    else:
        if n_items is not None:
            raise ParameterError("n_items", "left out if there are shares", n_items)
        assumed = -np.sort(-_check.numbers("shares", shares, _check.Range("numbers from 0 to 1", 0.0, 1.0)))
        if assumed.ndim != 1 or len(assumed) < 2 or assumed.sum() > 1 + 1e-9:
            raise ParameterError("shares", "at least two, which add up to 1 at most", list(shares))
    method = DICTIONARY
    if privacy.exact_delta:
        rule = DiscoveryRule.of(ThresholdRule.of(privacy), n_trusted=n_trusted, n_local=users - n_trusted)
        method = DISCOVERY if rule.pays else LIST
    zipf = float(slope) if shares is None else None
    return FrequencyPlan(users, n_trusted, privacy, tuple(assumed.tolist()), zipf, method)


def chance_listed(shares: FloatArray, n_trusted: int, rule: ThresholdRule) -> FloatArray:
    r"""$P[X + Z \ge T, X > 0]$ for items of these shares: the binomial law of the count, and that of the noise."""
    from scipy.special import gammaln, xlog1py, xlogy

    most = min(n_trusted, math.ceil(rule.threshold + _SURE * rule.scale))
    x = np.arange(0, most + 1)
    decay = math.exp(-1 / rule.scale)
    short = np.abs(rule.threshold - x) + (x >= rule.threshold)  # 1 + how far, if it is reached without noise
    tail = np.exp(-short / rule.scale) / (1 + decay)
    passes = np.where(x < rule.threshold, tail, 1 - tail)
    passes[0] = 0.0  # an item that nobody has is never shown
    ways = gammaln(n_trusted + 1) - gammaln(x + 1) - gammaln(n_trusted - x + 1)
    found = np.empty(len(shares))
    for i, f in enumerate(shares.tolist()):
        law = np.exp(ways + xlogy(x, f) + xlog1py(n_trusted - x, -f))
        found[i] = law @ passes + max(1 - law.sum(), 0.0)
    return np.clip(found, 0.0, 1.0)


def _interpolated(f: FloatArray, chance: Any) -> FloatArray:  # noqa: ANN401
    """A smooth function of descending shares, computed for some of them."""
    if len(f) <= _COMPUTED:
        return np.asarray(chance(f))
    places = np.unique(np.geomspace(1, len(f), _COMPUTED).round().astype(int)) - 1
    computed = chance(f[places])
    found: FloatArray = np.interp(np.log(np.arange(1, len(f) + 1)), np.log(places + 1.0), computed)
    return found
