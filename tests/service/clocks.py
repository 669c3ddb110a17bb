"""The clocks of a machine, as tests set them."""

import time

import pytest

from hybriddp.service import clock


def set_clocks(patched: pytest.MonkeyPatch, seconds: float, *, elapsed: float | None = None, boot: str = "b") -> None:
    """Set the time that is read, and the seconds that have elapsed: as many, unless something else is given."""
    passed = seconds if elapsed is None else elapsed
    patched.setattr(time, "time", lambda: float(seconds))
    patched.setattr(clock, "elapsed_seconds", lambda: float(passed))
    patched.setattr(clock, "boot_id", lambda: boot)
