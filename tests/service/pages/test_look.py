from hybriddp.reporting.html import Section
from hybriddp.service.pages.look import hidden, kept, not_ready, people_page, script_tag, server_page, style_tag
from tests.service.pages.test_operator import EVIL, Read


def test_every_page_leads_to_the_others_and_says_where_it_is() -> None:
    page = Read(server_page("x", [Section("", [])], here="/plan"))
    assert page.all("href") == ["/", "/plan", "/operator"]
    assert page.all("aria-current") == ["page"]
    assert page.tags.count("nav") == page.tags.count("main") == page.tags.count("h1") == 1
    assert page.all("aria-current") != Read(server_page("x", [])).all("aria-current")


def test_a_page_for_people_leads_nowhere_that_is_not_theirs() -> None:
    page = Read(people_page("x", [Section("", [])], footer=EVIL))
    assert page.all("href") == []
    assert "nav" not in page.tags
    assert page.tags.count("main") == page.tags.count("h1") == 1


def test_scripts_are_loaded_from_here() -> None:
    assert script_tag("plan.js").startswith('<script type="module" src="/static/')
    assert style_tag("uplot.css").startswith('<link rel="stylesheet" href="/static/')


def test_what_is_said_until_a_script_runs() -> None:
    assert not_ready("Wait & see.") == '<p class="not-ready" role="alert">Wait &amp; see.</p>'
    assert not_ready("Wait.", style="hint") == '<p class="not-ready hint">Wait.</p>'


def test_small_things() -> None:
    assert kept("5 % of 6 %, but a %") == "5\N{NO-BREAK SPACE}% of 6\N{NO-BREAK SPACE}%, but a %"
    assert Read(hidden("a", EVIL)).all("value") == [EVIL]
