"""Words about quantiles and the distribution they come from."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hybriddp.channels.masked import N_BINS
from hybriddp.distribution.quantile import Quantile
from hybriddp.reporting.wording import (
    ASSUMES_ALIKE,
    FAR_APART,
    counted,
    far_apart,
    percent,
    significant,
    to_precision_of,
)

if TYPE_CHECKING:
    from hybriddp.distribution.estimate import DistributionEstimate

LARGE_RANK_ERROR = 0.05
"""The standard error of the CDF from which on it is mostly noise."""
COARSE_BIN = 0.05
"""The mass of a bin from which on a quantile in it depends on how values lie within the bin."""
HONEST = (
    "If the groups may differ, each counts for its own users only: less accurate, and right whatever the difference."
)
_HOLDS_ALWAYS = 'The answer "if the groups may differ" has intervals that hold however much they do.'
HEADINGS = ("", "value", "95 % interval", "determined")


def shown(quantile: Quantile) -> str:
    """Write a quantile and its interval, rounded outward, with as many digits as are known."""
    value, lower, upper = _digits(quantile)
    if quantile.is_upper_bound:
        return f"at or above {value}, the upper bound"
    if quantile.is_lower_bound:
        return f"{value}, the lower bound itself, or below"
    return f"{value}, between {lower} and {upper} ({100 * quantile.interval.level:g} %)"


def quantile_words(quantile: Quantile) -> str:
    """Write a quantile and its interval for a place beside a picture."""
    value, lower, upper = _digits(quantile)
    if quantile.is_upper_bound:
        return f"{quantile.name}: ≥ {value} (the bound)"
    within = "the bound" if lower == upper else f"{lower} … {upper}"
    return f"{quantile.name}: {value} ({within})"


def quantile_line(quantile: Quantile) -> str:
    """Write a quantile, and whether it is determined, in a line."""
    line, sides = f"{quantile.name}: {shown(quantile)}.", _open_sides(quantile)
    if not sides or quantile.is_lower_bound or quantile.is_upper_bound:
        return line
    touched = " and the ".join({"below": "lower", "above": "upper"}[side] for side in sides)
    return f"{line} Not determined from {' or '.join(sides)}: it touches the {touched} bound."


def cell(quantile: Quantile) -> tuple[str, ...]:
    """Write a row of a table: name, value, 95 % interval, and whether it is determined."""
    value, lower, upper = _digits(quantile)
    if quantile.is_upper_bound:
        return quantile.name, f"≥ {value}", f"{lower} or above", "no: the upper bound itself, or above"
    if quantile.is_lower_bound:
        verdict = f"{'no: ' if quantile.touches_lower else ''}the lower bound itself, or below"
    else:
        sides = _open_sides(quantile)
        verdict = f"not from {' or '.join(sides)}" if sides else "yes"
    return quantile.name, value, f"{lower} … {upper}", verdict


def _digits(quantile: Quantile) -> tuple[str, str, str]:
    low, high = quantile.interval
    error = float(f"{(high - low) / 4:.1e}")  # rounded as it is for the digits: 9.97 is 10
    if error > 0:
        step = 10.0 ** (math.floor(math.log10(error)) - 1)
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    value, lower, upper = (to_precision_of(x, error) for x in (quantile.value, low, high))
    return value, lower, upper


def _open_sides(quantile: Quantile) -> list[str]:
    """List the sides from which a quantile is not determined."""
    return [s for s, touches in (("below", quantile.touches_lower), ("above", quantile.touches_upper)) if touches]


# Warnings


def warnings(estimate: "DistributionEstimate") -> Iterable[str]:
    """Warn of groups that differ, of noise, of quantiles at a bound, and of bins that hold much."""
    yield from _about_groups(estimate)
    quantiles, noisy = estimate.quantiles(), estimate.rank_error > LARGE_RANK_ERROR
    if noisy:
        yield (
            f"WARNING: this answer is mostly noise: the CDF has a standard error of {percent(estimate.rank_error, 2)}. "
            "It takes more users, or a larger ε."
        )
    yield from _at_bounds(quantiles)
    inner = [one for one in quantiles if 0 < one.bin_number < N_BINS - 1 and one.bin_mass > COARSE_BIN]
    if inner and not noisy:  # noise puts mass anywhere
        scale = "" if estimate.study.bins.scale != "equal" else ', for example scale="log"'
        yield (
            f"WARNING: the bin of {_listed(inner)} holds more than {percent(COARSE_BIN)} of all users, and nothing is "
            f"known of where values are within it. For more resolution choose edges that are closer there{scale}."
        )


def _about_groups(estimate: "DistributionEstimate") -> Iterable[str]:
    gap = estimate.divergence
    if gap is None or not gap.differ:
        return
    less = ""
    if not estimate.groups_may_differ:
        like = max(1, round(1 / (1 / estimate.n_trusted + gap.tau**2)))
        users = counted(estimate.n_trusted, "trusted user", "counts", "count")
        less = f" Therefore {users} like {like:,} beside the others."
    if gap.z > FAR_APART:
        yield far_apart("distributions", tied=estimate.tied) + (less if estimate.tied else "")
    else:
        more = f"{less} {_HOLDS_ALWAYS}" if less else ""
        yield f"WARNING: the groups differ by more than chance explains in 95 % of studies.{more}"


def _at_bounds(quantiles: Sequence[Quantile]) -> Iterable[str]:
    """Warn of quantiles that are a bound, unless it is a lower bound of 0, and of intervals that touch one."""
    lower = [one for one in quantiles if one.is_lower_bound and one.touches_lower]
    upper = [one for one in quantiles if one.is_upper_bound]
    for side, where, there in (("lower", "below", lower), ("upper", "above", upper)):
        if there:
            verb = "is" if len(there) == 1 else "are"
            yield (
                f"WARNING: {_listed(there)} {verb} the {side} bound itself, {_digits(there[0])[0]}, or {where}: if "
                f"values can lie {where} it, check their units and the bounds."
            )
    within = [one for one in quantiles if not (one.is_lower_bound or one.is_upper_bound)]
    for side, where in (("lower", "below"), ("upper", "above")):
        touching = [one for one in within if where in _open_sides(one)]
        if touching:
            verb, subject = ("touches", "it is") if len(touching) == 1 else ("touch", "they are")
            yield f"WARNING: {_listed(touching)} {verb} the {side} bound: {subject} not determined from {where}."


def _listed(quantiles: Sequence[Quantile]) -> str:
    *names, last = (one.name for one in quantiles)
    return f"{', '.join(names)} and {last}" if names else last


# Explanations


def meaning(estimate: "DistributionEstimate") -> list[str]:
    """Explain whom the intervals are about, and what they assume of the groups."""
    about = (
        "The intervals are about the population that these users come from, each on its own, and reach outward to the "
        "edges of bins."
    )
    if estimate.divergence is None:
        return [about]
    if estimate.groups_may_differ:
        honest = "Each group counts for its own users only, so the intervals hold however much the groups differ."
        return [about, honest]
    if estimate.groups_clearly_differ:
        return [about, "The groups differ, so the intervals do not assume that they are alike.", _HOLDS_ALWAYS]
    often = "This is up to one time in five where it is about one standard error of the local group."
    return [about, ASSUMES_ALIKE, often, _HOLDS_ALWAYS]


def details(estimate: "DistributionEstimate") -> list[str]:
    """Explain the error of the CDF, and the mean."""
    mean = estimate.mean()
    return [
        f"The CDF has a standard error of {percent(estimate.rank_error, 2)} on average over its edges.",
        f"The mean, as a by-product, is {to_precision_of(mean.value, mean.standard_error)} with a standard error of "
        f"{significant(mean.standard_error, 2)}; where values lie within bins may add "
        f"{significant(mean.resolution, 2)} to its error.",
    ]
