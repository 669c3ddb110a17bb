"""The numbers behind a figure, as rows of a tidy table."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from hybriddp.errors import DataError

THEORY = "theory"
SIMULATION = "simulation"
BEST_LABEL = "R, gain over the better single model"
WORST_LABEL = "r, gain over the worse single model"


@dataclass(frozen=True, slots=True)
class GainRow:
    """One point of a curve or of a heat map."""

    panel: str  # the letter of the paper's panel; "bc" if the point is in two
    source: str  # "theory" (exact), "simulation"; "crossover": where both single models are equally good
    trusted: str  # what the values of this group are drawn from
    local: str
    n_users: float
    trusted_fraction: float
    epsilon: float
    weight: float  # on the trusted group
    gain_over_best: float  # the paper's R
    gain_over_worst: float  # the paper's r
    gain_over_best_se: float | None = None  # standard error, in a simulation
    gain_over_worst_se: float | None = None
    trials: int | None = None  # how often the pipeline ran, in a simulation


@dataclass(frozen=True, slots=True)
class AmplificationRow:
    """One point of the map of amplification: ε′ as the paper's theorem prints it, for everybody, and of each group."""

    trusted_fraction: float
    colluding: float  # fraction of the local users
    weight: float  # on the trusted group
    printed: float
    classic_trusted: float  # the printed calibration with the group's own sensitivity
    classic_local: float
    exact_trusted: float
    exact_local: float


@dataclass(frozen=True, slots=True)
class ClusteringRow:
    """What K-means costs: the within-cluster sum of squares over all points, on average over the trials."""

    panel: str  # the letter of the paper's panel; "bc" if it is in two
    source: str  # "simulation", or "theory" for the best centers without privacy
    algorithm: str
    reading: str  # "printed" or "repaired"; empty where there is but one
    trusted_fraction: float | None  # if there are two groups
    iterations: int | None  # the rounds, if they are chosen by hand
    epsilon: float | None
    cost: float
    cost_low: float  # the middle 80 % of the trials lie between this and the next
    cost_high: float
    cost_se: float | None = None
    trials: int | None = None


Row = GainRow | AmplificationRow | ClusteringRow
"""What the numbers behind a figure consist of."""


@dataclass(frozen=True, slots=True)
class DensityRow:
    """One point of the density of a group's values; the group is "trusted", "local" or "both"."""

    panel: str
    group: str
    population: str
    value: float
    density: float


def write_csv(rows: Sequence[Row] | Sequence[DensityRow], path: Path) -> Path:
    """Write the rows with one header line; every number with all its digits, what is not there as nothing."""
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(rows[0])], lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)
    except OSError as reason:
        raise DataError(f"The numbers cannot be written to {path}: {reason}.") from None
    return path
