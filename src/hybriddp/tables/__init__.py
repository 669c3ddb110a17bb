"""Tables and files (``pip install "hybriddp[tables]"``): `summarize` turns them into the summaries of a study.

For K-means, `trusted_points` lets a table be the trusted group, and `count_reports` counts what devices answered to a
round. `simulate_local` and, in Spark, `simulate_devices` play the local users of a table.
"""

from hybriddp.tables.codes import count_reports, report_table
from hybriddp.tables.csv_format import CsvFormat
from hybriddp.tables.devices import simulate_devices
from hybriddp.tables.points import TrustedTable, trusted_points
from hybriddp.tables.summaries import GroupedSummaries, Summaries
from hybriddp.tables.summarize import simulate_local, summarize, summarize_both

__all__ = [
    "CsvFormat",
    "GroupedSummaries",
    "Summaries",
    "TrustedTable",
    "count_reports",
    "report_table",
    "simulate_devices",
    "simulate_local",
    "summarize",
    "summarize_both",
    "trusted_points",
]
