"""The one query that counts everything, in the words of narwhals: every engine runs it in one pass.

Only a handful of integers comes back, at most one row per group and code. A value becomes units by the same
floating-point operations everywhere (clamp, subtract, multiply, add a half, floor: rounding functions differ between
engines, floor does not), so the integers are the same to the last bit.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.errors import DataError
from hybriddp.grid import UNITS
from hybriddp.mean.study import MeanStudy
from hybriddp.tables.files import require_column
from hybriddp.tables.frames import as_float, collect, require_narwhals, require_numbers
from hybriddp.tables.summaries import Key
from hybriddp.tables.tally import NO_CODE, NO_REPORT, REPORT_WORD, SUMS, Tally


@dataclass(frozen=True, slots=True)
class Query:
    """What to count: which columns mean what, for which study, in which groups."""

    study: MeanStudy
    value: str | None
    report: str | None
    group: str | None = None
    keys: Sequence[Key] = ()

    @property
    def numbers(self) -> list[str]:
        """The columns that must hold numbers."""
        return [name for name in (self.value, self.report) if name is not None]

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [*self.numbers, *([self.group] if self.group is not None else [])]

    def count(self, frame: Any, tallies: dict[Key | None, Tally]) -> None:  # noqa: ANN401
        """Count a lazy frame of narwhals and add what it has to the tally of every key; None is for other rows."""
        nw = require_narwhals()
        self._check_columns(nw, frame)
        schema = frame.collect_schema()
        cells: dict[str, Any] = {}
        by = []
        if self.value is not None:
            finite, units = _finite_and_units(nw, schema[self.value], self.value, self.study)
            cells |= {"count": finite.cast(nw.Int64), "total": units}
        if self.report is not None:
            cells |= _report(nw, schema[self.report], self.report, self.study)
            by.append("code")
        if self.group is not None:
            cells["key"] = self._key(nw, schema[self.group])
            by.append("key")
        sums = {name: nw.col(name).sum() for name in SUMS if name in cells}
        if by:
            counted = frame.select(**cells).group_by(*by).agg(rows=nw.len(), **sums)
        else:
            counted = frame.select(**cells).select(rows=nw.len(), **sums)
        texts = bool(self.keys) and isinstance(self.keys[0], str)
        for row in collect(counted):
            key = str(row["key"]) if texts else row.get("key")  # the text "7" may name the integer 7
            tallies[key if key in tallies else None].add(row)

    def _key(self, nw: Any, dtype: Any) -> Any:  # noqa: ANN401
        """The group of a row, or a key that was not asked for: no nulls, which engines treat differently."""
        x, other = nw.col(self.group), 0
        if not dtype.is_integer():
            x = x if dtype == nw.String else x.cast(nw.String)
            text = "other"
            while text in self.keys:
                text += "_"
            return nw.when(x.is_in(list(self.keys))).then(x).otherwise(nw.lit(text))
        x, keys = x.cast(nw.Int64), [int(key) for key in self.keys]
        while other in keys:
            other += 1
        return nw.when(x.is_in(keys)).then(x).otherwise(nw.lit(other, nw.Int64))

    def _check_columns(self, nw: Any, frame: Any) -> None:  # noqa: ANN401
        schema = frame.collect_schema()
        for column in self.columns:
            require_column(column, schema.names(), "The table")
        require_numbers(nw, schema, self.numbers)
        if self.group is not None:
            texts = isinstance(self.keys[0], str)
            whole = all(str(key).lstrip("-").isdecimal() and str(int(key)) == str(key) for key in self.keys)
            dtype = schema[self.group]
            wide = dtype in (nw.UInt64, nw.Int128, nw.UInt128)
            by_text = texts and dtype in (nw.String, nw.Categorical, nw.Enum)
            if not by_text and not (whole and dtype.is_integer() and not wide):
                kind = "texts" if texts else "integers that fit into Int64"
                raise DataError(f"Column {self.group!r} must hold {kind}, as the keys are, but holds {dtype}.")


def _finite_and_units(nw: Any, dtype: Any, column: str, study: MeanStudy) -> tuple[Any, Any]:  # noqa: ANN401
    """Whether each value is finite, and its units."""
    lower, upper = study.bounds
    x = as_float(nw, dtype, column)
    # NaN is either above all numbers or compares false, so that between the largest ones there is just what is finite.
    finite = x.is_between(-sys.float_info.max, sys.float_info.max)
    safe = nw.when(finite).then(x).otherwise(nw.lit(lower))  # the lower bound is 0 units, so it adds nothing
    return finite, ((safe.clip(lower, upper) - lower) * (UNITS / study.width) + 0.5).floor().cast(nw.Int64)


def _report(nw: Any, dtype: Any, column: str, study: MeanStudy) -> dict[str, Any]:  # noqa: ANN401
    """The code of each row; reports that are none are one and the same, so that there are never many groups.

    Reports with Laplace noise are all code 0, and are summed: in two words, since engines add 64 bits only.
    """
    least, most = study.reports_between
    kind: type[int] | type[float] = int
    x = nw.col(column)
    if dtype.is_integer() and dtype not in (nw.UInt64, nw.Int128, nw.UInt128):
        x = x.cast(nw.Int64)
        good = x.is_between(least, most)
    else:
        kind, x = float, x.cast(nw.Float64)
        good = x.is_between(float(least), float(most)) & (x.floor() == x)

    def chosen(code: Any, missing: int, bad: int) -> Any:  # noqa: ANN401
        """One number for good reports, others for those that are missing or no codes; NaN is never an integer."""
        other = nw.when(x.is_null()).then(nw.lit(kind(missing))).otherwise(nw.lit(kind(bad)))
        return nw.when(good).then(code).otherwise(other).cast(nw.Int64)

    if not isinstance(study.channel, DiscreteLaplace):
        return {"code": chosen(x, NO_REPORT, NO_CODE)}
    whole = chosen(x, 0, 0)
    upper = whole // REPORT_WORD
    return {
        "code": chosen(nw.lit(kind(0)), NO_REPORT, NO_CODE),
        "upper": upper,
        "lower": whole - upper * REPORT_WORD,
    }
