"""Pages in a real browser: no barrier for anybody, by keyboard, without JavaScript, and nothing that runs by itself."""

import re
from collections.abc import Iterator
from functools import cache

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.service.browser.conftest import AXE, EVIL, Site

EVERYBODY = (
    "/",
    "/plan",
    "/plan?users=ten",
    "/operator",  # the login
    "/studies/open/take-part",
    "/studies/closed/take-part",
    "/studies/mean/take-part",
    "/studies/nothing/take-part",
    "/studies/parts-open/take-part",
    "/studies/points-asking/take-part",
    "/studies/points-released/result.html",
    "/studies/parts-released/result.html",
    "/studies/mean/result.html",
    "/studies/shares/result.html",
    "/studies/quantiles/result.html",
)
OPERATOR = (
    "/operator",
    "/operator/new",
    "/operator/studies/open",
    "/operator/studies/closed",
    "/operator/studies/shares",
    "/operator/studies/nothing",
    "/operator/studies/mean/report",
    "/operator/studies/shares/report",
    "/operator/studies/quantiles/report",
    "/operator/studies/parts-open",
    "/operator/studies/parts-released/report",
    "/operator/studies/points-asking",
    "/operator/studies/points-released/report",
)
LOOKS = [("light", 1280, None), ("dark", 1280, ["color-contrast"]), ("dark", 390, None)]
"""Color schemes, widths, and the rules that are left to check: all, where None."""
_AUDIT = """async (rules) => {
  const only = rules ? {runOnly: {type: "rule", values: rules}} : {};
  const found = await axe.run(document, {resultTypes: ["violations"], ...only});
  return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ").slice(0, 300)}`);
}"""


@pytest.fixture(scope="module")
def watched(site: Site, browser: Browser) -> Iterator[dict[str, Page]]:
    """A window for everybody and one for the operator, in which axe may run: it is not one of the server's scripts."""
    contexts = {
        "everybody": browser.new_context(base_url=site.server.url, bypass_csp=True),
        "operator": site.context(browser, bypass_csp=True),
    }
    yield {who: context.new_page() for who, context in contexts.items()}
    for context in contexts.values():
        context.close()


@cache
def _axe() -> str:
    return AXE.read_text()


@pytest.mark.parametrize(
    ("who", "address"),
    [*(("everybody", address) for address in EVERYBODY), *(("operator", address) for address in OPERATOR)],
)
def test_no_page_has_a_barrier(watched: dict[str, Page], who: str, address: str) -> None:
    page = watched[who]
    page.goto(address)
    if address == "/plan":
        expect(page.locator("canvas")).to_be_visible()
    audit(page)


def audit(page: Page) -> None:
    """Let axe look at a page, wide and narrow, light and dark; it must fit and nothing in it may run by itself."""
    page.evaluate(_axe())
    for scheme, width, rules in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert (scheme, width, page.evaluate(_AUDIT, rules)) == (scheme, width, [])
    page.emulate_media(color_scheme="light")
    assert page.evaluate(_AUDIT, ["color-contrast"]) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("window.ran") is None


def test_words_stay_words_on_every_page(page: Page) -> None:
    for address in (*EVERYBODY[-6:], *(one for one in OPERATOR[2:] if not one.endswith("nothing"))):
        page.goto(address)
        assert page.evaluate("window.ran") is None
        assert EVIL in page.locator("h1").inner_text()
        assert page.locator("img, main script").count() == 0


