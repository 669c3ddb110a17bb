"""Rounds of K-means on the operator's page, in a real browser: published by a button, counted while one looks."""

from playwright.sync_api import Browser, Page, expect

from hybriddp.kmeans import KMeansStudy
from tests.service.browser.conftest import EVIL, Site
from tests.service.browser.test_pages import audit
from tests.service.kmeans_people import People, enrollment, nonce_of
from tests.service.running import CONSENT, Running

NONCE = "0" * 32


def _enroll(server: Running, people: People) -> None:
    for name, point in people.trusted.items():
        value = {"digest": people.study.digest, "nonce": NONCE, "value": point}
        server.http.post(f"/studies/{people.id}/values", headers=server.token(name, people.id), json=value)
    for name in people.local:
        joins = enrollment(people.study, name)
        server.http.post(f"/studies/{people.id}/enrollments", headers=server.token(name, people.id), json=joins)


def test_the_operator_publishes_rounds_and_watches(site: Site, browser: Browser, page: Page) -> None:
    server, study = site.server, KMeansStudy(f"{EVIL} rounds", n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=4)
    people = People.of(study, "rounds", n_trusted=6, n_local=12)
    people.create(server, consent=dict.fromkeys(CONSENT, EVIL))
    _enroll(server, people)
    page.goto("/operator/studies/rounds")
    expect(page.get_by_role("row", name="Enrollment")).to_contain_text("open: people can join and leave")
    page.get_by_label("I know that this cannot be undone.").check()
    page.get_by_role("button", name="Close enrollment").click()
    page.get_by_label("Hours until it ends").fill("48")
    page.get_by_label("I know that this cannot be undone.").check()
    page.get_by_role("button", name="Publish the next round").click()
    expect(page.get_by_text("Round 1 is published.")).to_be_visible()
    page.goto("/operator/studies/rounds")  # the script asks again by itself
    row = page.locator("#rounds tbody tr")
    expect(row.nth(0)).to_contain_text("about")
    expect(row.nth(0).locator("td").nth(4)).to_have_text("0")
    asked = people.asked(server)
    first, *_ = asked.names
    body, headers = asked.messages([first])[first] | {"nonce": NONCE}, server.token(first, "rounds")
    body |= {"enrollment_nonce": nonce_of(first)}
    sent = server.http.post("/studies/rounds/answers", headers=headers, json=body)
    assert sent.status_code == 201, sent.text
    expect(row.nth(0).locator("td").nth(4)).to_have_text("1")  # without a reload
    watching = site.context(browser, bypass_csp=True)
    watched = watching.new_page()
    watched.goto("/operator/studies/rounds")
    expect(watched.locator("#rounds")).to_be_visible()
    audit(watched)
    watching.close()
