"""Every page of the server is in the documentation, in four looks."""

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
    looks = script["LOOKS"]
    names = {f"{shot.name}-{width}-{scheme}.png" for shot in script["SHOTS"] for width, scheme in looks}
    assert (len(looks), {path.name for path in FOLDER.iterdir()}) == (4, names)
    assert (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8") == script["gallery"]()


def test_pictures_are_as_wide_as_they_say() -> None:
    for path in FOLDER.iterdir():
        with Image.open(path) as picture:
            assert str(picture.width) == path.stem.split("-")[-2], path.name
