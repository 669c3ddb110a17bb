"""Somebody with a browser of their own, and what it keeps."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.service.running import Running

WIDE = {"width": 1280, "height": 900}


DRAWN = "07" * 16
"""The nonce that every browser here draws, so that a test knows the round that asks somebody."""
_DRAWING = """
const draw = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (array) => (array.length === 16 ? array.fill(7) : draw(array));
"""


class Person:
    """Somebody with a browser of their own, on which nothing may go wrong unseen."""

    def __init__(self, server: Running, browser: Browser, name: str, **options: object) -> None:
        self.name, self.server = name, server
        self.context: BrowserContext = browser.new_context(base_url=server.url, viewport=WIDE, **options)
        self.context.set_default_timeout(20_000)
        self.context.add_init_script(_DRAWING)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: dialog.accept())

    def token(self, study: str) -> str:
        return self.server.token(self.name, study)["Authorization"].removeprefix("Bearer ")

    def arrive(self, study: str) -> Page:
        """From the organization's app, which posts the token: it is in no address."""
        page = self.page
        page.goto("/health")
        page.evaluate(
            """([path, token]) => {
              const form = document.createElement("form");
              Object.assign(form, {method: "post", action: path});
              const field = document.createElement("input");
              form.append(Object.assign(field, {type: "hidden", name: "token", value: token}));
              document.documentElement.append(form);
              form.submit();
            }""",
            [f"/studies/{study}/take-part", self.token(study)],
        )
        page.wait_for_url(f"**/studies/{study}/take-part")
        assert "token" not in page.url
        return page

    def choose(self, choice: str, value: float | str) -> None:
        expect(self.page.locator("#checked li")).to_have_count(3)
        if isinstance(value, str):
            self.page.select_option("#value", value)
        else:
            self.page.fill("#value", str(value))
        self.page.check(f"[name=choice][value={choice}]")
        self.page.get_by_role("button", name="Take part").click()


People = Callable[..., Person]


def kept(page: Page) -> list[Any]:
    """All that the browser keeps for studies."""
    found: list[Any] = page.evaluate(
        """() => new Promise((resolve, reject) => {
          const opening = indexedDB.open("hybriddp", 1);
          opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
          opening.onerror = reject;
          opening.onsuccess = () => {
            const all = opening.result.transaction("kept").objectStore("kept").getAll();
            all.onsuccess = () => { opening.result.close(); resolve(all.result); };
          };
        })"""
    )
    return found
