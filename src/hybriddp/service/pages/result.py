"""A released study as a page for everybody: what may be published, and no more."""

from collections.abc import Iterable, Sequence

from hybriddp.reporting.html import Section, alerts, paragraphs, render_page
from hybriddp.reporting.wording import counted

__all__ = ["downloads", "result_page"]

_FORMS = (("result", "JSON"), ("result.csv", "CSV"), ("result.svg", "picture (SVG)"))


def result_page(
    title: str,
    answer: str,
    *,
    warnings: Iterable[str],
    promise: str,
    n_trusted: int,
    n_local: int,
    drawing: Sequence[str] = (),
    style: str = "",
) -> str:
    """Return the page of a result.

    The answer's sentence begins with the title, which is left out because it is the heading. ``drawing`` contains the
    blocks that show the result, with their ``style``.

    Examples
    --------
    >>> page = result_page("minutes", "minutes: 37.", warnings=[], promise="ε = 1.", n_trusted=2, n_local=1)
    >>> '<p class="answer">37.</p>' in page, "2 trusted participants and 1 local participant" in page
    (True, True)
    """
    people = f"{counted(n_trusted, 'trusted participant')} and {counted(n_local, 'local participant')}"
    answer = answer.removeprefix(f"{title}: ")
    told = [f"Computed from the contributions of {people}.", promise]
    blocks = [
        *alerts(warnings),
        *paragraphs([answer], style="answer"),
        *drawing,
        *paragraphs(told),
        downloads(drawn=bool(drawing)),
    ]
    return render_page(title, [Section("", blocks)], style=style)


def downloads(*, drawn: bool = True) -> str:
    """Links to the same result in other forms, which stand beside the page: a picture if something is drawn on it."""
    links = [f'<a href="{path}">{words}</a>' for path, words in _FORMS if drawn or not path.endswith("svg")]
    return f"<p>Download: {', '.join(links)}.</p>"
