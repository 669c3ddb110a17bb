"""Numbers as people write them: as many digits as are known, commas between thousands, no exponents where none is due.

An error is worth two digits, and the value beside it ends where its error does: 67,800 ± 5,300. What is published with
more digits than that looks like knowledge and is noise.
"""

import math

__all__ = ["counted", "percent", "significant", "to_precision_of"]

_ERROR_DIGITS = 2
_LARGEST = 1e15  # from here on a number has more digits than floating point knows, and than anybody reads


def to_precision_of(value: float, error: float) -> str:
    """A value rounded to the second digit of its error; all its digits if there is no error to go by.

    Examples
    --------
    >>> to_precision_of(67_843.2, 5_312.8), to_precision_of(0.2, 0.0312), to_precision_of(3.0, 9.97)
    ('67,800', '0.200', '3')
    """
    if not (math.isfinite(value) and math.isfinite(error)) or error == 0:
        return _written(value)
    return _to_places(value, _places(error, _ERROR_DIGITS))


def significant(value: float, digits: int = 3) -> str:
    """A value with so many digits, trailing zeros left out.

    Examples
    --------
    >>> significant(123_456.0), significant(1605.04, 4), significant(0.59842), significant(2.0), significant(0.0)
    ('123,000', '1,605', '0.598', '2', '0')
    >>> significant(1.5e300)
    '1.5e+300'
    """
    if value == 0 or not math.isfinite(value):
        return _written(value)
    text = _to_places(value, _places(value, digits))
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def percent(fraction: float, digits: int = 3) -> str:
    """A fraction in percent.

    Examples
    --------
    >>> percent(0.002), percent(0.9955), percent(1 / 3, 2)
    ('0.2 %', '99.5 %', '33 %')
    """
    return f"{significant(100 * fraction, digits)} %"


def counted(n: int, noun: str, one: str = "", many: str = "") -> str:
    """A count with its noun, and the verb that belongs to it.

    Examples
    --------
    >>> counted(1, "row"), counted(1_200, "row"), counted(1, "user", "has", "have"), counted(0, "user", "has", "have")
    ('1 row', '1,200 rows', '1 user has', '0 users have')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'} {one if n == 1 else many}".rstrip()


def _places(number: float, digits: int) -> int:
    """How many places after the point its last digit is at, once rounded: 9.97 with two digits is 10, not 10.0."""
    exponent = int(f"{abs(number):.{digits - 1}e}".partition("e")[2])
    return digits - 1 - exponent


def _to_places(value: float, places: int) -> str:
    if places > 12 or abs(value) >= _LARGEST:  # a very small or very large number would be mostly zeros
        digits = max(places + int(f"{value:e}".partition("e")[2]) + 1, 1)
        return f"{value:.{digits}g}"
    return f"{round(value, places) + 0.0:,.{max(places, 0)}f}"


def _written(value: float) -> str:
    """With all the digits that it has, up to ten."""
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "∞" if value > 0 else "-∞"
    text = f"{value:,.10g}"
    return text if "e" not in text else f"{value:.4g}"
