"""Run every benchmark."""

from benchmarks import (
    amplification_speed,
    channels,
    kmeans_speed,
    ledger_speed,
    mean_speed,
    simulation_speed,
    table_speed,
    theory_grid,
)

for benchmark in (
    theory_grid,
    channels,
    mean_speed,
    simulation_speed,
    amplification_speed,
    kmeans_speed,
    ledger_speed,
    table_speed,
):
    benchmark.main()
