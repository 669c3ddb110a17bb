"""An estimated distribution in plain words, with warnings first."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hybriddp.channels.masked import N_BINS
from hybriddp.channels.plausible import implausible_words
from hybriddp.distribution.quantile import Quantile
from hybriddp.reporting.rich import empty_table
from hybriddp.reporting.warnings import FAR_APART, UNTIED, group_sizes
from hybriddp.reporting.wording import counted, percent, significant, to_precision_of

if TYPE_CHECKING:
    from rich.table import Table

    from hybriddp.distribution.estimate import DistributionEstimate

USUAL = (0.5, 0.9, 0.95, 0.99)
"""The quantiles that are told without being asked for."""
LARGE_RANK_ERROR = 0.05
"""The standard error of the CDF from which on it is mostly noise."""
COARSE_BIN = 0.05
"""The mass of a bin from which on a quantile in it depends on how values lie within the bin."""
HONEST = "allowing_groups_to_differ()"
"""Where sentences name the answer that assumes nothing of the groups: pages and commands put in where theirs is."""
_HOLDS_ALWAYS = f"{HONEST} gives intervals that hold however much they do."
CELL_HEADINGS = ("", "value", "95 % interval", "determined")


def shown(quantile: Quantile) -> str:
    """A quantile and its interval, rounded outward, with as many digits as are known."""
    value, lower, upper = _digits(quantile)
    if quantile.is_upper_bound:
        return f"at or above {value}, the upper bound"
    if quantile.is_lower_bound:
        return f"{value}, the lower bound itself, or below"
    return f"{value}, between {lower} and {upper} ({100 * quantile.interval.level:g} %)"


def quantile_words(quantile: Quantile) -> str:
    """The same beside a picture: short."""
    value, lower, upper = _digits(quantile)
    if quantile.is_upper_bound:
        return f"{quantile.name}: ≥ {value} (the bound)"
    within = "the bound" if lower == upper else f"{lower} … {upper}"
    return f"{quantile.name}: {value} ({within})"


def cells(estimate: "DistributionEstimate", at: Sequence[float] = USUAL) -> list[tuple[str, str, str, str]]:
    """Quantiles as text: name, value, 95 % interval, and whether it is determined."""
    rows = []
    for one in estimate.quantiles(at):
        value, lower, upper = _digits(one)
        if one.is_upper_bound:
            rows.append((one.name, f"≥ {value}", f"{lower} or above", _verdict(one)))
        else:
            rows.append((one.name, value, f"{lower} … {upper}", _verdict(one)))
    return rows


def _digits(quantile: Quantile) -> tuple[str, str, str]:
    low, high = quantile.interval
    error = float(f"{(high - low) / 4:.1e}")  # rounded as it is for the digits: 9.97 is 10
    if error > 0:
        step = 10.0 ** (math.floor(math.log10(error)) - 1)
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    value, lower, upper = (to_precision_of(x, error) for x in (quantile.value, low, high))
    return value, lower, upper


def _open_sides(quantile: Quantile) -> list[str]:
    """From which sides it is not determined."""
    return [s for s, touches in (("below", quantile.touches_lower), ("above", quantile.touches_upper)) if touches]


def _verdict(quantile: Quantile) -> str:
    sides = _open_sides(quantile)
    if quantile.is_upper_bound:
        return "no: the upper bound itself, or above"
    if quantile.is_lower_bound:
        return f"{'no: ' if quantile.touches_lower else ''}the lower bound itself, or below"
    return f"not from {' or '.join(sides)}" if sides else "yes"


def assumes_alike(estimate: "DistributionEstimate") -> bool:
    """Whether the intervals hold only if those who trust are like those who do not."""
    return estimate.comparison is not None and not (estimate.groups_may_differ or estimate.groups_clearly_differ)


def _counts_less(estimate: "DistributionEstimate") -> str:
    """How much the trusted group counts, where the groups are seen to differ; empty if it counts fully."""
    compared = estimate.comparison
    if compared is None or compared.tau == 0 or estimate.groups_may_differ:
        return ""
    like = max(1, round(1 / (1 / estimate.n_trusted + compared.tau**2)))
    users = counted(estimate.n_trusted, "trusted user", "counts", "count")
    return f" Therefore {users} like {like:,} beside the others."


def warnings(estimate: "DistributionEstimate", at: Sequence[float] = USUAL) -> tuple[str, ...]:
    """What a reader must know before the numbers, the worst first, told from released numbers alone."""
    quantiles = estimate.quantiles(at)
    return (
        *implausible_words(estimate.implausible_reports, estimate.n_local),
        *_about_groups(estimate),
        *_about_noise(estimate),
        *_at_a_bound(quantiles),
        *_undetermined(quantiles),
        *_coarse(estimate, quantiles),
    )


def _about_groups(estimate: "DistributionEstimate") -> list[str]:
    compared = estimate.comparison
    if compared is None or compared.tau == 0:
        return []
    if compared.z <= FAR_APART:
        honest = "" if estimate.groups_may_differ else f"{_counts_less(estimate)} {_HOLDS_ALWAYS}"
        return [f"WARNING: the groups differ by more than chance explains in 95 % of studies.{honest}"]
    apart = f"The groups' distributions are more than {FAR_APART:g} standard errors apart"
    if not estimate.tied:
        return [
            f"WARNING: do not use these numbers yet. {apart}, and nothing ties the reports to this study: they may "
            "have been made for another study or another ε."
        ]
    return [
        f"WARNING: {apart[0].lower()}{apart[1:]}: check that both groups' values have the same units. If they do, "
        f"those who trust are other people than those who do not.{_counts_less(estimate)}"
    ]


def _about_noise(estimate: "DistributionEstimate") -> list[str]:
    if estimate.rank_error <= LARGE_RANK_ERROR:
        return []
    return [
        f"WARNING: this answer is mostly noise: the CDF has a standard error of {percent(estimate.rank_error, 2)}. It "
        "takes more users, or a larger ε."
    ]


def _at_a_bound(quantiles: tuple[Quantile, ...]) -> list[str]:
    """One sentence for each bound that quantiles are, unless it is a lower bound of 0: many values are 0."""
    found = []
    for side, where, there in (
        ("lower", "below", [one for one in quantiles if one.is_lower_bound and one.touches_lower]),
        ("upper", "above", [one for one in quantiles if one.is_upper_bound]),
    ):
        if there:
            verb = "is" if len(there) == 1 else "are"
            found.append(
                f"WARNING: {_listed([one.name for one in there])} {verb} the {side} bound itself, "
                f"{_digits(there[0])[0]}, or {where}: if values can lie {where} it, check their units and the bounds."
            )
    return found


def _undetermined(quantiles: tuple[Quantile, ...]) -> list[str]:
    """One sentence for each bound that intervals touch."""
    found = []
    within = [one for one in quantiles if not (one.is_lower_bound or one.is_upper_bound)]
    for side, where, touching in (
        ("lower", "below", [one.name for one in within if one.touches_lower]),
        ("upper", "above", [one.name for one in within if one.touches_upper]),
    ):
        if touching:
            verb, subject = ("touches", "it is") if len(touching) == 1 else ("touch", "they are")
            found.append(
                f"WARNING: {_listed(touching)} {verb} the {side} bound: {subject} not determined from {where}."
            )
    return found


def _coarse(estimate: "DistributionEstimate", quantiles: tuple[Quantile, ...]) -> list[str]:
    inner = [one for one in quantiles if 0 < one.bin_number < N_BINS - 1 and one.bin_mass > COARSE_BIN]
    if not inner or estimate.rank_error > LARGE_RANK_ERROR:  # noise puts mass anywhere
        return []
    scale = "" if estimate.study.bins.scale != "equal" else ', for example scale="log"'
    return [
        f"WARNING: the bin of {_listed([one.name for one in inner])} holds more than {percent(COARSE_BIN)} of all "
        "users, and nothing is known of where values are within it. For more resolution choose edges that are closer "
        f"there{scale}."
    ]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def one_line(estimate: "DistributionEstimate") -> str:
    """Median and 95th percentile; what is doubtful stands before them."""
    seeded = f" {estimate.privacy}" if estimate.privacy.seeded else ""
    told = "; ".join(f"{one.name} {shown(one)}" for one in estimate.quantiles((0.5, 0.95)))
    return "\n".join([*warnings(estimate), f"{estimate.study.title}: {told}.{seeded}"])


def _told(quantile: Quantile) -> str:
    """A line about a quantile, and whether it is determined."""
    line = f"{quantile.name}: {shown(quantile)}"
    if quantile.determined or quantile.is_lower_bound or quantile.is_upper_bound:
        return f"{line}."
    sides = _open_sides(quantile)
    bounds = {"below": "lower", "above": "upper"}
    touched = " and the ".join(bounds[side] for side in sides)
    return f"{line}. Not determined from {' or '.join(sides)}: it touches the {touched} bound."


def _assumption(estimate: "DistributionEstimate") -> list[str]:
    """What the intervals assume about the groups."""
    if estimate.comparison is None:
        return ["There was only one group, so this is the answer of a single model, not a hybrid."]
    if estimate.groups_may_differ:
        return [
            "Each group counts for its own users only, so the intervals hold however much those who trust differ from "
            "those who do not.",
            estimate.comparison.verdict.split(" The trusted group counts")[0],
        ]
    if estimate.groups_clearly_differ:
        return [
            f"{estimate.comparison.verdict} So the intervals do not assume that the groups are alike. {_HOLDS_ALWAYS}"
        ]
    return [
        "The intervals assume that those who trust are like those who do not: a difference that the noise hides would "
        "make them miss more often, up to one time in five where it is about one standard error of the local "
        f"group. {HONEST} gives ones that hold always.",
        estimate.comparison.verdict,
    ]


def explanation(estimate: "DistributionEstimate", at: Sequence[float] = USUAL) -> str:
    """The quantiles, which of them are determined, what they assume and what they cost, a sentence per line."""
    e, study = estimate, estimate.study
    mean = e.mean()
    lines = [
        *warnings(e, at),
        f"{study.title}:",
        *(_told(one) for one in e.quantiles(at)),
        group_sizes(e.n_trusted, e.n_local, "they have no value"),
        "The intervals are about the population that these users come from, each on its own, and reach outward to the "
        "edges of bins.",
        *_assumption(e),
        f"The CDF has a standard error of {percent(e.rank_error, 2)} on average over its edges.",
        f"The mean, as a by-product, is {to_precision_of(mean.value, mean.standard_error)} with a standard error of "
        f"{significant(mean.standard_error, 2)}; where values lie within bins may add "
        f"{significant(mean.resolution, 2)} to its error.",
    ]
    if not e.tied:
        lines.append(UNTIED)
    lines.append(str(e.privacy))
    if study.users is not None:
        lines.append(f"Who has which {study.users.by} is public.")
    return "\n".join(lines)


def table(estimate: "DistributionEstimate", at: Sequence[float] = USUAL) -> "Table":
    """The quantiles, a line each."""
    view = empty_table([*warnings(estimate, at), estimate.study.title], CELL_HEADINGS, [str(estimate.privacy)])
    for row in cells(estimate, at):
        view.add_row(*row)
    return view


def parts_table(
    estimates: Sequence["DistributionEstimate"],
    at: Sequence[float] = USUAL,
    *,
    honest: str = HONEST,
    warned: bool = True,
) -> "Table":
    """The quantiles of many parts, a line per part and quantile, and whether the part's two groups agree.

    ``honest`` is where the answers stand that assume nothing of the groups.
    """
    from rich.text import Text

    told = [(e, warning) for e in estimates for warning in warnings(e, at)] if warned else []
    doubtful = [f"{e.study.title}: {warning.replace(HONEST, honest)}" for e, warning in told]
    view = empty_table([*doubtful, estimates[0].study.name], ("", "users", "quantile", *CELL_HEADINGS[1:]), [])
    for e in estimates:
        key = str(e.study.users.key) if e.study.users else e.study.name
        for i, row in enumerate(cells(e, at)):
            name, users = (key, f"{e.n_trusted + e.n_local:,}") if i == 0 else ("", "")
            view.add_row(Text(name), users, *row)
    return view
