"""Figure 7: what an outsider learns, if both groups add Gaussian noise: as printed, and corrected for each group."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.figures.canvas import note, pale_to_blue
from hybriddp.paper.amplification import gaussian
from hybriddp.paper.figures.figure import PaperFigure
from hybriddp.paper.figures.rows import AmplificationRow, DensityRow
from hybriddp.paper.figures.salaries import fraction_map
from hybriddp.theory import UC_SALARIES, gaussian_noise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EPSILON, DELTA = 1.0, 1e-7
STEPS = 60
FRACTIONS = np.geomspace(0.001, 0.1, STEPS + 1)
COLLUDING = np.linspace(0.0, 0.99, STEPS + 1)
UNAMPLIFIED = 0.80816
"""What the noise of the classic calibration for (1, 1e-7) gives exactly, without amplification."""


def theory() -> list[AmplificationRow]:
    """ε′ over the fractions of trusted users and of local users who collude: printed, classic and exact, per group."""
    c, f = (grid.ravel() for grid in np.meshgrid(FRACTIONS, COLLUDING, indexing="ij"))
    n, m = UC_SALARIES.n_users, UC_SALARIES.width
    noise = gaussian_noise(
        n_users=n, trusted_fraction=c, width=m, epsilon=EPSILON, delta=DELTA, calibration="classic-unchecked"
    )
    setting = UC_SALARIES.setting(c, noise)
    w, honest = setting.weight_known_variance(), (1 - f) * (1 - c) * n
    exact = gaussian.exact(setting, weight=w, width=m, honest_local=honest, delta=DELTA)
    classic = gaussian.classic(setting, weight=w, width=m, honest_local=honest, delta=DELTA)
    # The print takes the trusted sensitivity where w <= c and the local one elsewhere: the smaller of the two.
    printed = np.where(w <= c, classic.trusted, classic.local)
    epsilons = (classic.trusted, classic.local, exact.trusted, exact.local)
    columns = (c, f, w, printed, *epsilons)
    return [AmplificationRow(*map(float, row)) for row in zip(*columns, strict=True)]


def draw(figure: "Figure", rows: Sequence[AmplificationRow], _: Sequence[DensityRow]) -> None:
    """Three maps: the printed ε′ for everybody, and the true one of each group."""
    left, middle, right = figure.subplots(1, 3)
    _map(left, rows, "printed", "As printed, for everybody")
    _map(middle, rows, "exact_trusted", f"Trusted users (unamplified: {UNAMPLIFIED:.3f})")
    _map(right, rows, "exact_local", "Local users")
    about = "ε′ at δ = 1e-7 for someone who sees only the published estimate; from the paper's numbers of UC salaries."
    note(figure, about)


def _map(axes: "Axes", rows: Sequence[AmplificationRow], name: str, title: str) -> None:
    from matplotlib.colors import LogNorm

    grid = np.array([getattr(row, name) for row in rows]).reshape(len(FRACTIONS), len(COLLUDING))
    norm, levels = LogNorm(grid.min(), grid.max()), np.geomspace(grid.min(), grid.max(), 25)
    bar = fraction_map(
        axes, FRACTIONS, 100 * COLLUDING, grid, norm=norm, colors=pale_to_blue(), levels=levels, contours=levels[3::6]
    )
    ticks = levels[::6]
    bar.set_ticks(list(ticks), labels=[f"{tick:.2g}" for tick in ticks])
    axes.set_ylabel("fraction of local users who collude, %")
    axes.set_title(title, fontsize=10)


FIGURE_7 = PaperFigure(
    number=7,
    title="Amplification by Gaussian noise",
    shows=(
        "ε′ against somebody who sees only the published estimate, over the fractions of trusting users and of local "
        "users who collude, with the (1, 1e-7) Gaussian noise of the paper on the UC salaries."
    ),
    differs=(
        "the printed theorem takes the smaller of the two groups' sensitivities for everybody (erratum 1): its ε′ is "
        "that of local users, and trusted users get hundreds of times more; both are drawn beside the print."
    ),
    theory=theory,
    size=(13.5, 4.4),
    draw=draw,
)
