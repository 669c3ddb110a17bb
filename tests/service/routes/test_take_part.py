import json
import logging
import re
import threading
from html import unescape

import httpx
import pytest

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.client import commitment
from hybriddp.frequency.item_integers import integer_of
from hybriddp.kmeans import KMeansStudy
from hybriddp.service import pages, routes
from tests.service.kmeans_people import People
from tests.service.running import CONSENT, Running
from tests.service.test_heavy_life import STUDY as ITEMS

EVIL = '<script>alert(1)</script>"&'
MINUTES = MeanStudy("minutes, by form", bounds=(0, 240), epsilon=1)
POINTS = KMeansStudy("points, by form", n_clusters=2, bounds=[(0, 10), (-1, 1)], epsilon=1)


@pytest.fixture(scope="module")
def server(kept_server: Running) -> Running:
    """A curator with open studies of every kind."""
    fruit = FrequencyStudy("fruit, by form", categories=["apple", EVIL], epsilon=1, other=True)
    kept_server.create(MINUTES, "minutes", consent=dict.fromkeys(CONSENT, EVIL))
    kept_server.create(fruit, "fruit", tokens=False)
    kept_server.create(DistributionStudy("load, by form", bounds=(0, 10), epsilon=1), "load")
    assert kept_server.create(ITEMS, "items").status_code == 201
    assert People(POINTS, "points", {}, {}).create(kept_server).status_code == 201
    return kept_server


def _token(server: Running, who: str, study: str = "minutes") -> str:
    return server.token(who, study)["Authorization"].removeprefix("Bearer ")


def _post(server: Running, study: str, action: str, **fields: str) -> httpx.Response:
    chosen = {"choice": "trust"} if action == "/trust" else {}
    return server.http.post(f"/studies/{study}/take-part{action}", data=chosen | fields)


def test_the_page_says_who_asks_what_and_words_stay_words(server: Running) -> None:
    page = server.http.get("/studies/minutes/take-part")
    assert page.status_code == 200
    assert EVIL not in page.text
    assert unescape(page.text).count(EVIL) == 3  # organization, purpose and contact
    assert "from 0 to 240" in page.text
    assert 'name="choice" value="report" required disabled' in page.text
    assert "script-src 'self';" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"


def test_a_token_comes_by_post_and_is_never_in_an_address(server: Running) -> None:
    token = _token(server, "alice")
    page = _post(server, "minutes", "", token=token)
    assert (page.status_code, page.text.count(token)) == (200, 2)  # to take part, and to withdraw
    assert token not in server.http.get(f"/studies/minutes/take-part?token={token}").text
    assert EVIL not in _post(server, "minutes", "", token=EVIL).text


def test_trust_without_a_script_and_withdraw(server: Running) -> None:
    before = server.http.get("/studies/minutes", headers=server.admin).json()["counts"]["trusted"]
    form = {"token": _token(server, "bob"), "value": "37.5", "nonce": "ab" * 16}
    given = _post(server, "minutes", "/trust", **form)
    again = _post(server, "minutes", "/trust", **form)
    assert (given.status_code, again.status_code) == (201, 200)
    assert "you gave a value, in trust" in given.text
    assert "ab" * 16 in given.text
    counted = server.http.get("/studies/minutes", headers=server.admin).json()["counts"]
    assert counted["trusted"] == before + 1
    other = _post(server, "minutes", "/trust", **form | {"nonce": "cd" * 16})
    assert other.status_code == 409
    assert "already taken part" in other.text
    wrong = _post(server, "minutes", "/withdraw", **form | {"value": "38"})
    assert wrong.status_code == 409
    gone = _post(server, "minutes", "/withdraw", **form)
    assert gone.status_code == 200
    assert "you withdrew your value" in gone.text
    assert server.http.get("/studies/minutes", headers=server.admin).json()["counts"]["trusted"] == before


