r"""ε as a decimal, and $e^\epsilon$ from below, in integers.

A channel is ε-private if no input makes a code more than $e^\epsilon$ times as likely as another input does. The
check compares whole numbers with $2^{96} e^\epsilon$ rounded down, so passing it is a proof.
"""

import re
from decimal import Decimal
from functools import lru_cache

import numpy as np

from hybriddp.errors import ParameterError

SHIFT = 96
SMALLEST, LARGEST = Decimal("0.01"), Decimal(20)
_CANONICAL = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?")
_PLAIN = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")  # no spaces, underscores, other digits
LONGEST = 24  # characters of an ε


def canonical_epsilon(epsilon: float | str | Decimal, *, largest: Decimal = LARGEST) -> str:
    """ε as the one decimal string that stands for it in every language, from 0.01 to ``largest``.

    A float is read as its shortest decimal, so 0.1 means one tenth.

    Examples
    --------
    >>> [canonical_epsilon(x) for x in (1, 1.0, "0.50", 1e-2)]
    ['1', '1', '0.5', '0.01']
    """
    number = plain_decimal(epsilon)
    expected = f"a number from 0.01 to {largest}"
    if number is None or not number.is_finite():
        raise ParameterError("epsilon", expected, epsilon)
    if number > largest:
        remedy = "Beyond 20 a report is hardly randomized at all: ask for the raw value, with consent, instead."
        raise ParameterError("epsilon", expected, epsilon, remedy=remedy if largest == LARGEST else "")
    if number < SMALLEST:
        remedy = "Below 0.01 a report says next to nothing." if number > 0 else ""
        raise ParameterError("epsilon", expected, epsilon, remedy=remedy)
    text = format(number, "f")  # exact, unlike normalize(), which rounds to 28 digits
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    if len(text) > LONGEST:
        raise ParameterError("epsilon", f"a number of at most {LONGEST} characters", epsilon)
    return text


def is_canonical(text: object) -> bool:
    """Whether a text is what `canonical_epsilon` would write."""
    return (
        isinstance(text, str)
        and len(text) <= LONGEST
        and _CANONICAL.fullmatch(text) is not None
        and SMALLEST <= Decimal(text) <= LARGEST
    )


@lru_cache(maxsize=256)
def odds(epsilon: str) -> int:
    r"""The largest odds allowed: a lower bound of $2^{96} e^\epsilon$.

    The terms of the exponential series are positive; each is rounded down, and the series is cut. So the sum is below
    the limit, by less than two per term.

    Examples
    --------
    >>> odds("1") / 2**96
    2.718281828459045
    """
    numerator, denominator = Decimal(epsilon).as_integer_ratio()
    total, term, k = 0, 1 << SHIFT, 0
    while term:
        total += term
        k += 1
        term = term * numerator // (denominator * k)
    return total


def plain_decimal(value: object) -> Decimal | None:
    """The decimal that a number or a plainly written text stands for, a float by its shortest one; None for others."""
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (float, np.floating)):
        return Decimal(repr(float(value)))
    if isinstance(value, np.integer):
        value = int(value)
    if not isinstance(value, (int, str, Decimal)):
        return None
    if isinstance(value, str) and _PLAIN.fullmatch(value) is None:
        return None
    return Decimal(value)
