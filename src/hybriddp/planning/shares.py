r"""A plan of shares: how long a list would be, and how large errors.

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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError
from hybriddp.items.coding import CODE_BITS
from hybriddp.items.discovery import DICTIONARY, DISCOVERY, LIST, DiscoveryRule
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.planning import share_words
from hybriddp.planning.base import Plan, Poisoning, plain
from hybriddp.privacy import Privacy
from hybriddp.release.threshold import ThresholdRule
from hybriddp.reporting.wording import percent
from hybriddp.shares.expected import ExpectedShares
from hybriddp.shares.oracle import frequency_channel, oracle_of
from hybriddp.shares.study import FrequencyStudy, sensitivity

MOST_ITEMS = 10**6
_COMPUTED = 500  # shares for which the chance of being listed is computed; between them it is interpolated
_SURE = 40  # scales of the noise beyond which an item is surely listed
_SHOWN_RANKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


@dataclass(frozen=True, slots=True)
class RankRow:
    """Item of one rank: its share, the chance that it is listed, and the standard error of its share if it is."""

    rank: int
    share: float
    chance: float
    standard_error: float
    trusted_error: float
    """Of the trusted group alone."""
    local_error: float
    """Of the local group alone, asked the same."""


@dataclass(frozen=True, repr=False)
class SharePlan(Plan):
    """What a study of shares or of heavy hitters would give, item by item: the most frequent one first."""

    shares: tuple[float, ...]
    """Assumed shares, in descending order."""
    slope: float | None
    """Of Zipf's law; None if the shares were given."""
    public: bool
    """Whether the categories are public; if not, they are discovered."""

    @classmethod
    def of(
        cls,
        study: FrequencyStudy | HeavyHitterStudy,
        *,
        n_users: int,
        trusted_fraction: float,
        n_items: int | None = None,
        slope: float = 1.0,
        shares: Sequence[float] | None = None,
    ) -> "SharePlan":
        """Plan a study of public categories or of heavy hitters; see `hybriddp.plan`."""
        named = study.names if isinstance(study, FrequencyStudy) else study.domain
        if n_items is not None and (shares is not None or named is not None):
            raise ParameterError("n_items", "left out if there are shares or a public list", n_items)
        assumed = _assumed(n_items or len(named or ()), slope, shares)
        if shares is not None and named is not None and len(assumed) != len(named):
            raise ParameterError("shares", f"one for each of {len(named):,} categories", list(shares))
        return cls(
            **cls.group_sizes(n_users, trusted_fraction),
            privacy=study.privacy,
            shares=assumed,
            slope=float(slope) if shares is None else None,
            public=named is not None,
        )

    @cached_property
    def method(self) -> str:
        """``"dictionary"`` for categories that are public, ``"list"`` or ``"discovery"`` for an open domain."""
        if self.public:
            return DICTIONARY
        rule = DiscoveryRule.of(ThresholdRule.of(self.privacy), n_trusted=self.n_trusted, n_local=self.n_local)
        return DISCOVERY if rule.pays else LIST

    @cached_property
    def _f(self) -> FloatArray:
        return np.array(self.shares)

    @cached_property
    def chances(self) -> FloatArray:
        """Probability that each item is listed; 1 for public categories."""
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
        return np.asarray(ndtr(self._f / sd - limit))

    @property
    def _discovery_share(self) -> float:
        rule = ThresholdRule.of(self.privacy)
        return DiscoveryRule.of(rule, n_trusted=self.n_trusted, n_local=self.n_local).local_share

    @property
    def list_length(self) -> float:
        """Expected number of listed items; all of them, if they are public."""
        return float(self.chances.sum())

    @property
    def list_length_sd(self) -> float:
        """Standard deviation of the number of listed items."""
        return float(np.sqrt((self.chances * (1 - self.chances)).sum()))

    @property
    def surely_listed(self) -> float:
        """Share from which on an item is listed with a probability of 95 %; infinite if none is."""
        sure = self._f[self.chances >= 0.95]
        return float(sure.min()) if sure.size else math.inf

    @cached_property
    def _expected(self) -> ExpectedShares:
        """Shares that either group would know, were all items listed."""
        hit, miss = self._local_channel
        return ExpectedShares.of(
            self._f,
            n_trusted=self.n_trusted,
            n_local=self.n_local,
            epsilon=self.privacy.epsilon,
            sensitivity=sensitivity(self._n_asked) if self.public else 2,
            hit=hit,
            miss=miss,
        )

    @property
    def _n_asked(self) -> int:
        """Number of categories that local users are asked about."""
        return len(self._f) if self.method == DICTIONARY else max(round(self.list_length), 1) + 1

    @cached_property
    def _local_channel(self) -> tuple[float, float]:
        """Probabilities that a report supports its own category, and another one."""
        if self.method == DISCOVERY:
            return 0.5, 1 / (math.exp(float(self.privacy.epsilon)) + 1)
        oracle = oracle_of(frequency_channel(self.privacy.epsilon, self._n_asked), self._n_asked)
        return oracle.hit, oracle.miss

    @property
    def weights(self) -> FloatArray:
        """Weight of the trusted group in each share."""
        return self._expected.weights

    @cached_property
    def standard_errors(self) -> FloatArray:
        """Typical error of each share, if it is listed, against that of all users."""
        return self._expected.standard_errors(self.weights)

    def poisoning(self, forged: int) -> Poisoning:
        r"""Return how far ``forged`` contributions can move the share that they move most.

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
        r"""Number of forged contributions that list an item that nobody has half of the time; None if all are public.

        Trusted ones must reach the threshold. In local discovery forged reports all support their item, and count as
        $(1 - q)/(p - q)$ honest ones each.
        """
        if self.method == DICTIONARY:
            return None
        if self.method == LIST:
            return math.ceil(ThresholdRule.of(self.privacy).threshold)
        hit, miss = self._local_channel
        return math.ceil(self._discovery_share * self.n_local * (hit - miss) / (1 - miss))

    def errors_alone(self) -> tuple[FloatArray, ...]:
        """Return the typical errors of the trusted group alone, and of the local one."""
        return tuple(self._expected.standard_errors(np.full_like(self._f, weight)) for weight in (1.0, 0.0))

    @property
    def rmse(self) -> float:
        """Typical error over the ten most frequent items."""
        return self.rmse_of_top(10)

    @property
    def typical_error(self) -> str:
        """Typical error over the ten most frequent items, in words."""
        return self.in_words(self.rmse)

    def in_words(self, error: float) -> str:
        """Write an error of a share."""
        return f"{percent(error, 2)} of the users"

    def rmse_of_top(self, n: int) -> float:
        """Return the typical error over the ``n`` most frequent items; one that is not listed counts as 0."""
        _check.integer("n", n, at_least=1)
        p, f, error = (x[:n] for x in (self.chances, self._f, self.standard_errors))
        return float(np.sqrt(np.mean(p * error**2 + (1 - p) * f**2)))

    @cached_property
    def rows(self) -> list[RankRow]:
        """Some ranks: the first ones, and then a few of each power of ten."""
        trusted, local = self.errors_alone()
        columns = (self._f, self.chances, self.standard_errors, trusted, local)
        last = len(self._f)
        ranks = [rank for rank in _SHOWN_RANKS if rank <= last]
        if last <= 10:
            ranks = list(range(1, last + 1))
        return [RankRow(rank, *(float(column[rank - 1]) for column in columns)) for rank in ranks]

    def with_dictionary(self) -> "SharePlan":
        """Return the plan with a public dictionary of all items: nothing must be discovered, and δ is not needed."""
        return replace(self, privacy=Privacy(epsilon=self.privacy.epsilon), public=True)

    # How it is shown

    headline = share_words.headline
    details = share_words.details
    tables = share_words.tables

    def _facts(self) -> dict[str, Any]:
        return {
            "n_items": len(self.shares),
            "slope": self.slope,
            "method": self.method,
            "list_length": self.list_length,
            "list_length_sd": self.list_length_sd,
            "rmse_top_10": self.rmse,
            "rmse_top_50": self.rmse_of_top(50),
            "ranks": [plain(row) for row in self.rows],
        }


def _assumed(n_items: int, slope: float, shares: Sequence[float] | None) -> tuple[float, ...]:
    """Return the assumed shares in descending order: those given, or Zipf's law."""
    if shares is None:
        count = _check.integer("n_items", n_items, at_least=2, at_most=MOST_ITEMS)
        law = np.arange(1, count + 1, dtype=np.float64) ** -_check.number("slope", slope, _check.NON_NEGATIVE)
        return tuple((law / law.sum()).tolist())
    assumed = -np.sort(-_check.numbers("shares", shares, _check.Range("numbers from 0 to 1", 0.0, 1.0)))
    if assumed.ndim != 1 or len(assumed) < 2 or assumed.sum() > 1 + 1e-9:
        raise ParameterError("shares", "at least two, which add up to 1 at most", list(shares))
    return tuple(assumed.tolist())


