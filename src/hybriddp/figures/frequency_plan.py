"""The picture of a plan of frequencies: shares and errors by rank, and where the list ends."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.figures.canvas import HYBRID, INK, LOCAL, MUTED, TRUSTED, canvas, readable_log_axis, save
from hybriddp.items.discovery import DICTIONARY
from hybriddp.planning.frequencies import FrequencyPlan
from hybriddp.reporting.wording import significant

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POINTS = 200


def draw(made: FrequencyPlan, *, path: Path | None = None) -> "Figure":
    """Draw the plan, and write it to ``path`` if that is given."""
    n = len(made.shares)
    places = np.unique(np.geomspace(1, n, _POINTS).round().astype(int)) - 1
    rank, f, chance = places + 1, 100 * np.array(made.shares)[places], made.chances[places]
    trusted, local = made.errors_alone()
    curves = (
        ("error of the trusted group alone", TRUSTED, trusted, 1.3),
        ("error of the local group alone", LOCAL, local, 1.3),
        ("error of both together", HYBRID, made.standard_errors, 2.2),
    )
    with canvas(7.6, 4.4) as figure:
        axes = figure.subplots()
        axes.plot(rank, f, color=INK, linewidth=2.2, label="share of the item")
        for label, color, errors, width in curves:
            axes.plot(rank, 100 * errors[places], color=color, linewidth=width, label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        if made.method != DICTIONARY:
            axes.fill_between(
                rank,
                0,
                1,
                where=chance < 0.5,
                color=MUTED,
                alpha=0.18,
                linewidth=0,
                transform=axes.get_xaxis_transform(),
                label="not listed, more likely than not",
            )
        least = min(float(f.min()), 100 * float(made.standard_errors.min()))
        axes.set_ylim(max(least / 2, 1e-6), 200)
        readable_log_axis(axes.xaxis, lambda x: f"{x:,.0f}")
        axes.yaxis.set_major_formatter(lambda y, _: f"{significant(y, 2)} %")
        axes.set_xlim(1, max(n, 2))
        axes.set_xlabel("rank of the item")
        axes.set_ylabel("of all users")
        delta = f", δ = {made.privacy.delta}" if made.privacy.exact_delta else ""
        axes.set_title(f"{made.n_users:,} users, {made.n_trusted:,} of whom trust, ε = {made.privacy.epsilon}{delta}")
        axes.legend(loc="upper right", fontsize=9, labelcolor=INK)
        return save(figure, path)
