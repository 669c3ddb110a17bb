"""What protects a user beyond the noise on one report."""
