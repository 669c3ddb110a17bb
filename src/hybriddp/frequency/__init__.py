"""Frequencies."""
