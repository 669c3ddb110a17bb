"""Numbers as people type them: 252,540, 1 %, 0.5%, 1_000, 2e6. Each function is the parser of an option.

A comma stands between thousands and a point before the fraction. Half of the world writes it the other way round, so
what could be meant that way (``0,125``, ``1.234,56``, ``250.000`` users) is refused, never read as something else.

One rule for a part of the users, everywhere: a number below 1 is a fraction, ``0.2%`` is a percentage, a whole number
from 2 on is a number of users, and ``1`` alone is refused, since it could be any of the three.
"""

import math
import re
from dataclasses import dataclass

import typer

from hybriddp.errors import ParameterError

MOST_USERS = 10**12
"""More than anybody has."""


_SIGN = "[+-]?"
_GROUPED = re.compile(rf"{_SIGN}[1-9][0-9]{{0,2}}(?:(?:,[0-9]{{3}})+|(?:_[0-9]{{3}})+)(?:\.[0-9]*)?")
_PLAIN = re.compile(rf"{_SIGN}(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_POINTS_BETWEEN_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}\.000")


def digits(text: str) -> str:
    """The number that a text means, in the same digits, without what stands between thousands.

    Examples
    --------
    >>> digits(" 252,540.10 "), digits("1_000"), digits("2e6")
    ('252540.10', '1000', '2e6')
    """
    bare = str(text).strip()
    if _GROUPED.fullmatch(bare):
        return bare.replace(",", "").replace("_", "")
    if _PLAIN.fullmatch(bare) and math.isfinite(float(bare)):
        return bare
    hint = ": a comma stands between thousands, a point before the fraction" if "," in bare else ""
    raise typer.BadParameter(f"{text!r} is not a number such as 252,540, 0.01 or 1%{hint}.")


def number(text: str) -> float:
    """The number that a text means, with separators between thousands; a percentage becomes a share.

    Examples
    --------
    >>> number("252,540"), number("1 %"), number("0.005"), number("1_000")
    (252540.0, 0.01, 0.005, 1000.0)
    """
    bare = str(text).strip()
    if bare.endswith("%"):
        return float(digits(bare.removesuffix("%"))) / 100
    return float(digits(bare))


def amount(text: str) -> float:
    """A number in the units of the values (bounds, a mean, a spread): a percentage would be of nothing.

    Examples
    --------
    >>> amount("250,000"), amount("-1.5"), amount("1e6")
    (250000.0, -1.5, 1000000.0)
    """
    if str(text).strip().endswith("%"):
        raise typer.BadParameter(f"{text!r} is a percentage; a number in the units of the values is needed.")
    return number(text)


def decimal(text: str) -> str:
    """An ε or a δ as the decimal that it is, digit by digit, with the zero before the point that people leave out.

    Examples
    --------
    >>> decimal(".5"), decimal(" 1 "), decimal("1e-6"), decimal("much")
    ('0.5', '1', '1e-6', 'much')
    """
    bare = str(text).strip()
    return f"0{bare}" if bare[:1] == "." else bare


def step(text: str) -> str:
    """A step in the units of the values, digit by digit, or the word ``finest``.

    Examples
    --------
    >>> step("1,000"), step("0.10"), step("finest")
    ('1000', '0.10', 'finest')
    """
    return text if text == "finest" else digits(text)


def users(text: str) -> int:
    """A number of users.

    Examples
    --------
    >>> users("1,250"), users("1e6"), users("250_000")
    (1250, 1000000, 250000)
    """
    _no_points_between_thousands(text)
    value = number(text)
    if str(text).strip().endswith("%") or not (0 <= value <= MOST_USERS and value == int(value)):
        raise typer.BadParameter(f"{text!r} is not a whole number of users such as 1,250 or 1e6.")
    return int(value)


def _no_points_between_thousands(text: str) -> None:
    """Refuse 250.000 users: whoever writes that means 250,000, and not 250."""
    bare = str(text).strip()
    if _POINTS_BETWEEN_THOUSANDS.fullmatch(bare):
        one, many = bare.partition(".")[0], bare.replace(".", ",")
        raise typer.BadParameter(f"{bare} could be {one} or {many} users: write one of these.")


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the users, as a fraction or as a number of them; exactly one of the two is there."""

    fraction: float | None = None
    count: int | None = None

    def of(self, n_users: int, option: str) -> float:
        """The fraction of so many users.

        Examples
        --------
        >>> share("4,000").of(2_000_000, "trusted"), share("0.2%").of(2_000_000, "trusted")
        (0.002, 0.002)
        """
        if self.fraction is not None:
            return self.fraction
        count = self.count or 0
        if count > n_users:
            raise ParameterError(option, f"at most the number of users, {n_users:,}", count)
        return count / n_users


def share(text: str) -> Share:
    """A part of the users: ``0.2%``, ``0.002`` or ``4,000`` (users).

    Examples
    --------
    >>> share("0.2%"), share("0.2")
    (Share(fraction=0.002, count=None), Share(fraction=0.2, count=None))
    >>> share("1,250"), share("1 user")
    (Share(fraction=None, count=1250), Share(fraction=None, count=1))
    """
    bare = str(text).strip()
    for word in ("users", "user"):
        if bare.lower().endswith(word):
            return Share(count=users(bare[: -len(word)]))
    _no_points_between_thousands(bare)
    value = number(bare)
    if bare.endswith("%"):
        if not 0 <= value <= 1:
            raise typer.BadParameter(f"{text!r} is not between 0% and 100%.")
        return Share(fraction=value)
    if value == 1:
        raise typer.BadParameter("1 is ambiguous: write 1% (or 0.01), 100% for everybody, or '1 user'.")
    if 0 <= value < 1:
        return Share(fraction=value)
    if not (2 <= value <= MOST_USERS and value == int(value)):
        raise typer.BadParameter(f"{text!r} is neither a share such as 0.2% or 0.002 nor a number of users.")
    return Share(count=int(value))


def fraction(text: str) -> float:
    """A part of the users where nobody knows how many there are: ``0.2%`` or ``0.002``, no number of users.

    Examples
    --------
    >>> fraction("20%"), fraction("0.2")
    (0.2, 0.2)
    """
    found = share(text)
    if found.fraction is None:
        raise typer.BadParameter(f"{text!r} is a number of users; write a share such as 0.2% or 0.002.")
    return found.fraction
