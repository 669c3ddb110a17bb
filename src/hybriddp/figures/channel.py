"""A channel's picture: how codes are distributed for two values, and how the variance depends on the value."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.channels import WindowChannel
from hybriddp.figures.canvas import HYBRID, INK, LOCAL, MUTED, TRUSTED, canvas, save
from hybriddp.theory.local_mechanisms import laplace

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(channel: WindowChannel, *, path: Path) -> None:
    """Draw ``channel`` and write it to ``path``."""
    with canvas(11, 4.2) as figure:
        left, right = figure.subplots(1, 2)
        _distributions(left, channel)
        _variance(right, channel)
        save(figure, path)


def _distributions(axes: "Axes", channel: WindowChannel) -> None:
    codes = np.arange(channel.n_codes)
    for value, color in ((0.15, TRUSTED), (0.8, LOCAL)):
        means = np.array([float(channel.row_mean(row)) for row in range(channel.n_rows)])
        row = int(np.argmin(np.abs((means + 1) / 2 - value)))
        weights = np.array(channel.weights(row)) / (1 << channel.bits)
        axes.step(codes, 100 * weights, where="mid", color=color, label=f"value {(means[row] + 1) / 2:.2f}")
    axes.set_ylim(0, None)
    axes.set_xlabel("code")
    axes.set_ylabel("probability, %")
    axes.set_title(f"What a device sends at ε = {channel.epsilon}")
    axes.legend()


def _variance(axes: "Axes", channel: WindowChannel) -> None:
    epsilon = float(channel.epsilon)
    x = np.linspace(0, 1, 2001)
    c = 1 / np.tanh(epsilon / 2)
    h = np.exp(epsilon / 2)
    one_bit = c**2 / 4 - (x - 0.5) ** 2
    piecewise = ((h + 3) / (3 * (h - 1) ** 2) + (2 * x - 1) ** 2 / (h - 1)) / 4
    axes.plot(x, np.full_like(x, laplace(epsilon)), color=INK, linestyle="--", label="Laplace noise")
    axes.plot(x, one_bit, color=MUTED, label="one bit")
    axes.plot(x, piecewise, color=MUTED, linestyle=":", label="piecewise")
    axes.plot(x, channel.variance(x), color=HYBRID, linewidth=2, label="this channel")
    axes.set_ylim(0, None)
    axes.set_xlabel("value, as a fraction of the range")
    axes.set_ylabel("variance of a report, in squared ranges")
    axes.set_title("How much a report varies")
    axes.legend()
