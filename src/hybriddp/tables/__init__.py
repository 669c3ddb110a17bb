"""Tables and files (``pip install "hybriddp[tables]"``): `summarize` turns them into the summaries of a study.

For K-means, `trusted_points` lets a table be the trusted group, and `count_reports` counts what devices answered to a
round. `simulate_local` and, in Spark, `simulate_devices` play the local users of a table.
"""

from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.points import TrustedTable, trusted_points
from hybriddp.tables.rounds import count_reports, report_table
from hybriddp.tables.simulate import simulate_devices, simulate_local
from hybriddp.tables.summarize import summarize, summarize_both
from hybriddp.tables.tally import GroupedSummaries, Summaries

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
