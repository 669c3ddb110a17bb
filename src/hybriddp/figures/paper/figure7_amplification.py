"""Figure 7: what an outsider learns, if both groups add Gaussian noise: as printed, and corrected for each group."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.amplification import gaussian
from hybriddp.figures.canvas import INK, canvas
from hybriddp.figures.paper.figure import PaperFigure
from hybriddp.figures.paper.files import save_all
from hybriddp.figures.paper.heat import pale_to_blue
from hybriddp.figures.paper.rows import AmplificationRow, DensityRow
from hybriddp.theory import UC_SALARIES, Setting, gaussian_noise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILON, DELTA = 1.0, 1e-7
STEPS = 60
FRACTIONS = np.geomspace(0.001, 0.1, STEPS + 1)
COLLUDING = np.linspace(0.0, 0.99, STEPS + 1)
UNAMPLIFIED = 0.80816
"""What the noise of the classic calibration for (1, 1e-7) gives exactly, without amplification."""


def theory() -> list[AmplificationRow]:
    """ε′ over the trusted fraction and the share of local users who collude: printed, classic and exact, per group."""
    c, f = (grid.ravel() for grid in np.meshgrid(FRACTIONS, COLLUDING, indexing="ij"))
    n, m = UC_SALARIES.n_users, UC_SALARIES.width
    noise = gaussian_noise(
        n_users=n, trusted_fraction=c, width=m, epsilon=EPSILON, delta=DELTA, calibration="classic-unchecked"
    )
    setting = Setting(
        n_users=n,
        trusted_fraction=c,
        trusted_variance=UC_SALARIES.variance,
        local_variance=UC_SALARIES.variance,
        trusted_noise=noise.trusted,
        local_noise=noise.local,
    )
    w = setting.weight_known_variance()
    known: dict[str, FloatArray | float] = {
        "n_users": float(n),
        "trusted_fraction": c,
        "weight": w,
        "width": m,
        "trusted_noise": noise.trusted,
        "local_noise": noise.local,
        "honest_local": (1 - f) * (1 - c) * n,
        "delta": DELTA,
    }
    exact, classic = gaussian.exact(**known), gaussian.classic(**known)
    # The print takes the trusted sensitivity where w <= c and the local one elsewhere: the smaller of the two.
    printed = np.where(w <= c, classic.trusted.epsilon, classic.local.epsilon)
    columns = (
        c,
        f,
        w,
        printed,
        classic.trusted.epsilon,
        classic.local.epsilon,
        exact.trusted.epsilon,
        exact.local.epsilon,
    )
    return [AmplificationRow(*map(float, row)) for row in zip(*columns, strict=True)]


def draw(rows: Sequence[AmplificationRow], _: Sequence[DensityRow], paths: Sequence[Path]) -> None:
    """Three maps: the printed ε′ for everybody, and the true one of each group."""
    with canvas(13.5, 4.4) as figure:
        left, middle, right = figure.subplots(1, 3)
        _map(left, rows, "printed", "As printed, for everybody")
        _map(middle, rows, "exact_trusted", f"Trusted users (unamplified: {UNAMPLIFIED:.3f})")
        _map(right, rows, "exact_local", "Local users")
        figure.supxlabel(
            "ε′ at δ = 1e-7 against who sees only the published estimate; from the paper's three numbers of UC pay.",
            fontsize=8,
            color=INK,
        )
        save_all(figure, paths)


def _map(axes: "Axes", rows: Sequence[AmplificationRow], name: str, title: str) -> None:
    from matplotlib.colors import LogNorm

    grid = np.array([getattr(row, name) for row in rows]).reshape(len(FRACTIONS), len(COLLUDING))
    norm = LogNorm(grid.min(), grid.max())
    levels = np.geomspace(grid.min(), grid.max(), 25)
    axes.set_xscale("log")
    mesh = axes.contourf(100 * FRACTIONS, 100 * COLLUDING, grid.T, levels=levels, norm=norm, cmap=pale_to_blue())
    lines = axes.contour(100 * FRACTIONS, 100 * COLLUDING, grid.T, levels=levels[3::6], colors=INK, linewidths=0.8)
    axes.clabel(lines, fmt=lambda level: f"{level:.2g}", fontsize=8)
    axes.set_xticks([0.1, 1.0, 10.0], ["0.1 %", "1 %", "10 %"])
    axes.set_xlabel("c, share of users who trust the curator")
    axes.set_ylabel("share of local users who collude, %")
    axes.grid(visible=False)
    axes.set_title(title, fontsize=10)
    ticks = np.geomspace(grid.min(), grid.max(), 5)
    bar = axes.get_figure(root=True).colorbar(mesh, ax=axes, ticks=ticks)  # type: ignore[union-attr]
    bar.ax.minorticks_off()
    bar.set_ticks(list(ticks), labels=[f"{tick:.2g}" for tick in ticks])
    bar.outline.set_visible(False)


FIGURE = PaperFigure(
    number=7,
    title="Amplification by Gaussian noise",
    shows=(
        "ε′ against somebody who sees only the published estimate, over the share of trusting users and the share of "
        "local users who collude, with the (1, 1e-7) Gaussian noise of the paper on the UC salaries."
    ),
    differs=(
        "the printed theorem takes the smaller of the two groups' sensitivities for everybody (erratum 1): its ε′ is "
        "that of local users, and trusted users get hundreds of times more; both are drawn beside the print."
    ),
    theory=theory,
    draw=draw,
)
