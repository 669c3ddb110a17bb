"""Gains over the number of users, on Beta distributions: in theory, simulated, and as panels of a picture.

The dots beside the curves are the real pipeline with the paper's Laplace noise, many times, at a few numbers of users.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.figures.canvas import HYBRID, MUTED, PURPLE, legend_below
from hybriddp.paper.figures.rows import BEST_LABEL, SIMULATION, THEORY, WORST_LABEL, DensityRow, GainRow
from hybriddp.paper.mean import PaperMean
from hybriddp.theory import Beta, Setting, laplace_noise, trusted_only_wins_between

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FRACTIONS = (0.005, 0.05)
EPSILONS = (0.1, 1.0)
USERS = (1e3, 1e5)
DOTS = {
    (0.005, 0.1): (1_000, 3_200, 10_000, 40_000, 100_000),
    (0.005, 1.0): (1_200, 3_800, 12_000, 38_000, 90_000),
    (0.05, 0.1): (1_100, 3_600, 11_000, 36_000, 95_000),
    (0.05, 1.0): (1_300, 4_200, 13_000, 42_000, 85_000),
}
"""Where the curve of a trusted fraction and an ε is simulated: apart from the others, with a whole trusted group."""

_STEPS = 200
_DENSITY_POINTS = 401
_POINTS = 2001  # equally likely values that stand for a distribution, as for the named ones
_COLORS = {0.1: PURPLE, 1.0: HYBRID}  # by ε
_LINES: dict[float, Literal["--", "-"]] = {0.005: "--", 0.05: "-"}  # by trusted fraction
_MARKERS = {0.005: "s", 0.05: "o"}


class Weight(StrEnum):
    """Weight of the hybrid."""

    KNOWN_VARIANCE = "known-variance"  # best for the groups' true variances, believing that their means are equal
    PRIVACY = "privacy"  # best for the noise alone


@dataclass(frozen=True, slots=True)
class Group:
    """Values of a symmetric Beta distribution of parameter ``shape``, moved by ``offset``."""

    shape: float
    offset: float = 0.0

    @property
    def name(self) -> str:
        """Name in the table."""
        moved = f" + {self.offset:g}" if self.offset else ""
        return f"Beta({self.shape:g}, {self.shape:g}){moved}"

    @property
    def variance(self) -> float:
        """Variance of the values."""
        return Beta(self.shape, self.shape).variance

    def quantiles(self, points: int) -> FloatArray:
        """Compute equally likely values."""
        from scipy import stats

        levels = (np.arange(points) + 0.5) / points
        return np.asarray(stats.beta(self.shape, self.shape).ppf(levels) + self.offset)

    def densities(self, *, panel: str, group: str) -> list[DensityRow]:
        """Tabulate the density without its ends, where that of a small shape is infinite."""
        from scipy import stats

        inside = np.linspace(0.0, 1.0, _DENSITY_POINTS + 2)[1:-1]
        density = stats.beta(self.shape, self.shape).pdf(inside)
        points = zip((inside + self.offset).tolist(), density.tolist(), strict=True)
        return [DensityRow(panel, group, self.name, x, d) for x, d in points]


@dataclass(frozen=True, slots=True)
class FigureScenario:
    """One panel of curves over the number of users."""

    panel: str  # its letter in the paper, or its letters if R and r are drawn apart
    trusted: Group
    local: Group
    width: float  # values are between 0 and this; the noise is for that range
    weight: Weight

    @property
    def alike(self) -> bool:
        """Whether both groups have the same distribution."""
        return self.trusted == self.local

    def setting(self, *, n_users: FloatArray | float, trusted_fraction: float, epsilon: float) -> Setting:
        """Describe the groups with Laplace noise on both sides."""
        noise = laplace_noise(n_users=n_users, trusted_fraction=trusted_fraction, width=self.width, epsilon=epsilon)
        return Setting(
            n_users=n_users,
            trusted_fraction=trusted_fraction,
            trusted_variance=self.trusted.variance,
            local_variance=self.local.variance,
            trusted_noise=noise.trusted,
            local_noise=noise.local,
            trusted_mean=self.trusted.offset,
            local_mean=self.local.offset,
        )

    def weight_in(self, setting: Setting) -> FloatArray:
        """Compute the weight of the hybrid in a setting."""
        if self.weight is Weight.PRIVACY:
            return setting.weight_privacy()
        return setting.without_mean_gap().weight_known_variance()

    def users(self, *, trusted_fraction: float, epsilon: float) -> FloatArray:
        """Choose the points of a curve: even steps in log n, and the numbers at which the better single model changes.

        R has a kink at the latter, and often its peak.
        """
        wins = trusted_only_wins_between(
            trusted_fraction=trusted_fraction,
            trusted_variance=self.trusted.variance,
            local_variance=self.local.variance,
            local_noise=2.0 * (self.width / epsilon) ** 2,
            mean_gap=self.trusted.offset - self.local.offset,
        )
        kinks = [float(n) for n in (wins.lower, wins.upper) if USERS[0] < n < USERS[1]]  # NaN compares false
        return np.unique([*np.geomspace(*USERS, _STEPS + 1), *kinks])

    def theory(self) -> list[GainRow]:
        """Tabulate the exact curves, for every trusted fraction and ε of the paper."""
        rows = []
        for c, epsilon in product(FRACTIONS, EPSILONS):
            n = self.users(trusted_fraction=c, epsilon=epsilon)
            setting = self.setting(n_users=n, trusted_fraction=c, epsilon=epsilon)
            names = (self.panel, THEORY, self.trusted.name, self.local.name)
            rows += gain_rows(names, setting, np.asarray(epsilon), self.weight_in(setting))
        return rows


def gain_rows(
    names: tuple[str, str, str, str],
    setting: Setting,
    epsilon: FloatArray | float,
    weight: FloatArray | float,
    error: float | None = None,
) -> list[GainRow]:
    """Tabulate the gains in each element of a setting, of the expected error if ``error`` is not given.

    The names are those of panel, source and the two groups.
    """
    mse = setting.error_hybrid(weight) if error is None else error
    gains = setting.gain_over_best(mse), setting.gain_over_worst(mse)
    columns = np.broadcast_arrays(setting.n_users, setting.trusted_fraction, epsilon, weight, *gains)
    return [GainRow(*names, *row) for row in zip(*(np.ravel(column).tolist() for column in columns), strict=True)]


def theory_curves(scenarios: Sequence[FigureScenario]) -> list[GainRow]:
    """Tabulate the exact curves of all panels of a figure."""
    return [row for scenario in scenarios for row in scenario.theory()]


@dataclass(frozen=True, slots=True)
class Dot:
    """One point to be simulated, with its seed."""

    scenario: FigureScenario
    n_users: int
    trusted_fraction: float
    epsilon: float
    seed: int

    def trials(self, asked: int) -> int:
        """Run all trials."""
        return asked

    def run(self, trials: int) -> GainRow:
        """Simulate the better and the worse single model's error, in theory, over the observed one."""
        scenario = self.scenario
        setting = scenario.setting(n_users=self.n_users, trusted_fraction=self.trusted_fraction, epsilon=self.epsilon)
        # The curator who knows the variance knows that of the trusted group: other weights are given as numbers.
        result = PaperMean(bounds=(0, scenario.width), epsilon=self.epsilon).simulate(
            scenario.trusted.quantiles(_POINTS),
            scenario.local.quantiles(_POINTS),
            n_users=self.n_users,
            trusted_fraction=self.trusted_fraction,
            estimator=str(scenario.weight) if scenario.alike else float(scenario.weight_in(setting)),
            trials=trials,
            random_state=self.seed,
        )
        names = (scenario.panel, SIMULATION, scenario.trusted.name, scenario.local.name)
        (row,) = gain_rows(names, setting, self.epsilon, result.weight or 0.0, result.mse)
        best, worst = (gain * result.mse_se / result.mse for gain in (row.gain_over_best, row.gain_over_worst))
        return replace(row, gain_over_best_se=best, gain_over_worst_se=worst, trials=trials)