def test_the_planner_follows_its_sliders_and_its_address_holds_the_plan(page: Page) -> None:
    page.goto("/plan?users=20000&opt_ins=2&epsilon=1&lower=0&upper=100&sd=10")
    expect(page.locator("canvas")).to_be_visible()
    before = page.locator("#answer").inner_text()
    slider = page.get_by_label("Users who take part, slider")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#answer")).not_to_have_text(before, use_inner_text=True)
    users = page.locator("#users").input_value()
    assert int(users) > 20_000
    page.wait_for_url(re.compile(f"users={users}&"))
    told = page.locator("#answer").inner_text()
    page.get_by_label("ε", exact=True).check()
    expect(page.locator("figcaption")).to_contain_text("against ε")
    page.fill("#sd", "1000")
    expect(page.locator("#sd-wrong")).to_contain_text("Spread must be at most")
    page.fill("#sd", "10")
    expect(page.locator("#sd-wrong")).to_have_text("")
    page.reload()
    expect(page.locator("canvas")).to_be_visible()
    assert page.locator("#answer").inner_text() == told
    page.get_by_role("link", name="Make this study").click()
    assert page.locator("h1").inner_text() == "New study"
    assert (page.locator("#upper").input_value(), page.locator("#epsilon").input_value()) == ("100", "1")


def test_a_study_is_made_and_opened_by_keyboard_alone(site: Site, page: Page) -> None:
    page.goto("/operator/new")
    typed = {
        "name": "minutes by keyboard",
        "lower": "0",
        "upper": "240",
        "organization": "Example Ltd",
        "purpose": "To see whether it can be done.",
        "contact": "privacy@example.org",
        "id": "keyboard",
    }
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        focus = page.evaluate("[document.activeElement.id, document.activeElement.textContent]")
        if focus[0] in typed and focus[0] not in seen:
            seen.add(focus[0])
            page.keyboard.type(typed[focus[0]])
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline in ("solid", "auto"), focus
        if focus[1] == "Make the study":
            page.keyboard.press("Enter")
            break
    page.wait_for_url("**/operator/studies/keyboard")
    assert seen == set(typed)
    expect(page.locator("#live-status")).to_contain_text("Counts are live")
    assert site.server.http.get("/studies/keyboard").json()["state"] == "open"


def test_counts_are_live(site: Site, page: Page) -> None:
    page.clock.install()
    page.goto("/operator/studies/open")
    expect(page.locator("#live-status")).to_contain_text("Counts are live")
    before = int(page.locator("#count-local").inner_text())
    study = site.server.http.get("/studies/open").json()
    body = {"digest": study["digest"], "code": 3, "nonce": "ab" * 16}
    sent = site.server.http.post("/studies/open/reports", json=body, headers=site.server.token("new", "open"))
    assert sent.status_code == 201
    page.clock.run_for(5000)
    expect(page.locator("#count-local")).to_have_text(str(before + 1))
    assert page.locator("#expected tbody tr").first.inner_text().split()[:3] == ["now", "2", str(before + 1)]


def test_planner_and_operator_need_no_javascript(site: Site, browser: Browser) -> None:
    context = site.context(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto("/plan")
    expect(page.get_by_text("Sliders need JavaScript, and this page's script has not run.")).to_be_visible()
    assert page.locator("figure svg").count() == 1
    page.fill("#users", "5000")
    page.get_by_role("button", name="Show the answer").click()
    assert page.locator("#users").input_value() == "5000"
    assert "users=5000" in page.url
    assert "What you get:" in page.locator("#answer").inner_text()
    page.goto("/operator/new")
    page.fill("#name", "without scripts")
    page.get_by_role("button", name="Make the study").click()
    assert "No study was made yet." in page.get_by_role("alert").inner_text()
    assert page.locator("#name").input_value() == "without scripts"
    page.goto("/operator/studies/open")
    expect(page.get_by_text("Counts are not live: this page's script has not run.")).to_be_visible()
    context.close()


def test_nothing_is_loaded_from_elsewhere_and_no_inline_script_runs(site: Site, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for address in ("/plan", "/operator/studies/open", "/studies/open/take-part", "/studies/mean/result.html"):
        page.goto(address)
        page.wait_for_load_state("networkidle")
    assert len(asked) > 5
    assert {url for url in asked if not url.startswith(site.server.url)} == set()
    policy = httpx.get(f"{site.server.url}/plan", trust_env=False).headers["content-security-policy"]
    assert "script-src 'self';" in policy
