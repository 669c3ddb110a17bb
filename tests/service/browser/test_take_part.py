"""People take part in a real browser: one trusts, one does not, one withdraws, and a crowd comes through Node."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.client import verify
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.mechanisms import mechanism_for
from hybriddp.service.store.contributions import sizes, tally, total
from hybriddp.service.store.engine import reading
from hybriddp.service.store.studies import study as stored_study
from hybriddp.study.summary import LocalSummary, TrustedSummary
from tests.service.browser.conftest import EVIL, Site
from tests.service.browser.people import WIDE, People, kept
from tests.service.browser.test_pages import audit
from tests.service.running import CONSENT, Running
from tests.service.test_javascript import person, take_part

pytestmark = pytest.mark.usefixtures("asked")

Change = Callable[[dict[str, Any]], str]


@dataclass(frozen=True)
class Contributions:
    """What people have contributed, as their devices kept it."""

    units: list[int]
    codes: Counter[int]

    @classmethod
    def of(cls, entries: list[dict[str, Any]]) -> "Contributions":
        units = [entry["integer"] for entry in entries if entry["group"] == "trusted"]
        return cls(units, Counter(entry["integer"] for entry in entries if entry["group"] == "local"))

    def require_stored(self, server: Running, study_id: str) -> MeanStudy:
        """The study, if the server has exactly these sums."""
        curator = server.prepared.app.state.curator
        with reading(curator.engine) as connection:
            found = stored_study(connection, study_id)
            assert found is not None
            study = MeanStudy.from_json(found.text)
            assert total(connection, found.number, study.digest, curator.seal) == sum(self.units)
            assert {code: n for code, n in tally(connection, found.number).items() if n} == dict(self.codes)
            assert sizes(connection, found.number).trusted == len(self.units)
        return study

    def estimate(self, study: MeanStudy) -> dict[str, Any]:
        counts = tuple(self.codes[code] for code in range(256))
        found = study.estimate(
            trusted=TrustedSummary(study.digest, len(self.units), (sum(self.units),)),
            local=LocalSummary.of_codes(study.digest, counts, tied=True),
            ledger=Ledger(study.privacy),
        )
        published: dict[str, Any] = json.loads(json.dumps(found.to_dict()))
        return published


def make_study(page: Page, study_id: str, name: str) -> None:
    """By the operator's form."""
    page.goto("/operator/new")
    fields = {"name": name, "lower": "0", "upper": "240", "organization": "Example Ltd", "id": study_id}
    for field, text in (fields | {"purpose": "To see.", "contact": "privacy@example.org"}).items():
        page.fill(f"#{field}", text)
    page.get_by_role("button", name="Make the study").click()
    page.wait_for_url(f"**/operator/studies/{study_id}")


def close_and_release(page: Page, study_id: str) -> None:
    """By the operator's buttons."""
    for step, state in (("Close", "closed"), ("Release", "released")):
        page.goto(f"/operator/studies/{study_id}")
        page.get_by_label("I know that this cannot be undone.").check()
        page.get_by_role("button", name=step, exact=True).click()
        expect(page.locator(".state")).to_have_text(state)


