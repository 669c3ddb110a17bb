"""People take part in a K-means study in a real browser: one trusts, one is asked later, one withdraws, and a crowd."""

import json
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, Route, expect

from hybriddp.client import verify
from hybriddp.client.contribution import answer_commitment
from hybriddp.kmeans import KMeansStudy
from hybriddp.kmeans.protocol.turns import Turns, place
from hybriddp.kmeans.report import answer_blocks
from hybriddp.release.mechanisms import Mechanism
from tests.service.browser.conftest import EVIL, Site
from tests.service.browser.people import DRAWN, WIDE, People, Person, kept
from tests.service.browser.test_pages import audit
from tests.service.kmeans_people import DEADLINE, enrollment, in_memory
from tests.service.kmeans_people import People as Points
from tests.service.running import CONSENT, Running
from tests.service.test_javascript import Devices, devices_in_node
from tests.service.test_javascript_kmeans import devices_of, started_again

TURN = "It was your turn: your device has answered."
NOT_YET = "It is not your turn yet."


@pytest.fixture
def node(site: Site) -> Iterator[Devices]:
    with devices_in_node(site.server) as devices:
        yield devices


def study_of(name: str, d: int = 2) -> KMeansStudy:
    return KMeansStudy(name, n_clusters=2, bounds=[(0, 10)] * d, epsilon=4)


def first_asked(study: KMeansStudy, who: str) -> str:
    """The name of somebody whom the first round asks, whatever it is: it asks a hundredth of all at least."""
    return next(
        name for name in (f"{who} {i}" for i in range(10_000)) if place(study.digest, name, DRAWN) < 2**64 // 100
    )


def choose(one: Person, choice: str, point: list[float]) -> None:
    expect(one.page.locator("#checked li")).to_have_count(3)
    for j, x in enumerate(point, start=1):
        one.page.fill(f"#value{j}", str(x))
    one.page.check(f"[name=choice][value={choice}]")
    one.page.get_by_role("button", name="Take part").click()


def make_study(page: Page, study: KMeansStudy, study_id: str) -> None:
    """By the operator's form."""
    page.goto("/operator/new")
    page.check("[name=kind][value=kmeans]")
    expect(page.locator("#lower")).to_be_hidden()
    fields = {"name": study.name, "clusters": "2", "epsilon": "4", "id": study_id, "organization": "Example Ltd"}
    fields["ranges"] = "\n".join(f"0 10 length {j}" for j in range(study.box.n_dimensions))
    for field, text in (fields | {"purpose": "To see.", "contact": "privacy@example.org"}).items():
        page.fill(f"#{field}", text)
    page.get_by_role("button", name="Make the study").click()
    page.wait_for_url(f"**/operator/studies/{study_id}")


def next_step(page: Page, study_id: str) -> str:
    """By the operator's button, whatever is next; the state that the study is in then."""
    page.goto(f"/operator/studies/{study_id}")
    page.get_by_label("I know that this cannot be undone.").check()
    page.locator("form.next button.next").click()
    expect(page.locator(".state")).to_be_visible()
    return page.locator(".state").inner_text()


def counts_of(entry: dict[str, Any]) -> set[str]:
    """How many of 1,000 people would have sent a code that is true of them, and one that is not."""
    channel = json.loads(entry["answer"]["channel"])
    weights = (channel["low"], channel["low"] + channel["extra"])
    people = [1000 * weight / 2 ** channel["bits"] for weight in weights]
    return {f"{n:.2g} of 1,000" if n < 10 else f"{n:.0f} of 1,000" for n in people}


@dataclass
class Crowd:
    """Devices in Node that wait for their rounds, and what has been said in each."""

    server: Running
    people: Points
    devices: Devices
    waiting: dict[str, dict[str, Any]]
    said: list[list[dict[str, Any]]]

    @classmethod
    def joining(cls, server: Running, people: Points, devices: Devices) -> "Crowd":
        """The whole crowd, in both groups."""
        trusting = {name: [("trust", point)] for name, point in people.trusted.items()}
        enrolling = {name: [("enroll", point)] for name, point in people.local.items()}
        told = devices_of(server, people, trusting | enrolling)
        done = dict(zip(trusting | enrolling, started_again(told, devices(told), ("resume", None)), strict=True))
        return cls(server, people, devices, {name: done[name] for name in enrolling}, [])

    def answer(self, others: Sequence[dict[str, Any]]) -> None:
        """Those whose turn it is answer, by themselves; a fifth of them has gone. What others kept is counted, too."""
        nonces = {name: device["kept"]["nonce"] for name, device in self.waiting.items()}
        asked = self.people.asked(self.server, nonces).names
        staying = [self.waiting[name] for i, name in enumerate(asked) if i % 5]
        answers = [one["kept"]["answer"] for one in self.devices(staying)]
        answers += [entry["answer"] for entry in others]
        self.said.append([_message(answer) for answer in answers])


