"""Stub."""

from typing import Any

ROUTES: list[Any] = []