def test_points_are_trusted_field_by_field_and_withdrawn_as_one_text(server: Running) -> None:
    page = server.http.get("/studies/points/take-part").text
    assert "points.js" in page
    assert "until the study's rounds end" in page
    form = {"token": _token(server, "pat", "points"), "value1": "2.5", "value2": "0.5", "nonce": "ab" * 16}
    for wrong in ({"value2": ""}, {"value2": "ten"}, {"value1": "inf"}):
        refused = _post(server, "points", "/trust", **form | wrong)
        assert (refused.status_code, "into each field" in refused.text) == (422, True)
        assert ('value="0.5"' in refused.text) == ("value2" not in wrong)  # what was typed is still there
    missing = _post(server, "points", "/trust", **{name: text for name, text in form.items() if name != "value2"})
    assert missing.status_code == 422
    assert _post(server, "points", "/trust", **form | {"value": "1 2 3"}).status_code == 400
    given = _post(server, "points", "/trust", **form)
    assert given.status_code == 201
    assert 'name="value" value="2.5 0.5"' in given.text  # for the button that withdraws
    repeated = {"token": form["token"], "value": "2.5 0.5", "nonce": form["nonce"]}
    assert _post(server, "points", "/trust", **repeated).status_code == 200
    gone = _post(server, "points", "/withdraw", **repeated)
    assert (gone.status_code, "you withdrew your value" in gone.text) == (200, True)


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"value": ""}, 422, "Type a number, such as 37.5."),
        ({"value": "nan"}, 422, "Type a number, such as 37.5."),
        ({"value": "many"}, 422, "Type a number, such as 37.5."),
        ({"value": "1_000"}, 422, "Type a number, such as 37.5."),
        ({"value": "37,5"}, 422, "Type a number, such as 37.5."),
        ({"nonce": "xyz"}, 400, "The form is not complete."),
        ({"choice": "report"}, 403, "does not say that you trust the curator"),
        ({"choice": ""}, 403, "does not say that you trust the curator"),
        ({"token": ""}, 401, "The token is missing, has ended, or is not for this study."),
        ({"token": "a.b.c"}, 401, "The token is missing, has ended, or is not for this study."),
    ],
)
def test_what_is_wrong_is_said_on_the_page_with_what_was_typed(
    server: Running, fields: dict[str, str], status: int, words: str
) -> None:
    form = {"token": _token(server, "carol"), "value": "99.25", "nonce": "ef" * 16} | fields
    answer = _post(server, "minutes", "/trust", **form)
    assert answer.status_code == status
    assert words in answer.text
    assert f'value="{form["value"]}"' in answer.text
    assert "added to the study" in answer.text


def test_a_category_is_chosen_by_its_number(server: Running) -> None:
    page = server.http.get("/studies/fruit/take-part").text
    assert EVIL not in page
    options = re.findall(r'<select id="value".*?</select>', page)[0]
    assert re.findall(r'value="(\d*)"', options) == ["", "0", "1", "2"]
    for number, status in (("1", 201), ("2", 201), ("3", 422), ("0000000001", 422), ("-1", 422), ("٣", 422), ("", 422)):
        assert _post(server, "fruit", "/trust", value=number, nonce="01" * 16).status_code == status, number


