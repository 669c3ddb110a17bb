"""`Published`: the part of a result that may be published, rounded, and its one text.

All kinds of results have the same field names for the same facts; `docs/results.md` lists them. The numbers are rows:
a mean has one, shares have one for each category, quantiles one for each of them.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hybriddp import _check
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.release.event import Part
from hybriddp.study.intervals import Interval
from hybriddp.study.result import Statement
from hybriddp.study.rounding import nearest, number

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1
"""Of the text of a result."""


@dataclass(frozen=True, slots=True)
class Row:
    """One number of a result with its interval, as the curator has it or rounded to ``step``."""

    name: str | int
    """What it is: ``"mean"``, a category, ``"p95"``."""
    value: float
    lower: float
    """Lower end of the interval; where it is rounded, outwards."""
    upper: float
    """Upper end."""
    level: float = 0.95
    """Level of confidence of the interval."""
    standard_error: float | None = None
    """Rounded up; None where it is not published."""
    step: Fraction | None = None
    """What all numbers are a multiple of, exactly; None if they are not rounded."""
    selected: bool = False
    """Whether the row was selected by its value, which raises the level of its interval."""

    @property
    def interval(self) -> Interval:
        """From ``lower`` to ``upper``; ``low, high = row.interval`` works."""
        return Interval(self.lower, self.upper, self.level)

    def rounded(self, step: Fraction, bounds: tuple[float, float] = (-math.inf, math.inf)) -> Self:
        """Round the value to a multiple of a step, and the interval outwards, both within bounds."""
        low, high = bounds
        value = min(max(float(nearest(Fraction(self.value), step)), low), high)
        lower = min(max(float(math.floor(Fraction(self.lower) / step) * step), low), value)
        upper = max(min(float(math.ceil(Fraction(self.upper) / step) * step), high), value)
        error = None if self.standard_error is None else float(math.ceil(Fraction(self.standard_error) / step) * step)
        return replace(self, value=value, lower=lower, upper=upper, standard_error=error, step=step)

    def number(self, x: float) -> str:
        """Write a number with as many digits as the step determines."""
        return number(x, self.step or Fraction(1, 10**6))

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, value, high = (self.number(x) for x in (self.lower, self.value, self.upper))
        return f"{value}, between {low} and {high} ({100 * self.level:g} %)"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"step": None if self.step is None else float(self.step)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Read what `to_dict` gave; `ValueError` if it is no row."""
        plain, step = {field.name: content[field.name] for field in fields(cls)}, content["step"]
        row = cls(**plain | {"step": None if step is None else Fraction(repr(float(step)))})
        if not (row.lower <= row.value <= row.upper and 0 < row.level < 1):
            raise ValueError("the interval does not hold the value")
        return row


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Published:
    """The part of a result that may be published: rounded numbers, and what a reader must know of them."""

    kind: ClassVar[str]
    """Kind of the result."""
    row_type: ClassVar[type[Row]] = Row

    warnings: tuple[str, ...]
    """What a reader must know before the numbers, the worst first."""
    study: str
    """Name of the study."""
    digest: str
    """Digest of the study."""
    users: Part | None = None
    """Part of the users that the result is about; None if it is about everybody."""
    rows: tuple[Row, ...]
    """The numbers."""
    assumes_groups_alike: bool
    """Whether the intervals hold only if those who trust are like those who do not."""
    n_trusted: int
    n_local: int
    tied: bool
    """Whether every local report came with the study's digest."""
    implausible_reports: int | None
    """Lower bound on the number of local reports that did not come out of the study's channel; None if not public."""
    privacy: Statement
    curator: dict[str, Any] | None = None
    """What is not for publication; None unless it was asked for (``full``)."""

    @property
    def title(self) -> str:
        """Name of the study, and whom it is about."""
        return self.study if self.users is None else f"{self.study} [{self.users}]"

    def __repr__(self) -> str:
        named = ", ".join(f"{row.name} {row.number(row.value)}" for row in self.rows[:4])
        return f"{type(self).__name__}({named}{', …' if len(self.rows) > 4 else ''})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: type and version, then the attributes by their names."""
        named = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        if self.curator is None:
            del named["curator"]
        return {"type": self.kind, "version": VERSION, **named}

    def to_json(self) -> str:
        """Return `to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_pandas(self) -> "pd.DataFrame":
        """Make a table of the rows. Needs pandas."""
        import pandas as pd

        names = [field.name for field in fields(self.row_type)]
        return pd.DataFrame([row.to_dict() for row in self.rows], columns=names)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a result's JSON, or that of a server or the command line; `DataError` if it is none of this kind."""
        parts = cls.parts_from_json(text)
        if len(parts) != 1:
            raise DataError(f"The text holds {len(parts)} parts of the users. Use parts_from_json.")
        return parts[0]

    @classmethod
    def parts_from_json(cls, text: str) -> tuple[Self, ...]:
        """Read the results of all parts of the users, or the one of everybody."""
        try:
            content = _check.json_fields(text)
            content = content.get("estimate", content)  # a server has the answer in words beside it
            return tuple(cls.from_dict(part) for part in content.get("parts") or [content])
        except (KeyError, TypeError, ValueError, AttributeError, ParameterError, DataError, ProtocolError):
            raise DataError(
                f"The text holds no released result of type {cls.kind!r}, version {VERSION}. It must be what to_json, "
                "--json or a server gives."
            ) from None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read what `to_dict` gave."""
        if content["type"] != cls.kind or content["version"] != VERSION:
            raise ValueError("another type or version")
        return cls(**cls._read({field.name: content.get(field.name) for field in fields(cls)}, content))

    @classmethod
    def _read(cls, plain: dict[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
        """Make attributes of plain values; ``content`` has those that are required."""
        return plain | {
            "warnings": tuple(map(str, content["warnings"])),
            "study": str(content["study"]),
            "digest": str(content["digest"]),
            "users": None if content["users"] is None else Part(**content["users"]),
            "rows": tuple(map(cls.row_type.from_dict, content["rows"])),
            "n_trusted": int(content["n_trusted"]),
            "n_local": int(content["n_local"]),
            "privacy": Statement.from_dict(content["privacy"]),
        }


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Turn an attribute into plain values."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Part):
        return {"by": value.by, "key": value.key}
    return value.to_dict() if hasattr(value, "to_dict") else value
