"""A plan's picture: what other shares of trusting users would give, and what groups that differ would do."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.figures.canvas import HYBRID, INK, LOCAL, MUTED, TRUSTED, canvas, readable_log_axis, save
from hybriddp.planning.cases import OURS
from hybriddp.planning.plan import Plan, readable
from hybriddp.planning.risks import can_differ, errors_again

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS = 25


def draw(made: Plan, *, path: Path | None = None) -> "Figure":
    """Draw the plan, and write it to ``path`` if that is given."""
    with canvas(11, 4.4) as figure:
        left, right = figure.subplots(1, 2)
        _shares(left, made)
        _gaps(right, made)
        if path is not None:
            save(figure, path)
        return figure


def _shares(axes: "Axes", made: Plan) -> None:
    n, here = made.n_users, made.trusted_fraction
    least, most = max(2 / n, min(1e-4, here / 10)), min(1 - 2 / n, max(0.2, 5 * here))
    plans = [errors_again(made, trusted_fraction=c) for c in np.geomspace(least, most, _POINTS)]
    c = [100 * p.trusted_fraction for p in plans]
    curves = {
        "trusted users only": ([p["trusted-only"].rmse.worst for p in plans], TRUSTED, "-"),
        "everybody local": ([p.full_local.worst for p in plans], LOCAL, "-"),
        "hybrid, the paper's weight": ([p["known-variance"].rmse.worst for p in plans], MUTED, "--"),
        "hybrid, ours": ([p[OURS].rmse.worst for p in plans], HYBRID, "-"),
    }
    for label, (errors, color, line) in curves.items():
        axes.plot(c, errors, color=color, linestyle=line, label=label, linewidth=2 if color == HYBRID else 1.5)
    if made.sd is None:
        best = [p[OURS].rmse.best for p in plans]
        axes.fill_between(c, best, curves["hybrid, ours"][0], color=HYBRID, alpha=0.15, linewidth=0)
    axes.plot(100 * here, made.rmse, "o", color=HYBRID, markersize=8)
    axes.axvline(100 * here, color=MUTED, linewidth=1, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    ours = curves["hybrid, ours"][0]
    axes.set_ylim(0.5 * min(ours), 8 * max(ours))
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g} %")
    readable_log_axis(axes.yaxis, readable)
    axes.set_xlabel(f"share of {n:,} users who trust the curator")
    axes.set_ylabel("typical error" + (", worst case" if made.sd is None else ""))
    axes.set_title(f"Opt-ins, at ε = {made.privacy.epsilon}")
    axes.legend(loc="upper right")


def _gaps(axes: "Axes", made: Plan) -> None:
    unit = 0.1 * made.width if made.sd is None else made.sd
    steps = (np.concatenate([[0.0], np.geomspace(0.01, 2.0, _POINTS)]) * unit).tolist()
    gaps = [gap for gap in steps if can_differ(made, gap)]
    plans = [errors_again(made, mean_gap=gap) for gap in gaps]
    x = [gap / (unit or 1.0) for gap in gaps]
    for label, errors, color, line in (
        ("trusted users only", [p["trusted-only"].rmse.worst for p in plans], TRUSTED, "-"),
        ("everybody local", [p.full_local.worst for p in plans], LOCAL, "-"),
        ("hybrid, the paper's weight", [p["known-variance"].rmse.worst for p in plans], MUTED, "--"),
        ("hybrid, ours", [p[OURS].rmse.worst for p in plans], HYBRID, "-"),
    ):
        axes.plot(x, errors, color=color, linestyle=line, label=label, linewidth=2 if color == HYBRID else 1.5)
    axes.set_yscale("log")
    readable_log_axis(axes.yaxis, readable)
    axes.set_ylabel("typical error", color=INK)
    axes.set_xlabel("trusted users' mean is higher by (in " + ("tenths of the range)" if made.sd is None else "sd)"))
    axes.set_title("If those who trust are different")