@pytest.mark.parametrize(
    "crowd", [pytest.param(120, marks=pytest.mark.representative), pytest.param(5000, marks=pytest.mark.long)]
)
def test_a_study_from_its_form_to_its_result(
    site: Site, page: Page, people: People, monkeypatch: pytest.MonkeyPatch, crowd: int
) -> None:
    server, study_id, name = site.server, f"whole-{crowd}", f"minutes of {crowd}"
    make_study(page, study_id, name)
    alice, bob, carol = (people(who) for who in ("alice", "bob", "carol"))
    for one, choice, value in ((alice, "report", 37.5), (bob, "trust", 60.0), (carol, "trust", 240.0)):
        one.arrive(study_id)
        one.choose(choice, value)
        expect(one.page.locator("#said")).to_have_text("Thank you. You have taken part.")
    (report,), (given,) = kept(alice.page), kept(bob.page)
    assert set(json.loads(report["body"])) == {"digest", "code", "nonce"}
    assert f"Code {report['integer']}" in alice.page.locator("#sent").inner_text()
    keys = server.http.get("/.well-known/hybriddp-receipts.json").json()
    for entry in (report, given):
        verify(entry["receipt"], keys)
    carol.page.get_by_role("button", name="Withdraw").click()
    expect(carol.page.locator("#said")).to_contain_text("You have withdrawn.")
    assert [set(entry) for entry in kept(carol.page)] == [{"gone", "receipt"}]

    acts = [("trust" if i % 4 == 0 else "report", 2.0 * (i % 100)) for i in range(crowd)]
    devices = take_part(server, [person(server, f"p{i}", study_id, act) for i, act in enumerate(acts)])
    gathered = Contributions.of([report, given, *(device["kept"] for device in devices)])
    assert (len(gathered.units), gathered.codes.total()) == (1 + crowd // 4, 1 + crowd - crowd // 4)
    study = gathered.require_stored(server, study_id)

    noise: list[object] = []
    mechanism: Any = type(mechanism_for(study.privacy))
    draw = mechanism.draw

    def noted(*given: object) -> object:
        noise.append(draw(*given))
        return noise[-1]

    monkeypatch.setattr(mechanism, "draw", noted)
    close_and_release(page, study_id)
    result = server.http.get(f"/studies/{study_id}/result").json()
    # The same contributions and the same noise, which is what the server drew, give what the server published.
    monkeypatch.setattr(mechanism, "draw", lambda *_: noise[0])
    assert (len(noise), result["estimate"]) == (1, gathered.estimate(study))

    alice.arrive(study_id)
    expect(alice.page.locator("#sent")).to_contain_text("What this device kept of it has been deleted.")
    assert kept(alice.page) == [{"gone": "closed"}]
    alice.page.get_by_role("link", name="See the result").click()
    answer = result["answer"].splitlines()[-1].removeprefix(f"{name}: ")
    expect(alice.page.locator(".answer")).to_have_text(answer)
    with alice.page.expect_download() as table:
        alice.page.get_by_role("link", name="CSV").click()
    numbers = [result["estimate"]["rows"][0][name] for name in ("value", "lower", "upper")]
    assert table.value.path().read_text().splitlines()[1].split(",") == ["mean", *map(str, numbers)]
    with alice.page.expect_download() as picture:
        alice.page.get_by_role("link", name="picture (SVG)").click()
    assert picture.value.path().read_text().startswith("<svg xmlns=")


@pytest.fixture(scope="module")
def asked(site: Site) -> Running:
    """Open studies of each kind, with tokens and without; all words of one try to be markup."""
    server = site.server
    server.create(MeanStudy("steps", bounds=(0, 240), epsilon=1), "steps")
    server.create(MeanStudy("pilot steps", bounds=(0, 240), epsilon=1), "pilot", tokens=False)
    fruit = FrequencyStudy("fruit, on a page", categories=["apple", "pear", EVIL], epsilon=1, other=True)
    server.create(fruit, "fruit", tokens=False, consent=dict.fromkeys(CONSENT, EVIL))
    server.create(DistributionStudy("load, on a page", bounds=(0, 1000), epsilon=2, scale="log"), "load")
    return server


def test_taking_part_has_no_barrier_and_words_stay_words(people: People) -> None:
    one = people("erin", bypass_csp=True)
    page = one.page
    page.goto("/studies/fruit/take-part")
    expect(page.locator("#checked li")).to_have_count(3)
    audit(page)
    page.set_viewport_size(WIDE)
    one.choose("report", "2")
    expect(page.locator("#sent")).to_contain_text("Your receipt")
    page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    audit(page)
    assert EVIL in page.locator(".facts").inner_text()
    assert f"yours: {EVIL}" in page.locator(".odds").inner_text()
    assert page.locator("main img, main script").count() == 0


def test_odds_are_shown_side_by_side(people: People) -> None:
    fay = people("fay")
    fay.arrive("steps")
    fay.choose("report", 30.0)
    expect(fay.page.locator(".odds")).to_contain_text("yours: 30")
    expect(fay.page.locator("#sent")).to_contain_text("more than 2.72 times as likely")
    shown = [float(text.split()[0]) for text in fay.page.locator(".odds .bar span").all_inner_texts()]
    assert len(shown) == 2
    assert max(shown) <= 2.9 * min(shown)  # e, and what rounding to two digits adds
    gus = people("gus")
    gus.page.goto("/studies/fruit/take-part")
    gus.choose("report", "1")
    expect(gus.page.locator(".odds")).to_contain_text("something else")
    counts = [int(text.split()[0]) for text in gus.page.locator(".odds .bar span").all_inner_texts()]
    assert len(counts) == 4
    assert 998 <= sum(counts) <= 1002 or len(set(counts)) <= 2
    hal = people("hal")
    hal.arrive("load")
    hal.choose("report", 480.0)
    expect(hal.page.locator("#sent")).to_contain_text("First your device drew a pattern")
    hal.page.reload()  # the browser posts the token again; what was typed is not kept
    expect(hal.page.locator("#said")).to_contain_text("has signed a receipt")
    assert "480" not in hal.page.locator("#sent").inner_text()
    expect(hal.page.locator(".odds .bar")).to_have_count(3)  # both bounds and their middle: 480 is not known any more


def test_by_keyboard_alone(people: People) -> None:
    one = people("ida")
    page = one.page
    page.goto("/studies/pilot/take-part")
    expect(page.locator("#checked li")).to_have_count(3)
    for _ in range(30):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            "[document.activeElement.id, document.activeElement.value, document.activeElement.textContent]"
        )
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") in ("solid", "auto"), focus
        if focus[0] == "value":
            page.keyboard.type("42")
        if focus[1] == "report":
            page.keyboard.press("Space")
        if focus[2] == "Take part":
            page.keyboard.press("Enter")
            break
    expect(page.locator("#said")).to_have_text("Thank you. You have taken part.")
    expect(page.locator("#sent h2").first).to_be_focused()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Forget it on this device":
            page.keyboard.press("Enter")
            break
    expect(page.locator("#said")).to_have_text("This device has forgotten what it kept.")
    assert kept(page) == []  # nobody knows who comes next in a pilot
    expect(page.locator("#value")).to_be_visible()
    expect(page.locator("#value")).to_have_value("")
    expect(page.locator("#sent")).to_be_empty()  # and not only out of sight


