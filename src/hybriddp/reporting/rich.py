"""Tables for the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def empty_table(title: list[str], headings: Sequence[str], caption: list[str]) -> "Table":
    """Create an empty table with words above and below it, shown as they are."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    above, below = (Text("\n".join(lines)) for lines in (title, caption))  # shown as they are: a name is no markup
    view = Table(title=above, caption=below, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD)
    for heading in headings:
        view.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    return view
