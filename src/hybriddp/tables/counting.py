"""Counting tables chunk by chunk, or user by user; what came out is checked before it becomes summaries."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from hybriddp import _check
from hybriddp.errors import DataError
from hybriddp.reporting.wording import counted
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.frames import Chunk, Frame, Table, TableSource, lazy_frame, open_chunks
from hybriddp.tables.query import Query
from hybriddp.tables.report_files import Origin, by_digest, refuse_foreign
from hybriddp.tables.tally import GroupedSummaries, Key, Summaries, Tally
from hybriddp.tables.trust import refuse_unclear
from hybriddp.tables.users import REPEATED, one_row_each

Progress = Callable[[float | None], object]
"""Is told which share of a table has been counted, from 0 to 1; None while that is not known."""


class _Part(NamedTuple):
    """Rows that are counted at once, their size beside the others, and what metadata say about their reports."""

    frame: Frame
    size: int
    origin: Origin


class CountedTable:
    """A table, and what to count in it."""

    def __init__(
        self, table: Table, query: Query, engine: str | None, csv: CsvFormat | None, *, in_chunks: bool
    ) -> None:
        self.query = query
        self.source = source = TableSource.of(table, engine, query.wanted(csv))
        with source.reading():
            opened = [(Chunk(table, 1), Origin())]
            if source.names is not None:
                groups = [(source.files, Origin())]
                if query.report is not None:
                    digests = query.whole_digests | set(query.part_digests.values())
                    groups = by_digest(source.files, query.label, query.text, digests)
                opened = [
                    (chunk, origin)
                    for files, origin in groups
                    for chunk in open_chunks(files, source.engine, source.wanted, small=in_chunks)
                ]
            self.parts = [
                _Part(lazy_frame(chunk.table, query.converters, source.wanted.optional), chunk.size, origin)
                for chunk, origin in opened
            ]
        source.require([part.frame for part in self.parts])

    def cells(self) -> list[Any]:
        """Return the columns that are counted, of each part."""
        with self.source.reading():
            return [self.query.cells(part.frame, part.origin) for part in self.parts]


class Tallies(NamedTuple):
    """The tallies of all keys, and of None for rows that have none of them."""

    query: Query
    tallies: dict[Key | None, Tally]

    def summaries(self, *, trusted: bool, local: bool) -> Summaries | GroupedSummaries:
        """Make the summaries of the study, or of its part for every key, of the groups that were asked for."""
        query, study = self.query, self.query.study

        def summary(part: Any, tally: Tally) -> Summaries:  # noqa: ANN401
            raw = query.trusted_summary(part, tally) if trusted else None
            return Summaries(raw, query.local_summary(part, tally) if local else None)

        if query.group is None:
            return summary(study, self.tallies[None])
        parts = {key: summary(study.part(query.group, key), self.tallies[key]) for key in query.keys}
        return GroupedSummaries(query.group, parts, self.tallies[None].sums["rows"])


def count(
    tables: Sequence[CountedTable],
    progress: Progress | None = None,
    *,
    repeated: str = "refuse",
    simulated: bool = False,
) -> Tallies:
    """Count tables into the tallies of all keys; `DataError` if their columns contradict each other."""
    first = tables[0].query
    _check.choice("repeated", repeated, REPEATED)
    tallies: dict[Key | None, Tally] = {key: Tally() for key in (*first.keys, None)}
    parts = [(table, part) for table in tables for part in table.parts]
    whole, done = sum(part.size for _, part in parts) or 1, 0
    tell = progress or (lambda _: None)
    tell(0.0 if len(parts) > 1 else None)
    if first.user is not None:  # all parts together, since a user may be in several of them
        cells = [cell for table in tables for cell in table.cells()]
        with tables[0].source.reading():
            first.count(one_row_each(cells, first.user, repeated, first.no_item), tallies)
        tell(1.0)
    else:
        for table, part in parts:
            with table.source.reading():
                table.query.count(table.query.cells(part.frame, part.origin), tallies)
            done += part.size
            tell(done / whole)
    title = " or ".join(table.source.title for table in tables if table.query.report is not None)
    _require_consistent(first, tallies.values(), title, simulated=simulated)
    return Tallies(first, tallies)


def _require_consistent(query: Query, tallies: Iterable[Tally], title: str, *, simulated: bool) -> None:
    """Raise `DataError` if the columns contradict each other, or too many reports are invalid."""
    whole = sum(tallies, Tally())
    both, raw = whole.sums["both"], whole.sums["raw"]
    if query.trust is not None:
        refuse_unclear(query.trust.column, whole.sums["unclear"])
    if both:
        words = counted(both, "row", "has both a value and a report", "have both a value and a report")
        if query.trust is not None:
            words = counted(both, "row", "trusts and has a report", "trust and have a report")
        raise DataError(f"{words}: nobody is in both groups.")
    if raw and not simulated:
        raise DataError(
            f"{counted(raw, 'row', 'does not trust but has', 'do not trust but have')} a value and no report: "
            "a raw value of theirs must not be used. Name the column of reports with --report, or try the study "
            "out with --simulate-local."
        )
    refuse_foreign(whole.sums["foreign"], title, query.label, query.text)
    query.question.refuse_bad_reports(whole.bad, whole.good + whole.bad)
