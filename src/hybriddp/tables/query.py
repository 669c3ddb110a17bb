"""The one query that counts everything, in the words of narwhals: every engine runs it in one pass.

Only a handful of integers comes back, at most one row per group and code. A value becomes units by the same
floating-point operations everywhere (clamp, subtract, multiply, add a half, floor: rounding functions differ between
engines, floor does not), so the integers are the same to the last bit.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.errors import DataError
from hybriddp.grid import UNITS
from hybriddp.mean.study import MeanStudy
from hybriddp.tables.columns import require_column
from hybriddp.tables.csv_format import CsvFormat
from hybriddp.tables.digests import DIGEST_COLUMN, SEEDED_WORD, Origin, digest_column, digest_matches, digest_text
from hybriddp.tables.frames import as_float, collect, require_narwhals, require_numbers
from hybriddp.tables.summaries import Key
from hybriddp.tables.tally import NO_CODE, NO_REPORT, REPORT_WORD, SUMS, Tally
from hybriddp.tables.text import Wanted
from hybriddp.tables.trust import Trust

_YES, _NO = 1, 0


@dataclass(frozen=True)
class Query:
    """What to count: which columns mean what, for which study, in which groups."""

    study: MeanStudy
    value: str | None
    report: str | None
    group: str | None = None
    keys: Sequence[Key] = ()
    trust: Trust | None = None
    user: str | None = None

    @property
    def numbers(self) -> list[str]:
        """The columns that must hold numbers."""
        return [name for name in (self.value, self.report) if name is not None]

    @property
    def columns(self) -> list[str]:
        """All columns that must be there."""
        more = (self.group, self.trust.column if self.trust else None, self.user)
        return [*self.numbers, *(name for name in more if name is not None)]

    def wanted(self, csv: CsvFormat | None) -> Wanted:
        """The columns for a reader of files: those that are compared with words are texts, whatever they look like."""
        texts = [name for name in self.columns if name not in self.numbers]
        if self.keys and not isinstance(self.keys[0], str):
            texts.remove(str(self.group))
        return Wanted(
            numbers=self.numbers,
            texts=texts,
            others=[name for name in self.columns if name not in (*self.numbers, *texts)],
            optional=[DIGEST_COLUMN] if self.report is not None else [],
            csv=csv or CsvFormat(),
        )

    @cached_property
    def digests(self) -> set[str]:
        """The digests that reports may carry: of the study, or of its parts."""
        return {self.study.digest, self.study.whole_digest, *self._part_digests.values()}

    @cached_property
    def _part_digests(self) -> dict[Key, str]:
        by = self.group
        return {} if by is None else {key: self.study.part(by, key).digest for key in self.keys}

    def cells(self, frame: Any, origin: Origin | None = None) -> Any:  # noqa: ANN401
        """A lazy frame of narwhals as the columns that are counted, one row for each of its rows.

        ``origin`` is what is known about its reports beside its columns.
        """
        nw = require_narwhals()
        self._check_columns(nw, frame)
        schema = frame.collect_schema()
        cells: dict[str, Any] = {}
        trusts = unclear = None
        if self.trust is not None:
            trusts, unclear = self.trust.expressions(nw, schema[self.trust.column])
            cells |= {"trusting": _count(nw, trusts), "unclear": _count(nw, unclear)}
        key = None
        if self.group is not None:
            key = cells["key"] = self._key(nw, schema[self.group])
        code = None
        if self.report is not None:
            cells |= _report(nw, schema[self.report], self.report, self.study)
            code = cells["code"]
            cells |= self._ties(nw, schema, code, key, origin or Origin())
        if self.value is not None:
            cells |= _value(nw, schema[self.value], self.value, self.study, trusts, code)
        if self.user is not None:
            dtype = schema[self.user]
            if not (dtype.is_integer() or dtype in (nw.String, nw.Categorical, nw.Enum)):
                raise DataError(f"Column {self.user!r} must name users with texts or integers, but holds {dtype}.")
            user = nw.col(self.user)
            cells["user"] = user if dtype == nw.String else user.cast(nw.String)
        return frame.select(**cells)

    def count(self, cells: Any, tallies: dict[Key | None, Tally]) -> None:  # noqa: ANN401
        """Count `cells` and add what they have to the tally of every key; None is for other rows."""
        nw = require_narwhals()
        known = cells.collect_schema().names()
        by = [name for name in ("code", "key") if name in known]
        sums = {name: nw.col(name).sum() for name in SUMS if name in known}
        counted = cells.group_by(*by).agg(rows=nw.len(), **sums) if by else cells.select(rows=nw.len(), **sums)
        texts = bool(self.keys) and isinstance(self.keys[0], str)
        for row in collect(counted):
            key = str(row["key"]) if texts else row.get("key")  # the text "7" may name the integer 7
            tallies[key if key in tallies else None].add(row)

    def _ties(self, nw: Any, schema: Any, code: Any, key: Any, origin: Origin) -> dict[str, Any]:  # noqa: ANN401
        """Whether a report is one of this study, whether it is one of another, and whether it had a seed."""
        present = code != NO_REPORT
        known = {"tied": _count(nw, code >= 0)} if origin.tied else {}
        known |= {"seeded": _count(nw, present)} if origin.seeded else {}
        column = digest_column(schema.names())
        x = None if column is None else digest_text(nw, column, schema[column])
        if x is None:
            return known
        whole_keys = self.group is not None and schema[self.group].is_integer()
        parts = {int(name) if whole_keys else name: digest for name, digest in self._part_digests.items()}
        right, foreign = digest_matches(x, key, {self.study.whole_digest, self.study.digest}, parts)
        marked = right & x.str.ends_with(f" {SEEDED_WORD}")
        return {
            "tied": _count(nw, right & (code >= 0)),
            "foreign": _count(nw, foreign & present),
            "seeded": _count(nw, marked & present),
        } | known

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


def finite_value(nw: Any, dtype: Any, column: str) -> tuple[Any, Any]:  # noqa: ANN401
    """A column as floats, and whether each is finite."""
    x = as_float(nw, dtype, column)
    # NaN is either above all numbers or compares false, so that between the largest ones there is just what is finite.
    return x, x.is_between(-sys.float_info.max, sys.float_info.max)


def _count(nw: Any, condition: Any) -> Any:  # noqa: ANN401
    """1 where a condition holds, 0 where it does not or nobody knows."""
    return nw.when(condition).then(nw.lit(_YES, nw.Int64)).otherwise(nw.lit(_NO, nw.Int64))


def _value(nw: Any, dtype: Any, column: str, study: MeanStudy, trusts: Any, code: Any) -> dict[str, Any]:  # noqa: ANN401
    """How many values each row has, their units, and whether they were clamped.

    The value of somebody who does not trust is not looked at, but for noticing that it is there.
    """
    lower, upper = study.bounds
    x, finite = finite_value(nw, dtype, column)
    cells = {}
    if trusts is not None:
        raw = finite & ~trusts
        cells["raw"] = _count(nw, raw if code is None else raw & (code == NO_REPORT))
        finite = finite & trusts
    safe = nw.when(finite).then(x).otherwise(nw.lit(lower))  # the lower bound is 0 units, so it adds nothing
    units = ((safe.clip(lower, upper) - lower) * (UNITS / study.width) + 0.5).floor().cast(nw.Int64)
    clamped = _count(nw, (safe < lower) | (safe > upper))
    return cells | {"count": _count(nw, finite), "total": units, "clamped": clamped}


def _report(nw: Any, dtype: Any, column: str, study: MeanStudy) -> dict[str, Any]:  # noqa: ANN401
    """The code of each row; reports that are none are one and the same, so that there are never many groups.

    Reports with Laplace noise are all code 0, and are summed: in two words, since engines add 64 bits only.
    """
    least, most = study.reports_between
    kind: type[int] | type[float] = int
    x = nw.col(column)
    missing = x.is_null()
    if dtype.is_integer() and dtype not in (nw.UInt64, nw.Int128, nw.UInt128):
        x = x.cast(nw.Int64)
        good = x.is_between(least, most)
    else:
        kind, x = float, x.cast(nw.Float64)
        good = x.is_between(float(least), float(most)) & (x.floor() == x)
        missing = missing | x.is_nan()  # tables of floats have no other way to say it

    def chosen(code: Any, missing_code: int, bad: int) -> Any:  # noqa: ANN401
        """One number for good reports, others for those that are missing or no codes."""
        other = nw.when(missing).then(nw.lit(kind(missing_code))).otherwise(nw.lit(kind(bad)))
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
