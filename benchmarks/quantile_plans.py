"""Planned value errors of quantiles beside the root mean square of many simulated studies.

    python -m benchmarks.quantile_plans [TRIALS [DEPLOYMENTS]]

Random deployments: shapes of finite fourth moment, sizes, ε, bounds and scales. Rows whose planned rank error is 5 % or
more are left out. The real pipeline, seeded. Takes a quarter of an hour of processor time with 120 trials.
"""

import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybriddp.distribution import DistributionStudy
from hybriddp.planning import QuantilePlan, plan
from hybriddp.simulation import simulate

AT = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
LARGEST_RANK_ERROR = 0.05
MEANS, SPREADS, TOPS, SIZES = (1.0, 5.0), (0.3, 0.6, 1.0, 1.4), (5.0, 40.0), (3.5, 6.0)


@dataclass(frozen=True)
class Row:
    """A quantile of a deployment: planned and simulated errors."""

    deployment: int
    q: float
    rank_error: float
    planned: float
    seen: float

    def __str__(self) -> str:
        return (
            f"| {self.deployment} | {self.q:g} | {self.rank_error:.2%} | {self.planned:.4g} | {self.seen:.4g} | "
            f"{self.planned / self.seen:.2f} |"
        )


def deployment(number: int) -> dict[str, Any]:
    """Draw a deployment, as arguments of a plan."""
    rng = np.random.default_rng([7, number])
    mean, spread = float(f"{10 ** rng.uniform(*MEANS):.3g}"), float(rng.choice(SPREADS))
    kind = str(rng.choice(["normal", "lognormal", "gamma", "exponential", "beta", "uniform"]))
    spread = min(spread, 0.5) if kind == "normal" else spread
    top = float(f"{mean * math.exp(rng.uniform(*np.log(TOPS))):.3g}")
    shape = {"exponential": f"exponential({mean:g})", "beta": "beta(2, 8)", "uniform": "uniform"}
    return {
        "n_users": round(10 ** rng.uniform(*SIZES)),
        "trusted_fraction": float(rng.choice([0.002, 0.01, 0.05, 0.2, 0.5])),
        "epsilon": float(rng.choice([0.2, 0.5, 1.0, 2.0, 4.0])),
        "bounds": (0.0, top),
        "scale": str(rng.choice(["equal", "log"])),
        "shape": shape.get(kind, f"{kind}({mean:g}, {spread * mean:g})"),
        "at": AT,
    }


def measure(number: int, arguments: dict[str, Any], trials: int) -> list[Row]:
    """Simulate the studies of one deployment."""
    rows = [row for row in _planned(arguments).rows if row.rank_error < LARGEST_RANK_ERROR]
    known = {name: arguments[name] for name in ("trusted_fraction", "n_users")}
    seen = simulate(
        _study(arguments), arguments["shape"], trials=trials, at=[row.q for row in rows], random_state=number, **known
    )
    return [Row(number, row.q, row.rank_error, row.value_error or 0.0, seen[row.q].value_error) for row in rows]


def _study(arguments: dict[str, Any]) -> DistributionStudy:
    return DistributionStudy("x", **{name: arguments[name] for name in ("bounds", "epsilon", "scale")})


def _planned(arguments: dict[str, Any]) -> QuantilePlan:
    assumed = {name: arguments[name] for name in ("n_users", "trusted_fraction", "shape", "at")}
    return plan(_study(arguments), **assumed)


def _useful(made: QuantilePlan) -> bool:
    return any(row.rank_error < LARGEST_RANK_ERROR for row in made.rows)


def main() -> None:
    """Many deployments, on all cores."""
    trials, wanted = ([int(text) for text in sys.argv[1:]] + [120, 20][len(sys.argv) - 1 :])[:2]
    chosen: list[dict[str, Any]] = []
    number = 0
    while len(chosen) < wanted:
        arguments, number = deployment(number), number + 1
        if _useful(_planned(arguments)):
            chosen.append(arguments)
    print(
        "| deployment | q | rank error | planned | seen | planned / seen |\n| ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    with ProcessPoolExecutor() as pool:
        found = [row for rows in pool.map(measure, range(wanted), chosen, [trials] * wanted) for row in rows]
    print(*found, sep="\n")
    ratios = np.array([row.planned / row.seen for row in found])
    within = np.mean((ratios > 0.75) & (ratios < 1.25))
    print(
        f"\n{len(found)} rows: planned / seen {ratios.min():.2f} / {np.median(ratios):.2f} / {ratios.max():.2f} ",
        end="",
    )
    print(f"(least, median, largest); {within:.0%} within a quarter.")


if __name__ == "__main__":
    main()