def chance_listed(shares: FloatArray, n_trusted: int, rule: ThresholdRule) -> FloatArray:
    r"""Return $P[X + Z \ge T, X > 0]$ for these shares: the law of the count is binomial."""
    from scipy.special import gammaln, xlog1py, xlogy

    most = min(n_trusted, math.ceil(rule.threshold + _SURE * rule.scale))
    x = np.arange(0, most + 1)
    decay = math.exp(-1 / rule.scale)
    short = np.abs(rule.threshold - x) + (x >= rule.threshold)  # 1 + how far, if it is reached without noise
    tail = np.exp(-short / rule.scale) / (1 + decay)
    passes = np.where(x < rule.threshold, tail, 1 - tail)
    passes[0] = 0.0  # an item that nobody has is never shown
    ways = gammaln(n_trusted + 1) - gammaln(x + 1) - gammaln(n_trusted - x + 1)
    chances = np.empty(len(shares))
    for i, f in enumerate(shares.tolist()):
        law = np.exp(ways + xlogy(x, f) + xlog1py(n_trusted - x, -f))
        chances[i] = law @ passes + max(1 - law.sum(), 0.0)
    return np.clip(chances, 0.0, 1.0)


def _interpolated(f: FloatArray, chance: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Interpolate a smooth function of descending shares, computed for some of them."""
    if len(f) <= _COMPUTED:
        return np.asarray(chance(f))
    places = np.unique(np.geomspace(1, len(f), _COMPUTED).round().astype(int)) - 1
    computed = chance(f[places])
    chances: FloatArray = np.interp(np.log(np.arange(1, len(f) + 1)), np.log(places + 1.0), computed)
    return chances
