"""Noninterference on the server: what it shows does not depend on what the trusted group handed over.

Two servers have the same studies, local users and released numbers, and trusted users with other values. They show the
same to the byte: to everybody, to the curator and to the operator.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.release.fixed import fix_releases
from tests.service.clocks import set_clocks
from tests.service.releases import GROUPS, gathered
from tests.service.running import Running, running

PAGES = ("", "/result", "/result.html", "/result.csv", "/result.svg")
"""What everybody is shown."""
NOW = 1_800_000_000  # January 2027


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Running]]:
    """One for each trusted group."""
    folder: Path = tmp_path_factory.mktemp("servers")
    with pytest.MonkeyPatch.context() as patched:
        set_clocks(patched, NOW)  # both close rounds in the same second
        with running(folder / "first") as first, running(folder / "second") as second:
            yield first, second


def shown(server: Running, kind: str, group: int) -> dict[str, bytes]:
    """Everything that a server shows of a study, from its contributions to its result."""
    life = gathered(kind, group, server, kind)
    life.go_on()
    assert life.move("release").status_code == 200
    server.http.post("/operator/login", data={"key": server.admin_key})
    answers = {page: life.shown(page) for page in PAGES}
    answers |= {"report": life.shown("/report.html", admin=True), "admin": life.shown(admin=True)}
    answers["operator"] = server.http.get(f"/operator/studies/{kind}")
    assert life.spent  # the trusted group is in it
    return {page: answer.raise_for_status().content for page, answer in answers.items()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", GROUPS)
def test_a_server_shows_the_same_whatever_the_trusted_group_has(
    servers: tuple[Running, Running], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    fix_releases(monkeypatch)
    first, second = (shown(server, kind, group) for group, server in enumerate(servers))
    assert first.keys() == second.keys()
    assert [(page, first[page], second[page]) for page in first if first[page] != second[page]] == []
