"""The snippet of the documentation, on an app's page at another origin than the curator's."""

import re
from pathlib import Path

import httpx
import pytest
from litestar import Litestar, MediaType, Response, get, post
from playwright.sync_api import Browser, expect

from hybriddp import MeanStudy
from tests.service.browser.conftest import Site
from tests.service.running import listening_with

pytestmark = pytest.mark.representative

ROOT = Path(__file__).parents[3]


def app_with(page: str, token: str) -> Litestar:
    """An organization's app: a page with the snippet, the package beside it, and a backend that mints tokens."""

    @get("/", media_type=MediaType.HTML)
    async def index() -> str:
        return f'<!doctype html><html lang="en"><title>An app</title><link rel="icon" href="data:,">{page}</html>'

    @get("/hybriddp.js", media_type="text/javascript")
    async def package() -> Response[bytes]:
        return Response((ROOT / "js" / "dist" / "hybriddp.js").read_bytes(), media_type="text/javascript")

    @post("/token", status_code=200, media_type=MediaType.TEXT)
    async def backend() -> str:
        return token

    return Litestar([index, package, backend], openapi_config=None)


def test_an_app_of_another_origin_takes_part(site: Site, browser: Browser) -> None:
    server, study_id = site.server, "embedded"
    found = re.search(r"```html\n(<form id=\"study\">.*?)```", (ROOT / "docs" / "client.md").read_text(), re.DOTALL)
    assert found is not None
    snippet = found[1].replace("https://curator.example.org", server.url)
    assert snippet != found[1]
    token = server.token("somebody", study_id)["Authorization"].removeprefix("Bearer ")
    with listening_with(app_with(snippet, token)) as (host, port):
        origin = f"http://{host}:{port}"
        study = MeanStudy(study_id, bounds=(0, 240), epsilon=1)
        assert server.create(study, study_id, origins=[origin]).is_success
        context = browser.new_context()
        page = context.new_page()
        page.goto(origin)
        page.fill("[name=minutes]", "37.5")
        page.get_by_role("button", name="Report").click()
        expect(page.locator("[name=said]")).to_have_text("Thank you. One randomized code was sent.")
        assert page.url == f"{origin}/"  # what was typed is in no address
        context.close()
    counts = httpx.get(f"{server.url}/studies/{study_id}", headers=server.admin, trust_env=False).json()["counts"]
    assert counts == {"trusted": 0, "local": 1}
