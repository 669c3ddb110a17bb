"""What is published of a distribution: rounded, so that no digit claims more than the noise leaves.

All numbers of a result are private, so rounding is not what protects anybody. As with a mean, a step is 1, 2 or 5 times
a power of ten, at most a tenth of a standard error. The CDF has one step, where its errors are least. Quantiles differ
too much for that: p50 may be known to 10 ms and p99 to a second, so each has its own. Intervals and standard errors are
rounded outwards.

The CDF at all edges determines any other quantile and its interval, so a result can be read back from its JSON and
asked again. Within a bin the value then lies on a straight line: how the densities of neighboring bins vary together,
which the curve of an estimate needs, is not published.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.distribution import explain
from hybriddp.distribution.bins import N_EDGES, Bins
from hybriddp.distribution.fit import DistributionFit
from hybriddp.distribution.quantile import DistributionMean, Quantile, asked, normal_quantile, quantile
from hybriddp.errors import DataError, ParameterError
from hybriddp.grid import Grid, read_only
from hybriddp.release.event import Part
from hybriddp.study.intervals import Interval
from hybriddp.study.result import Statement
from hybriddp.study.rounding import exact_step, nearest, nice_below

if TYPE_CHECKING:
    from hybriddp.distribution.estimate import DistributionEstimate

_STEPS_PER_SD = 10
_LARGEST_STEP = 0.02  # of the CDF
_LEAST_OF_AVERAGE = 0.01  # no step follows a standard error that is smaller than so much of the average one
_INTERVAL = "interval_"  # and the level in percent: the name of an interval
_WORDS = "It must be what DistributionEstimate.to_json, hybriddp quantiles --json or a server's result gives."


@dataclass(frozen=True, slots=True)
class PublishedQuantile:
    """A quantile as it may be published: its numbers are rounded to ``step``, or are a bound."""

    q: float
    value: float
    lower: float
    """Where it lies, rounded outwards."""
    upper: float
    """The other end."""
    level: float
    """The level of confidence of the interval."""
    determined_from_below: bool
    determined_from_above: bool
    step: Fraction | None
    """What the numbers are a multiple of; None if the quantile is a bound itself, which is public."""

    @property
    def interval(self) -> Interval:
        """From ``lower`` to ``upper``."""
        return Interval(self.lower, self.upper, self.level)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "q": self.q,
            "value": self.value,
            f"{_INTERVAL}{100 * self.level:g}": [self.lower, self.upper],
            "determined_from_below": self.determined_from_below,
            "determined_from_above": self.determined_from_above,
            "step": None if self.step is None else float(self.step),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "PublishedQuantile":
        """Read what `to_dict` gave."""
        ((name, (lower, upper)),) = ((key, ends) for key, ends in content.items() if key.startswith(_INTERVAL))
        q, value, step = content["q"], content["value"], content["step"]
        if not (0 < q < 1 and lower <= value <= upper):
            raise ValueError("no quantile")
        sides = bool(content["determined_from_below"]), bool(content["determined_from_above"])
        level = float(name.removeprefix(_INTERVAL)) / 100
        return cls(q, value, lower, upper, level, *sides, None if step is None else Fraction(repr(step)))


@dataclass(frozen=True, slots=True, eq=False)
class PublishedCdf:
    """The CDF at the edges as it may be published: all numbers are rounded to ``step``."""

    values: FloatArray
    standard_errors: FloatArray
    """Rounded up."""
    step: Fraction

    @property
    def cdf(self) -> FloatArray:
        """The values, by the name that fits have for them."""
        return self.values

    @property
    def masses(self) -> FloatArray:
        """The masses of the 256 bins."""
        return np.diff(self.values, prepend=0.0, append=1.0)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "values": self.values.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "step": float(self.step),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "PublishedCdf":
        """Read what `to_dict` gave; `ValueError` if it is no CDF."""
        cdf, errors = (np.array(content[name], np.float64) for name in ("values", "standard_errors"))
        right = cdf.shape == errors.shape == (N_EDGES,) and bool(np.all(errors >= 0) and np.all(np.isfinite(errors)))
        if not right or cdf[0] < 0 or cdf[-1] > 1 or not np.all(np.diff(cdf) >= 0):
            raise ValueError("no CDF")
        return cls(read_only(cdf), read_only(errors), Fraction(repr(content["step"])))


@dataclass(frozen=True, eq=False, repr=False)
class PublishedDistribution:
    """A distribution as it may be published: quantiles and the CDF, rounded.

    Any other quantile follows from the CDF, without data and at no cost.

    Examples
    --------
    >>> from hybriddp import DistributionStudy
    >>> study = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1.0, scale="log")
    >>> load = np.random.default_rng(0).lognormal(6.0, 0.8, 202_000)
    >>> reports = study.randomize(load[2000:], random_state=1)
    >>> text = study.estimate(trusted=load[:2000], local=reports, random_state=2).to_json()
    >>> p80 = PublishedDistribution.from_json(text).quantile(0.8)
    >>> print(f"{p80.value:.0f}, between {p80.interval.lower:.0f} and {p80.interval.upper:.0f}")
    802, between 766 and 856
    """

    warnings: tuple[str, ...]
    """What a reader must know before the numbers."""
    study: str
    digest: str
    users: Part | None
    quantiles: tuple[PublishedQuantile, ...]
    cdf: PublishedCdf
    mean: dict[str, float] | None
    """The mean as a by-product; None where it is not known."""
    n_trusted: int
    n_local: int
    assumes_groups_alike: bool
    if_groups_may_differ: "PublishedDistribution | None"
    """The answer that holds however much the groups differ; None if this is it, or if there was one group."""
    groups: dict[str, float] | None
    """How far apart the groups are; None where there was one."""
    tied: bool
    implausible_reports: int
    privacy: Statement
    bins: Bins

    @property
    def title(self) -> str:
        """The name of the study, and whom it is about."""
        return self.study if self.users is None else f"{self.study} [{self.users}]"

    @property
    def edges(self) -> FloatArray:
        """The public edges of the bins, not rounded."""
        return self.bins.edges

    def quantile(self, q: float, *, level: float = 0.95) -> Quantile:
        """Compute the value below which a fraction ``q`` of the population lies, with an interval between edges."""
        return quantile(self.cdf, self.bins, q, level)

    def with_quantiles(self, at: Iterable[float]) -> "PublishedDistribution":
        """Replace the quantiles by those ``at``, with 95 % intervals."""
        at, bounds = asked("at", at), (self.bins.grid.lower, self.bins.grid.upper)
        found = tuple(publish_quantile(self.quantile(q), bounds) for q in at)
        beside = self.if_groups_may_differ
        return replace(self, quantiles=found, if_groups_may_differ=beside and beside.with_quantiles(at))

    def allowing_groups_to_differ(self) -> "PublishedDistribution":
        """Return the answer that assumes nothing about the groups."""
        if self.if_groups_may_differ is None:
            raise DataError("This result has one answer only: there was one group, or it is this one already.")
        return self.if_groups_may_differ

    def __repr__(self) -> str:
        names = ", ".join(f"p{100 * one.q:.10g} {one.value:,.10g}" for one in self.quantiles)
        return f"PublishedDistribution({names})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the order of the attributes."""
        plain = {name: getattr(self, name) for name in _NAMES}
        answers, beside = self._answers(), self.if_groups_may_differ
        return {
            **plain,
            **answers,
            "warnings": list(self.warnings),
            "users": self.users and asdict(self.users),
            "cdf": {"edges": self.edges.tolist(), **answers["cdf"]},
            "privacy": self.privacy.to_dict(),
            "if_groups_may_differ": beside and beside._answers(),  # noqa: SLF001  (of the same class)
        }

    def _answers(self) -> dict[str, Any]:
        return {"quantiles": [one.to_dict() for one in self.quantiles], "cdf": self.cdf.to_dict()}

    def to_json(self) -> str:
        """Return `to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2)

    @classmethod
    def from_json(cls, text: str) -> "PublishedDistribution":
        """Read what `to_json`, `DistributionEstimate.to_json` or a server's result holds."""
        found = cls.parts_from_json(text)
        if len(found) != 1:
            raise DataError(f"The text holds {len(found)} parts of the users. Use parts_from_json.")
        return found[0]

    @classmethod
    def parts_from_json(cls, text: str) -> "tuple[PublishedDistribution, ...]":
        """Read the distributions of all parts of the users, or the one of everybody."""
        try:
            content = _check.json_fields(text)
            return tuple(_read(part.get("estimate", part)) for part in content.get("parts") or [content])
        except (KeyError, TypeError, ValueError, AttributeError, ParameterError, DataError):
            raise DataError(f"The text holds no released distribution. {_WORDS}") from None


