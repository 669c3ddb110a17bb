"""Tables for a mean: from rows to the summaries of a study."""