def dots(scenarios: Sequence[FigureScenario], *, first_seed: int) -> tuple[Dot, ...]:
    """List all points of a figure; each has a seed of its own, whatever else is simulated."""
    curves = [(c, epsilon, n) for (c, epsilon), users in DOTS.items() for n in users]
    places = product(scenarios, curves)
    return tuple(Dot(scenario, n, c, epsilon, first_seed + i) for i, (scenario, (c, epsilon, n)) in enumerate(places))


def gain_panel(
    axes: "Axes",
    gains: Sequence[GainRow],
    scenario: FigureScenario,
    *,
    title: str,
    worst: bool = False,
    log: bool = False,
) -> None:
    """Draw R (or r) over n: theory as lines, simulations as dots with bars of one standard error."""
    name = "gain_over_worst" if worst else "gain_over_best"
    for c, epsilon in product(FRACTIONS, EPSILONS):
        place = (scenario.panel, c, epsilon)
        rows = [row for row in gains if (row.panel, row.trusted_fraction, row.epsilon) == place]
        line = [(row.n_users, getattr(row, name)) for row in rows if row.source == THEORY]
        axes.plot(*zip(*line, strict=True), color=_COLORS[epsilon], linestyle=_LINES[c])
        bars = [
            (row.n_users, getattr(row, name), getattr(row, f"{name}_se")) for row in rows if row.source == SIMULATION
        ]
        if bars:
            n, gain, se = zip(*bars, strict=True)
            axes.errorbar(n, gain, se, **_dot_style(c, epsilon), linestyle="none", elinewidth=1.2, capsize=2)
    axes.axhline(1.0, color=MUTED, linewidth=1, zorder=0)
    axes.set_xscale("log")
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    axes.set_xlabel("number of users n")
    axes.set_ylabel(WORST_LABEL if worst else BEST_LABEL)
    axes.set_title(title)


