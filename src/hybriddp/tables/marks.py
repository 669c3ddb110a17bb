"""Whether a dot stands before a fraction, where the first bytes of a file do not show it.

``1.234`` is a thousand and some in half of Europe and one and a bit elsewhere. Read the wrong way an answer is 1,000
times too small and looks right. So where nothing says what a dot means, all cells are looked at before any is counted.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hybriddp.errors import DataError

if TYPE_CHECKING:
    import polars as pl

_GROUPED = r"^[+-]?[1-9]\d{0,2}\.\d{3}$"  # a fraction, or thousands
_WHOLE = r"^[+-]?\d+$"
_FRACTION = r"^[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?$"


def two_ways(name: str) -> DataError:
    """The error that the numbers of a file can be read in two ways."""
    return DataError(
        f"{name} has numbers that can be read in two ways, since . and , may stand before a fraction or "
        "between thousands. Say what they mean with --decimal, and --thousands if they are separated "
        "(in Python: CsvFormat)."
    )


def refuse_doubtful(frame: "pl.LazyFrame", cells: Mapping[str, "pl.Expr"], name: str, *, likely: bool) -> None:
    """Raise `DataError` if dots may stand between thousands in columns of texts.

    A dot stands before a fraction for certain if any cell of the file can be read in no other way, such as ``0.5``. If
    there is none, a column of nothing but cells like ``1.234`` is refused unless dots before fractions are ``likely``,
    and one that has integers beside them always: computers write all numbers of a column with a fraction, or some with
    a shorter one, while 950 and 1.234 are what people write who separate thousands by dots.
    """
    import polars as pl

    # Most files that come here are of integers, and a search for a dot costs much less than one for numbers.
    dots = [cell.str.contains(".", literal=True).any().alias(str(i)) for i, cell in enumerate(cells.values())]
    if not dots or not any(frame.select(dots).collect(engine="streaming").row(0)):
        return
    looks: dict[str, pl.Expr] = {}
    for i, cell in enumerate(cells.values()):
        text = cell.str.strip_chars()
        grouped = text.str.contains(_GROUPED)
        looks |= {f"grouped{i}": grouped.any(), f"whole{i}": text.str.contains(_WHOLE).any()}
        looks[f"certain{i}"] = (text.str.contains(_FRACTION) & ~grouped).any()
    found = frame.select(**looks).collect(engine="streaming").row(0, named=True)
    if any(found[f"certain{i}"] for i in range(len(cells))):
        return
    for i in range(len(cells)):
        if found[f"grouped{i}"] and (found[f"whole{i}"] or not likely):
            raise two_ways(name)