def test_a_device_with_a_token_forgets_all_but_that_there_was_something(people: People) -> None:
    one = people("jo")
    one.page.goto("/studies/steps/take-part")
    one.page.fill("#token", one.token("steps"))  # pasted
    one.choose("trust", 12.0)
    expect(one.page.locator("#sent")).to_contain_text("You trusted the curator with this:")
    with one.page.expect_download() as saved:
        one.page.get_by_role("link", name="Save the receipt").click()
    document = json.loads(saved.value.path().read_text(encoding="utf-8"))
    verify(document, one.server.http.get("/.well-known/hybriddp-receipts.json").json())
    one.page.get_by_role("button", name="Forget it on this device").click()
    expect(one.page.locator("#sent")).to_contain_text("made it forget")
    assert kept(one.page) == [{"gone": "forgotten"}]
    expect(one.page.locator("#value")).to_have_value("")


def test_what_is_kept_is_deleted_after_the_study_even_if_nobody_brings_the_token_again(people: People) -> None:
    one = people("vic")
    one.server.create(MeanStudy("ended", bounds=(0, 240), epsilon=1), "ended")
    one.arrive("ended")
    one.choose("trust", 12.0)
    expect(one.page.locator("#sent")).to_contain_text("You trusted the curator with this:")
    one.page.goto("/studies/ended/take-part")  # by a link, without a token
    expect(one.page.locator("#checked li")).to_have_count(3)
    assert kept(one.page)[0]["group"] == "trusted"
    assert one.server.move("close", "ended").is_success
    one.page.goto("/studies/ended/take-part")
    expect(one.page.locator("#said")).to_contain_text("What this device kept of it has been deleted")
    assert kept(one.page) == [{"gone": "closed"}]


def test_a_tab_that_comes_second_does_not_say_that_the_code_was_drawn_for_its_value(people: People) -> None:
    one = people("una")
    second = one.context.new_page()
    for page in (second, one.page):
        page.goto("/studies/pilot/take-part")
        expect(page.locator("#checked li")).to_have_count(3)
    one.choose("report", 10.0)
    expect(one.page.locator("#sent")).to_contain_text("yours: 10")
    second.fill("#value", "200")
    second.check("[value=report]")
    second.get_by_role("button", name="Take part").click()
    expect(second.locator("#said")).to_contain_text("what you typed now was not used")
    expect(second.locator("#sent")).to_contain_text("Code")
    expect(second.locator("#sent")).not_to_contain_text("yours")
    assert len(kept(second)) == 1


