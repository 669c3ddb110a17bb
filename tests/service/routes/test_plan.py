import pytest

from hybriddp.service import planner
from hybriddp.service.pages.curves import LINES
from tests.service.running import Running


def test_the_page_and_its_script_get_the_same_answer(kept_server: Running) -> None:
    address = "?users=20000&opt_ins=2&epsilon=1&lower=0&upper=100&sd=10"
    page = kept_server.http.get(f"/plan{address}")
    found = kept_server.http.get(f"/plan.json{address}").json()
    assert page.status_code == 200
    assert page.headers["content-security-policy"].startswith(
        "default-src 'none'; script-src 'self'; connect-src 'self'"
    )
    for line in found["answer"]:
        assert line.partition(": ")[2] in page.text
    assert list(found["lines"]) == list(LINES)
    assert {len(line) for line in found["lines"].values()} == {len(found["x"])}
    assert found["here"][0] == 2
    assert found["study"] == "/operator/new?kind=mean&epsilon=1&lower=0&upper=100"
    assert found["query"] == address[1:]


def test_what_is_wrong_stands_beside_its_field(kept_server: Running) -> None:
    page = kept_server.http.get('/plan?users=ten&opt_ins="><b>')
    assert page.status_code == 400
    assert '<span class="wrong" id="users-wrong">Users: this is not a number.</span>' in page.text
    assert 'value="&quot;&gt;&lt;b&gt;"' in page.text
    found = kept_server.http.get("/plan.json?users=ten")
    assert (found.status_code, found.json()["problems"]["users"]) == (200, "Users: this is not a number.")


def test_too_many_plans_are_refused_in_words(kept_server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_server.prepared.app.state, "planner", planner.Planner(1), raising=False)
    assert kept_server.http.get("/plan").status_code == 200
    refused = kept_server.http.get("/plan?users=5000&opt_ins=1&epsilon=1&lower=0&upper=1")
    assert refused.status_code == 429
    assert "Many plans have been made in this minute." in refused.text
    assert (
        kept_server.http.get("/plan.json?users=6000&opt_ins=1&epsilon=1&lower=0&upper=1").json()["reason"] == "too-many"
    )
    assert kept_server.http.get("/plan").status_code == 200  # known already
