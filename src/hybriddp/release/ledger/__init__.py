"""The ledger: its file, its store, its lock, the text of its lines, and the check that nothing was changed."""
