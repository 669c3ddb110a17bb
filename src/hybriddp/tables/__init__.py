"""Tables and files (``pip install "hybriddp[tables]"``): `summarize` turns them into the summaries of a study.

For K-means, `trusted_points` lets a table be the trusted group, and `count_reports` counts what devices answered to a
round. `simulate_devices` plays the local users of a table in Spark.
"""

from hybriddp.tables.codes import count_reports, report_table
from hybriddp.tables.devices import simulate_devices
from hybriddp.tables.points import TrustedTable, trusted_points
from hybriddp.tables.summaries import GroupedSummaries, Summaries
from hybriddp.tables.summarize import summarize

__all__ = [
    "GroupedSummaries",
    "Summaries",
    "TrustedTable",
    "count_reports",
    "report_table",
    "simulate_devices",
    "summarize",
    "trusted_points",
]
