"""Options that say how text files are written, for all commands that read some."""

from typing import Annotated

import typer

from hybriddp.tables import CsvFormat

Separator = Annotated[str | None, typer.Option(help="Between the cells of a .csv file: , ; | or tab.")]
Decimal = Annotated[str | None, typer.Option(help="Before the fraction of a number in text files: . or ,")]
Thousands = Annotated[str | None, typer.Option(help="Between thousands in text files: , . ' or space.")]
Encoding = Annotated[str | None, typer.Option(help="Of text files, if it is not UTF-8: latin-1.")]
Missing = Annotated[
    list[str] | None, typer.Option(help="One more word for a missing number, besides NA; may be repeated.")
]


def csv_format(
    separator: str | None, decimal: str | None, thousands: str | None, encoding: str | None, missing: list[str] | None
) -> CsvFormat:
    """The options as a value, checked."""
    return CsvFormat(separator, decimal, thousands, encoding, tuple(missing or ()))
