"""Photograph pages of the server for the documentation.

    python -m scripts.make_screenshots [name …]

The pictures land in docs/pages, as {page}-{width}-{scheme}.png, and docs/gallery.md shows them all. A curator is
started with studies and made-up people in them; Chromium visits each page as its reader would. What the noise drew is
in them, so they differ from run to run: take them anew when a page has changed, and look at them.
"""

import io
import json
import secrets
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import httpx
import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.service_load import Served, serving
from hybriddp import MeanStudy
from hybriddp.service.tokens import mint
from tests.machine import CHROMIUM

DOCS = Path(__file__).parents[1] / "docs"
PLAN = "/plan?users=20000&opt_ins=2&epsilon=1&lower=0&upper=240&sd=30"
Scheme = Literal["light", "dark"]
_CONSENT = {
    "organization": "Example Maps Ltd",
    "purpose": "To make the start of the app faster.",
    "contact": "privacy@example.org",
}
_CLOSES = "2099-01-01T00:00:00Z"
_COLORS = 48
_PATIENCE = 20_000
_SHARES = {1280: 60, 390: 25}  # of the page's width, in percent
_LEAD = """\
# The server's pages

What a curator's server shows to people and to its operator. Every page fits on a phone and follows the reader's choice
of light or dark. [Run a curator](serve.md) says what each page is for. All people in the pictures are made up;
`make screenshots` takes them anew. Click one to see it in full."""


@dataclass(frozen=True)
class Curator:
    """A server with studies, and the people in them."""

    served: Served
    http: httpx.Client

    @property
    def admin(self) -> dict[str, str]:
        """Headers of the operator."""
        return {"Authorization": f"Bearer {self.served.admin_key}"}

    def token(self, who: str, study_id: str, part: str | None = None) -> str:
        """A participant's token."""
        return mint(self.served.secret, subject=who, study=study_id, lifetime=timedelta(hours=1), part=part)

    def bearer(self, who: str, study_id: str, part: str | None = None) -> dict[str, str]:
        """Headers of a participant."""
        return {"Authorization": f"Bearer {self.token(who, study_id, part)}"}

    def post(self, path: str, body: Any, headers: dict[str, str]) -> dict[str, Any]:
        """What the server answers."""
        answer = self.http.post(path, json=body, headers=headers)
        answer.raise_for_status()
        content: dict[str, Any] = answer.json()
        return content

    def create(self, study: Any, study_id: str, **fields: object) -> None:
        """A study, made by the operator."""
        body = {"study": json.loads(study.to_json()), "id": study_id, "consent": _CONSENT, "closes_at": _CLOSES}
        self.post("/studies", body | fields, self.admin)

    def move(self, study_id: str, *actions: str) -> None:
        """Close, release."""
        for action in actions:
            self.post(f"/studies/{study_id}/{action}", None, self.admin)

    def fill(self, study: Any, study_id: str, values: Sequence[Any], n_trusted: int) -> None:
        """Contributions of so many trusted people, and reports of the others, which a relay brings."""
        digest = study.digest
        for i, value in enumerate(values[:n_trusted]):
            body = {"digest": digest, "value": value, "nonce": secrets.token_hex(16)}
            self.post(f"/studies/{study_id}/values", body, self.bearer(f"t{i}", study_id))
        codes = [int(code) for code in study.randomize(values[n_trusted:])]
        key = self.post("/relays", {"name": f"relay-of-{study_id}"}, self.admin)["key"]
        for first in range(0, len(codes), 1000):
            reports = [
                {"participant": f"l{first + i}", "code": code, "nonce": secrets.token_hex(16)}
                for i, code in enumerate(codes[first : first + 1000])
            ]
            body = {"digest": digest, "reports": reports}
            self.post(f"/studies/{study_id}/batches", body, {"Authorization": f"Bearer {key}"})


def _mean(month: str) -> MeanStudy:
    return MeanStudy(f"Minutes per session in {month}", bounds=(0, 240), epsilon=1)


def _minutes(n: int) -> list[float]:
    return [float(x) for x in np.minimum(np.random.default_rng(7).gamma(2.0, 20.0, n), 240.0)]


