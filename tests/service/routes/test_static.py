from pathlib import Path

import pytest

from hybriddp.service.static_files import NAMES, StaticFiles
from tests.service.running import Running


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in NAMES:
        (tmp_path / name).write_text("p { color: red; }")
    files = StaticFiles(tmp_path)
    monkeypatch.setattr("hybriddp.service.routes.static.static_files", lambda: files)
    return files.address("uplot.css")


def test_a_file_may_be_kept_for_ever(kept_server: Running, address: str) -> None:
    answer = kept_server.http.get(address)
    assert (answer.status_code, answer.text) == (200, "p { color: red; }")
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers.get_list("cache-control") == ["public, max-age=31536000, immutable"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    plain = kept_server.http.get(address, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == answer.content
    again = kept_server.http.get(address, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_another_content_has_another_address(kept_server: Running, address: str) -> None:
    for path in (
        address.replace("/static/", "/static/0"),
        "/static/x/../uplot.css",
        f"{address}.map",
        "/static/%2e%2e/a",
    ):
        assert kept_server.http.get(path).status_code == 404
