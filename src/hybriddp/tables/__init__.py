"""Tables and files (``pip install "hybriddp[tables]"``): `summarize` turns them into the summaries of a study."""

from hybriddp.tables.summarize import Summaries, summarize

__all__ = ["Summaries", "summarize"]
