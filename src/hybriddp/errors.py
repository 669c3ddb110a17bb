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
"""

from typing import ClassVar

__all__ = [
    "BudgetError",
    "DataError",
    "HybridDPError",
    "MissingExtraError",
    "NumericalError",
    "ParameterError",
    "ProtocolError",
]


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
        What was given; for an array, its first offending element.
    """

    exit_code: ClassVar[int] = 2

    def __init__(
        self, name: str, expected: str, value: object, *, shown_as: str | None = None, remedy: str = ""
    ) -> None:
        self.name = name
        self.expected = expected
        self.value = value
        sentence = f"{name} must be {expected}, got {shown_as or name}={_shorten(repr(value))}."
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


def _shorten(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
