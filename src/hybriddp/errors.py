"""Everything hybriddp raises on purpose.

::

    HybridDPError
    ├── ParameterError (ValueError)     a parameter is of the wrong type or out of its range
    ├── DataError (ValueError)          the data given cannot be used
    ├── BudgetError                     the release would cost more privacy than is left
    ├── ProtocolError                   two parties do not agree on the study, the channel or the wire format
    ├── NumericalError                  a number could not be computed to the accuracy that a guarantee needs
    └── MissingExtraError (ImportError) an optional library is not installed

Every message is one sentence that names the thing, what it must be and what it is, and, where there is one, a
second sentence with the remedy. On the command line each class ends the program with its own ``exit_code``.

A message may show a parameter, which is public. It never shows data, and neither does anything that hangs on the
exception: what a library said about a row stays behind (`raise_unchained`).
"""

from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import ClassVar, NoReturn

import numpy as np

__all__ = [
    "BudgetError",
    "DataError",
    "HybridDPError",
    "MissingExtraError",
    "NumericalError",
    "ParameterError",
    "ProtocolError",
]


_FEW = 32  # parameters that stand together, such as the bounds of some dimensions


class HybridDPError(Exception):
    """The root of everything hybriddp raises on purpose."""

    exit_code: ClassVar[int] = 1


class ParameterError(HybridDPError, ValueError):
    """A parameter is of the wrong type or out of its range.

    Attributes
    ----------
    name : str
        The parameter as the caller wrote it.
    expected : str
        What it must be, in words.
    value : object
        What was given; for an array, its first offending element. What could be a table of data is described only.
    """

    exit_code: ClassVar[int] = 2

    def __init__(
        self, name: str, expected: str, value: object, *, shown_as: str | None = None, remedy: str = ""
    ) -> None:
        self.name = name
        self.expected = expected
        public = _is_plain(value)
        self.value = value if public else _description(value)
        shown = _shorten(repr(value)) if public else self.value
        sentence = f"{name} must be {expected}, got {shown_as or name}={shown}."
        super().__init__(f"{sentence} {remedy}" if remedy else sentence)


class DataError(HybridDPError, ValueError):
    """The data given cannot be used; nothing has been spent."""

    exit_code: ClassVar[int] = 4


class BudgetError(HybridDPError):
    """The release would cost more privacy than is left; nothing has been released."""

    exit_code: ClassVar[int] = 3


class ProtocolError(HybridDPError):
    """Two parties do not agree on the study, the channel or the wire format."""

    exit_code: ClassVar[int] = 4


class NumericalError(HybridDPError):
    """A number could not be computed to the accuracy that a guarantee needs, so none is given."""


class MissingExtraError(HybridDPError, ImportError):
    """An optional library is not installed; the message has the command that installs it."""

    def __init__(self, library: str, *, extra: str, purpose: str) -> None:
        self.extra = extra
        super().__init__(f'{purpose} needs {library}, which is not installed. Run: pip install "hybriddp[{extra}]"')


def raise_unchained(error: HybridDPError) -> NoReturn:
    """Raise an error alone, also where another one is being handled.

    ``raise … from None`` hides the other one from tracebacks only: it stays in ``__context__``, where loggers find it,
    and with it the row of a table that an engine quotes.
    """
    try:
        raise error
    finally:
        error.__cause__ = error.__context__ = None


def _is_plain(value: object) -> bool:
    """Whether a value is what parameters are: a number, a text, or a few of them; a table of data is not."""
    scalars = (str, bytes, int, float, complex, Decimal, Fraction, PurePath, np.generic, type(None))
    if isinstance(value, dict):
        return len(value) <= _FEW and all(_is_plain(x) for pair in value.items() for x in pair)
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return len(value) <= _FEW and all(_is_plain(x) for x in value)
    return isinstance(value, scalars)


def _description(value: object) -> str:
    """Describe the type and the size of a value."""
    shape = getattr(value, "shape", None)
    size = f" of shape {shape}" if isinstance(shape, tuple) else ""
    if not size and isinstance(value, (dict, list, tuple, set, frozenset)):
        size = f" of length {len(value):,}"
    return f"<{type(value).__name__}{size}>"


def _shorten(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
