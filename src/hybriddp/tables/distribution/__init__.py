"""Distributions of a column: bins and reports, counted by the engine."""
