"""How a study runs: rounds go out to devices, tallies come in, releases are paid for, everything is written down."""
