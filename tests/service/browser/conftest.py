"""A real browser, and a curator whose pages it visits.

Both are started for every file. The browser's driver keeps an event loop in this thread, and tests that come later may
need one of their own; and some of them set the clocks of this process, which a curator that lives on would follow.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.kmeans import KMeansStudy
from tests.machine import CHROMIUM
from tests.service.browser.people import People, Person
from tests.service.kmeans_people import People as Points
from tests.service.running import CLOSES, CONSENT, Running, running

AXE = Path(__file__).parents[3] / "js" / "node_modules" / "axe-core" / "axe.min.js"
EVIL = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>\'&'
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Site:
    """A curator with one study of each state, and the cookie of its operator's session."""

    server: Running
    cookie: str

    def context(self, browser: Browser, **options: object) -> BrowserContext:
        """A window of the operator's, which nothing but this server is reached from."""
        made: BrowserContext = browser.new_context(base_url=self.server.url, **options)
        name, _, value = self.cookie.partition("=")
        made.add_cookies([{"name": name, "value": value, "url": f"{self.server.url}/operator"}])
        return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, without a window."""
    for path in (CHROMIUM, AXE):
        assert path.exists(), f"{path} is missing: make test sets it up"
    expect.set_options(timeout=30_000)  # as long as everything else may take on a busy machine
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=str(CHROMIUM), args=_FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A curator with studies that are open, closed and released; all their words try to be markup."""
    with running(tmp_path_factory.mktemp("site")) as server:
        for study_id, state in (("open", "open"), ("closed", "closed"), ("mean", "released")):
            _fill(server, MeanStudy(f"{EVIL} {study_id}", bounds=(0, 240), epsilon=1), study_id, state, [40.0, 41.0])
        shares = FrequencyStudy(EVIL, categories=[EVIL, "b"], epsilon=1)
        _fill(server, shares, "shares", "released", [EVIL, "b"])
        load = DistributionStudy(EVIL, bounds=(0, 10_000_000), epsilon=1)
        _fill(server, load, "quantiles", "released", [120.0, 480.0])
        for state in ("open", "released"):
            _fill_parts(server, state)
        for state in ("asking", "released"):
            _fill_points(server, state)
        made = server.http.post("/operator/login", data={"key": server.admin_key})
        yield Site(server, made.headers["set-cookie"].partition(";")[0])


def _fill(
    server: Running,
    study: MeanStudy | FrequencyStudy | DistributionStudy,
    study_id: str,
    state: str,
    values: list[object],
) -> None:
    server.create(study, study_id, consent=dict.fromkeys(CONSENT, EVIL))
    for i, value in enumerate(values):
        server.trust(study, f"t{i}", value, study_id=study_id)
        server.report(study, f"l{i}", 1, study_id=study_id)
    server.report(study, "l0", 0, study_id=study_id, nonce=secrets.token_hex(16))  # refused
    for action in {"open": (), "closed": ("close",), "released": ("close", "release")}[state]:
        assert server.move(action, study_id).is_success


def _fill_parts(server: Running, state: str) -> None:
    """A study by part, one of whose parts is too small."""
    study, study_id = MeanStudy(f"{EVIL} by part {state}", bounds=(0, 240), epsilon=1), f"parts-{state}"
    server.create(study, study_id, consent=dict.fromkeys(CONSENT, EVIL), parts={"by": EVIL, "names": [EVIL, "b", "c"]})
    for who, part in (("ann", EVIL), ("bob", EVIL), ("cem", "b"), ("dora", "b"), ("eve", "c")):
        for route, sent in (("reports", {"code": 9}), ("values", {"value": 40})):
            body = {"digest": study.digest, "nonce": secrets.token_hex(16), **sent}
            token = server.token(f"{route} {who}", study_id, part=part)
            assert server.http.post(f"/studies/{study_id}/{route}", headers=token, json=body).is_success
    for action in ("close", "release") if state == "released" else ():
        assert server.move(action, study_id).is_success


def _fill_points(server: Running, state: str) -> None:
    """A study of K-means, amid its first round or after the last; nobody answers."""
    study = KMeansStudy(f"{EVIL} {state}", n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=4)
    points = Points.of(study, f"points-{state}", n_trusted=20, n_local=10)
    assert points.create(server, consent=dict.fromkeys(CONSENT, EVIL), dimensions=[EVIL, "b"]).is_success
    points.enroll(server)
    asked = True
    while asked:
        server.move("close", points.id)
        told = server.http.post(f"/studies/{points.id}/round", headers=server.admin, json={"closes_at": CLOSES})
        asked = told.json()["state"] == "asking" and state == "released"
    if state == "released":
        assert server.move("release", points.id).is_success


@pytest.fixture
def page(site: Site, browser: Browser) -> Iterator[Page]:
    """A page of the operator's, on which nothing may go wrong unseen."""
    context = site.context(browser, viewport={"width": 1280, "height": 900})
    wrong: list[str] = []
    found = context.new_page()
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    yield found
    context.close()
    assert wrong == []


@pytest.fixture
def people(site: Site, browser: Browser) -> Iterator[People]:
    """Makes people, each with a browser on which nothing may go wrong unseen."""
    made: list[Person] = []

    def make(name: str, **options: object) -> Person:
        made.append(Person(site.server, browser, name, **options))
        return made[-1]

    yield make
    for one in made:
        one.context.close()
    assert [one.wrong for one in made] == [[] for _ in made]
