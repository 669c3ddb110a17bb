"""What is published of shares: rounded to a step, so that no digit claims more than the noise leaves.

All numbers of a result are private, so rounding is not what protects anybody; a share with sixteen digits only looks
more exact than it is. As with a mean, the step is 1, 2 or 5 times a power of ten, at most a tenth of the standard
deviation of the noise, and intervals are rounded outwards.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.shares.blend import Blend
from hybriddp.shares.categories import Item
from hybriddp.shares.law import ShareIntervals
from hybriddp.study.rounding import exact_step, nice_below

if TYPE_CHECKING:
    import pandas as pd

MOST_LARGEST = 30
"""Rows of the largest shares in a result, and in its picture."""
_STEPS_PER_SD = 10
_LARGEST_STEP = 0.02
_SMALLEST_STEP = 1e-12  # floats have no digits of a share beyond


@dataclass(frozen=True, slots=True, eq=False)
class PublishedShares:
    """Shares as they may be published: all numbers are rounded to ``step``."""

    items: tuple[Item, ...]
    """The categories or items."""
    shares: FloatArray
    """The share of each."""
    standard_errors: FloatArray
    """Its standard error, rounded up."""
    lower: FloatArray
    """Where each share lies, rounded outwards, or 0."""
    upper: FloatArray
    """The other end."""
    level: float
    """The level of confidence of each interval."""
    selected: bool
    """Whether these are the largest of more rows, which raises the level of each interval."""
    step: Fraction
    """What all of them are a multiple of, exactly."""

    def __repr__(self) -> str:
        return f"PublishedShares({len(self.items):,} items, step {float(self.step):g})"

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "items": list(self.items),
            "shares": self.shares.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "level": [self.level] * len(self.items),
            "selected": [self.selected] * len(self.items),
            "step": float(self.step),
        }

    def to_json(self) -> str:
        """As text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


def publish_shares(
    items: tuple[Item, ...],
    shares: FloatArray,
    errors: FloatArray,
    intervals: ShareIntervals,
    step: Fraction,
    *,
    order: IntArray | None = None,
) -> PublishedShares:
    """Round shares, their standard errors and intervals; with ``order`` only these rows, which were selected."""
    selected = order is not None and len(order) < len(items)
    if order is not None:
        items = tuple(items[i] for i in order.tolist())
        shares, errors = shares[order], errors[order]
        intervals = ShareIntervals(intervals.lower[order], intervals.upper[order], intervals.level)
    value = multiples(np.floor(_steps(shares, step) + 0.5), step)
    lower = np.minimum(multiples(np.floor(_steps(intervals.lower, step)), step), value)
    upper = np.maximum(multiples(np.ceil(_steps(intervals.upper, step)), step), value)
    up = multiples(np.ceil(_steps(errors, step)), step)
    ends = (np.clip(x, 0.0, 1.0) for x in (value, lower, upper))
    value, lower, upper = ends
    return PublishedShares(items, value, up, lower, upper, intervals.level, selected, step)


def share_table(
    items: Sequence[Item],
    shares: FloatArray,
    errors: FloatArray,
    intervals: ShareIntervals,
    weight: FloatArray,
    order: IntArray,
) -> "pd.DataFrame":
    """Make a data frame of these rows, which were selected unless they are all."""
    import pandas as pd

    columns = {
        "item": [items[i] for i in order.tolist()],
        "share": shares[order],
        "standard_error": errors[order],
        "lower": intervals.lower[order],
        "upper": intervals.upper[order],
        "level": np.full(len(order), intervals.level),
        "selected": np.full(len(order), len(order) < len(items)),
    }
    return pd.DataFrame({**columns, "weight": weight[order]})


def step_of_shares(blended: Blend, step: Fraction | Decimal | str | float | None = None) -> Fraction:
    """The step that was asked for, or a tenth of the noise's standard deviation, where it is least, and below."""
    if step is not None:
        return exact_step(step, 1.0)
    variances = [float(np.min(group.noise)) for group in (blended.trusted, blended.local) if group is not None]
    sd = 1 / math.sqrt(sum(1 / v for v in variances)) if min(variances) > 0 else 0.0
    return nice_below(max(min(sd / _STEPS_PER_SD, _LARGEST_STEP), _SMALLEST_STEP))


def rounded_share(share: float, step: Fraction) -> float:
    """One share, rounded."""
    return float(multiples(np.floor(_steps(np.array(share), step) + 0.5), step))


def multiples(counts: FloatArray, step: Fraction) -> FloatArray:
    """Whole numbers of steps as floats, each the nearest to its exact value: 0.3, and not 0.30000000000000004."""
    return counts * step.numerator / step.denominator


def _steps(x: FloatArray, step: Fraction) -> FloatArray:
    """How many steps a number is, without the last digits in which floats err."""
    return np.round(np.asarray(x, np.float64) * step.denominator / step.numerator, 6)
