"""The second tier over the fractions of trusting users and of local users who collude, for each group."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.amplification import amplify
from hybriddp.figures.canvas import INK, canvas, pale_to_blue, save
from hybriddp.mean import MeanStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybriddp._check import FloatArray

_STEPS = 12


def draw(study: MeanStudy, *, n_users: int, weight: float | str, sd: float | None, delta: float, path: Path) -> None:
    """Draw both groups' ε′ and write them to ``path``."""
    fractions = np.geomspace(max(0.001, 4 / n_users), 0.2, _STEPS)
    colluding = np.linspace(0.0, 0.95, _STEPS)
    maps = np.empty((2, _STEPS, _STEPS))
    for i, c in enumerate(fractions):
        n_local = n_users - round(float(c) * n_users)
        for j, f in enumerate(colluding):
            found = amplify(
                study,
                n_users=n_users,
                trusted_fraction=float(c),
                weight=weight,
                sd=sd,
                colluding_local=min(round(float(f) * n_local), n_local - 1),
                delta=delta,
            )
            maps[:, i, j] = found.trusted.epsilon, found.local.epsilon
    with canvas(10, 4.2) as figure:
        for axes, grid, title in zip(figure.subplots(1, 2), maps, ("Trusted users", "Local users"), strict=True):
            _map(axes, fractions, colluding, grid, f"{title}: ε′, promised {study.privacy.epsilon}")
        save(figure, path)


def _map(axes: "Axes", fractions: "FloatArray", colluding: "FloatArray", grid: "FloatArray", title: str) -> None:
    mesh = axes.pcolormesh(100 * fractions, 100 * colluding, grid.T, cmap=pale_to_blue(), shading="gouraud")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g} %")
    axes.set_xlabel("fraction of users who trust the curator")
    axes.set_ylabel("fraction of local users who collude, %")
    axes.grid(visible=False)
    axes.set_title(title)
    bar = axes.get_figure(root=True).colorbar(mesh, ax=axes, format="%.3g")  # type: ignore[union-attr]
    bar.ax.tick_params(colors=INK)
