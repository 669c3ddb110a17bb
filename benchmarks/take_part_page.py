"""How large the page is on which people take part, and how long the first report takes in a real browser.

    python -m benchmarks.take_part_page

Every visit has a browser window of its own, whose cache is empty. The server, `hybriddp serve`, and Debian's Chromium
share the machine; only loopback is talked to, so what a network adds is not in the figures.
"""

import gzip
import json
import secrets
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import httpx
import numpy as np
from playwright.sync_api import Browser, sync_playwright

from benchmarks.service_load import Served, serving
from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.kmeans import KMeansStudy
from hybriddp.service.static_files import FOLDER
from hybriddp.service.tokens import mint
from tests.machine import CHROMIUM

_VISITS = 15
_STUDIES: dict[str, MeanStudy | FrequencyStudy | DistributionStudy | KMeansStudy] = {
    "mean": MeanStudy("session minutes", bounds=(0, 240), epsilon=1),
    "frequency": FrequencyStudy("favorite fruit", categories=["apple", "pear", "fig"], other=False, epsilon=1),
    "distribution": DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1, scale="log"),
    "kmeans": KMeansStudy("a day", n_clusters=3, bounds=[(0, 240), (0, 24)], epsilon=4),
}


def create(served: Served) -> None:
    """Open studies of each kind, without tokens where that can be."""
    consent = {"organization": "Example", "purpose": "A measurement.", "contact": "x@example.org"}
    for name, study in _STUDIES.items():
        body = {"study": json.loads(study.to_json()), "id": name, "consent": consent, "tokens": name == "kmeans"}
        headers = {"Authorization": f"Bearer {served.admin_key}"}
        more = {"closes_at": "2099-01-01T00:00:00Z"}
        httpx.post(f"{served.url}/studies", headers=headers, json=body | more, trust_env=False).raise_for_status()


def visit(browser: Browser, served: Served, name: str) -> list[float]:
    """Milliseconds from the address to a study that is checked, and from the button to a receipt that is checked."""
    context = browser.new_context(base_url=served.url)
    page = context.new_page()
    start = time.perf_counter()
    page.goto(f"/studies/{name}/take-part", wait_until="commit")
    page.locator("#checked li").first.wait_for()
    ready = time.perf_counter()
    if name == "frequency":
        page.select_option("#value", "1")
    elif name == "kmeans":
        who = {"subject": secrets.token_hex(8), "study": name}
        page.fill("#token", mint(served.secret, **who, lifetime=timedelta(hours=1)))
        page.fill("#value1", "37.5")
        page.fill("#value2", "4")
    else:
        page.fill("#value", "37.5")
    page.check("[value=report]")
    clicked = time.perf_counter()
    page.get_by_role("button", name="Take part").click()
    page.locator("#sent a[download]").first.wait_for()
    done = time.perf_counter()
    context.close()
    return [1000 * (ready - start), 1000 * (done - clicked)]


def main() -> None:
    """Print sizes and times."""
    for name in ("take_part.js", "points.js", "plan.js", "study.js", "uplot.css"):
        print(f"{name}: {len(gzip.compress((FOLDER / name).read_bytes(), 9)) / 1000:.1f} kB gzipped")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), "") as served, sync_playwright() as driver:
        create(served)
        for name in _STUDIES:
            page = httpx.get(f"{served.url}/studies/{name}/take-part", trust_env=False).content
            print(
                f"page, {name}: {len(gzip.compress(page, 9)) / 1000:.1f} kB gzipped, {len(page) / 1000:.1f} kB as sent"
            )
        flags = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        for name in _STUDIES:
            visit(browser, served, name)
            taken = np.array([visit(browser, served, name) for _ in range(_VISITS)])
            (ready, sent), slow = np.median(taken, axis=0), np.max(taken, axis=0)
            print(f"{name}: ready after {ready:.0f} ms (at most {slow[0]:.0f}), ", end="")
            print(f"receipt {sent:.0f} ms after the click (at most {slow[1]:.0f})")
        browser.close()


if __name__ == "__main__":
    main()
