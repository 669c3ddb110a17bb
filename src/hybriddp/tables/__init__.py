"""Tables and files (``pip install "hybriddp[tables]"``): `summarize` turns them into the summaries of a study.

`simulate_devices` plays the local users of a table in Spark.
"""

from hybriddp.tables.devices import simulate_devices
from hybriddp.tables.points import TrustedTable, trusted_points
from hybriddp.tables.summaries import GroupedSummaries, Summaries
from hybriddp.tables.summarize import summarize

__all__ = ["GroupedSummaries", "Summaries", "TrustedTable", "simulate_devices", "summarize", "trusted_points"]
