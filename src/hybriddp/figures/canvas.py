"""The one look of all pictures, drawn without a screen and without touching the caller's matplotlib settings."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp.errors import DataError, MissingExtraError
from hybriddp.reporting.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

INK, MUTED, RED = LIGHT["ink"], LIGHT["axis"], LIGHT["danger"]
TRUSTED, LOCAL, HYBRID = LIGHT["trusted"], LIGHT["local"], LIGHT["both"]
PURPLE = "#7b4ea3"
"""Color of a fourth curve, which only pictures have."""

_LOOK: dict[Any, Any] = {
    "figure.dpi": 110,
    "font.size": 10,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LIGHT["line"],
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "svg.hashsalt": "hybriddp",
}


@contextmanager
def canvas(width: float, height: float) -> Iterator["Figure"]:
    """Create a figure of this size in inches, in the common look."""
    mpl = import_matplotlib()
    from matplotlib.figure import Figure

    with mpl.rc_context(_LOOK):
        yield Figure(figsize=(width, height), layout="constrained")


def panels(figure: "Figure", count: int, columns: int, **options: Any) -> list["Axes"]:  # noqa: ANN401
    """Make a grid of panels and hide those beyond ``count``."""
    grid: list[Axes] = figure.subplots(-(-count // columns), columns, squeeze=False, **options).ravel().tolist()
    for axes in grid[count:]:
        axes.set_visible(False)
    return grid[:count]


def readable_log_axis(axis: "Axis", text: Callable[[float], str]) -> None:
    """Labels at 1, 2 and 5 times every power of ten, as plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda value, _: text(value))
    axis.set_minor_formatter(NullFormatter())


def pale_to_blue() -> "Colormap":
    """Colors for values that only grow; without the darkest, on which contours could not be read."""
    return _colors("YlGnBu", 0.0, 0.75)


def orange_to_purple() -> "Colormap":
    """Colors for values on both sides of one that matters, which is white."""
    return _colors("PuOr", 0.15, 0.85)


def _colors(name: str, first: float, last: float) -> "Colormap":
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[name](np.linspace(first, last, 256)))


def legend_below(figure: "Figure", handles: "Sequence[Artist]", title: str) -> None:
    """One legend for all panels, below them."""
    legend = figure.legend(handles=handles, loc="outside lower center", ncols=4, title=title, title_fontsize=9)
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_color(INK)


def note(figure: "Figure", text: str) -> None:
    """Add a small line below the picture."""
    figure.supxlabel(text, fontsize=8, color=INK)


def import_matplotlib() -> Any:  # noqa: ANN401
    """Import Matplotlib, or raise an error that says how to install it."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtraError("matplotlib", extra="plots", purpose="Drawing a picture") from None
    return mpl


def save(figure: "Figure", path: Path | None) -> "Figure":
    """Write the figure, if there is a path, in the format that the name's ending says; give the figure back."""
    if path is None:
        return figure
    if not path.suffix:
        raise DataError(f"The picture cannot be written to {path}: its name must end in .png, .svg or .pdf.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except (OSError, ValueError) as reason:
        raise DataError(f"The picture cannot be written to {path}: {reason}.") from None
    return figure
