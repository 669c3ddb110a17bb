"""The one query that counts everything, in the words of narwhals: every engine runs it in one pass.

Only a handful of integers comes back, at most one row per group and code. A value becomes units by `Grid.to_units`, the
same floating-point operations in every engine, so the integers are the same to the last bit.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.errors import DataError, ParameterError
from hybriddp.mean.study import MeanStudy
from hybriddp.tables import frames
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.frames import nw
from hybriddp.tables.mean.report_files import DIGEST_COLUMN, Origin, digest_matches
from hybriddp.tables.mean.tally import NO_CODE, NO_REPORT, REPORT_WORD, SUMS, Key, Tally
from hybriddp.tables.text import Wanted

YES = ("yes", "y", "true", "t", "1", "1.0", "on", "ja", "j", "oui", "si", "sí", "sì", "sim")
NO = ("no", "n", "false", "f", "0", "0.0", "off", "nein", "nee", "nej", "non", "não", "nao", "")
"""Words of a column, in small letters. An empty cell means no: nobody trusts by saying nothing."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Who trusts: ``column`` for a column of yes and no, ``column=word`` where a word of its own means yes."""

    column: str
    word: str | None = None

    @classmethod
    def of(cls, text: str) -> "Trust":
        """What a text such as ``consent`` or ``consent=yes`` means."""
        if not isinstance(text, str):
            raise ParameterError("trusted_if", "a column, or column=word", type(text).__name__, shown_as="type")
        column, equals, word = (part.strip() for part in text.partition("="))
        if not column or (equals and not word):
            raise ParameterError("trusted_if", "a column, or column=word", text)
        return cls(column, word or None)

    def expressions(self, dtype: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """Whether each row trusts, never null; and whether it says neither yes nor no."""
        x = nw.col(self.column)
        if dtype == nw.Boolean:
            yes, known = self._boolean(x)
        elif dtype.is_numeric():
            yes, known = self._numeric(x.cast(nw.Float64), nw.lit(value=True))
        elif frames.is_text(dtype):
            text = x.cast(nw.String).str.strip_chars()
            if self.word is not None:
                yes, known = text == self.word, nw.lit(value=True)
            else:
                yes, known = text.is_in(_spelled(YES)), text.is_in(_spelled(YES + NO))
        else:
            raise DataError(f"Column {self.column!r} must say who trusts with yes and no, but holds {dtype}.")
        nobody, certain = nw.lit(value=False), nw.lit(value=True)
        missing = x.is_null()
        trusts = nw.when(missing).then(nobody).otherwise(yes)
        return trusts, nw.when(missing).then(nobody).otherwise(nw.when(known).then(nobody).otherwise(certain))

    def _boolean(self, x: Any) -> tuple[Any, Any]:  # noqa: ANN401
        if self.word is not None and self.word.lower() not in YES + NO:
            raise ParameterError("trusted_if", "a column, or column=true, since it holds booleans", self.word)
        return (~x if self.word is not None and self.word.lower() in NO else x), x | ~x

    def _numeric(self, x: Any, always: Any) -> tuple[Any, Any]:  # noqa: ANN401
        if self.word is None:
            return x == 1.0, x.is_in([0.0, 1.0])
        word = self.word.lower()
        named = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)}.get(word)
        try:
            return x == (float(word) if named is None else named), always
        except ValueError:
            raise ParameterError("trusted_if", "column=number, since it holds numbers", self.word) from None


