import re
from html import unescape

import httpx
import pytest

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.kmeans import KMeansStudy
from hybriddp.service import pages
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


def _arrive(server: Running, study: str, token: str, **headers: str) -> httpx.Response:
    return server.http.post(f"/studies/{study}/take-part", data={"token": token}, headers=headers)


def test_the_page_says_who_asks_what_and_words_stay_words(server: Running) -> None:
    page = server.http.get("/studies/minutes/take-part")
    assert page.status_code == 200
    assert EVIL not in page.text
    assert unescape(page.text).count(EVIL) == 3  # organization, purpose and contact
    assert "from 0 to 240" in page.text
    assert {"script-src 'self'", "form-action 'none'"} <= {*page.headers["content-security-policy"].split("; ")}
    assert page.headers["cache-control"] == "no-store"


def test_a_token_comes_by_post_and_is_never_in_an_address(server: Running) -> None:
    token = _token(server, "alice")
    page = _arrive(server, "minutes", token)
    assert (page.status_code, page.text.count(token)) == (200, 1)
    assert "form-action 'none'" in page.headers["content-security-policy"]
    assert token not in server.http.get(f"/studies/minutes/take-part?token={token}").text
    assert EVIL not in _arrive(server, "minutes", EVIL).text
    assert _arrive(server, "load", "x", **{"Sec-Fetch-Site": "cross-site"}).status_code == 200  # from the app


def test_a_value_that_a_form_sends_is_taken_by_no_route(server: Running) -> None:
    form = {"token": _token(server, "bob"), "value": "37.5", "nonce": "ab" * 16, "choice": "trust"}
    for action in ("trust", "withdraw"):
        assert server.http.post(f"/studies/minutes/take-part/{action}", data=form).status_code == 404
    page = server.http.post("/studies/minutes/take-part", data=form)
    assert (page.status_code, "37.5" in page.text) == (200, False)
    assert server.http.get("/studies/minutes", headers=server.admin).json()["counts"] == {"trusted": 0, "local": 0}


def test_each_kind_has_its_fields(server: Running) -> None:
    fruit = server.http.get("/studies/fruit/take-part").text
    assert EVIL not in fruit
    options = re.findall(r'<select id="value".*?</select>', fruit)[0]
    assert re.findall(r'value="(\d*)"', options) == ["", "0", "1", "2"]
    points = server.http.get("/studies/points/take-part").text
    assert ("points.js" in points, "until the study's rounds end" in points) == (True, True)
    assert "a text of your own" in server.http.get("/studies/items/take-part").text


def test_a_study_that_the_page_cannot_ask_says_so(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages.take_part, "ASKED", ("mean",))
    assert "Take part with an app" in server.http.get("/studies/load/take-part").text
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


def test_the_part_that_a_token_names_is_on_the_page(server: Running) -> None:
    study = MeanStudy("minutes by country", bounds=(0, 240), epsilon=1)
    server.create(study, "by-country", parts={"by": "country <i>", "names": ["DE & co", "FR"]})
    page = _arrive(server, "by-country", server.token("zoe", "by-country", part="DE & co")["Authorization"][7:]).text
    assert "country &lt;i&gt;: DE &amp; co, as your token says." in page
    assert "Which part you are in is not hidden" in page
    assert "Your country &lt;i&gt;, as your token says it." in server.http.get("/studies/by-country/take-part").text
    without = server.token("zoe", "by-country")["Authorization"][7:]
    assert "The token lacks the claim part" in _arrive(server, "by-country", without).text
    assert "lacks the claim part" not in _arrive(server, "by-country", EVIL).text
