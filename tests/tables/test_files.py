import builtins
from pathlib import Path
from typing import Any

import pytest

from hybriddp.errors import MissingExtraError
from hybriddp.tables.files import read_columns


def test_without_polars_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_polars(name: str, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        if name.startswith("polars"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_polars)
    with pytest.raises(MissingExtraError, match=r'pip install "hybriddp\[tables\]"'):
        read_columns(Path("x.csv"), ["a"])
