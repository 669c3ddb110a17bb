"""Noninterference: what the trusted group's values do not reach but through its release.

All raw values are replaced, while what is released about them and the reports of the local group stay. Then every
output is the same to the byte: the answer in all its forms, its warnings and pictures, and what errors say.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hybriddp.errors import BudgetError
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger
from tests.release.fixed import fix_releases
from tests.release.releases import EVERY_KIND, RELEASES

METHODS = (
    *("to_json", "to_dict", "explain", "to_html", "_repr_html_", "published", "quantiles", "rows", "top", "answer"),
    *("to_pandas", "published_rows", "stated_intervals", "interval", "items", "value", "privacy", "warnings"),
)


@pytest.fixture
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Released numbers that do not depend on what was counted."""
    fix_releases(monkeypatch)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # the date in a picture


def _shown(thing: object, folder: Path) -> dict[str, object]:
    """Everything that a result shows, by the name of what shows it."""
    if isinstance(thing, Mapping | tuple | list):
        items = thing.items() if isinstance(thing, Mapping) else enumerate(thing)
        return {f"{key}: {name}": text for key, one in items for name, text in _shown(one, folder).items()}
    if isinstance(thing, str):
        return {"text": thing}
    found: dict[str, object] = {"str": str(thing), "repr": repr(thing)}
    for name in METHODS:
        attribute = getattr(thing, name, None)
        for options in ({}, {"full": True}) if name == "to_json" else ({},):
            try:
                value: Any = attribute(**options) if callable(attribute) else attribute
            except (TypeError, ValueError) as error:
                value = error
            found[f"{name}{options or ''}"] = value.to_csv() if hasattr(value, "to_csv") else repr(value)
    if hasattr(thing, "plot"):
        thing.plot(folder / "picture.svg")
        found["plot"] = (folder / "picture.svg").read_text(encoding="utf-8")
    for part in ("mean", "distribution"):
        if hasattr(getattr(thing, part, None), "explain"):
            found |= {f"{part}: {name}": text for name, text in _shown(getattr(thing, part), folder).items()}
    return found


@pytest.mark.usefixtures("fixed")
@pytest.mark.repeated
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_output_is_the_same_whatever_the_trusted_group_has(kind: str, tmp_path: Path) -> None:
    shown: list[dict[str, object]] = []
    for group in (0, 1):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = RELEASES[kind](group)
            found = _shown(result, tmp_path)
        shown.append({**found, "warned": [str(one.message) for one in told]})
    first, second = shown
    assert first.keys() == second.keys()
    assert [(name, first[name], second[name]) for name in first if first[name] != second[name]] == []
    assert sum(len(str(text)) for text in first.values()) > 300


@pytest.mark.slow
@pytest.mark.usefixtures("fixed")
def test_an_error_says_the_same_whatever_the_trusted_group_has() -> None:
    """A ledger has nothing left, and everything before the release has been computed."""
    privacy = Privacy(epsilon="0.01")
    earlier = Event.now("another study", who="trusted", study="x", privacy=privacy)
    for kind, release in RELEASES.items():
        told = []
        for group in (0, 1):
            ledger = Ledger(privacy)
            ledger.spend(earlier)
            with pytest.raises(BudgetError) as refused:
                release(group, ledger=ledger)
            told.append(str(refused.value))
        assert told[0] == told[1], kind
