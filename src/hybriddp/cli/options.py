"""Options: numbers as people type them (252,540, 1 %, 0.5%, 1_000, 2e6), and those that several commands have.

A comma stands between thousands and a point before the fraction. Half of all readers write it the other way round, so
what could be meant that way (``0,125``, ``1.234,56``, ``250.000`` users) is refused, never read as something else.

One rule for a part of the users, everywhere: a number below 1 is a fraction, ``0.2%`` is a percentage, a whole number
from 2 on is a number of users, and ``1`` alone is refused, since it could be any of the three.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hybriddp import _check
from hybriddp.errors import ParameterError

_SIGN = "[+-]?"
_GROUPED = re.compile(rf"{_SIGN}[1-9][0-9]{{0,2}}(?:(?:,[0-9]{{3}})+|(?:_[0-9]{{3}})+)(?:\.[0-9]*)?")
_PLAIN = re.compile(rf"{_SIGN}(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_POINTS_BETWEEN_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}\.000")


def digits(text: str) -> str:
    """Strip the separators between thousands from a number, digit by digit."""
    bare = str(text).strip()
    if _GROUPED.fullmatch(bare):
        return bare.replace(",", "").replace("_", "")
    if _PLAIN.fullmatch(bare) and math.isfinite(float(bare)):
        return bare
    hint = ": a comma stands between thousands, a point before the fraction" if "," in bare else ""
    raise typer.BadParameter(f"{text!r} is not a number such as 252,540, 0.01 or 1%{hint}.")


def number(text: str) -> float:
    """Parse a number, with a percentage as a fraction."""
    bare = str(text).strip()
    if bare.endswith("%"):
        return float(digits(bare.removesuffix("%"))) / 100
    return float(digits(bare))


def amount(text: str) -> float:
    """Parse a number in the units of the values, such as a bound or a mean.

    Percentages are refused, because they would refer to nothing.
    """
    if str(text).strip().endswith("%"):
        raise typer.BadParameter(f"{text!r} is a percentage; a number in the units of the values is needed.")
    return number(text)


def decimal(text: str) -> str:
    """Read an ε or a δ as an exact decimal, digit by digit.

    A missing zero before the point is added.
    """
    bare = str(text).strip()
    if "," in bare:
        point = bare.replace(",", ".")
        raise typer.BadParameter(f"{bare!r} has a comma, which stands between thousands; write a point: {point}.")
    return f"0{bare}" if bare[:1] == "." else bare


def step(text: str) -> str:
    """Read a step in the units of the values, or the word ``finest``.

    The digits of the step are kept.
    """
    return text if text == "finest" else digits(text)


def users(text: str) -> int:
    """Parse a number of users."""
    _no_points_between_thousands(text)
    value = number(text)
    if str(text).strip().endswith("%") or not (0 <= value <= _check.MOST_USERS and value == int(value)):
        raise typer.BadParameter(f"{text!r} is not a whole number of users such as 1,250 or 1e6.")
    return int(value)


def _no_points_between_thousands(text: str) -> None:
    """Refuse 250.000 users: whoever writes that means 250,000, and not 250."""
    bare = str(text).strip()
    if _POINTS_BETWEEN_THOUSANDS.fullmatch(bare):
        one, many = bare.partition(".")[0], bare.replace(".", ",")
        raise typer.BadParameter(f"{bare} could be {one} or {many} users: write one of these.")


@dataclass(frozen=True, slots=True)
class UserShare:
    """A part of the users: a fraction of them, or a number; exactly one of the two is there."""

    fraction: float | None = None
    count: int | None = None

    def of(self, n_users: int, option: str) -> float:
        """Return the share as a fraction of ``n_users`` users."""
        if self.fraction is not None:
            return self.fraction
        count = self.count or 0
        if count > n_users:
            raise ParameterError(option, f"at most the number of users, {n_users:,}", count)
        return count / n_users


def user_share(text: str) -> UserShare:
    """Parse a share of the users.

    Examples are ``0.2%``, ``0.002`` and ``4,000`` (users).
    """
    bare = str(text).strip()
    for word in ("users", "user"):
        if bare.lower().endswith(word):
            return UserShare(count=users(bare[: -len(word)]))
    _no_points_between_thousands(bare)
    value = number(bare)
    if bare.endswith("%"):
        if not 0 <= value <= 1:
            raise typer.BadParameter(f"{text!r} is not between 0% and 100%.")
        return UserShare(fraction=value)
    if value == 1:
        raise typer.BadParameter("1 is ambiguous: write 1% (or 0.01), 100% for everybody, or '1 user'.")
    if 0 <= value < 1:
        return UserShare(fraction=value)
    if not (2 <= value <= _check.MOST_USERS and value == int(value)):
        raise typer.BadParameter(f"{text!r} is neither a share of users such as 0.2% or 0.002 nor a number of them.")
    return UserShare(count=int(value))


# Options of several commands


def option(text: str, *flags: str, **settings: Any) -> Any:  # noqa: ANN401
    """Create an option with its help."""
    return typer.Option(*flags, help=text, **settings)


Bounds = Annotated[
    tuple[float, float], option("Public range of values, chosen without looking at the data.", parser=amount)
]
Epsilon = Annotated[str, option("Privacy parameter ε of every user, from 0.01 to 20.", parser=decimal)]
Delta = Annotated[str, option("0, or a small number for Gaussian noise.", parser=decimal)]
Trusted = Annotated[
    UserShare,
    option("How many users trust the curator: 1%, 0.01 or 2,500 users.", metavar="<share>", parser=user_share),
]
Trials = Annotated[int, option("Number of repetitions.")]
Plot = Annotated[Path | None, option("Write a picture to this file (.png, .svg, .pdf).")]
Html = Annotated[Path | None, option("Write an HTML page to this file.")]
AsJson = Annotated[bool, option("Print the result as JSON.", "--json")]

Separator = Annotated[str | None, option("Separator of cells in a .csv file: , ; | or tab.")]
Decimal = Annotated[str | None, option("Decimal mark in text files: . or ,")]
Thousands = Annotated[str | None, option("Thousands separator in text files: , . ' or space.")]
Encoding = Annotated[str | None, option("Encoding of text files, if not UTF-8: latin-1.")]
Missing = Annotated[list[str] | None, option("Another word for a missing number, besides NA; may be repeated.")]