_NAMES = [field.name for field in fields(PublishedDistribution) if field.name != "bins"]


def _read(content: dict[str, Any]) -> PublishedDistribution:
    edges, users, beside = content["cdf"]["edges"], content["users"], content["if_groups_may_differ"]
    plain = {name: content[name] for name in _NAMES}
    plain |= {
        "warnings": tuple(map(str, content["warnings"])),
        "study": str(content["study"]),
        "users": None if users is None else Part(**users),
        "bins": Bins(Grid.of((edges[0], edges[-1])), edges),
        "privacy": Statement.from_dict(content["privacy"]),
        "if_groups_may_differ": None,
    }
    read = PublishedDistribution(**plain | _read_answers(content))
    if beside is None:
        return read
    honest = replace(read, mean=None, assumes_groups_alike=False, **_read_answers(beside))
    return replace(read, if_groups_may_differ=honest)


def _read_answers(content: dict[str, Any]) -> dict[str, Any]:
    quantiles = tuple(map(PublishedQuantile.from_dict, content["quantiles"]))
    return {"quantiles": quantiles, "cdf": PublishedCdf.from_dict(content["cdf"])}


def publish(
    estimate: "DistributionEstimate",
    at: Sequence[float],
    *,
    level: float,
    step: Fraction | Decimal | str | float | None = None,
) -> PublishedDistribution:
    """What is published of an estimate; see `DistributionEstimate.published`."""
    study, compared, honest = estimate.study, estimate.comparison, estimate.if_groups_may_differ
    chosen = None if step is None else exact_step(step, study.grid.width)
    groups = None
    if compared is not None:
        apart = {"standard_errors_apart": compared.z, "tau": compared.tau}
        groups = {"statistic": compared.statistic, "n_edges": compared.n_edges, **apart}
    return PublishedDistribution(
        warnings=tuple(text.replace(explain.HONEST, "if_groups_may_differ") for text in explain.warnings(estimate, at)),
        study=study.name,
        digest=study.digest,
        users=study.users,
        quantiles=tuple(publish_quantile(one, study.bounds, chosen) for one in estimate.quantiles(at, level=level)),
        cdf=publish_cdf(estimate.fit),
        mean=publish_mean(estimate.mean(), study.bounds),
        n_trusted=estimate.n_trusted,
        n_local=estimate.n_local,
        assumes_groups_alike=explain.assumes_alike(estimate),
        if_groups_may_differ=None if honest is None else publish(honest, at, level=level, step=step),
        groups=groups,
        tied=estimate.tied,
        implausible_reports=estimate.implausible_reports,
        privacy=estimate.privacy,
        bins=study.bins,
    )


