"""The pictures of the server's pages are those that the gallery shows, and all of them are."""

import runpy
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pages"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    """What `make screenshots` runs."""
    return runpy.run_path(str(ROOT / "scripts" / "make_screenshots.py"))


def test_the_gallery_shows_every_picture_and_every_picture_is_of_a_page(script: dict[str, Any]) -> None:
    paths = {ROOT / "docs" / shot.path(*look) for shot in script["SHOTS"] for look in shot.looks}
    assert set(FOLDER.iterdir()) == paths
    assert (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8") == script["gallery"]()


def test_pictures_are_as_wide_as_they_say() -> None:
    for path in FOLDER.iterdir():
        with Image.open(path) as picture:
            assert str(picture.width) == path.stem.split("-")[-2], path.name
