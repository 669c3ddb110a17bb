import re
from collections.abc import Iterator

import httpx
import pytest

from tests.service.routes.test_study_form import GOOD
from tests.service.running import Running

FORM = GOOD | {"closes_at": "2099-01-01T00:00"}


@pytest.fixture
def operator(kept_server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=kept_server.url, trust_env=False) as found:
        found.post("/operator/login", data={"key": kept_server.admin_key})
        yield found


def send(operator: httpx.Client, form: dict[str, str]) -> httpx.Response:
    token = re.search('name="csrf" value="([0-9a-f]+)"', operator.get("/operator/new").text)
    assert token is not None
    return operator.post("/operator/new", data=form | {"csrf": token[1]})


def test_a_study_is_made_as_by_the_route(kept_server: Running, operator: httpx.Client) -> None:
    made = send(operator, FORM | {"id": "by-form", "min_local": "50"})
    assert (made.status_code, made.headers["location"]) == (303, "/operator/studies/by-form")
    assert "session minutes, week 47" in operator.get("/operator/studies/by-form").text
    study = kept_server.http.get("/studies/by-form").json()
    assert (study["state"], study["min_local"], study["consent"]["organization"]) == ("open", 50, "Example Ltd")
    again = send(operator, FORM | {"id": "by-form"})
    assert again.status_code == 409
    assert "There is a study with this id already." in again.text
    twice = send(operator, FORM | {"id": "by-form-2"})
    assert "There is a study with exactly this text already." in twice.text
    assert 'id="name" name="name" aria-describedby="name-hint name-wrong" aria-invalid="true"' in twice.text


def test_nothing_is_lost_when_a_field_is_wrong(operator: httpx.Client) -> None:
    answer = send(operator, FORM | {"name": "kept <b>", "epsilon": "99", "purpose": 'so "that"', "other": "yes"})
    assert answer.status_code == 400
    for words in ('value="kept &lt;b&gt;"', 'value="99"', ">so &quot;that&quot;</textarea>", 'href="#epsilon"'):
        assert words in answer.text
    assert 'name="other" value="yes" checked' in answer.text
    assert "from 0.01 to 20" in answer.text
    assert "script-src" not in answer.headers["content-security-policy"]


def test_a_budget_that_is_not_there_is_told_beside_its_field(operator: httpx.Client) -> None:
    answer = send(operator, FORM | {"name": "with a budget", "budget": "nowhere"})
    assert answer.status_code == 404
    assert "There is no budget with this name." in answer.text
    assert 'href="#budget"' in answer.text


def test_only_the_operator_s_own_form_makes_studies(kept_server: Running, operator: httpx.Client) -> None:
    forged = operator.post("/operator/new", data=FORM | {"id": "forged", "csrf": "0"})
    stranger = httpx.post(f"{kept_server.url}/operator/new", data=FORM | {"id": "forged"}, trust_env=False)
    assert (forged.status_code, stranger.status_code) == (303, 303)
    assert kept_server.http.get("/studies/forged").status_code == 404


def test_a_login_leads_on_to_the_form_and_nowhere_else(kept_server: Running) -> None:
    with httpx.Client(base_url=kept_server.url, trust_env=False) as operator:
        page = operator.get("/operator/new?kind=mean&upper=50&evil=1").text
        leads_to = re.search('name="next" value="(.*?)"', page)
        assert leads_to is not None
        assert leads_to[1] == "/operator/new?upper=50&amp;kind=mean"
        wrong = operator.post("/operator/login", data={"key": "x", "next": "/operator/new?upper=50"})
        assert 'name="next" value="/operator/new?upper=50"' in wrong.text
        for wanted, found in (
            ("/operator/new?upper=50", "/operator/new?upper=50"),
            ("/operator/new", "/operator/new"),
            ("https://evil.example/operator/new", "/operator"),
            ("//evil.example", "/operator"),
            ("/operator/new/../../x", "/operator"),
            ("", "/operator"),
        ):
            answer = operator.post("/operator/login", data={"key": kept_server.admin_key, "next": wanted})
            assert (answer.status_code, answer.headers["location"]) == (303, found)


def test_live_counts_are_the_operator_s(kept_server: Running, operator: httpx.Client) -> None:
    send(operator, FORM | {"name": "live", "id": "live"})
    found = operator.get("/operator/studies/live/live").json()
    assert (found["state"], found["counts"]) == ("open", {"trusted": "0", "local": "0"})
    assert found["expected"][0] == ["now", "0", "0", "too few to say"]
    assert found["refused"] == []
    assert kept_server.http.get("/operator/studies/live/live").status_code == 401
    page = operator.get("/operator/studies/live").text
    assert 'data-live="/operator/studies/live/live" data-state="open"' in page
    assert "What it would give" in page
