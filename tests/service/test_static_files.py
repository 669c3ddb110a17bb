import gzip
from pathlib import Path

import pytest

from hybriddp.errors import DataError
from hybriddp.service.app import prepare
from hybriddp.service.settings import Settings
from hybriddp.service.static_files import FOLDER, NAMES, StaticFiles, static_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of an installation, each with its name as its content."""
    for name in NAMES:
        (tmp_path / name).write_text(name)
    return tmp_path


def test_this_installation_has_every_file_and_no_other() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(NAMES)
    assert all(static_files().address(name) for name in NAMES)


def test_files_have_addresses_with_their_hash(folder: Path) -> None:
    files = StaticFiles(folder)
    _, _, digest, name = files.address("plan.js").split("/")
    found = files.find(name, digest)
    assert found is not None
    assert (found.content, found.media_type) == (b"plan.js", "text/javascript")
    assert gzip.decompress(found.compressed) == found.content
    (folder / name).write_text("walk();")
    changed = StaticFiles(folder)
    assert changed.address(name) != files.address(name)
    assert changed.find(name, digest) is None


def test_only_files_of_pages_are_served(folder: Path) -> None:
    (folder / "notes.js").write_text("no page uses this")
    files = StaticFiles(folder)
    for name in ("notes.js", "../settings.py"):
        assert files.find(name, "0" * 16) is None


def test_an_installation_without_them_is_refused(folder: Path) -> None:
    (folder / "points.js").unlink()
    (folder / "take_part.js").write_text("")
    (folder / "uplot.css").unlink()
    (folder / "uplot.css").mkdir()
    with pytest.raises(DataError, match=r"installation: points.js, take_part.js, uplot.css. Install hybriddp again;"):
        StaticFiles(folder)
    with pytest.raises(DataError, match=", ".join(NAMES)):
        StaticFiles(folder / "nowhere")


def test_a_server_without_them_does_not_start_and_creates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybriddp.service.app.static_files", lambda: StaticFiles(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="in a checkout, restore src/hybriddp/service/static with git"):
        prepare(Settings(data=tmp_path / "data", key_file=tmp_path / "hybriddp.key"))
    assert list(tmp_path.iterdir()) == []