def _message(answer: dict[str, Any]) -> dict[str, Any]:
    """What was sent, without the nonces."""
    return {name: value for name, value in json.loads(answer["body"]).items() if "nonce" not in name}


@pytest.mark.parametrize("d", [2, 8])
@pytest.mark.parametrize("crowd", [60, pytest.param(5000, marks=pytest.mark.long)])
def test_a_study_from_its_form_to_its_result(
    site: Site, page: Page, people: People, node: Devices, monkeypatch: pytest.MonkeyPatch, d: int, crowd: int
) -> None:
    monkeypatch.setattr(Mechanism, "draw", lambda _, shape, *__: np.zeros(shape, np.int64))
    server, study_id = site.server, f"points-{d}-{crowd}"
    study = study_of(f"points of {d}, {crowd} people", d)
    make_study(page, study, study_id)
    assert server.http.get(f"/studies/{study_id}").json()["digest"] == study.digest

    alice, bob, carol = people("alice"), people(first_asked(study, "bob")), people("carol")
    bob.page.clock.install()
    for one, choice, x in ((alice, "trust", 7.0), (bob, "report", 2.0), (carol, "report", 5.0)):
        one.arrive(study_id).locator("#take-part").get_by_label("length 1").focus()
        choose(one, choice, [x] * d)
        expect(one.page.locator("#said")).to_contain_text("Thank you. You")
    expect(bob.page.locator("#sent .code")).to_contain_text("length 0 2")  # by the names that the operator gave
    (given,), (waiting,) = kept(alice.page), kept(bob.page)
    assert (set(json.loads(waiting["body"])), waiting["point"]) == ({"digest", "nonce"}, [2.0] * d)
    carol.page.get_by_role("button", name="Withdraw").click()
    expect(carol.page.locator("#said")).to_contain_text("You have withdrawn.")
    assert [set(entry) for entry in kept(carol.page)] == [{"gone", "receipt"}]

    others = Points.of(study, study_id, n_trusted=crowd // 4, n_local=crowd - crowd // 4)
    devices = Crowd.joining(server, others, node)
    assert next_step(page, study_id) == "closed"
    counts = server.http.get(f"/studies/{study_id}").json()["counts"]
    assert counts == {"trusted": 1 + crowd // 4, "local": 1 + crowd - crowd // 4}
    assert next_step(page, study_id) == "asking"
    let_it_look(bob.page)
    expect(bob.page.locator("#said")).to_have_text(TURN)
    (entry,) = kept(bob.page)
    require_shown(bob.page, entry)
    verify(entry["answer"]["receipt"], server.http.get("/.well-known/hybriddp-receipts.json").json())
    devices.answer([entry])
    assert next_step(page, study_id) == "closed"
    while ask(server, study_id) is not None:  # as the page does
        devices.answer([])
        server.move("close", study_id)

    assert next_step(page, study_id) == "released"
    value = json.loads(given["body"])["value"]
    everybody = Points(study, study_id, {"alice": value} | others.trusted, {bob.name: [2.0] * d} | others.local)
    alone = in_memory(everybody, devices.said)
    estimate = server.http.get(f"/studies/{study_id}/result").json()["estimate"]
    assert (estimate["centers"], estimate["n_answered"]) == (
        alone.cluster_centers.tolist(),
        sum(map(len, devices.said)),
    )
    alice.page.goto(f"/studies/{study_id}/result.html")
    assert "length 1" in alice.page.locator("thead").first.inner_text()
    table = "".join(answer_blocks(alone.result)[-2:])
    assert alice.page.locator("tbody td").all_inner_texts() == re.findall(r"<td[^>]*>([^<]*)</td>", table)
    bob.arrive(study_id)
    expect(bob.page.locator("#sent")).to_contain_text("What this device kept of it has been deleted.")
    assert kept(bob.page) == [{"gone": "closed"}]


def let_it_look(page: Page) -> None:
    """Let a page's clock run until it asks the server something; nobody touches it, and no request of it times out."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(40):
        if asked:
            break
        page.clock.run_for(3000)
    assert asked


def require_shown(page: Page, entry: dict[str, Any]) -> None:
    """What left the device is what the page shows, with the channel's own odds."""
    answer, shown = entry["answer"], page.locator("#sent").inner_text()
    message = json.loads(answer["body"])
    assert "point" not in entry
    assert answer["receipt"]["receipt"]["commitment"] == answer_commitment(message, message["nonce"])
    assert f"Code {message['code']}" in shown
    assert f"{answer['number']}: {answer['purpose']}" in shown
    assert f"{message['ask'] + 1}, variant {message['variant'] + 1}" in shown
    assert set(page.locator(".odds .bar span").all_inner_texts()) == counts_of(entry)


def enrolled(server: Running, one: Person, study: KMeansStudy, study_id: str) -> None:
    """A study in which this person and some others have enrolled, closed."""
    points = Points.of(study, study_id, n_trusted=4, n_local=8)
    assert points.create(server).is_success
    join(server, points)
    one.arrive(study_id)
    choose(one, "report", [2.0, 7.0])
    expect(one.page.locator("#said")).to_contain_text("Thank you. You take part.")
    assert server.move("close", study_id).is_success


def join(server: Running, people: Points) -> None:
    """Some people of both groups, who do not matter here."""
    bodies: dict[str, dict[str, object]] = {name: {"value": point} for name, point in people.trusted.items()}
    for name, body in (bodies | {name: {} for name in people.local}).items():
        path = f"/studies/{people.id}/{'values' if body else 'enrollments'}"
        value = {"digest": people.study.digest, "nonce": secrets.token_hex(16), **body}
        sent = value if body else enrollment(people.study, name)
        assert server.http.post(path, headers=server.token(name, people.id), json=sent).is_success


def ask(server: Running, study_id: str) -> dict[str, Any] | None:
    """Publish the next round; what devices get, or None after the last one."""
    made = server.http.post(f"/studies/{study_id}/round", headers=server.admin, json=DEADLINE)
    assert made.is_success, made.text
    found = made.json()["round"] and server.http.get(f"/studies/{study_id}/round").json()
    return dict(found) if found else None


def test_no_barrier_at_any_time_and_words_stay_words(site: Site, people: People) -> None:
    study, study_id = study_of(EVIL), "barriers"
    one = people(first_asked(study, "erin"), bypass_csp=True)
    points = Points(study, study_id, {}, {})
    assert points.create(site.server, consent=dict.fromkeys(CONSENT, EVIL), single_group=True).is_success
    one.arrive(study_id)
    expect(one.page.locator("#checked li")).to_have_count(3)
    audit(one.page)
    assert EVIL in one.page.locator("h1").inner_text()
    one.page.set_viewport_size(WIDE)
    choose(one, "report", [2.0, 7.0])
    expect(one.page.locator("#sent")).to_contain_text("You will be asked once")
    _open_all(one.page)
    audit(one.page)
    join(site.server, Points.of(study, study_id, n_trusted=0, n_local=6))
    site.server.move("close", study_id)
    ask(site.server, study_id)
    one.page.goto(f"/studies/{study_id}/take-part")  # without the token, which is pasted then
    audit(one.page)
    one.page.fill("#token", one.token(study_id))
    one.page.locator("#token").blur()
    expect(one.page.locator("#said")).to_have_text(TURN)
    _open_all(one.page)
    audit(one.page)
    assert one.page.locator("main img, main script").count() == 0


def _open_all(page: Page) -> None:
    page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")


def test_by_keyboard_alone(site: Site, people: People) -> None:
    study, study_id = study_of("keys"), "keys"
    assert Points(study, study_id, {}, {}).create(site.server).is_success
    one = people("ida")
    page = one.arrive(study_id)
    expect(page.locator("#checked li")).to_have_count(3)
    for _ in range(30):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            "[document.activeElement.id, document.activeElement.value, document.activeElement.textContent]"
        )
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") in ("solid", "auto"), focus
        if re.fullmatch(r"value\d", focus[0]):
            page.keyboard.type("4.5")
        if focus[1] == "report":
            page.keyboard.press("Space")
        if focus[2] == "Take part":
            page.keyboard.press("Enter")
            break
    expect(page.locator("#said")).to_contain_text("Thank you. You take part.")
    expect(page.locator("#sent h2").first).to_be_focused()
    assert kept(page)[0]["point"] == [4.5, 4.5]
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Forget it on this device":
            page.keyboard.press("Enter")
            break
    expect(page.locator("#said")).to_have_text("This device has forgotten what it kept.")
    assert kept(page) == [{"gone": "forgotten"}]


def test_early_and_late_are_said_in_words(site: Site, people: People) -> None:
    study, study_id = study_of("early and late"), "early-late"
    one = people(first_asked(study, "lena"))
    other = people(next(f"mona {i}" for i in range(1000) if place(study.digest, f"mona {i}", DRAWN) > 2**64 * 0.97))
    enrolled(site.server, one, study, study_id)
    one.page.goto("about:blank")  # it is not there in time
    ask(site.server, study_id)
    other.arrive(study_id)
    expect(other.page.locator("#said")).to_contain_text("you did not take part from here")
    site.server.move("close", study_id)
    ask(site.server, study_id)
    one.arrive(study_id)
    expect(one.page.locator("#said")).to_contain_text("has ended before your device answered")
    assert "point" not in kept(one.page)[0]
    one.page.get_by_role("button", name="Forget it on this device").click()
    assert kept(one.page) == [{"gone": "forgotten"}]


def test_whoever_is_early_waits_and_cannot_withdraw_any_more(site: Site, people: People) -> None:
    study, study_id = study_of("early"), "early"
    one = people(next(f"nora {i}" for i in range(1000) if place(study.digest, f"nora {i}", DRAWN) > 2**64 * 0.97))
    enrolled(site.server, one, study, study_id)
    expect(one.page.locator("#value1")).to_have_value("")  # only hidden; what was typed is kept elsewhere
    withdraw = one.page.get_by_role("button", name="Withdraw")
    withdraw.click()  # the page does not know yet that it is too late
    expect(one.page.locator("#said")).to_contain_text("withdrawing has ended")
    ask(site.server, study_id)
    one.page.get_by_role("button", name="Look now whether it is my turn").click()
    expect(one.page.locator("#said")).to_contain_text(NOT_YET)
    expect(withdraw).to_have_count(0)
    (entry,) = kept(one.page)
    assert entry["point"] == [2.0, 7.0]
    assert len(json.loads(entry["turns"])["fractions"]) == 1


def test_tampered_rounds_and_turns_are_refused(site: Site, people: People) -> None:
    study, study_id = study_of("tampered"), "tampered"
    one = people(first_asked(study, "olga"))
    enrolled(site.server, one, study, study_id)
    told = ask(site.server, study_id) or {}
    turns = Turns.from_json(told["turns"])
    weak = re.sub(r'"low":(\d+)', lambda found: f'"low":{int(found[1]) // 2}', told["text"])
    lies: list[tuple[dict[str, object], str]] = [
        ({"text": weak}, "would give away more than you were promised"),
        ({"text": told["text"].replace('"epsilon":"4"', '"epsilon":"8"')}, "not one of this study"),
        ({"turns": Turns("0" * 64, turns.fractions).to_json()}, "whose turn it is"),
        ({"turns": Turns(study.digest, (turns.fractions[0] / 2,)).to_json()}, "whose turn it is"),
    ]
    sent: list[str] = []
    lying: dict[str, object] = {}
    one.page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/answers") else None)
    one.page.route("**/round", lambda route: route.fulfill(json=told | lying))
    for lie, words in lies:
        lying = lie
        one.arrive(study_id)
        expect(one.page.locator("#said")).to_contain_text(words)
        expect(one.page.locator("#said")).to_contain_text("Nothing was drawn and nothing was sent.")
        (entry,) = kept(one.page)
        assert (entry["point"], sent) == ([2.0, 7.0], [])
        assert "answer" not in entry
    lying = {}
    one.arrive(study_id)
    expect(one.page.locator("#said")).to_have_text(TURN)
    assert len(sent) == 1


@pytest.mark.parametrize("trouble", ["500", "gone", "hang"])
def test_a_server_in_trouble_loses_nothing_and_nothing_is_drawn_twice(site: Site, people: People, trouble: str) -> None:
    study, study_id = study_of(f"trouble {trouble}"), f"trouble-{trouble}"
    one = people(first_asked(study, "pia"))
    enrolled(site.server, one, study, study_id)
    ask(site.server, study_id)
    page, sent = one.page, []

    def fail(route: Route) -> None:
        sent.append(route.request.post_data)
        if trouble == "500":
            route.fulfill(status=500, body="<h1>proxy")
        elif trouble == "gone":
            route.abort()
        # one that hangs is never answered: the page's clock says when that has been long enough

    page.clock.install()
    page.route("**/answers", fail)
    with page.expect_request("**/answers"):  # before its clock runs: the rest has come by then
        one.arrive(study_id)
    for _ in range(12):
        page.clock.run_for(5000)
        if "does not answer" in page.locator("#said").inner_text():
            break
    expect(page.locator("#said")).to_contain_text("The curator does not answer now.")
    expect(page.locator("#sent")).to_contain_text("No receipt yet")
    (entry,) = kept(page)
    assert "point" not in entry
    page.unroute("**/answers")
    with page.expect_request("**/answers") as again:
        page.clock.run_for(21_000)  # by itself
    expect(page.locator("#sent")).to_contain_text("Your receipt")
    assert {*sent, again.value.post_data} == {entry["answer"]["body"]}
    assert kept(page)[0]["answer"]["body"] == entry["answer"]["body"]
