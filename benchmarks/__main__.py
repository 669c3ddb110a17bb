"""Run every benchmark."""

from benchmarks import channels, theory_grid

for benchmark in (theory_grid, channels):
    benchmark.main()
