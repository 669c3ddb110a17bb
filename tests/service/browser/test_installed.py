"""The wheel in a clean environment, outside of the checkout: its server starts, and somebody takes part privately."""

import json
import os
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from hybriddp import MeanStudy
from tests.packaging.building import build, copy_sources, make_environment
from tests.service.browser.people import kept
from tests.service.faults import ServerProcess, serving
from tests.service.running import CLOSES, CONSENT

pytestmark = pytest.mark.slow


def test_a_private_report_to_an_installed_server(tmp_path: Path, browser: Browser) -> None:
    wheel = build(copy_sources(tmp_path / "source"), tmp_path / "dist").wheel
    installed = make_environment(tmp_path / "environment", f"{wheel}[service]")
    where = installed.run(["python", "-c", "import hybriddp; print(hybriddp.__file__)"], tmp_path)
    assert where.startswith(os.fspath(installed.folder))
    (folder := tmp_path / "curator").mkdir()
    server = ServerProcess(folder, program=[installed.program("hybriddp")])
    study = MeanStudy("minutes", bounds=(0, 240), epsilon=1)
    body = {"study": json.loads(study.to_json()), "id": "minutes", "consent": CONSENT, "closes_at": CLOSES}
    with serving(server):
        url = f"http://127.0.0.1:{server.port}"
        admin = {"Authorization": f"Bearer {server.admin_key}"}
        with httpx.Client(base_url=url, headers=admin, trust_env=False) as http:
            assert http.post("/studies", json=body | {"tokens": False}).status_code == 201
            context = browser.new_context(base_url=url)
            page = context.new_page()
            page.goto("/studies/minutes/take-part")
            page.fill("#value", "37.5")
            page.check("[value=report]")
            page.get_by_role("button", name="Take part").click()
            expect(page.locator("#said")).to_have_text("Thank you. You have taken part.")
            (entry,) = kept(page)
            assert set(json.loads(entry["body"])) == {"digest", "code", "nonce"}
            page.goto("/plan")
            expect(page.locator("#curves canvas")).to_be_visible()
            context.close()
            assert http.get("/studies/minutes").json()["counts"] == {"trusted": 0, "local": 1}
