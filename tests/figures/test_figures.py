import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from hybriddp.channels import WindowChannel
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import DataError, MissingExtraError
from hybriddp.figures import channel
from hybriddp.figures.estimate import draw
from hybriddp.kmeans import HybridKMeans
from hybriddp.mean import MeanStudy
from hybriddp.shares import FrequencyStudy

VALUES = np.arange(1000) % 11.0


def _estimate(study: Any, values: Any = VALUES) -> Any:
    return study.estimate(trusted=values[:100], local=study.randomize(values[100:], random_state=0), random_state=1)


RESULTS: list[Callable[[], Any]] = [  # what can be drawn
    lambda: _estimate(MeanStudy("points", bounds=(0, 10), epsilon=1.0)),
    lambda: _estimate(DistributionStudy("points", bounds=(0, 10), epsilon=1.0)),
    lambda: _estimate(FrequencyStudy("even", categories=["yes", "no"], epsilon=1.0), ["yes", "no"] * 500),
    lambda: HybridKMeans(n_clusters=2, epsilon=2, bounds=[(0, 10)], random_state=1).fit(VALUES[:, None]),
]


@pytest.mark.slow
def test_pictures_are_written_in_the_format_of_their_name_and_settings_stay(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    for number, result in enumerate(RESULTS):
        for ending, magic in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
            target = tmp_path / "new folder" / f"{number}.{ending}"
            result().plot(target)
            assert target.read_bytes().startswith(magic)
    channel.draw(WindowChannel(epsilon=6), path=tmp_path / "channel.svg")
    assert (tmp_path / "channel.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert dict(mpl.rcParams) == before


def test_names_and_keys_are_shown_as_they_are(tmp_path: Path) -> None:
    """Dollar signs are not the beginning of a formula, and what is no formula does not spoil the picture."""
    name = r"cost in $, $x_{ in \frac $"
    study = MeanStudy(name, bounds=(0, 10), epsilon=1.0).part("price", "up to $2^$")
    (axes,) = draw([_estimate(study)], path=tmp_path / "cost.svg").axes
    shown = (tmp_path / "cost.svg").read_text()
    assert not any(label.get_parse_math() for label in axes.get_yticklabels())
    assert f"<!-- {name}, ε = 1 (a simulation) -->" in shown
    assert "<!-- up to $2^$: hybrid -->" in shown


def test_what_cannot_be_written_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for result in (make() for make in RESULTS):
        with pytest.raises(DataError, match=r"cannot be written to .*demo\.docx"):
            result.plot(tmp_path / "demo.docx")
        with pytest.raises(DataError, match="must end in"):
            result.plot(tmp_path / "demo")
    real = builtins.__import__

    def without_matplotlib(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(MissingExtraError, match=r'pip install "hybriddp\[plots\]"'):
        result.plot(tmp_path / "demo.png")