TAMPERED = [
    ("text", lambda study: study["text"].replace("steps", "stops"), "This study was changed on the way."),
    ("epsilon", lambda _: "0.5", "does not keep what it promises"),
    ("digest", lambda _: "0" * 64, "is not the one that this app was made for"),
    ("kind", lambda _: "survey", "of a kind that this app does not know"),
]


@pytest.mark.parametrize(("field", "change", "words"), TAMPERED, ids=[case[0] for case in TAMPERED])
def test_a_tampered_study_is_refused(asked: Running, people: People, field: str, change: Change, words: str) -> None:
    one = people("lea")

    def tamper(route: Route) -> None:
        study = asked.http.get("/studies/steps").json()
        route.fulfill(json=study | {field: change(study)})

    one.page.route("**/studies/steps", tamper)
    one.arrive("steps")
    expect(one.page.locator("#said")).to_contain_text(words)
    expect(one.page.locator("#said")).to_contain_text("Nothing was drawn or sent.")
    assert one.page.get_by_role("button", name="Take part").count() == 0
    assert kept(one.page) == []


def test_a_channel_that_does_not_keep_its_promise_is_refused(asked: Running, people: People) -> None:
    one = people("mia")
    study = asked.http.get("/studies/pilot").json()
    weak = re.sub(
        r'"low":(\d+),"extra":(\d+)', lambda found: f'"low":{int(found[1]) // 2},"extra":{found[2]}', study["text"]
    )
    assert weak != study["text"]
    digest = hashlib.sha256(weak.encode()).hexdigest()
    page = asked.http.get("/studies/pilot/take-part").text.replace(study["digest"], digest)
    one.page.route("**/studies/pilot", lambda route: route.fulfill(json=study | {"text": weak, "digest": digest}))
    one.page.route("**/take-part", lambda route: route.fulfill(body=page, content_type="text/html"))
    one.page.goto("/studies/pilot/take-part")
    expect(one.page.locator("#said")).to_contain_text("This study does not keep what it promises.")
    assert one.page.get_by_role("button", name="Take part").count() == 0
    assert kept(one.page) == []


def test_a_forged_receipt_is_refused_and_the_right_one_is_asked_for_again(people: People) -> None:
    one = people("max")
    sent: list[str] = []

    def forge(route: Route) -> None:
        sent.append(route.request.post_data or "")
        answer = route.fetch()
        document = answer.json()
        document["receipt"]["day"] = "2020-01-01"
        route.fulfill(response=answer, json=document)

    one.page.route("**/reports", forge)
    one.arrive("steps")
    one.choose("report", 30.0)
    expect(one.page.locator("#said")).to_contain_text("not signed as it should be")
    expect(one.page.locator("#sent")).to_contain_text("No receipt yet")
    one.page.unroute("**/reports")
    with one.page.expect_request("**/reports") as again:
        one.page.get_by_role("button", name="Send it again now").click()
    expect(one.page.locator("#sent")).to_contain_text("Your receipt")
    assert [again.value.post_data] == sent


@pytest.mark.parametrize("trouble", ["500", "gone", "hang"])
def test_a_server_in_trouble_loses_nothing_and_nothing_is_drawn_twice(people: People, trouble: str) -> None:
    one = people(f"nia {trouble}")
    page, sent = one.page, []

    def fail(route: Route) -> None:
        sent.append(route.request.post_data)
        if trouble == "500":
            route.fulfill(status=500, body="<h1>proxy")
        elif trouble == "gone":
            route.abort()
        # one that hangs is never answered: the page's clock says when that has been long enough

    page.clock.install()
    page.route("**/reports", fail)
    one.arrive("steps")
    one.choose("report", 99.0)
    expect(page.locator("#sent")).to_be_hidden()
    for _ in range(12):
        page.clock.run_for(5000)
        if "does not answer" in page.locator("#said").inner_text():
            break
    expect(page.locator("#said")).to_contain_text("The curator does not answer now. What was drawn is kept")
    expect(page.locator("#sent")).to_contain_text("No receipt yet")
    (entry,) = kept(page)
    page.unroute("**/reports")
    with page.expect_request("**/reports") as again:
        page.clock.run_for(21_000)  # by itself
    expect(page.locator("#sent")).to_contain_text("Your receipt")
    assert {*sent, again.value.post_data} == {entry["body"]}
    assert kept(page)[0]["integer"] == entry["integer"]
