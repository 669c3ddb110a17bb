"""Privacy parameters: (ε, δ), and which data sets are neighbors."""

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction

from hybriddp.errors import ParameterError
from hybriddp.odds import canonical_epsilon, plain_decimal

_LARGEST_TOTAL = Decimal(1000)
_LEAST_DELTA = Decimal("1e-300")
LARGEST_DELTA = Fraction(1, 1000)
"""No study promises more: see `Privacy.promised`."""


def outright(delta: float) -> str:
    """What a δ that is too large would allow, in words."""
    users = "half" if delta == 0.5 else f"{100 * delta:.3g} %"
    return f"A study that published the values of {users} of its users outright would keep this promise."


class Neighbors(Enum):
    """Which two data sets must be hard to tell apart."""

    REPLACE_ONE = "one user's value is replaced; who is in which group, and how many are, is public"
    ADD_REMOVE = "one trusted user joins or leaves; how many trusted users there are is not public"


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
        """What a study may promise its users: the same, with a δ that protects them.

        A curator who publishes every user's value with probability δ, and nothing else, is (0, δ)-private. So δ is the
        fraction of users for whom nothing may hold, and belongs far below one over their number. How many there are is
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
        """What a user may spend, or is charged, over several studies: ε up to 1,000.

        The limit of 20 is for one study: beyond it a report is hardly random. Several studies add up to more, and one
        that counts users who join or leave is charged twice its ε where replaced values are counted.

        Examples
        --------
        >>> Privacy.total(epsilon=30)
        Privacy(epsilon='30', delta='0')
        """
        total = cls(epsilon=1, delta=delta)
        object.__setattr__(total, "epsilon", canonical_epsilon(epsilon, largest=_LARGEST_TOTAL))
        return total

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
