"""The tables of a plan of a mean."""

from typing import TYPE_CHECKING

from hybriddp.planning import words
from hybriddp.planning.base import Table, readable
from hybriddp.planning.estimators import OURS, Option, Span
from hybriddp.planning.words import given
from hybriddp.reporting.wording import percent, significant

if TYPE_CHECKING:
    from hybriddp.planning.alternatives import BoundsChoice, Difference, EpsilonChoice
    from hybriddp.planning.mean import MeanPlan

LABELS = {
    "trusted-only": "trusted only",
    "full-local": "everybody local",
    "local-only": "local only",
    "naive": "naive hybrid",
    "privacy": "privacy-weighted",
    "known-variance": "known variance",
    OURS: "both (adaptive)",
}
_SINGLE = ("trusted-only", "full-local", OURS)  # either group alone, and both
PAPERS_TITLE = "The paper's estimators, with Laplace noise for both groups"
_HEADINGS = ("", "weight", "error", "95 % interval", "noise", "R", "r")


def tables(plan: "MeanPlan") -> list[Table]:
    """Return the estimators, what ε and bounds cost, and what groups that differ would do."""
    epsilons, bounds = plan.epsilon_choices, plan.bounds_choices
    return [
        Table(
            "Either group alone, and both",
            _HEADINGS,
            [_option(plan[name]) for name in _SINGLE],
            "With one-byte reports. error: typical (root mean squared). noise: its fraction of the squared error. "
            "R, r: squared error of the better, the worse of trusted only and everybody local over this one's.",
            ours=len(_SINGLE) - 1,
        ),
        Table(
            "What ε costs",
            ("ε", "guessed right at most", "error", "95 % interval"),
            [_epsilon(row) for row in epsilons],
            "guessed right at most: between two candidates, by whoever sees the answer.",
            ours=[row.epsilon for row in epsilons].index(plan.privacy.epsilon),
        ),
        Table(
            "What bounds cost",
            ("bounds", "clipped", "bias", "bias if long-tailed", "noise", "error"),
            [_bounds(row) for row in bounds],
            _clipping(plan),
            ours=next((i for i, row in enumerate(bounds) if row.bounds == plan.bounds), None),
        ),
        Table(
            "If the groups differ",
            ("mean gap", "variances", "trusted only", "everybody local", "known variance", "adaptive"),
            [_difference(row) for row in plan.differences],
            f"Typical errors with one-byte reports; known variance is the paper's weight. {words.DIFFERING}",
        ),
        Table(
            PAPERS_TITLE,
            _HEADINGS,
            [_option(option) for option in plan.papers],
            "R and r are over the paper's own trusted only and everybody local, which have Laplace noise too.",
        ),
    ]


def _option(option: Option) -> tuple[str, ...]:
    noise = option.privacy.worst / max(option.rmse.worst**2, 1e-300)
    return (
        LABELS[option.name],
        f"{_short(Span(100 * option.weight.best, 100 * option.weight.worst))} %",
        str(option.rmse),
        f"± {option.half_width}",
        f"{100 * min(noise, 1.0):.0f} %",
        _short(option.gain_over_best),
        _short(option.gain_over_worst),
    )


def _short(span: Span) -> str:
    low, high = f"{span.best:.3g}", f"{span.worst:.3g}"
    return low if low == high else f"{low} to {high}"


def _epsilon(row: "EpsilonChoice") -> tuple[str, ...]:
    return row.epsilon, words.guess(row.guess), str(row.rmse), f"± {row.half_width}"


def _bounds(row: "BoundsChoice") -> tuple[str, ...]:
    low, high = map(given, row.bounds)
    clipped = "?" if row.clipped_fraction is None else percent(row.clipped_fraction, 2)
    biases = ("?" if bias is None else significant(bias, 2) for bias in (row.clipping_bias, row.long_tail_bias))
    return f"{low} to {high}", clipped, *biases, str(row.noise), str(row.total)


def _difference(row: "Difference") -> tuple[str, ...]:
    errors = (row.trusted_only, row.full_local, row.known_variance, row.adaptive)
    return readable(row.mean_gap), f"× {row.variance_ratio:g}", *(readable(error) for error in errors)


def _clipping(plan: "MeanPlan") -> str:
    if plan.sd is None or plan.mean is None:
        return "With a rough mean and sd, this table also says what bounds that are too tight clip."
    return (
        "Values beyond the bounds are clipped, which biases the mean; more users do not help. error: noise and bias, "
        "under the assumed shape, which ends at your bounds; long-tailed: lognormal, with the same mean and sd. Choose "
        "bounds from what is publicly known, not from data."
    )