def _dot_style(c: float, epsilon: float) -> dict[str, Any]:
    color = _COLORS[epsilon]
    face = "white" if c == FRACTIONS[0] else color
    return {"color": color, "marker": _MARKERS[c], "markerfacecolor": face, "markersize": 4}


def shared_legend(figure: "Figure", rows: Sequence[GainRow]) -> None:
    """Draw one legend for all panels of gains, below them."""
    from matplotlib.lines import Line2D

    simulated = [row for row in rows if row.source == SIMULATION]
    handles = []
    for c, epsilon in product(FRACTIONS, EPSILONS):
        style = _dot_style(c, epsilon) if simulated else {"color": _COLORS[epsilon]}
        handles.append(Line2D([], [], **style, linestyle=_LINES[c], label=f"c = {100 * c:g} %, ε = {epsilon:g}"))
    dots = f"; dots: simulated {simulated[0].trials:,} times, bars ± 1 standard error" if simulated else ""
    legend_below(figure, handles, f"Lines: theory{dots}")


def density_panel(
    axes: "Axes", rows: Sequence[DensityRow], *, title: str, colors: dict[str, str], top: float, by_group: bool
) -> None:
    """Draw densities over the value, a line per group or per population."""
    for label in dict.fromkeys(row.group if by_group else row.population for row in rows):
        of = [row for row in rows if label in {row.group, row.population}]
        values = [of[0].value, *(row.value for row in of), of[-1].value]
        heights = [0.0, *(row.density for row in of), 0.0]
        axes.plot(values, heights, color=colors[label], label=label)
        if by_group:
            axes.fill_between(values, heights, color=colors[label], alpha=0.15)
    axes.set_ylim(0.0, top)
    axes.set_xlabel("value")
    axes.set_ylabel("density")
    axes.set_title(title)