def test_a_form_of_another_site_contributes_nothing(server: Running) -> None:
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 201), ("none", 200)):
        form = {"value": "0", "nonce": "23" * 16, "choice": "trust"}
        headers = {"Sec-Fetch-Site": site}
        answer = server.http.post("/studies/fruit/take-part/trust", data=form, headers=headers)
        assert answer.status_code == status, site
    arrived = server.http.post("/studies/load/take-part", data={"token": "x"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert arrived.status_code == 200


def test_an_item_is_typed_and_what_is_empty_is_none(server: Running) -> None:
    assert "a text of your own" in server.http.get("/studies/items/take-part").text
    form = {"token": _token(server, "dora", "items"), "value": " wäter ", "nonce": "ab" * 16}
    empty = _post(server, "items", "/trust", **form | {"value": " "})
    assert (empty.status_code, "Type an item." in empty.text) == (422, True)
    given = _post(server, "items", "/trust", **form)
    assert given.status_code == 201
    signed = json.loads(unescape(given.text.split('aria-label="The receipt">')[1].split("</textarea>")[0]))
    integer = integer_of("wäter")
    assert signed["receipt"]["commitment"] == commitment(ITEMS.digest, "trusted", integer, "ab" * 16)
    assert "never stored beside a participant" in given.text
    assert _post(server, "items", "/withdraw", **form).status_code == 200


def test_a_study_that_the_page_cannot_ask_says_so(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (routes.take_part, pages.take_part):
        monkeypatch.setattr(module, "ASKED", ("mean",))
    assert "Take part with an app" in server.http.get("/studies/load/take-part").text
    refused = _post(server, "load", "/trust", token=_token(server, "dora", "load"), value="3", nonce="ab" * 16)
    assert refused.status_code == 403
    missing = server.http.get("/studies/nowhere/take-part")
    assert (missing.status_code, missing.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no study with this id." in missing.text


def test_states_are_told_and_a_result_is_linked(server: Running) -> None:
    study = MeanStudy("minutes, ended", bounds=(0, 240), epsilon=1)
    server.create(study, "ended", open=False)
    assert "not open yet" in server.http.get("/studies/ended/take-part").text
    server.move("open", "ended")
    for i in range(2):
        server.trust(study, f"t{i}", 30.0, study_id="ended")
        server.report(study, f"l{i}", 1, study_id="ended")
    server.move("close", "ended")
    closed = server.http.get("/studies/ended/take-part").text
    assert "takes no contributions any more" in closed
    assert "<form" not in closed
    server.move("release", "ended")
    assert 'href="/studies/ended/result.html"' in server.http.get("/studies/ended/take-part").text


def test_a_token_that_is_used_too_often_waits(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.prepared.app.state.rate, "_most", 1)
    form = {"token": _token(server, "eve", "load"), "value": "3", "nonce": "ab" * 16}
    assert _post(server, "load", "/trust", **form).status_code == 201
    waits = _post(server, "load", "/trust", **form)
    assert waits.status_code == 429
    assert "try again" in waits.text


class Watching(logging.Handler):
    """What is logged, and whether a refusal was: the server writes after it has answered."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []
        self.refused = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.written.append(str(record.__dict__))
        if "duplicate" in self.written[-1]:
            self.refused.set()


def test_neither_values_nor_tokens_nor_who_took_part_when_are_in_the_log(
    server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="hybriddp.service")
    watching = Watching()
    logging.getLogger("hybriddp.service").addHandler(watching)
    form = {"token": _token(server, "finn"), "value": "123.456", "nonce": "98" * 16}
    try:
        assert _post(server, "minutes", "/trust", **form).status_code == 201
        assert _post(server, "minutes", "/trust", **form | {"nonce": "97" * 16}).status_code == 409
        assert watching.refused.wait(30)
    finally:
        logging.getLogger("hybriddp.service").removeHandler(watching)
    (refused,) = [one for one in watching.written if "take-part" in one and "minutes" in one]
    assert "duplicate" in refused
    for secret in (form["value"], form["nonce"], form["token"], "finn"):
        assert secret not in " ".join(watching.written)


def test_the_part_that_a_token_names_is_on_the_page_and_on_the_receipt(server: Running) -> None:
    study = MeanStudy("minutes by country", bounds=(0, 240), epsilon=1)
    server.create(study, "by-country", parts={"by": "country <i>", "names": ["DE & co", "FR"]})
    token = server.token("zoe", "by-country", part="DE & co")["Authorization"][7:]
    page = _post(server, "by-country", "", token=token).text
    assert "country &lt;i&gt;: DE &amp; co, as your token says." in page
    assert "Which part you are in is not hidden" in page
    assert "Your country &lt;i&gt;, as your token says it." in server.http.get("/studies/by-country/take-part").text
    given = _post(server, "by-country", "/trust", token=token, value="37.5", nonce="ef" * 16)
    assert given.status_code == 201
    assert "You are counted in country &lt;i&gt;: DE &amp; co." in given.text
    without = server.token("zoe", "by-country")["Authorization"][7:]
    for told in (
        _post(server, "by-country", "", token=without),
        _post(server, "by-country", "/trust", token=without, value="1", nonce="0" * 32),
    ):
        assert "The token lacks the claim part" in told.text
    assert "lacks the claim part" not in _post(server, "by-country", "", token=EVIL).text
    assert _post(server, "by-country", "/withdraw", token=without, value="37.5", nonce="ef" * 16).status_code == 200
