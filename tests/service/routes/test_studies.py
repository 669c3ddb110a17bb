"""Lists of budgets and relays, and addresses that are asked in the wrong way."""

from xml.etree import ElementTree

import pytest

from hybriddp import MeanStudy
from tests.service.attacking import Target, new_target, refused
from tests.service.running import Running


@pytest.fixture(scope="module")
def target(kept_server: Running) -> Target:
    return new_target(kept_server)


def test_budgets_can_be_listed(kept_server: Running) -> None:
    http, admin = kept_server.http, kept_server.admin
    assert http.get("/budgets", headers=admin).json() == []
    for name in ("year", "panel"):
        http.post("/budgets", headers=admin, json={"name": name, "epsilon": "1.25"})
    charged = new_target(kept_server, budget="panel")
    listed = http.get("/budgets", headers=admin).json()
    assert [one["name"] for one in listed] == ["panel", "year"]  # and no study's own
    assert [one["left"]["epsilon"] for one in listed] == ["0.25", "1.25"]
    assert listed[0] == http.get("/budgets/panel", headers=admin).json()
    assert charged.study.title in listed[0]["explanation"]
    assert refused(http.get("/budgets")) == "bad-token"


def test_relays_can_be_listed(kept_server: Running) -> None:
    http, admin = kept_server.http, kept_server.admin
    before = http.get("/relays", headers=admin).json()
    key = kept_server.relay("zebra")["Authorization"].removeprefix("Bearer ")
    kept_server.relay("ape")
    answer = http.get("/relays", headers=admin)
    assert answer.json() == sorted([*before, {"name": "ape"}, {"name": "zebra"}], key=lambda one: str(one["name"]))
    assert key not in answer.text
    http.delete("/relays/zebra", headers=admin)
    assert {"name": "zebra"} not in http.get("/relays", headers=admin).json()
    assert refused(http.get("/relays")) == "bad-token"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/studies", {"GET", "HEAD", "POST"}),
        ("GET", "/studies/{id}/reports", {"POST"}),
        ("POST", "/health", {"GET", "HEAD"}),
        ("DELETE", "/budgets/x", {"GET", "HEAD"}),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(target: Target, method: str, path: str, allowed: set[str]) -> None:
    answer = target.server.http.request(method, path.replace("{id}", target.id))
    assert (answer.status_code, refused(answer)) == (405, "not-found")
    assert "does not take this method" in answer.json()["detail"]
    assert set(answer.headers["allow"].split(", ")) == allowed | {"OPTIONS"}


def test_a_refused_release_is_counted(kept_server: Running) -> None:
    target = new_target(kept_server)
    target.move("close")
    answer = target.move("release")
    assert refused(answer) == "refused"
    assert answer.json()["detail"].endswith("Nothing was released. A closed study cannot be opened again: withdraw it.")
    assert kept_server.prepared.app.state.metrics.rejections(target.id) == {"refused": 1}
    assert target.move("close").status_code == 200
    assert refused(target.move("open")) == "refused"
    assert kept_server.prepared.app.state.metrics.rejections(target.id) == {"refused": 2}


@pytest.mark.slow
def test_a_result_can_be_downloaded_as_a_table_and_as_a_picture(kept_server: Running) -> None:
    study = MeanStudy("minutes, downloaded", bounds=(0, 240), epsilon=1)
    kept_server.create(study, "downloaded")
    assert kept_server.http.get("/studies/downloaded/result.csv").status_code == 404
    for i in range(2):
        kept_server.trust(study, f"t{i}", 30.0, study_id="downloaded")
        kept_server.report(study, f"l{i}", 1, study_id="downloaded")
    for action in ("close", "release"):
        kept_server.move(action, "downloaded")
    page = kept_server.http.get("/studies/downloaded/result.html").text
    assert 'href="result.csv"' in page
    assert 'href="result.svg"' in page
    table = kept_server.http.get("/studies/downloaded/result.csv")
    assert table.headers["content-type"].startswith("text/csv")
    assert table.text.splitlines()[0] == "name,value,lower_95,upper_95"
    picture = kept_server.http.get("/studies/downloaded/result.svg")
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert picture.headers["content-disposition"] == 'attachment; filename="downloaded.svg"'
    assert {"viewBox", "aria-label"} <= set(ElementTree.fromstring(picture.text).attrib)  # noqa: S314  (our own)
    assert "var(" not in picture.text
