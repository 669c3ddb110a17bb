"""A released study as a page for everybody: what may be published, and no more."""

from collections.abc import Iterable

from hybriddp.page import Section, alerts, paragraphs, render_page
from hybriddp.wording import counted

__all__ = ["result_page"]


def result_page(title: str, answer: str, *, warnings: Iterable[str], promise: str, n_trusted: int, n_local: int) -> str:
    """The page of a result; the answer's sentence begins with the title, which the heading has said already.

    Examples
    --------
    >>> page = result_page("minutes", "minutes: 37.", warnings=[], promise="ε = 1.", n_trusted=2, n_local=1)
    >>> '<p class="answer">37.</p>' in page, "2 trusted participants and 1 local participant" in page
    (True, True)
    """
    people = f"{counted(n_trusted, 'trusted participant')} and {counted(n_local, 'local participant')}"
    answer = answer.removeprefix(f"{title}: ")
    told = [f"Computed from the contributions of {people}.", promise]
    return render_page(
        title, [Section("", [*alerts(warnings), *paragraphs([answer], style="answer"), *paragraphs(told)])]
    )