def _spelled(words: tuple[str, ...]) -> list[str]:
    return [spelled for word in words for spelled in dict.fromkeys((word, word.upper(), word.capitalize()))]


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
        others = [self.group] if self.group is not None and not isinstance(self.keys[0], str) else []
        return Wanted(
            numbers=self.numbers,
            texts=[name for name in self.columns if name not in (*self.numbers, *others)],
            others=others,
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
        schema = frame.collect_schema()
        self._check_columns(schema)
        cells: dict[str, Any] = {}
        trusts = key = code = None
        if self.trust is not None:
            trusts, unclear = self.trust.expressions(schema[self.trust.column])
            cells |= {"trusting": frames.indicator(trusts), "unclear": frames.indicator(unclear)}
        if self.group is not None:
            key = cells["key"] = self._key(schema[self.group])
        if self.report is not None:
            cells |= _report(schema[self.report], self.report, self.study)
            code = cells["code"]
            cells |= self._ties(schema, code, key, origin or Origin())
        if self.value is not None:
            cells |= _value(schema[self.value], self.value, self.study, trusts, code)
        if self.user is not None:
            dtype = schema[self.user]
            if not (dtype.is_integer() or frames.is_text(dtype)):
                raise DataError(f"Column {self.user!r} must name users with texts or integers, but holds {dtype}.")
            cells["user"] = nw.col(self.user).cast(nw.String)
        return frame.select(**cells)

    def count(self, cells: Any, tallies: dict[Key | None, Tally]) -> None:  # noqa: ANN401
        """Count `cells` and add what they have to the tally of every key; None is for other rows."""
        known = cells.collect_schema().names()
        by = [name for name in ("code", "key") if name in known]
        sums = {name: nw.col(name).sum() for name in SUMS if name in known}
        counted = cells.group_by(*by).agg(rows=nw.len(), **sums) if by else cells.select(rows=nw.len(), **sums)
        texts = bool(self.keys) and isinstance(self.keys[0], str)
        for row in frames.collect(counted):
            key = str(row["key"]) if texts else row.get("key")  # the text "7" may name the integer 7
            tallies[key if key in tallies else None].add(row)

    def _ties(self, schema: Any, code: Any, key: Any, origin: Origin) -> dict[str, Any]:  # noqa: ANN401
        """Whether a report is one of this study, whether it is one of another, and whether it had a seed."""
        present = code != NO_REPORT
        known = {"tied": frames.indicator(code >= 0)} if origin.tied else {}
        known |= {"seeded": frames.indicator(present)} if origin.seeded else {}
        whole_keys = self.group is not None and schema[self.group].is_integer()
        parts = {int(name) if whole_keys else name: digest for name, digest in self._part_digests.items()}
        found = digest_matches(schema, key, {self.study.whole_digest, self.study.digest}, parts)
        if found is None:
            return known
        right, foreign, seeded = found
        return {
            "tied": frames.indicator(right & (code >= 0)),
            "foreign": frames.indicator(foreign & present),
            "seeded": frames.indicator(seeded & present),
        } | known

    def _key(self, dtype: Any) -> Any:  # noqa: ANN401
        """The group of a row, or a key that was not asked for: no nulls, which engines treat differently."""
        if not dtype.is_integer():
            x, text = nw.col(self.group).cast(nw.String), "other"
            while text in self.keys:
                text += "_"
            return nw.when(x.is_in(list(self.keys))).then(x).otherwise(nw.lit(text))
        x, keys = nw.col(self.group).cast(nw.Int64), [int(key) for key in self.keys]
        other = next(number for number in itertools.count() if number not in keys)
        return nw.when(x.is_in(keys)).then(x).otherwise(nw.lit(other, nw.Int64))

    def _check_columns(self, schema: Any) -> None:  # noqa: ANN401
        frames.require_columns(schema, self.columns, self.numbers)
        if self.group is not None:
            texts = isinstance(self.keys[0], str)
            whole = all(str(key).lstrip("-").isdecimal() and str(int(key)) == str(key) for key in self.keys)
            dtype = schema[self.group]
            wide = dtype in (nw.UInt64, nw.Int128, nw.UInt128)
            if not (texts and frames.is_text(dtype)) and not (whole and dtype.is_integer() and not wide):
                kind = "texts" if texts else "integers that fit into Int64"
                raise DataError(f"Column {self.group!r} must hold {kind}, as the keys are, but holds {dtype}.")


def _value(dtype: Any, column: str, study: MeanStudy, trusts: Any, code: Any) -> dict[str, Any]:  # noqa: ANN401
    """How many values each row has, their units, and whether they were clamped.

    The value of somebody who does not trust is not looked at, but for noticing that it is there.
    """
    lower, upper = study.bounds
    x = frames.as_float(dtype, column)
    finite, cells = frames.is_finite(x), {}
    if trusts is not None:
        raw = finite & ~trusts
        cells["raw"] = frames.indicator(raw if code is None else raw & (code == NO_REPORT))
        finite = finite & trusts
    safe = nw.when(finite).then(x).otherwise(nw.lit(lower))  # the lower bound is 0 units, so it adds nothing
    units = study.grid.to_units(safe, floor=frames.floor_to_integer)
    clamped = frames.indicator((safe < lower) | (safe > upper))
    return cells | {"count": frames.indicator(finite), "total": units, "clamped": clamped}


def _report(dtype: Any, column: str, study: MeanStudy) -> dict[str, Any]:  # noqa: ANN401
    """The code of each row; reports that are none are one and the same, so that there are never many groups.

    Reports with Laplace noise are all code 0, and are summed: in two words, since engines add 64 bits only.
    """
    missing = nw.col(column).is_null()
    x, good, kind = frames.whole_number(dtype, column, *study.reports_between)
    if kind is float:
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
