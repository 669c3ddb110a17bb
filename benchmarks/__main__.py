"""Run every benchmark."""

from benchmarks import theory_grid

for benchmark in (theory_grid,):
    benchmark.main()
