"""What every kind of study has in common: its text, whom it is about, its reports, its result and its rounding."""
