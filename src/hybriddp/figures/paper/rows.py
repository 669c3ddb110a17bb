"""The numbers behind a figure, as rows of a tidy table."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from hybriddp.errors import DataError

THEORY = "theory"
SIMULATION = "simulation"


@dataclass(frozen=True, slots=True)
class GainRow:
    """One point of a curve or of a heat map.

    Attributes
    ----------
    panel : str
        The letter of the paper's panel; "bc" if the point is in two.
    source : str
        ``"theory"`` (exact) or ``"simulation"``; ``"crossover"`` for the line of a heat map on which both single models
        are equally good.
    trusted, local : str
        What the values of each group are drawn from.
    n_users, trusted_fraction, epsilon : float
        The setting.
    weight : float
        The weight on the trusted group.
    gain_over_best, gain_over_worst : float
        The paper's R and r.
    gain_over_best_se, gain_over_worst_se : float or None
        Their standard errors, in a simulation.
    trials : int or None
        How often the pipeline ran, in a simulation.
    """

    panel: str
    source: str
    trusted: str
    local: str
    n_users: float
    trusted_fraction: float
    epsilon: float
    weight: float
    gain_over_best: float
    gain_over_worst: float
    gain_over_best_se: float | None = None
    gain_over_worst_se: float | None = None
    trials: int | None = None


@dataclass(frozen=True, slots=True)
class AmplificationRow:
    """One point of the map of amplification.

    Attributes
    ----------
    trusted_fraction, colluding : float
        The share of users who trust, and the share of local users who collude.
    weight : float
        The weight on the trusted group.
    printed : float
        ε′ as the paper's theorem prints it, for everybody.
    classic_trusted, classic_local : float
        The same calibration with each group's own sensitivity.
    exact_trusted, exact_local : float
        ε′ exactly.
    """

    trusted_fraction: float
    colluding: float
    weight: float
    printed: float
    classic_trusted: float
    classic_local: float
    exact_trusted: float
    exact_local: float


@dataclass(frozen=True, slots=True)
class ClusteringRow:
    """What K-means costs: the within-cluster sum of squares over all points.

    Attributes
    ----------
    panel : str
        The letter of the paper's panel; "bc" if it is in two.
    source : str
        ``"simulation"``, or ``"theory"`` for the best centers without privacy.
    algorithm, reading : str
        Which, and whether as printed or repaired; the reading is empty where there is but one.
    trusted_fraction : float or None
        The share of users who trust, if there are two groups.
    iterations : int or None
        The rounds, if they are chosen by hand.
    epsilon : float or None
        What every user is promised, if anything.
    cost, cost_low, cost_high : float
        On average over the trials, and between what the middle 80 % of them lie; all the same in theory.
    cost_se : float or None
        The standard error of the average, in a simulation.
    trials : int or None
        How often the algorithm ran.
    """

    panel: str
    source: str
    algorithm: str
    reading: str
    trusted_fraction: float | None
    iterations: int | None
    epsilon: float | None
    cost: float
    cost_low: float
    cost_high: float
    cost_se: float | None = None
    trials: int | None = None


Row = GainRow | AmplificationRow | ClusteringRow
"""What the numbers behind a figure consist of."""


@dataclass(frozen=True, slots=True)
class DensityRow:
    """One point of a density.

    Attributes
    ----------
    panel : str
        The letter of the paper's panel.
    group : str
        Whose: ``"trusted"``, ``"local"`` or ``"both"``.
    population : str
        Of what.
    value, density : float
        Where and how dense.
    """

    panel: str
    group: str
    population: str
    value: float
    density: float


def write_csv(rows: Sequence[Row] | Sequence[DensityRow], path: Path) -> None:
    """Write the rows with one header line; every number with all its digits, what is not there as nothing."""
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(rows[0])], lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)
    except OSError as reason:
        raise DataError(f"The numbers cannot be written to {path}: {reason}.") from None
