"""Warnings that results of several kinds state."""

FAR_APART = 6.0
"""Standard errors between the groups' means from which on untied reports are doubted."""
UNTIED = (
    "Nothing ties the local reports to this study: they came as plain integers. Codes made for another study or "
    "another ε would give a wrong answer that looks right."
)
HEADING = "Diagnostics for the curator: NOT FOR PUBLICATION (no noise hides these numbers)."
