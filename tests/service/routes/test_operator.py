"""The operator's pages as a browser gets them."""

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.service.attacking import Target, new_target
from tests.service.running import Running


@pytest.fixture(scope="module")
def browser(kept_server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=kept_server.url, trust_env=False, follow_redirects=True) as found:
        found.post("/operator/login", data={"key": kept_server.admin_key})
        yield found


def act(browser: httpx.Client, target: Target, action: str, **fields: str) -> httpx.Response:
    """Send a form of the study's page."""
    found = re.search('name="csrf" value="([0-9a-f]+)"', browser.get(f"/operator/studies/{target.id}").text)
    assert found is not None
    form = {"csrf": found[1], "sure": "yes"} | fields
    return browser.post(f"/operator/studies/{target.id}/{action}", data=form)


def refusals(target: Target) -> dict[str, int]:
    found: dict[str, int] = target.server.prepared.app.state.metrics.rejections(target.id)
    return found


def test_the_server_s_address_leads_on(kept_server: Running) -> None:
    page = kept_server.http.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    paths = re.findall('href="([^"]+)"', page.text)
    assert {"/operator", "/schema/openapi.json"} <= set(paths)
    assert {kept_server.http.get(path).status_code for path in paths} == {200}


def test_a_refused_release_is_shown_and_counted_at_once(browser: httpx.Client, kept_server: Running) -> None:
    target = new_target(kept_server)
    page = act(browser, target, "release")  # it is open
    assert page.status_code == 409
    assert "not closed yet" in page.text
    assert "1 request in all" in page.text
    assert refusals(target) == {"refused": 1}  # not counted twice
    told = kept_server.http.get("/metrics", headers=kept_server.admin).text
    assert re.search(r'hybriddp_rejected_total\{reason="refused",route="/operator/[^"]+"\} 1\.0', told)


def test_a_group_that_is_too_small_takes_the_button_away(browser: httpx.Client, kept_server: Running) -> None:
    target = new_target(kept_server, min_local=3)
    for i in range(2):
        target.send(target.value(), who=f"t{i}", to="values")
        target.send(target.report(), who=f"l{i}")
    page = act(browser, target, "close")
    assert "The local group has 2 of the 3 contributions" in page.text
    assert "withdraw it." in page.text
    assert f"/operator/studies/{target.id}/release" not in page.text
    enough = new_target(kept_server)
    for i in range(2):
        enough.send(enough.value(), who=f"t{i}", to="values")
        enough.send(enough.report(), who=f"l{i}")
    assert f"/operator/studies/{enough.id}/release" in act(browser, enough, "close").text
    assert "The study is released." in act(browser, enough, "release").text


def test_a_shared_budget_is_shown_with_what_is_left(browser: httpx.Client, kept_server: Running) -> None:
    kept_server.http.post("/budgets", headers=kept_server.admin, json={"name": "a panel", "epsilon": "1.5"})
    target = new_target(kept_server, budget="a panel")
    assert "a panel, ε = 0.5 left" in browser.get(f"/operator/studies/{target.id}").text
    waiting = new_target(kept_server, budget="a plan", open=False)
    assert "a plan, which has not been created" in browser.get(f"/operator/studies/{waiting.id}").text
    kept_server.http.post(
        "/budgets", headers=kept_server.admin, json={"name": "a plan", "epsilon": "2", "delta": "0.001"}
    )
    assert "a plan, ε = 2 and δ = 0.001 left" in browser.get(f"/operator/studies/{waiting.id}").text


def test_a_withdrawn_study(browser: httpx.Client, kept_server: Running) -> None:
    target = new_target(kept_server)
    page = act(browser, target, "withdraw", confirm=target.id)
    assert "The study is withdrawn." in page.text
    assert "What people are told" not in page.text
    assert "2099" not in page.text
