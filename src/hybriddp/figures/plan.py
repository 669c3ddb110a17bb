"""Pictures of plans: what other fractions of opt-ins would give, shares by rank, and errors by quantile."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp.figures.canvas import HYBRID, INK, LOCAL, MUTED, TRUSTED, canvas, readable_log_axis, save
from hybriddp.planning import MeanPlan, Plan, QuantilePlan, SharePlan, Span
from hybriddp.planning.base import readable
from hybriddp.planning.estimators import OURS
from hybriddp.reporting.wording import significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS, _RANKS = 25, 200
_CURVES = {
    "trusted-only": ("trusted users only", TRUSTED, "-"),
    "full-local": ("everybody local", LOCAL, "-"),
    "known-variance": ("hybrid, the paper's weight", MUTED, "--"),
    OURS: ("hybrid, ours", HYBRID, "-"),
}


def draw(plan: Plan, *, path: Path | None = None) -> "Figure":
    """Draw a plan, and write it to ``path`` if that is given."""
    size, panels = _PICTURES[type(plan)]
    with canvas(*size) as figure:
        for axes, panel in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True):
            panel(axes, plan)
        return save(figure, path)


def _opt_ins(axes: "Axes", plan: MeanPlan) -> None:
    n, here = plan.n_users, plan.trusted_fraction
    least, most = max(2 / n, min(1e-4, here / 10)), min(1 - 2 / n, max(0.2, 5 * here))
    plans = [plan.changed(trusted_fraction=c) for c in np.geomspace(least, most, _POINTS)]
    c, ours = [100 * other.trusted_fraction for other in plans], [other.errors[OURS] for other in plans]
    axes.set_xscale("log")
    _estimators(axes, c, [other.errors for other in plans])
    if plan.sd is None:
        axes.fill_between(
            c, [span.best for span in ours], [span.worst for span in ours], color=HYBRID, alpha=0.15, linewidth=0
        )
    axes.plot(100 * here, plan.rmse, "o", color=HYBRID, markersize=8)
    axes.axvline(100 * here, color=MUTED, linewidth=1, linestyle=":")
    axes.set_ylim(0.5 * min(span.worst for span in ours), 8 * max(span.worst for span in ours))
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g} %")
    axes.set_xlabel(f"fraction of {n:,} users who trust the curator")
    axes.set_ylabel("typical error" + (", worst case" if plan.sd is None else ""))
    axes.set_title(f"Opt-ins, at ε = {plan.privacy.epsilon}")
    axes.legend(loc="upper right")


def _gaps(axes: "Axes", plan: MeanPlan) -> None:
    steps = np.concatenate([[0.0], np.geomspace(0.01, 2.0, _POINTS)]).tolist()
    gaps = [gap for gap in steps if plan.allows_gap(gap * plan.gap_unit)]
    _estimators(axes, gaps, [plan.changed(mean_gap=gap * plan.gap_unit).errors for gap in gaps])
    axes.set_ylabel("typical error", color=INK)
    axes.set_xlabel("trusted users' mean is higher by (in " + ("tenths of the range)" if plan.sd is None else "sd)"))
    axes.set_title("If those who trust are different")


def _estimators(axes: "Axes", x: Sequence[float], errors: Sequence[Mapping[str, Span]]) -> None:
    """Draw the typical errors of each estimator, in the worst case."""
    for name, (label, color, line) in _CURVES.items():
        worst = [of[name].worst for of in errors]
        axes.plot(x, worst, color=color, linestyle=line, label=label, linewidth=2 if color == HYBRID else 1.5)
    axes.set_yscale("log")
    readable_log_axis(axes.yaxis, readable)


def _ranks(axes: "Axes", plan: SharePlan) -> None:
    n = len(plan.shares)
    places = np.unique(np.geomspace(1, n, _RANKS).round().astype(int)) - 1
    rank, f = places + 1, 100 * np.array(plan.shares)[places]
    axes.plot(rank, f, color=INK, linewidth=2.2, label="share of the item")
    _groups(axes, plan, rank, [100 * errors[places] for errors in (*plan.errors_alone(), plan.standard_errors)])
    axes.set_xscale("log")
    if not plan.public:
        axes.fill_between(
            rank,
            0,
            1,
            where=plan.chances[places] < 0.5,
            color=MUTED,
            alpha=0.18,
            linewidth=0,
            transform=axes.get_xaxis_transform(),
            label="not listed, more likely than not",
        )
    least = min(float(f.min()), 100 * float(plan.standard_errors.min()))
    axes.set_ylim(max(least / 2, 1e-6), 200)
    readable_log_axis(axes.xaxis, lambda x: f"{x:,.0f}")
    axes.set_xlim(1, max(n, 2))
    axes.set_xlabel("rank of the item")
    axes.set_ylabel("of all users")
    axes.legend(loc="upper right", fontsize=9, labelcolor=INK)


def _quantiles(axes: "Axes", plan: QuantilePlan) -> None:
    rows = plan.rows
    errors = [[100 * getattr(row, f"{who}rank_error") for row in rows] for who in ("trusted_", "local_", "")]
    _groups(axes, plan, [100 * row.q for row in rows], errors, marker="o")
    axes.set_xlabel("quantile, in %")
    axes.set_ylabel("typical error of the rank")
    axes.legend(loc="best", fontsize=9, labelcolor=INK)


def _groups(axes: "Axes", plan: Plan, x: Any, errors: Sequence[Any], **style: Any) -> None:  # noqa: ANN401
    """Draw the errors of either group alone and of both, under a title that says who takes part."""
    labels = {"the trusted group alone": TRUSTED, "the local group alone": LOCAL, "both together": HYBRID}
    for (label, color), line in zip(labels.items(), errors, strict=True):
        width = 2.2 if color == HYBRID else 1.3
        axes.plot(x, line, color=color, linewidth=width, label=f"error of {label}", **style)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda y, _: f"{significant(y, 2)} %")
    delta = f", δ = {plan.privacy.delta}" if plan.privacy.exact_delta else ""
    axes.set_title(f"{plan.n_users:,} users, {plan.n_trusted:,} of whom trust, ε = {plan.privacy.epsilon}{delta}")


_PICTURES: Mapping[type[Plan], tuple[tuple[float, float], tuple[Callable[["Axes", Any], None], ...]]] = {
    MeanPlan: ((11, 4.4), (_opt_ins, _gaps)),
    SharePlan: ((7.6, 4.4), (_ranks,)),
    QuantilePlan: ((7.6, 4.4), (_quantiles,)),
}
