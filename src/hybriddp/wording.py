"""Numbers as people write them: as many digits as are known, commas between thousands, no exponents where none is due.

An error is worth two digits, and the value beside it ends where its error does: 67,800 ± 5,300. What is published with
more digits than that looks like knowledge and is noise.
"""

import math

__all__ = ["percent", "quantity", "significant", "to_precision_of"]

_ERROR_DIGITS = 2
_LARGEST = 1e15  # from here on a number has more digits than floating point knows, and than anybody reads


def quantity(value: float, error: float) -> str:
    """A value with its error, both to the error's second digit.

    Examples
    --------
    >>> quantity(67_843.2, 5_312.8)
    '67,800 ± 5,300'
    >>> quantity(40.6182, 0.5984), quantity(-0.00123, 0.0000996)
    ('40.62 ± 0.60', '-0.00123 ± 0.00010')
    >>> quantity(40.6182, 0.0)
    '40.6182 ± 0'
    """
    if error == 0 or not math.isfinite(error):
        return f"{_written(value)} ± {_written(error)}"
    return f"{to_precision_of(value, error)} ± {to_precision_of(error, error)}"


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


def percent(share: float, digits: int = 3) -> str:
    """A share in percent.

    Examples
    --------
    >>> percent(0.002), percent(0.9955), percent(1 / 3, 2)
    ('0.2 %', '99.5 %', '33 %')
    """
    return f"{significant(100 * share, digits)} %"


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
