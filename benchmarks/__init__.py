"""How fast it is, as ratios to something everybody knows, measured in one run. See README.md."""
