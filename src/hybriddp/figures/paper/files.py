"""The files of a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hybriddp.figures.canvas import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_all(figure: "Figure", paths: Sequence[Path]) -> None:
    """Write the picture to every path; PNG with a palette, which makes a third of the size and looks the same."""
    from PIL import Image  # matplotlib brings it

    for path in paths:
        save(figure, path)
        if path.suffix == ".png":
            with Image.open(path) as picture:
                small = picture.convert("RGB").quantize(
                    256, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE
                )
            small.save(path, optimize=True)
