r"""Privacy parameters: (ε, δ) as decimals, which data sets are neighbors, and $e^\epsilon$ from below, in integers.

A channel is ε-private if no input makes a code more than $e^\epsilon$ times as likely as another input does. The
check compares whole numbers with $2^{96} e^\epsilon$ rounded down (`odds`), so passing it is a proof.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hybriddp.errors import ParameterError

SHIFT = 96  # odds are whole multiples of 2^-96
SMALLEST_EPSILON, LARGEST_EPSILON = Decimal("0.01"), Decimal(20)
_CANONICAL = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?")
_PLAIN = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")  # no spaces, underscores, other digits
LONGEST_EPSILON = 24  # characters of an ε
_LARGEST_TOTAL = Decimal(1000)
_LEAST_DELTA = Decimal("1e-300")
LARGEST_DELTA = Fraction(1, 1000)
"""No study promises more: see `Privacy.promised`."""
NEIGHBORS = "one user's value is replaced; who is in which group, and how many are, is public"
"""Which two data sets must be hard to tell apart."""


def outright(delta: float) -> str:
    """Describe the harm that a too large δ would allow."""
    users = "half" if delta == 0.5 else f"{100 * delta:.3g} %"
    return f"A study that published the values of {users} of its users outright would keep this promise."


@dataclass(frozen=True, slots=True)
class Privacy:
    """(ε, δ) as decimals: what one user is promised in total.

    Parameters
    ----------
    epsilon : float or str
        From 0.01 to 20. A float is read as its shortest decimal.
    delta : float or str
        0, or a decimal below 1.

    Examples
    --------
    >>> Privacy(epsilon=0.1)
    Privacy(epsilon='0.1', delta='0')
    >>> Privacy(epsilon=0.1).exact_epsilon
    Fraction(1, 10)
    """

    epsilon: str
    delta: str

    def __init__(self, *, epsilon: float | str, delta: float | str = 0) -> None:
        object.__setattr__(self, "epsilon", canonical_epsilon(epsilon))
        object.__setattr__(self, "delta", _canonical_delta(delta))

    @classmethod
    def promised(cls, *, epsilon: float | str, delta: float | str = 0) -> "Privacy":
        """Create the privacy of a study, with a δ small enough to protect users.

        A curator who publishes every user's value with probability δ, and nothing else, is (0, δ)-private. So δ is the
        fraction of users for whom nothing may hold, and belongs far below one over their number. The number of users is
        not known here; more than one in a thousand is wrong for any study.

        Examples
        --------
        >>> Privacy.promised(epsilon=1, delta=0.5)
        Traceback (most recent call last):
        hybriddp.errors.ParameterError: delta must be at most 0.001, and far below 1 over the number of users, got \
delta=0.5. A study that published the values of half of its users outright would keep this promise.
        """
        made = cls(epsilon=epsilon, delta=delta)
        if made.exact_delta > LARGEST_DELTA:
            words = f"at most {float(LARGEST_DELTA):g}, and far below 1 over the number of users"
            raise ParameterError("delta", words, delta, remedy=outright(float(made.exact_delta)))
        return made

    @classmethod
    def total(cls, *, epsilon: float | str, delta: float | str = 0) -> "Privacy":
        """Create a privacy total over several studies, with ε up to 1,000.

        The total is a user's budget or the sum of a user's charges.

        The limit of 20 is for one study: beyond it a report is hardly random. Several studies add up to more.

        Examples
        --------
        >>> Privacy.total(epsilon=30)
        Privacy(epsilon='30', delta='0')
        """
        total = cls(epsilon=1, delta=delta)
        object.__setattr__(total, "epsilon", canonical_epsilon(epsilon, largest=_LARGEST_TOTAL))
        return total

    def __str__(self) -> str:
        return f"ε = {self.epsilon}, δ = {self.delta}"

    @property
    def exact_epsilon(self) -> Fraction:
        """ε without rounding."""
        return Fraction(Decimal(self.epsilon))

    @property
    def exact_delta(self) -> Fraction:
        """δ without rounding."""
        return Fraction(Decimal(self.delta))


def _canonical_delta(delta: float | str) -> str:
    number = plain_decimal(delta)
    if number is None or not number.is_finite() or not (number == 0 or _LEAST_DELTA <= number < 1):
        raise ParameterError("delta", "0 or a number between 0 and 1 (of at least 1e-300)", delta)
    return format(number, "f").rstrip("0").rstrip(".") if number else "0"  # 0 has a sign, and many spellings


# ε as a decimal, and its odds ----------------------------------------------------------------------------------------


def canonical_epsilon(epsilon: float | str | Decimal, *, largest: Decimal = LARGEST_EPSILON) -> str:
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
        raise ParameterError("epsilon", expected, epsilon, remedy=remedy if largest == LARGEST_EPSILON else "")
    if number < SMALLEST_EPSILON:
        remedy = "Below 0.01 a report says next to nothing." if number > 0 else ""
        raise ParameterError("epsilon", expected, epsilon, remedy=remedy)
    text = format(number, "f")  # exact, unlike normalize(), which rounds to 28 digits
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    if len(text) > LONGEST_EPSILON:
        raise ParameterError("epsilon", f"a number of at most {LONGEST_EPSILON} characters", epsilon)
    return text


def is_canonical(text: object) -> bool:
    """Whether a text is what `canonical_epsilon` would write."""
    return (
        isinstance(text, str)
        and len(text) <= LONGEST_EPSILON
        and _CANONICAL.fullmatch(text) is not None
        and SMALLEST_EPSILON <= Decimal(text) <= LARGEST_EPSILON
    )


@lru_cache(maxsize=256)
def odds(epsilon: str) -> int:
    r"""Compute the largest odds allowed, a lower bound of $2^{96} e^\epsilon$.

    The terms of the exponential series are positive; each is rounded down, and the series is cut. So the sum is below
    the limit, by less than two per term.

    Examples
    --------
    >>> odds("1") / 2**96
    2.718281828459045
    """
    return exponential(Fraction(Decimal(epsilon)), SHIFT)


def exponential(x: Fraction, bits: int) -> int:
    """Compute a lower bound of $2^{bits} e^x$ for positive $x$."""
    total, term, k = 0, 1 << bits, 0
    while term:
        total += term
        k += 1
        term = term * x.numerator // (x.denominator * k)
    return total


def plain_decimal(value: object) -> Decimal | None:
    """Return the decimal that a number or a plainly written text stands for.

    A float stands for its shortest decimal. The result is None for other values.
    """
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