def prepare(curator: Curator) -> None:
    """A study of a mean that is open, one that is released, and one by country."""
    for study_id, month, n, actions in (
        ("minutes-released", "October", 8000, ("close", "release")),
        ("minutes", "December", 4000, ()),
    ):
        curator.create(_mean(month), study_id)
        curator.fill(_mean(month), study_id, _minutes(n), n // 25)
        curator.move(study_id, *actions)
    _by_country(curator)


def _by_country(curator: Curator) -> None:
    """A mean for each of three countries, one of which is too small."""
    study = MeanStudy("Minutes per session, by country", bounds=(0, 240), epsilon=1)
    parts = {"by": "country", "names": ["DE", "FR", "IT"]}
    curator.create(study, "countries", parts=parts, min_trusted=20, min_local=50)
    places = ["DE"] * 900 + ["FR"] * 400 + ["IT"] * 60
    codes = study.randomize(_minutes(len(places)))
    for i, (value, country) in enumerate(zip(_minutes(len(places)), places, strict=True)):
        trusts = i % 5 == 0
        sent = {"value": value} if trusts else {"code": int(codes[i])}
        body = {"digest": study.digest, "nonce": secrets.token_hex(16), **sent}
        path = f"/studies/countries/{'values' if trusts else 'reports'}"
        curator.post(path, body, curator.bearer(f"c{i}", "countries", country))
    curator.move("countries", "close", "release")


Visit = Callable[[Page, Curator], None]


def _at(address: str) -> Visit:
    """Open an address, and wait until its scripts have done what they do at first."""

    def visit(page: Page, _: Curator) -> None:
        page.goto(address)
        page.wait_for_load_state("networkidle")

    return visit


def _taking(study_id: str, choice: str = "", *values: str) -> Visit:
    """Arrive with a token; take part, if there is a choice."""

    def visit(page: Page, curator: Curator) -> None:
        page.goto(f"/studies/{study_id}/take-part")
        if page.locator("textarea[name=token]").count():
            page.locator("textarea[name=token]").first.fill(curator.token(secrets.token_hex(4), study_id))
            page.locator("textarea[name=token]").first.blur()
        page.locator("#checked li").first.wait_for()
        if not choice:
            return
        fields = page.locator("#take-part [name^=value]").all()
        for field, value in zip(fields, values, strict=True):
            if field.evaluate("one => one.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)
        page.check(f"[value={choice}]")
        page.get_by_role("button", name="Take part").click()
        page.locator("#sent a[download]").wait_for()

    return visit


def _refused_form(page: Page, _: Curator) -> None:
    page.goto("/operator/new")
    page.fill("#name", "Minutes per session")
    page.fill("#lower", "240")
    page.fill("#upper", "0")
    page.get_by_role("button", name="Make the study").click()
    page.get_by_role("alert").wait_for()


@dataclass(frozen=True)
class Shot:
    """A page to photograph: what is on it, how one gets there, and in which widths and colors it is shown."""

    name: str
    words: str
    visit: Visit
    looks: tuple[tuple[int, Scheme], ...] = ((1280, "light"),)
    operator: bool = False
    script: bool = True

    def path(self, width: int, scheme: str) -> str:
        """The picture's place below docs."""
        return f"pages/{self.name}-{width}-{scheme}.png"


SHOTS = [
    Shot("plan", "The planner", _at(PLAN), looks=((1280, "light"), (390, "dark"))),
    Shot("new-study", "A new study, with two bounds to correct", _refused_form, looks=((390, "light"),), operator=True),
    Shot("study-open", "A study that is open", _at("/operator/studies/minutes"), operator=True),
    Shot("take-part", "Taking part", _taking("minutes"), looks=((1280, "light"), (390, "dark"))),
    Shot("what-left", "What left the device of somebody who does not trust", _taking("minutes", "report", "37.5")),
    Shot(
        "no-script",
        "Without JavaScript nothing can be sent",
        _at("/studies/minutes/take-part"),
        looks=((390, "light"),),
        script=False,
    ),
    Shot("result-mean", "The result of a mean", _at("/studies/minutes-released/result.html"), looks=((390, "light"),)),
    Shot("result-parts", "A mean for each part", _at("/studies/countries/result.html")),
]


def gallery() -> str:
    """The page of the documentation that shows all pictures."""
    lines = [_LEAD]
    for shot in SHOTS:
        pictures = [
            f"[![{shot.words}, {width} pixels wide, {scheme}]({path}){{ width={share}% loading=lazy }}]({path})"
            for width, scheme in shot.looks
            for path, share in [(shot.path(width, scheme), _SHARES[width])]
        ]
        lines += [f"## {shot.words}", " ".join(pictures)]
    return "\n\n".join(lines) + "\n"


def photograph(browser: Browser, curator: Curator, cookie: str, shot: Shot) -> None:
    """Photograph one page in each of its looks."""
    context = browser.new_context(base_url=curator.served.url, java_script_enabled=shot.script)
    if shot.operator:
        name, _, value = cookie.partition("=")
        context.add_cookies([{"name": name, "value": value, "url": f"{curator.served.url}/operator"}])
    page = context.new_page()
    page.set_default_timeout(_PATIENCE)
    page.set_viewport_size({"width": 1280, "height": 800})
    shot.visit(page, curator)
    for width, scheme in shot.looks:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        picture = Image.open(io.BytesIO(page.screenshot(full_page=True, animations="disabled")))
        small = picture.convert("RGB").quantize(_COLORS, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
        small.save(DOCS / shot.path(width, scheme), optimize=True)
    context.close()


def main(names: Sequence[str]) -> None:
    """Photograph all pages, or those that are named."""
    (DOCS / "gallery.md").write_text(gallery(), encoding="utf-8")
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), "") as served,
        sync_playwright() as driver,
        httpx.Client(base_url=served.url, timeout=60, trust_env=False) as http,
    ):
        curator = Curator(served, http)
        prepare(curator)
        entered = http.post("/operator/login", data={"key": served.admin_key})
        cookie = entered.headers["set-cookie"].partition(";")[0]
        flags = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        for shot in SHOTS:
            if not names or shot.name in names:
                print(shot.name)
                photograph(browser, curator, cookie, shot)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
