"""Tables and files (``pip install "hybriddp[tables]"``): `summarize` turns them into the summaries of a study."""

from hybriddp.tables.summaries import GroupedSummaries, Summaries
from hybriddp.tables.summarize import summarize

__all__ = ["GroupedSummaries", "Summaries", "summarize"]
