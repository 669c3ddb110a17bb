"""Files that a command will write: what cannot be written is found before anything is done or spent."""

from pathlib import Path

from hybriddp.errors import DataError, raise_unchained
from hybriddp.figures.canvas import import_matplotlib

PICTURES = (".png", ".svg", ".pdf")


def check_targets(plot: Path | None, html: Path | None) -> None:
    """Raise `DataError` if the picture or the page could not be written."""
    if plot is not None:
        import_matplotlib()
        if plot.suffix not in PICTURES:
            raise DataError(f"The picture {plot} must end in one of {', '.join(PICTURES)}.")
    if html is not None and html.suffix not in (".html", ".htm"):
        raise DataError(f"The page {html} must end in .html.")
    for target in (plot, html):
        if target is not None and not target.parent.is_dir():
            raise DataError(f"{target} cannot be written: there is no folder {target.parent}.")
        if target is not None and target.is_dir():
            raise DataError(f"{target} cannot be written: it is a folder.")


def write_page(path: Path, text: str) -> None:
    """Write a page, or raise `DataError`."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as reason:
        raise_unchained(DataError(f"{path} cannot be written: {reason.strerror}."))
