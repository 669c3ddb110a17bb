"""Warnings that results of several kinds state."""

FAR_APART = 6.0
"""Standard errors between the groups' means from which on untied reports are doubted."""
UNTIED = (
    "Nothing ties the local reports to this study: they came as plain integers. Codes made for another study or "
    "another ε would give a wrong answer that looks right."
)
HEADING = "Diagnostics for the curator: NOT FOR PUBLICATION (no noise hides these numbers)."


def group_sizes(n_trusted: int, n_local: int, left_out: str) -> str:
    """Return the sentence about the users of both groups, and about those who were left out."""
    return (
        f"Of {n_trusted + n_local:,} users {n_trusted:,} trusted the curator and {n_local:,} reported locally. These "
        f"numbers are public, and so is how many users were left out because {left_out}."
    )
