"""Pages whose script does not run, in a real browser: they say so, and nobody can send anything."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from hybriddp import MeanStudy
from tests.service.browser.conftest import Site
from tests.service.browser.people import People, kept
from tests.service.browser.test_pages import audit

pytestmark = pytest.mark.slow

WORDS = "This page does not work now, and sends nothing. It needs JavaScript, because your own device checks the study"
SCRIPTS, PAGES = "**/*.js", "**/take-part"
Trouble = tuple[str, Callable[[Route], None]]


def _without_scripts(route: Route) -> None:
    """Answer with the page, and with a content policy that blocks its script."""
    answer = route.fetch()
    route.fulfill(response=answer, headers=answer.headers | {"content-security-policy": "script-src 'none'"})


TROUBLES: dict[str, Trouble] = {
    "missing": (SCRIPTS, lambda route: route.fulfill(status=404)),
    "blocked by an extension": (SCRIPTS, lambda route: route.abort()),
    "blocked by the policy": (PAGES, _without_scripts),
    "cut off": (SCRIPTS, lambda route: route.fulfill(body="const {", content_type="text/javascript")),
    "throws": (SCRIPTS, lambda route: route.fulfill(body="throw new Error()", content_type="text/javascript")),
    "never comes": (SCRIPTS, lambda _: None),
}


@pytest.fixture(scope="module")
def pilot(site: Site) -> str:
    """Address of a page that asks for no token: nothing but its script keeps people from sending."""
    site.server.create(MeanStudy("not ready", bounds=(0, 240), epsilon=1), "not-ready", tokens=False)
    return "/studies/not-ready/take-part"


def _context(site: Site, browser: Browser, **options: object) -> BrowserContext:
    return browser.new_context(base_url=site.server.url, **options)


def _notice(page: Page) -> Locator:
    return page.get_by_role("alert").filter(has_text=WORDS)


def _try_to_send(page: Page) -> list[str]:
    """Do all that a person can do to send the form, and more; return what the browser asked for then."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(f"{request.method} {request.url} {request.post_data}"))
    page.fill("#value", "37.5")
    page.press("#value", "Enter")
    button = page.locator("button.next")
    for choice in page.locator("[name=choice]").all():
        expect(choice).to_be_disabled()
        choice.click(force=True)
        expect(choice).not_to_be_checked()
    expect(button).to_be_disabled()
    button.click(force=True)
    for one in page.locator("[name=choice], button.next").all():  # as if something enabled them
        one.evaluate("one => { one.disabled = false; }")
    page.check("[value=trust]")
    button.click()
    page.press("#value", "Enter")
    page.locator("#take-part").evaluate("form => { form.requestSubmit(); form.submit(); }")
    expect(page.locator("#value")).to_have_value("37.5")
    return asked


def test_nothing_can_be_sent_if_the_script_does_not_run(site: Site, browser: Browser, pilot: str) -> None:
    contexts = {trouble: _context(site, browser) for trouble in TROUBLES}
    contexts["off"] = _context(site, browser, java_script_enabled=False)
    pages = {trouble: context.new_page() for trouble, context in contexts.items()}
    for trouble, page in pages.items():  # all of them, before one is looked at: what they say comes after seconds
        if trouble in TROUBLES:
            page.route(*TROUBLES[trouble])
        page.goto(pilot, wait_until="commit")
    for trouble, page in pages.items():
        expect(_notice(page), trouble).to_be_visible()
        assert (trouble, _try_to_send(page), page.url) == (trouble, [], f"{site.server.url}{pilot}")
        expect(_notice(page), trouble).to_be_visible()
    for context in contexts.values():
        context.close()
    counts = site.server.http.get("/studies/not-ready", headers=site.server.admin).json()["counts"]
    assert counts == {"trusted": 0, "local": 0}


def test_an_error_amid_the_checks_is_said_and_nothing_can_be_sent(site: Site, browser: Browser, pilot: str) -> None:
    context = _context(site, browser)
    context.add_init_script("Object.defineProperty(window, 'indexedDB', { get() { throw new Error('broken'); } });")
    page = context.new_page()
    page.goto(pilot)
    expect(page.locator("#said.wrongly")).not_to_be_empty()
    expect(_notice(page)).to_have_count(0)  # the script says more
    assert _disabled(page) == [True, True, True]
    context.close()


def _disabled(page: Page) -> list[bool]:
    return [one.is_disabled() for one in page.locator("[name=choice], button.next").all()]


def test_no_barrier_while_the_script_is_missing(site: Site, browser: Browser, pilot: str) -> None:
    context = _context(site, browser, bypass_csp=True)
    page = context.new_page()
    page.route(*TROUBLES["missing"])
    for address in (pilot, "/studies/points-asking/take-part"):  # a form, and a device that waits for its turn
        page.goto(address)
        expect(_notice(page)).to_be_visible()
        audit(page)
    context.close()


def test_a_curator_that_does_not_answer_at_first_is_asked_again(people: People, pilot: str) -> None:
    one = people("early bird")
    page, asked = one.page, []

    def fail(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=500, body="<h1>proxy")

    page.clock.install()
    page.route("**/studies/not-ready", fail)
    page.goto(pilot)
    for _ in range(12):
        page.clock.run_for(5000)
        if "does not answer" in page.locator("#said").inner_text():
            break
    expect(page.locator("#said")).to_contain_text("Nothing was drawn and nothing was sent. This page tries again")
    assert _disabled(page) == [True, True, True]
    page.unroute("**/studies/not-ready")
    page.clock.run_for(21_000)
    expect(page.locator("#checked li")).to_have_count(3)
    assert _disabled(page) == [False, False, False]
    assert (len(asked) > 1, kept(page)) == (True, [])


def test_planner_and_operator_say_that_a_script_is_missing(page: Page) -> None:
    words = {"/plan": "Sliders need JavaScript", "/operator/studies/open": "Counts are not live"}
    for address, told in words.items():
        page.goto(address)
        expect(page.get_by_text(told)).to_have_count(0)
    page.route(SCRIPTS, lambda route: route.fulfill(body="", content_type="text/javascript"))
    for address, told in words.items():
        page.goto(address)
        expect(page.get_by_text(told)).to_be_visible()


def test_the_planner_draws_in_a_browser_whose_language_is_no_language_tag(site: Site, browser: Browser) -> None:
    context = _context(site, browser)
    language = "Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' });"
    context.add_init_script(language)  # what Chromium says where LANG is C
    page = context.new_page()
    page.goto("/health")
    assert (
        page.evaluate("try { new Intl.NumberFormat(navigator.language) } catch (error) { error.name }") == "RangeError"
    )
    page.goto("/plan")
    expect(page.locator("#curves canvas")).to_be_visible()
    context.close()
