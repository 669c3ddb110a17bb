"""Seeded results of every kind are what they were: numbers, JSON and words.

`python -m tests.snapshots.results` writes them anew. The difference of the files is what a change did to results.
"""

import json
from typing import Any

import pytest

from tests.snapshots.results import FOLDER, RESULTS, shown, stored

_SLOW = ("K-means in 5 dimensions", "items, discovery")
_TOLERANCE = {"rel": 1e-7, "abs": 1e-9}
"""Of floating-point numbers: the last digits of linear algebra depend on the machine."""


def _differences(found: Any, kept: Any, where: str = "") -> list[str]:
    if isinstance(kept, float) and isinstance(found, float):
        return [] if found == pytest.approx(kept, **_TOLERANCE) else [f"{where}: {kept} became {found}"]
    if isinstance(kept, dict) and isinstance(found, dict):
        missing = [f"{where}: {name} only once" for name in kept.keys() ^ found.keys()]
        both = [name for name in kept if name in found]
        return missing + [line for name in both for line in _differences(found[name], kept[name], f"{where}/{name}")]
    if isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        pairs = enumerate(zip(found, kept, strict=True))
        return [line for at, pair in pairs for line in _differences(*pair, f"{where}/{at}")]
    return [] if found == kept and type(found) is type(kept) else [f"{where}: {kept!r} became {found!r}"]


@pytest.mark.repeated
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in _SLOW else n for n in RESULTS])
def test_a_seeded_result_is_what_it_was(name: str) -> None:
    found = json.loads(json.dumps(shown(RESULTS[name]())))
    assert _differences(found, json.loads(stored(name).read_text(encoding="utf-8"))) == []


def test_every_stored_result_is_compared() -> None:
    assert {path.name for path in FOLDER.glob("*")} == {stored(name).name for name in RESULTS}
    assert _differences({"a": [1.0, "x"]}, {"a": [1.001, "y"], "b": 1}) != []
