"""What a local user is asked and answers: one file for each kind of report.

Each has, in this order: the question, the answer on the device, decoding, its text, and what is asked with it.
"""

from hybriddp.kmeans.reports import direction, grid, label_signs, second_moment

__all__ = ["direction", "grid", "label_signs", "second_moment"]
