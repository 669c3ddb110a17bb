"""A released distribution that is read back from its JSON: other quantiles, without data and at no cost.

What was saved is the CDF at all edges with its standard errors, rounded, and that determines any other quantile and its
interval. Within a bin the value lies on a straight line: how the densities of neighboring bins vary together, which the
curve of an estimate needs, is not saved. So it may differ from the estimate's a little, within its bin.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.channels.masked import N_BINS
from hybriddp.distribution.bins import N_EDGES, Bins
from hybriddp.distribution.explain import USUAL
from hybriddp.distribution.fit import DistributionFit
from hybriddp.distribution.published import PublishedQuantile, publish_quantile
from hybriddp.distribution.quantile import CdfValue, Quantile, asked, band, quantile
from hybriddp.errors import DataError, ParameterError
from hybriddp.grid import Grid, read_only
from hybriddp.mean.interval import Interval
from hybriddp.release.event import Part

_WORDS = "It must be what DistributionEstimate.to_json, hybriddp quantiles --json or a server's result gives."


@dataclass(frozen=True, eq=False)
class _SavedFit(DistributionFit):
    """A fit of which the errors at the edges are known, and nothing else: no bin has a curve."""

    saved_errors: FloatArray

    @cached_property
    def standard_errors(self) -> FloatArray:
        return self.saved_errors


@dataclass(frozen=True, eq=False, repr=False)
class SavedDistribution:
    """A distribution that was released before: what its JSON says, and any other quantile.

    Examples
    --------
    >>> from hybriddp import DistributionStudy
    >>> study = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1.0, scale="log")
    >>> load = np.random.default_rng(0).lognormal(6.0, 0.8, 202_000)
    >>> reports = study.randomize(load[2000:], random_state=1)
    >>> text = study.estimate(trusted=load[:2000], local=reports, random_state=2).to_json()
    >>> saved = SavedDistribution.from_json(text)
    >>> p80 = saved.quantile(0.8)
    >>> print(f"{p80.value:.0f}, between {p80.interval.lower:.0f} and {p80.interval.upper:.0f}")
    802, between 766 and 856
    """

    title: str
    """The study's name, and whom it is about."""
    bins: Bins
    fit: DistributionFit
    if_groups_differ: DistributionFit | None
    """What holds however much the groups differ, if that was saved, too."""
    warnings: tuple[str, ...]
    """What was warned about then."""
    content: dict[str, Any]
    """All that was saved."""

    @classmethod
    def from_json(cls, text: str) -> "SavedDistribution":
        """What `DistributionEstimate.to_json` wrote, or a server's result."""
        found = saved_distributions(text)
        if len(found) != 1:
            raise DataError(
                f"The text holds the distributions of {len(found)} parts of the users. Use from_parts_json."
            )
        return found[0]

    @classmethod
    def from_parts_json(cls, text: str) -> "tuple[SavedDistribution, ...]":
        """The distributions of all parts of the users, or that of everybody."""
        return saved_distributions(text)

    def quantile(self, q: float, *, level: float = 0.95) -> Quantile:
        """The value below which a fraction ``q`` of the population lies, with an interval from an edge to an edge."""
        return quantile(self.fit, self.bins, q, level)

    def quantiles(self, q: Iterable[float] = USUAL, *, level: float = 0.95) -> tuple[Quantile, ...]:
        """Several quantiles; each interval holds its own at this level, not all together."""
        return tuple(self.quantile(one, level=level) for one in asked("q", q))

    def cdf(self, x: float, *, level: float = 0.95) -> CdfValue:
        """The fraction of the population whose values are at most ``x``; between edges with the larger error."""
        _check.number("x", x)
        edges, found = self.bins.edges, band(self.fit, self.bins, level)
        if x < edges[0] or x >= edges[-1]:
            value = float(x >= edges[-1])
            return CdfValue(x, value, 0.0, Interval(value, value, level))
        before = int(np.searchsorted(edges, x, side="right")) - 1
        after = max(before, self.bins.of_value(x)) if edges[before] == x else before + 1
        value = float(np.interp(x, edges, self.fit.cdf))
        error = float(self.fit.standard_errors[before : after + 1].max())
        low, high = float(found.lower[before]), float(found.upper[after])
        return CdfValue(x, value, error, Interval(min(low, value), max(high, value), level))

    def allowing_groups_to_differ(self) -> "SavedDistribution":
        """The answer that assumes nothing of the groups, as it was saved beside the other one."""
        if self.if_groups_differ is None:
            raise DataError("What was saved holds one answer only: there was one group, or it is this one already.")
        beside = self.content["if_groups_may_differ"]
        content = self.content | {"quantiles": beside["quantiles"], "cdf": self.content["cdf"] | beside["cdf"]}
        content |= {"if_groups_may_differ": None, "assumes_groups_alike": False}
        content.pop("mean", None)  # that of the other answer
        return replace(self, fit=self.if_groups_differ, if_groups_differ=None, content=content)

    def published(self, at: Iterable[float] = USUAL) -> tuple[PublishedQuantile, ...]:
        """Quantiles as they may be published, rounded."""
        bounds = (self.bins.grid.lower, self.bins.grid.upper)
        return tuple(publish_quantile(one, bounds) for one in self.quantiles(at))

    def __repr__(self) -> str:
        return f"SavedDistribution({self.title!r})"


def saved_distributions(text: str) -> tuple[SavedDistribution, ...]:
    """The distributions that a text holds: one, or one per part of the users."""
    try:
        content = json.loads(text)
        found = content.get("parts", [content])
        return tuple(_saved(one.get("estimate", one)) for one in found)
    except (KeyError, TypeError, ValueError, AttributeError, ParameterError, DataError):
        raise DataError(f"The text holds no released distribution. {_WORDS}") from None


def _saved(content: dict[str, Any]) -> SavedDistribution:
    edges = [float(x) for x in content["cdf"]["edges"]]
    users, beside = content["users"], content.get("if_groups_may_differ")
    title = str(content["study"]) if users is None else f"{content['study']} [{Part(**users)}]"
    return SavedDistribution(
        title=title,
        bins=Bins(Grid.of((edges[0], edges[-1])), edges),
        fit=_fit(content["cdf"]),
        if_groups_differ=None if beside is None else _fit(beside["cdf"]),
        warnings=tuple(str(warning) for warning in content["warnings"]),
        content=content,
    )


def _fit(told: dict[str, Any]) -> DistributionFit:
    cdf, errors = (np.array(told[name], np.float64) for name in ("values", "standard_errors"))
    right = cdf.shape == errors.shape == (N_EDGES,) and bool(np.all(errors >= 0) and np.all(np.isfinite(errors)))
    if not right or cdf[0] < 0 or cdf[-1] > 1 or not np.all(np.diff(cdf) >= 0):
        raise ValueError("no CDF")
    masses = np.diff(cdf, prepend=0.0, append=1.0)
    unknown = np.diag(np.full(N_BINS, np.inf))  # so that no curve is drawn within a bin
    return _SavedFit(read_only(masses), read_only(unknown), read_only(errors))
