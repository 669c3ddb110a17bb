"""Files of ledgers."""

from pathlib import Path

import pytest

from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from tests.release.numbers import event


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.ledger"


@pytest.fixture
def written(path: Path) -> Path:
    """A ledger of three events."""
    ledger = Ledger.create(path, Privacy(epsilon=1))
    for epsilon in ("0.1", "0.2", "0.3"):
        ledger.spend(event(epsilon))
    return path
