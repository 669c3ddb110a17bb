"""The demonstration's picture: one trial's answers, and what a different share of trusting users would give."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.figures.canvas import HYBRID, INK, LOCAL, MUTED, TRUSTED, canvas, save
from hybriddp.simulation import Play
from hybriddp.theory import laplace_noise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {"trusted only": TRUSTED, "full local": LOCAL, "hybrid, known variance": HYBRID}


def draw(result: Play, *, unit: str, path: Path) -> None:
    """Draw ``result`` and write it to ``path``."""
    with canvas(11, 4.2) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
        _answers(left, result, unit)
        _errors(right, result, unit)
        save(figure, path)


def _answers(axes: "Axes", result: Play, unit: str) -> None:
    names = [player.name for player in result.players]
    rows = np.arange(len(names))[::-1]
    axes.axvline(result.truth, color=INK, linewidth=1)
    axes.text(result.truth, len(names) - 0.45, " true mean", color=INK, fontsize=9, ha="left", va="bottom")
    for row, player in zip(rows, result.players, strict=True):
        axes.errorbar(
            player.estimate,
            row,
            xerr=1.96 * player.predicted_mse**0.5,
            fmt="o",
            color=_COLOURS.get(player.name, MUTED),
            capsize=3,
        )
    axes.set_yticks(rows, names)
    axes.set_ylim(-0.6, len(names) - 0.1)
    axes.set_xlabel(f"{unit} (bars: 1.96 predicted standard errors)")
    axes.set_title("One trial's answers")
    axes.grid(visible=False, axis="y")


def _errors(axes: "Axes", result: Play, unit: str) -> None:
    n = result.n_trusted + result.n_local
    c = np.geomspace(max(1e-4, 2 / n), 0.2, 200)
    noise = laplace_noise(
        n_users=n, trusted_fraction=c, width=result.bounds[1] - result.bounds[0], epsilon=result.epsilon
    )
    curve = replace(result.setting, trusted_fraction=c, trusted_noise=noise.trusted, local_noise=noise.local)
    predicted = {
        "trusted only": curve.error_trusted_only(),
        "full local": curve.error_full_local(),
        "hybrid, known variance": curve.error_known_variance(),
    }
    here = result.n_trusted / n
    for name, error in predicted.items():
        axes.plot(100 * c, np.sqrt(error), color=_COLOURS[name], label=name)
        observed = result.player(name).observed_mse ** 0.5
        axes.plot(100 * here, observed, "o", color=_COLOURS[name], markersize=6)
    axes.axvline(100 * here, color=MUTED, linewidth=1, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(0.5 * np.sqrt(predicted["hybrid, known variance"].min()), 6 * np.sqrt(predicted["full local"].max()))
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g} %")
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    axes.set_xlabel(f"share of {n:,} users who trust the curator")
    axes.set_ylabel(f"root mean squared error, {unit}")
    axes.set_title(f"Error at ε = {result.epsilon:g} (dots: observed, {result.trials:,} trials)")
    axes.legend(loc="upper right")
