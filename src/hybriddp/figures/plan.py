"""A plan's picture: what other fractions of trusting users would give, and what groups that differ would do."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.figures.canvas import HYBRID, INK, LOCAL, MUTED, TRUSTED, canvas, readable_log_axis, save
from hybriddp.planning.evaluate import OURS, Span, errors, readable
from hybriddp.planning.plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS = 25
_CURVES = {
    "trusted-only": ("trusted users only", TRUSTED, "-"),
    "full-local": ("everybody local", LOCAL, "-"),
    "known-variance": ("hybrid, the paper's weight", MUTED, "--"),
    OURS: ("hybrid, ours", HYBRID, "-"),
}


def draw(made: Plan, *, path: Path | None = None) -> "Figure":
    """Draw the plan, and write it to ``path`` if that is given."""
    with canvas(11, 4.4) as figure:
        left, right = figure.subplots(1, 2)
        _opt_ins(left, made)
        _gaps(right, made)
        return save(figure, path)


def _curves(axes: "Axes", x: Sequence[float], found: Sequence[Mapping[str, Span]]) -> None:
    """The typical errors of each estimator, in the worst case."""
    for name, (label, color, line) in _CURVES.items():
        worst = [of[name].worst for of in found]
        axes.plot(x, worst, color=color, linestyle=line, label=label, linewidth=2 if color == HYBRID else 1.5)
    axes.set_yscale("log")
    readable_log_axis(axes.yaxis, readable)


def _opt_ins(axes: "Axes", made: Plan) -> None:
    n, here = made.n_users, made.trusted_fraction
    least, most = max(2 / n, min(1e-4, here / 10)), min(1 - 2 / n, max(0.2, 5 * here))
    scenarios = [made.changed(trusted_fraction=c) for c in np.geomspace(least, most, _POINTS)]
    found = [errors(scenario) for scenario in scenarios]
    c = [100 * scenario.trusted_fraction for scenario in scenarios]
    best, worst = [of[OURS].best for of in found], [of[OURS].worst for of in found]
    axes.set_xscale("log")
    _curves(axes, c, found)
    if made.sd is None:
        axes.fill_between(c, best, worst, color=HYBRID, alpha=0.15, linewidth=0)
    axes.plot(100 * here, made.rmse, "o", color=HYBRID, markersize=8)
    axes.axvline(100 * here, color=MUTED, linewidth=1, linestyle=":")
    axes.set_ylim(0.5 * min(worst), 8 * max(worst))
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g} %")
    axes.set_xlabel(f"fraction of {n:,} users who trust the curator")
    axes.set_ylabel("typical error" + (", worst case" if made.sd is None else ""))
    axes.set_title(f"Opt-ins, at ε = {made.privacy.epsilon}")
    axes.legend(loc="upper right")


def _gaps(axes: "Axes", made: Plan) -> None:
    steps = np.concatenate([[0.0], np.geomspace(0.01, 2.0, _POINTS)]).tolist()
    gaps = [gap for gap in steps if made.allows_gap(gap * made.gap_unit)]
    _curves(axes, gaps, [errors(made.changed(mean_gap=gap * made.gap_unit)) for gap in gaps])
    axes.set_ylabel("typical error", color=INK)
    axes.set_xlabel("trusted users' mean is higher by (in " + ("tenths of the range)" if made.sd is None else "sd)"))
    axes.set_title("If those who trust are different")
