"""What a local user is asked and answers: one file for each kind of report."""
