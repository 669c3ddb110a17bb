import gzip
from pathlib import Path

from hybriddp.service.static_files import StaticFiles


def test_files_have_addresses_with_their_hash(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("run();")
    (tmp_path / "notes.md").write_text("no page uses this")
    files = StaticFiles(tmp_path)
    address = files.address("a.js")
    assert address is not None
    _, _, digest, name = address.split("/")
    found = files.find(name, digest)
    assert found is not None
    assert (found.content, found.media_type) == (b"run();", "text/javascript")
    assert gzip.decompress(found.compressed) == found.content
    (tmp_path / "a.js").write_text("walk();")
    changed = StaticFiles(tmp_path)
    assert changed.address("a.js") != address
    assert changed.find(name, digest) is None


def test_what_is_not_there_has_no_address(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("no page uses this")
    for folder in (tmp_path, tmp_path / "missing"):
        files = StaticFiles(folder)
        assert files.address("plan.js") is files.address("notes.md") is None
        assert files.find("../settings.py", "0" * 16) is None
