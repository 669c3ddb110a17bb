"""An estimate's picture: what each group alone says, and what both together do."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hybriddp.figures.canvas import HYBRID, LOCAL, TRUSTED, canvas, save
from hybriddp.mean.explain import rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hybriddp.mean.estimate import Estimate

_COLORS = {"trusted": TRUSTED, "local": LOCAL, "hybrid": HYBRID}


def draw(estimates: Sequence["Estimate"], *, path: Path | None = None) -> "Figure":
    """Draw the estimates below each other, in one scale, and write them to ``path`` if it is given."""
    lines = [(estimate, row) for estimate in estimates for row in rows(estimate)]
    with canvas(8, 1.1 + 0.42 * len(lines)) as figure:
        axes = figure.subplots()
        labels = []
        for i, (estimate, row) in enumerate(lines):
            color = _COLORS[row.name.split()[0]]
            axes.plot([row.interval.lower, row.interval.upper], [-i, -i], color=color, linewidth=3)
            axes.plot(row.value, -i, "o", color=color, markersize=7)
            users = estimate.study.users
            labels.append(row.name if users is None else f"{users.key}: {row.name}")
        axes.set_yticks([-i for i in range(len(lines))], labels, parse_math=False)  # keys may hold dollar signs
        axes.set_ylim(0.6 - len(lines), 0.5)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("dots: answers; bars: 95 % intervals; those of one group alone are for the curator")
        seeded = " (a simulation)" if estimates[0].privacy.seeded else ""
        axes.set_title(f"{estimates[0].study.name}, ε = {estimates[0].privacy.epsilon}{seeded}", parse_math=False)
        return save(figure, path)
