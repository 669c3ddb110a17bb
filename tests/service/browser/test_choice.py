"""Nothing stands for a choice that was not made, whatever happens to the form."""

import pytest
from playwright.sync_api import expect

from hybriddp.kmeans import KMeansStudy
from tests.service.browser.conftest import Site
from tests.service.browser.people import People, kept
from tests.service.kmeans_people import People as Points

pytestmark = pytest.mark.slow

CLICK = "document.querySelector('button.next').click()"
CHOICES = "document.querySelectorAll('[name=choice]').forEach"
HALF = "the script threw amid its checks"
WITHOUT_CHOICE = {
    HALF: f"document.querySelector('button.next').disabled = false; {CLICK}",
    "disabled": f"{CHOICES}(one => {{ one.disabled = true }}); {CLICK}",
    "removed": f"{CHOICES}(one => one.remove()); {CLICK}",
    "not asked": "document.querySelector('form').dispatchEvent(new Event('submit', { cancelable: true }))",
}
THROWS = """
const replace = Element.prototype.replaceChildren;
Element.prototype.replaceChildren = function (...all) {
  if (this.id === "checked") throw new Error("half way");
  return replace.apply(this, all);
};
"""


@pytest.fixture(scope="module")
def points(site: Site) -> str:
    """A K-means study that people can join."""
    study = KMeansStudy("points without a choice", n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=4)
    made = Points.of(study, "points-open", n_trusted=1, n_local=1).create(site.server, dimensions=["a", "b"])
    assert made.status_code == 201
    return "points-open"


@pytest.mark.parametrize("kind", ["mean", "points"])
@pytest.mark.parametrize("trouble", WITHOUT_CHOICE)
def test_no_value_leaves_without_a_choice(people: People, points: str, kind: str, trouble: str) -> None:
    person = people(f"no choice, {trouble}")
    if trouble == HALF:
        person.context.add_init_script(THROWS)
    page = person.arrive("open" if kind == "mean" else points)
    sent: list[str | None] = []
    page.on("request", lambda request: sent.append(request.post_data) if request.method == "POST" else None)
    if trouble == HALF:
        expect(page.locator("#said.wrongly")).to_contain_text("Something went wrong")
    else:
        expect(page.locator("button.next")).to_be_enabled()
    for field in page.locator("input[type=number]").all():
        field.fill("3.5")
    page.evaluate(WITHOUT_CHOICE[trouble])
    expect(page.locator("#said")).to_have_text(
        "Choose whether you trust the curator. Nothing was drawn and nothing was sent."
    )
    assert (sent, kept(page)) == ([], [])
