"""Frequency studies on a server: a category for all others, and what the client refuses."""

from pathlib import Path

import pytest

from hybriddp.client import Client
from hybriddp.errors import DataError
from tests.service.lives import CategoryLife, Contribution
from tests.service.running import Running


def test_all_others_are_one_category(kept_server: Running, tmp_path: Path) -> None:
    life = CategoryLife(kept_server, "others")
    life.create()
    for value, status in (("something else", 201), ("(other)", 200), ("another thing", 200)):  # the same, said again
        assert life.send(Contribution("a", "values", {"value": value})).status_code == status
    assert life.sums() == ({}, life.total_of(["(other)"]))
    token = kept_server.token("b", life.id)["Authorization"].removeprefix("Bearer ")
    with Client(kept_server.url, token, journal=tmp_path / "b", digest=life.study.digest) as client:
        with pytest.raises(DataError, match="one text"):
            client.report(3)
        client.trust("a color that nobody has thought of")
    assert life.sums() == ({}, life.total_of(["(other)", "(other)"]))
