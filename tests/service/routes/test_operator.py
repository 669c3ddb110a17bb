"""The operator's pages as a operator gets them."""

import re
from collections.abc import Iterator

import httpx
import pytest

from hybriddp import MeanStudy
from tests.service.attacking import Target, new_target
from tests.service.running import Running


@pytest.fixture(scope="module")
def operator(kept_server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=kept_server.url, trust_env=False, follow_redirects=True) as found:
        found.post("/operator/login", data={"key": kept_server.admin_key})
        yield found


def act(operator: httpx.Client, target: Target, action: str, **fields: str) -> httpx.Response:
    """Send a form of the study's page."""
    found = re.search('name="csrf" value="([0-9a-f]+)"', operator.get(f"/operator/studies/{target.id}").text)
    assert found is not None
    form = {"csrf": found[1], "sure": "yes"} | fields
    return operator.post(f"/operator/studies/{target.id}/{action}", data=form)


def refusals(target: Target) -> dict[str, int]:
    found: dict[str, int] = target.server.prepared.app.state.metrics.rejections(target.id)
    return found


def test_the_server_s_address_leads_on(kept_server: Running) -> None:
    page = kept_server.http.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    paths = re.findall('href="([^"]+)"', page.text)
    assert {"/operator", "/schema/openapi.json"} <= set(paths)
    assert {kept_server.http.get(path).status_code for path in paths} == {200}


def test_a_refused_release_is_shown_and_counted_at_once(operator: httpx.Client, kept_server: Running) -> None:
    target = new_target(kept_server)
    page = act(operator, target, "release")  # it is open
    assert page.status_code == 409
    assert "not closed yet" in page.text
    assert "1 request in all" in page.text
    assert refusals(target) == {"refused": 1}  # not counted twice
    told = kept_server.http.get("/metrics", headers=kept_server.admin).text
    assert re.search(r'hybriddp_rejected_total\{reason="refused",route="/operator/[^"]+"\} 1\.0', told)


def test_a_group_that_is_too_small_takes_the_button_away(operator: httpx.Client, kept_server: Running) -> None:
    target = new_target(kept_server, min_local=3)
    for i in range(2):
        target.send(target.value(), who=f"t{i}", to="values")
        target.send(target.report(), who=f"l{i}")
    page = act(operator, target, "close")
    assert "The local group has 2 of the 3 contributions" in page.text
    assert "withdraw it." in page.text
    assert f"/operator/studies/{target.id}/release" not in page.text
    enough = new_target(kept_server)
    for i in range(2):
        enough.send(enough.value(), who=f"t{i}", to="values")
        enough.send(enough.report(), who=f"l{i}")
    assert f"/operator/studies/{enough.id}/release" in act(operator, enough, "close").text
    assert "The study is released." in act(operator, enough, "release").text


def test_a_shared_budget_is_shown_with_what_is_left(operator: httpx.Client, kept_server: Running) -> None:
    kept_server.http.post("/budgets", headers=kept_server.admin, json={"name": "a panel", "epsilon": "1.5"})
    target = new_target(kept_server, budget="a panel")
    assert "a panel, ε = 0.5 left" in operator.get(f"/operator/studies/{target.id}").text
    waiting = new_target(kept_server, budget="a plan", open=False)
    assert "a plan, which has not been created" in operator.get(f"/operator/studies/{waiting.id}").text
    kept_server.http.post(
        "/budgets", headers=kept_server.admin, json={"name": "a plan", "epsilon": "2", "delta": "0.001"}
    )
    assert "a plan, ε = 2 and δ = 0.001 left" in operator.get(f"/operator/studies/{waiting.id}").text


def test_a_withdrawn_study(operator: httpx.Client, kept_server: Running) -> None:
    target = new_target(kept_server)
    page = act(operator, target, "withdraw", confirm=target.id)
    assert "The study is withdrawn." in page.text
    assert "What people are told" not in page.text
    assert "2099-01-01" not in page.text


def test_the_parts_of_a_study_are_shown_live_and_those_that_are_too_small_say_so(
    operator: httpx.Client, kept_server: Running
) -> None:
    study = MeanStudy("minutes by country", bounds=(0, 240), epsilon=1)
    kept_server.create(study, "by-country", parts={"by": "country", "names": ["DE", "FR"]})
    body = {"digest": study.digest, "nonce": "0" * 32}
    for i in range(2):
        token = kept_server.token(f"l{i}", "by-country", part="DE")
        assert kept_server.http.post("/studies/by-country/reports", headers=token, json=body | {"code": i}).is_success
        token = kept_server.token(f"t{i}", "by-country", part="DE")
        assert kept_server.http.post("/studies/by-country/values", headers=token, json=body | {"value": 9}).is_success
    page = operator.get("/operator/studies/by-country").text
    assert '<div id="parts">' in page
    assert "What it would give" not in page  # each part has an error of its own
    live = operator.get("/operator/studies/by-country/live").json()
    (de, fr) = live["parts"]
    assert (de[:3], de[4]) == (["DE", "2", "2"], "an answer")
    assert de[3] not in ("", "too few to say")
    assert fr == ["FR", "0", "0", "too few to say", "too few"]
    assert live["expected"] == []
    kept_server.move("close", "by-country")
    assert "/operator/studies/by-country/release" in operator.get("/operator/studies/by-country").text
    kept_server.move("release", "by-country")
    released = operator.get("/operator/studies/by-country").text
    assert re.search(r"Result by country, with 95.% intervals: DE \d", released)
    kept_server.create(
        MeanStudy("few", bounds=(0, 1), epsilon=1), "few", parts={"by": "country", "names": ["DE", "FR"]}
    )
    kept_server.move("close", "few")
    page = operator.get("/operator/studies/few").text
    assert "None of the 2 parts has as many contributions" in page
    assert "/operator/studies/few/release" not in page
