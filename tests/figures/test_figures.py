import builtins
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from hybriddp.errors import DataError, MissingExtraError
from hybriddp.figures.estimate import draw
from hybriddp.mean import Estimate, MeanStudy


@pytest.fixture(scope="module")
def result() -> list[Estimate]:
    study = MeanStudy("points", bounds=(0, 10), epsilon=1.0)
    values = np.arange(1000) % 11
    codes = study.randomize(values[100:], random_state=0)
    return [study.estimate(trusted=values[:100], local=codes, random_state=1)]


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_picture_is_written_in_the_format_of_its_name(
    result: list[Estimate], tmp_path: Path, ending: str, magic: bytes
) -> None:
    before = dict(mpl.rcParams)
    target = tmp_path / "new folder" / f"demo.{ending}"
    draw(result, path=target)
    assert target.read_bytes().startswith(magic)
    assert dict(mpl.rcParams) == before


def test_names_and_keys_are_shown_as_they_are(tmp_path: Path) -> None:
    """Dollar signs are not the beginning of a formula, and what is no formula does not spoil the picture."""
    name = r"cost in $, $x_{ in \frac $"
    study = MeanStudy(name, bounds=(0, 10), epsilon=1.0).part("price", "up to $2^$")
    values = np.arange(1000) % 11
    codes = study.randomize(values[100:], random_state=0)
    estimate = study.estimate(trusted=values[:100], local=codes, random_state=1)
    (axes,) = draw([estimate], path=tmp_path / "cost.svg").axes
    shown = (tmp_path / "cost.svg").read_text()
    assert not any(label.get_parse_math() for label in axes.get_yticklabels())
    assert f"<!-- {name}, ε = 1 (a simulation) -->" in shown
    assert "<!-- up to $2^$: hybrid -->" in shown


def test_an_unknown_format_is_a_clear_error(result: list[Estimate], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot be written to .*demo\.docx"):
        draw(result, path=tmp_path / "demo.docx")
    with pytest.raises(DataError, match="must end in"):
        draw(result, path=tmp_path / "demo")


def test_without_matplotlib_the_error_names_the_extra(
    result: list[Estimate], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without_matplotlib(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(MissingExtraError, match=r'pip install "hybriddp\[plots\]"'):
        draw(result, path=tmp_path / "demo.png")
