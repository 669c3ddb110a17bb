"""What is published of shares: rounded to a step, so that no digit claims more than the noise leaves.

All numbers of a result are private, so rounding is not what protects anybody; a share with sixteen digits only looks
more exact than it is. As with a mean, the step is 1, 2 or 5 times a power of ten, at most a tenth of the standard
deviation of the noise, and intervals are rounded outwards.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.shares.blend import Blend
from hybriddp.shares.categories import Item
from hybriddp.shares.law import ShareIntervals
from hybriddp.study.published import Published, Row
from hybriddp.study.result import Step
from hybriddp.study.rounding import exact_step, step_for

MOST_LARGEST = 30
"""Rows of the largest shares in a result, and in its picture."""
_LARGEST_STEP = 0.02
_SMALLEST_STEP = Fraction(1, 10**12)  # floats have no digits of a share beyond


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PublishedShares(Published):
    """Shares as they may be published, a row for each."""

    kind: ClassVar[str] = "shares"

    largest: tuple[Row, ...] | None
    """The largest shares, with the intervals of selected rows; None unless there are more than `MOST_LARGEST`."""

    @classmethod
    def _read(cls, plain: dict[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
        rows = content["largest"]
        return super()._read(plain, content) | {"largest": rows and tuple(map(Row.from_dict, rows))}


def publish_rows(
    items: Sequence[Item],
    shares: FloatArray,
    errors: FloatArray,
    intervals: ShareIntervals,
    step: Fraction,
    order: IntArray,
) -> tuple[Row, ...]:
    """Round shares, their standard errors and intervals, of these rows, which were selected unless they are all."""
    value = _multiples(np.floor(_steps(shares[order], step) + 0.5), step)
    lower = np.minimum(_multiples(np.floor(_steps(intervals.lower[order], step)), step), value)
    upper = np.maximum(_multiples(np.ceil(_steps(intervals.upper[order], step)), step), value)
    up = _multiples(np.ceil(_steps(errors[order], step)), step)
    columns = (*(np.clip(x, 0.0, 1.0).tolist() for x in (value, lower, upper)), up.tolist())
    level, some = intervals.level, len(order) < len(items)
    return tuple(
        Row(items[i], share, low, high, level, error, step, some)
        for i, share, low, high, error in zip(order.tolist(), *columns, strict=True)
    )


def step_of_shares(blended: Blend, step: Step = None) -> Fraction:
    """Return the step that was asked for, or a tenth of the noise's standard deviation, where it is least, or below."""
    if step is not None:
        return exact_step(step, 1.0)
    variances = [float(np.min(group.noise)) for group in (blended.trusted, blended.local) if group is not None]
    sd = 1 / math.sqrt(sum(1 / v for v in variances)) if min(variances) > 0 else 0.0
    return max(step_for(sd, _LARGEST_STEP), _SMALLEST_STEP)


def rounded_share(share: float, step: Fraction) -> float:
    """Round one share."""
    return float(_multiples(np.floor(_steps(np.array(share), step) + 0.5), step))


def _multiples(counts: FloatArray, step: Fraction) -> FloatArray:
    """Turn whole numbers of steps into the nearest floats: 0.3, and not 0.30000000000000004."""
    return counts * step.numerator / step.denominator


def _steps(x: FloatArray, step: Fraction) -> FloatArray:
    """Count the steps in a number, without the last digits in which floats err."""
    return np.round(np.asarray(x, np.float64) * step.denominator / step.numerator, 6)
