"""Items that nobody has listed, in a real browser: one person trusts, the list is released, others report about it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from hybriddp import HeavyHitterStudy
from tests.service.browser.conftest import EVIL, Site
from tests.service.browser.people import WIDE, Person, kept
from tests.service.browser.test_pages import audit
from tests.service.running import CONSENT
from tests.service.test_javascript import person, take_part

STUDY = HeavyHitterStudy(f"words {EVIL}", epsilon=8, delta="0.001")


@pytest.fixture
def two(site: Site, browser: Browser) -> Iterator[tuple[Person, Person]]:
    found = Person(site.server, browser, "ann", bypass_csp=True), Person(site.server, browser, "ben", bypass_csp=True)
    yield found
    for one in found:
        one.context.close()
    assert [one.wrong for one in found] == [[], []]


def choose(one: Person, choice: str, item: str) -> None:
    one.page.fill("#value", item)
    one.page.check(f"[name=choice][value={choice}]")
    one.page.get_by_role("button", name="Take part").click()
    expect(one.page.locator("#said")).to_have_text("Thank you. You have taken part.")


def test_an_item_is_trusted_and_later_one_is_reported_about_the_list(site: Site, two: tuple[Person, Person]) -> None:
    server, (ann, ben) = site.server, two
    assert server.create(STUDY, "words", consent=dict.fromkeys(CONSENT, EVIL)).is_success
    ann.arrive("words")
    expect(ann.page.locator("#checked")).to_contain_text("How reports are drawn comes with the list")
    expect(ann.page.locator("[value=report]")).to_be_disabled()
    audit(ann.page)
    ann.page.set_viewport_size(WIDE)
    choose(ann, "trust", f" {EVIL[:40]} ")
    assert ann.page.locator("#sent .code").inner_text() == EVIL[:40]
    assert kept(ann.page)[0]["receipt"]["receipt"]["digest"] == STUDY.digest
    ben.page.goto("/studies/words/take-part")
    assert "Not yet" in ben.page.locator("#take-part").inner_text()

    items = [*["weather"] * 40, *[EVIL[:40]] * 40]
    take_part(server, [person(server, f"t{i}", "words", ("trust", item)) for i, item in enumerate(items)])
    assert server.move("list", "words").is_success
    question = server.http.get("/studies/words").json()["question"]
    ben.arrive("words")
    expect(ben.page.locator("#checked li")).to_have_count(4)
    expect(ben.page.locator("[value=trust]")).to_be_disabled()
    assert EVIL[:40] in ben.page.locator("main details li").all_inner_texts()
    audit(ben.page)
    ben.page.set_viewport_size(WIDE)
    choose(ben, "report", "weather")
    assert kept(ben.page)[0]["digest"] == question["digest"]
    shown = ben.page.locator(".odds").inner_text()
    assert "yours: weather" in shown
    assert "something else" in shown
    audit(ben.page)
    ben.page.get_by_role("button", name="Withdraw").click()
    expect(ben.page.locator("#said")).to_contain_text("You have withdrawn.")

    ann.arrive("words")  # trusted before the list: the receipt stays, and there is no way back
    expect(ann.page.locator("#sent")).to_contain_text("there is nothing left to withdraw")
    assert ann.page.get_by_role("button", name="Withdraw").count() == 0


def test_what_is_not_on_the_list_is_compared_as_something_else(site: Site, two: tuple[Person, Person]) -> None:
    server, (one, _) = site.server, two
    study = HeavyHitterStudy("words, listed", epsilon=8, delta="0.001")
    assert server.create(study, "listed").is_success
    take_part(server, [person(server, f"t{i}", "listed", ("trust", "weather")) for i in range(40)])
    assert server.move("list", "listed").is_success
    one.arrive("listed")
    choose(one, "report", "nothing of the kind")
    assert "yours: something else" in one.page.locator(".odds").inner_text()
    assert "nothing of the kind" not in str(kept(one.page))
