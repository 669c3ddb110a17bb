"""Stub."""

ROUTES = []
