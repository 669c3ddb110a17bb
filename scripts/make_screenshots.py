"""Photograph every page of the server, wide and on a phone, light and dark, for the documentation.

    python -m scripts.make_screenshots [name …]

The pictures land in docs/pages, as {page}-{width}-{scheme}.png, and docs/gallery.md shows them all. A curator is
started with studies of each kind and made-up people in them; Debian's Chromium visits each page as its reader would.
What the noise drew is in them, so they differ from run to run: take them anew when a page has changed, and look at
them.
"""

import hashlib
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
from playwright.sync_api import Browser, Page, Route, sync_playwright

from benchmarks.service_load import Served, serving
from hybriddp import DistributionStudy, FrequencyStudy, HeavyHitterStudy, MeanStudy
from hybriddp.client.contribution import commitment
from hybriddp.kmeans import KMeansStudy
from hybriddp.kmeans.protocol.answers import messages_of
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.places import place
from hybriddp.service.tokens import mint
from tests.machine import CHROMIUM

FOLDER = Path(__file__).parents[1] / "docs" / "pages"
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LOOKS = [(width, scheme) for width in (1280, 390) for scheme in _SCHEMES]
_CONSENT = {
    "organization": "Example Maps Ltd",
    "purpose": "To make the start of the app faster.",
    "contact": "privacy@example.org",
}
_CLOSES = "2099-01-01T00:00:00Z"
_COLORS = 48
_PATIENCE = 20_000
_SHARES = (34, 34, 14, 14)  # of the page's width, in percent
_LEAD = """\
# Every page, in four looks

What a curator's server shows to people and to its operator, 1,280 and 390 pixels wide, light and dark.
[Run a curator](serve.md) says what each page is for. All people in the pictures are made up; `make screenshots` takes
them anew. Click one to see it in full."""

_NUMBERS = ["minutes per day", "sessions per day"]
_FRUITS = ["apple", "pear", "fig", "plum", "cherry"]
LOAD = DistributionStudy("Page load time in ms", bounds=(10, 10_000), epsilon=2, scale="log")
_PLACES = np.array([[40.0, 4.0], [120.0, 18.0], [200.0, 7.0]])


@dataclass(frozen=True)
class Curator:
    """A server with studies of each kind, and the people in them."""

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


def _shares(month: str) -> FrequencyStudy:
    return FrequencyStudy(f"Favorite fruit in {month}", categories=_FRUITS, epsilon=1, other=True)


def _habits(month: str) -> KMeansStudy:
    name = f"Minutes and sessions per day in {month}"
    return KMeansStudy(name, n_clusters=3, bounds=[(0, 240), (0, 24)], epsilon=4)


def _minutes(n: int) -> list[float]:
    return [float(x) for x in np.minimum(np.random.default_rng(7).gamma(2.0, 20.0, n), 240.0)]


def _points(n: int) -> list[list[float]]:
    rng = np.random.default_rng(8)
    found = rng.choice(_PLACES, n) + rng.standard_normal((n, 2)) * [12.0, 1.5]
    return [[float(x) for x in point] for point in found]


