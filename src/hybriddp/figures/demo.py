"""The demonstration's picture: one run's answers, and what another fraction of trusting users would give."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.figures.canvas import HYBRID, INK, LOCAL, MUTED, TRUSTED, canvas, save
from hybriddp.mean import Estimate
from hybriddp.simulation import MeanSimulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = {"trusted-only": "trusted only", "full-local": "full local", "adaptive": "hybrid"}
_COLORS = {"trusted-only": TRUSTED, "full-local": LOCAL, "adaptive": HYBRID}


@dataclass(frozen=True, slots=True)
class Demo:
    """One run on the flights, and what many such runs would err by. Not a private release."""

    truth: float
    estimates: dict[str, Estimate]
    simulation: MeanSimulation


def draw(result: Demo, *, path: Path) -> None:
    """Draw ``result`` and write it to ``path``."""
    with canvas(11, 4.2) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
        _answers(left, result)
        _errors(right, result)
        save(figure, path)


def _answers(axes: "Axes", result: Demo) -> None:
    axes.axvline(result.truth, color=INK, linewidth=1)
    axes.text(result.truth, 2.55, " true mean", color=INK, fontsize=9, ha="left", va="bottom")
    rows = range(len(_LABELS))[::-1]
    for row, name in zip(rows, _LABELS, strict=True):
        estimate = result.estimates[name]
        interval = estimate.interval(0.95)
        axes.plot([interval.lower, interval.upper], [row, row], color=_COLORS[name], linewidth=3)
        axes.plot(estimate.value, row, "o", color=_COLORS[name], markersize=8)
    axes.set_yticks(list(rows), list(_LABELS.values()))
    axes.set_ylim(-0.6, 2.9)
    axes.set_xlabel(f"{result.simulation.study.name} (bars: 95 % intervals)")
    axes.set_title("One run's answers")
    axes.grid(visible=False, axis="y")


def _errors(axes: "Axes", result: Demo) -> None:
    s = result.simulation
    n = s.n_trusted + s.n_local
    c = np.geomspace(max(1e-4, 2 / n), 0.2, 200)
    here = s.n_trusted / n
    # The curator's noise falls with the square of the number of those who trust.
    setting = replace(s.setting, trusted_fraction=c, trusted_noise=s.setting.trusted_noise * (here / c) ** 2)
    predicted = {
        "trusted-only": setting.error_trusted_only(),
        "full-local": setting.error_full_local(),
        "adaptive": setting.error_known_variance(),
    }
    for name, error in predicted.items():
        label = "hybrid, at best" if name == "adaptive" else _LABELS[name]  # at the best weight, which nobody knows
        axes.plot(100 * c, np.sqrt(error), color=_COLORS[name], label=label)
        axes.plot(100 * here, s[name].observed_mse ** 0.5, "o", color=_COLORS[name], markersize=6)
    axes.axvline(100 * here, color=MUTED, linewidth=1, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(0.5 * np.sqrt(predicted["adaptive"].min()), 6 * np.sqrt(predicted["full-local"].max()))
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g} %")
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    axes.set_xlabel(f"fraction of {n:,} users who trust the curator")
    axes.set_ylabel(f"typical error, {s.study.name}")
    axes.set_title(f"Error at ε = {s.study.privacy.epsilon} (dots: observed, {s.trials:,} repetitions)")
    axes.legend(loc="upper right")