def publish_quantile(one: Quantile, bounds: tuple[float, float], step: Fraction | None = None) -> PublishedQuantile:
    """A quantile, rounded; its interval outwards, but not beyond the bounds."""
    low, high = one.interval
    value, level = one.value, one.interval.level
    if low < high:
        step = step or nice_below((high - low) / (2 * normal_quantile(level) * _STEPS_PER_SD))
        value = min(max(float(nearest(Fraction(value), step)), bounds[0]), bounds[1])
        low = min(max(float(math.floor(Fraction(low) / step) * step), bounds[0]), value)
        high = max(min(float(math.ceil(Fraction(high) / step) * step), bounds[1]), value)
    else:
        step = None
    return PublishedQuantile(one.q, value, low, high, level, not one.touches_lower, not one.touches_upper, step)


def publish_cdf(fit: DistributionFit) -> PublishedCdf:
    """The CDF and its standard errors, rounded; it still never falls."""
    errors = fit.standard_errors
    average = float(np.sqrt(np.mean(errors**2)))
    least = max(float(errors.min()), _LEAST_OF_AVERAGE * average)
    step = nice_below(min(least / _STEPS_PER_SD, _LARGEST_STEP))
    values = [min(float(nearest(Fraction(x), step)), 1.0) for x in fit.cdf.tolist()]
    up = [float(math.ceil(Fraction(x) / step) * step) for x in errors.tolist()]
    return PublishedCdf(np.array(values), np.array(up), step)


def publish_mean(mean: DistributionMean, bounds: tuple[float, float]) -> dict[str, float]:
    """The mean of a distribution as plain values, rounded to its own step."""
    step = nice_below((mean.standard_error or mean.resolution) / _STEPS_PER_SD)
    value = min(max(float(nearest(Fraction(mean.value), step)), bounds[0]), bounds[1])
    error, resolution = (float(math.ceil(Fraction(x) / step) * step) for x in (mean.standard_error, mean.resolution))
    return {"value": value, "standard_error": error, "resolution": resolution, "step": float(step)}