def prepare(curator: Curator) -> None:
    """Studies of each kind, in each state."""
    for study_id, month, n, actions in (
        ("minutes-released", "October", 8000, ("close", "release")),
        ("minutes-closed", "November", 3000, ("close",)),
        ("minutes", "December", 4000, ()),
    ):
        curator.create(_mean(month), study_id)
        curator.fill(_mean(month), study_id, _minutes(n), n // 25)
        curator.move(study_id, *actions)
    curator.create(_shares("December"), "fruit-now", tokens=False)
    fruits = np.random.default_rng(9).choice(_FRUITS, 4000, p=[0.4, 0.25, 0.15, 0.12, 0.08])
    curator.create(_shares("October"), "fruit")
    curator.fill(_shares("October"), "fruit", [str(fruit) for fruit in fruits], 150)
    curator.move("fruit", "close", "release")
    curator.create(LOAD, "load")
    loads = [float(x) for x in np.clip(np.random.default_rng(10).lognormal(6.0, 0.8, 6000), 10, 10_000)]
    curator.fill(LOAD, "load", loads, 200)
    curator.move("load", "close", "release")
    _by_country(curator)
    _words(curator)
    _cluster(curator)


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


def _words(curator: Curator) -> None:
    """Items that nobody has listed, whose list is out."""
    study = HeavyHitterStudy("Word that you searched for", epsilon=4, delta="0.00001")
    curator.create(study, "words")
    words = np.random.default_rng(11).choice(["weather", "news", "maps", "translate", "music"], 400)
    for i, word in enumerate(words):
        body = {"digest": study.digest, "value": str(word), "nonce": secrets.token_hex(16)}
        curator.post("/studies/words/values", body, curator.bearer(f"w{i}", "words"))
    curator.move("words", "list")


def _cluster(curator: Curator) -> None:
    """A K-means study that people can join, one amid its rounds, and one at its end."""
    curator.create(_habits("December"), "habits-now", dimensions=_NUMBERS)
    for study_id, month in (("habits-asking", "November"), ("habits", "October")):
        study = _habits(month)
        curator.create(study, study_id, dimensions=_NUMBERS)
        local = _join(curator, study, study_id, _points(2200), 200)
        curator.move(study_id, "close")
        while curator.post(f"/studies/{study_id}/round", {"closes_at": _CLOSES}, curator.admin)["state"] == "asking":
            _answer(curator, study_id, study, local)
            if study_id == "habits-asking":
                break
            curator.move(study_id, "close")
    curator.move("habits", "release")


_KNOWN_NONCE = """
const draw = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (array) => (array.length === 16 ? array.fill(7) : draw(array));
"""


def _nonce(name: str) -> str:
    """The nonce that a person's device has drawn."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def _join(
    curator: Curator, study: KMeansStudy, study_id: str, points: list[list[float]], n_trusted: int
) -> dict[str, list[float]]:
    """So many people trust, the others enroll: those, by their names."""
    named = {f"p{i}": point for i, point in enumerate(points)}
    local = dict(list(named.items())[n_trusted:])
    for name, point in named.items():
        path, body = "values", {"digest": study.digest, "nonce": _nonce(name), "value": point}
        if name in local:
            committed = commitment(study.digest, "local", 0, _nonce(name))
            path, body = "enrollments", {"digest": study.digest, "commitment": committed}
        curator.post(f"/studies/{study_id}/{path}", body, curator.bearer(name, study_id))
    return local


def _answer(curator: Curator, study_id: str, study: KMeansStudy, local: dict[str, list[float]]) -> None:
    """The answers of those whose turn it is; one of ten does not come."""
    told = curator.http.get(f"/studies/{study_id}/round").json()
    asked, turns = Round.from_json(told["text"], study=study), Turns.from_json(told["turns"])
    names = [name for name in local if turns.round_of(name, _nonce(name)) == asked.number and not name.endswith("9")]
    messages = messages_of(asked, asked.answer([local[name] for name in names]))
    for name, message in zip(names, messages, strict=True):
        body = {**message, "nonce": secrets.token_hex(16), "enrollment_nonce": _nonce(name)}
        curator.post(f"/studies/{study_id}/answers", body, curator.bearer(name, study_id))


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


def _enrolled(page: Page, curator: Curator, study_id: str = "habits-now", who: str = "") -> None:
    """Somebody who does not trust joins a study of K-means."""
    page.goto(f"/studies/{study_id}/take-part")
    page.locator("textarea[name=token]").first.fill(curator.token(who or secrets.token_hex(4), study_id))
    page.locator("textarea[name=token]").first.blur()
    page.locator("#checked li").first.wait_for()
    page.fill("#value1", "118")
    page.fill("#value2", "17.5")
    page.check("[value=report]")
    page.get_by_role("button", name="Take part").click()
    page.locator("#sent a[download]").first.wait_for()


def _answered(page: Page, curator: Curator) -> None:
    """The same, and comes back in the first round, which asks them whatever it is."""
    study, study_id = _habits("January"), "habits-answered"
    curator.create(study, study_id, dimensions=_NUMBERS)
    page.add_init_script(_KNOWN_NONCE)
    who = next(name for name in map(str, range(10_000)) if place(study.digest, name, "07" * 16) < 2**64 // 100)
    _enrolled(page, curator, study_id, who)
    _join(curator, study, study_id, _points(300), 20)
    curator.move(study_id, "close")
    curator.post(f"/studies/{study_id}/round", {"closes_at": _CLOSES}, curator.admin)
    page.goto(f"/studies/{study_id}/take-part")
    page.locator("textarea[name=token]").first.fill(curator.token(who, study_id))
    page.locator("textarea[name=token]").first.blur()
    page.locator("#sent .odds").wait_for()


def _withdrawn(page: Page, curator: Curator) -> None:
    _taking("minutes", "trust", "37.5")(page, curator)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_role("heading", name="You have withdrawn").wait_for()


def _tampered(page: Page, _: Curator) -> None:
    def change(route: Route) -> None:
        document = route.fetch().json()
        route.fulfill(json=document | {"text": document["text"].replace("240", "241")})

    page.route("**/studies/minutes", change)
    page.goto("/studies/minutes/take-part")
    page.locator("#said.wrongly").wait_for()


def _refused_form(page: Page, _: Curator) -> None:
    page.goto("/operator/new")
    page.fill("#name", "Minutes per session")
    page.fill("#lower", "240")
    page.fill("#upper", "0")
    page.get_by_role("button", name="Make the study").click()
    page.get_by_role("alert").wait_for()


@dataclass(frozen=True)
class Shot:
    """A page to photograph: whose it is, what is on it, and how one gets there."""

    name: str
    words: str
    visit: Visit
    operator: bool = False
    script: bool = True


SHOTS = [
    Shot("front", "The curator's address", _at("/")),
    Shot("plan", "The planner", _at("/plan?users=20000&opt_ins=2&epsilon=1&lower=0&upper=240&sd=30")),
    Shot("login", "The operator logs in", _at("/operator")),
    Shot("studies", "All studies", _at("/operator"), operator=True),
    Shot("new-study", "A new study, with two bounds to correct", _refused_form, operator=True),
    Shot("study-open", "A study that is open", _at("/operator/studies/minutes"), operator=True),
    Shot("study-closed", "A study that is closed", _at("/operator/studies/minutes-closed"), operator=True),
    Shot("study-released", "A study that is released", _at("/operator/studies/minutes-released"), operator=True),
    Shot("study-rounds", "K-means amid its rounds", _at("/operator/studies/habits-asking"), operator=True),
    Shot("report", "The curator's own report", _at("/operator/studies/minutes-released/report"), operator=True),
    Shot("take-part", "Taking part", _taking("minutes")),
    Shot("take-part-shares", "Taking part in shares", _taking("fruit-now")),
    Shot("take-part-points", "Taking part in K-means", _taking("habits-now")),
    Shot("take-part-words", "A list of items, and one's own", _taking("words")),
    Shot("enrolled", "Somebody who does not trust has joined K-means", _enrolled),
    Shot("answered", "Their device has answered its round", _answered),
    Shot("what-left", "What left the device of somebody who does not trust", _taking("minutes", "report", "37.5")),
    Shot("trusted", "What left the device of somebody who trusts", _taking("minutes", "trust", "37.5")),
    Shot("no-script", "Without JavaScript nothing can be sent", _at("/studies/minutes/take-part"), script=False),
    Shot("withdrawn", "After a withdrawal", _withdrawn),
    Shot("refused", "A study that was changed on the way", _tampered),
    Shot("over", "A study that has closed", _at("/studies/minutes-released/take-part")),
    Shot("result-mean", "The result of a mean", _at("/studies/minutes-released/result.html")),
    Shot("result-parts", "A mean for each part", _at("/studies/countries/result.html")),
    Shot("result-shares", "The result of shares", _at("/studies/fruit/result.html")),
    Shot("result-quantiles", "The result of quantiles", _at("/studies/load/result.html")),
    Shot("result-clusters", "The result of K-means", _at("/studies/habits/result.html")),
    Shot("not-found", "No such study", _at("/studies/nothing/take-part")),
]


def gallery() -> str:
    """The page of the documentation that shows all pictures: wide ones first, then those of a phone."""
    lines = [_LEAD]
    for shot in SHOTS:
        looks = [
            f"[![{shot.words}, {width} pixels wide, {scheme}]({path}){{ width={share}% loading=lazy }}]({path})"
            for (width, scheme), share in zip(LOOKS, _SHARES, strict=True)
            for path in [f"pages/{shot.name}-{width}-{scheme}.png"]
        ]
        lines += [f"## {shot.words}", " ".join(looks)]
    return "\n\n".join(lines) + "\n"


def photograph(browser: Browser, curator: Curator, cookie: str, shot: Shot) -> None:
    """One page in four looks."""
    context = browser.new_context(base_url=curator.served.url, java_script_enabled=shot.script)
    if shot.operator:
        name, _, value = cookie.partition("=")
        context.add_cookies([{"name": name, "value": value, "url": f"{curator.served.url}/operator"}])
    page = context.new_page()
    page.set_default_timeout(_PATIENCE)
    page.set_viewport_size({"width": 1280, "height": 800})
    shot.visit(page, curator)
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        picture = Image.open(io.BytesIO(page.screenshot(full_page=True, animations="disabled")))
        small = picture.convert("RGB").quantize(_COLORS, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
        small.save(FOLDER / f"{shot.name}-{width}-{scheme}.png", optimize=True)
    context.close()


def main(names: Sequence[str]) -> None:
    """Photograph all pages, or those that are named."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER.parent / "gallery.md").write_text(gallery(), encoding="utf-8")
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
