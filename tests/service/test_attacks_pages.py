"""Attacks on pages and forms, over real sockets."""

import httpx
import pytest

from hybriddp import MeanStudy
from tests.service.attacking import Target, new_target
from tests.service.running import CONSENT, Running


@pytest.fixture(scope="module")
def target(kept_server: Running) -> Target:
    """A study that nothing here gets into."""
    return new_target(kept_server)


def test_words_of_a_study_run_nowhere(kept_server: Running) -> None:
    script = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
    study = MeanStudy(script, bounds=(0, 240), epsilon=1.0)
    made = kept_server.create(study, "script", consent=dict.fromkeys(CONSENT, script))
    assert made.status_code == 201
    target = Target(kept_server, study, "script")
    for i in range(2):
        target.send(target.report(), who=f"l{i}")
        target.send(target.value(), who=f"t{i}", to="values")
    with httpx.Client(base_url=kept_server.url, trust_env=False, follow_redirects=True) as browser:
        pages = [
            browser.post("/operator/login", data={"key": kept_server.admin_key}),
            browser.get("/operator/studies/script"),
        ]
        target.move("close")
        target.move("release")
        pages += [browser.get("/operator/studies/script"), browser.get("/studies/script/result.html")]
    for page in pages:
        assert page.status_code == 200
        assert "&lt;script&gt;" in page.text
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy.get("script-src", "'self'") == policy.get("connect-src", "'self'") == "'self'"


def test_the_operator_s_page_is_for_the_operator(target: Target) -> None:
    with httpx.Client(base_url=target.server.url, trust_env=False) as browser:
        for key in ("", "x", target.server.admin_key[:-1], f"{target.server.admin_key}x", "hdpa_" + "A" * 43):
            assert browser.post("/operator/login", data={"key": key}).status_code == 401
        assert target.id not in browser.get("/operator").text
        for method, path in (
            ("GET", f"/operator/studies/{target.id}"),
            ("POST", f"/operator/studies/{target.id}/close"),
        ):
            assert browser.request(method, path, data={"x": "y"} if method == "POST" else None).status_code == 303
        browser.post("/operator/login", data={"key": target.server.admin_key})
        closing = browser.post(f"/operator/studies/{target.id}/close", data={"form": "guessed"})  # from another page
        assert closing.status_code == 303
    assert target.server.http.get(f"/studies/{target.id}").json()["state"] == "open"


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("application/json", b'{"key": 1}'),
        ("application/x-www-form-urlencoded", b"key=1&key=2&%ff=%00"),
        ("application/x-www-form-urlencoded", b"\xff\x00&&&==="),
        ("multipart/form-data", b"--x"),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\n"),
        ("text/plain", b""),
    ],
)
def test_forms_that_no_browser_sends(target: Target, media_type: str, body: bytes) -> None:
    for path in ("login", "logout", f"studies/{target.id}/close"):
        answer = target.server.http.post(f"/operator/{path}", headers={"content-type": media_type}, content=body)
        assert answer.status_code in (303, 400, 401, 413, 415), (path, answer.status_code)
    assert target.server.http.get(f"/studies/{target.id}").json()["state"] == "open"


def test_a_page_that_fails_says_nothing_and_is_logged(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[str] = []
    monkeypatch.setattr("hybriddp.service.routes.operator.log_failure", lambda error, **_: failures.append(repr(error)))
    with httpx.Client(base_url=target.server.url, trust_env=False) as browser:
        browser.post("/operator/login", data={"key": target.server.admin_key})
        pages = [browser.get(f"/operator/studies/{study_id}") for study_id in ("nothing", "%00", "A", "x" * 65)]
        assert [page.status_code for page in pages] == [404, 400, 400, 400]
        assert failures == []

        def fail(*_: object, **__: object) -> None:
            raise ValueError("the value 123.4567891 of somebody")

        monkeypatch.setattr("hybriddp.service.routes.operator.study_document", fail)
        page = browser.get(f"/operator/studies/{target.id}")
    assert (page.status_code, len(failures)) == (500, 1)
    assert "somebody" not in page.text
