"""Small databases that released versions have written, one of each migration on each kind of database."""
