"""From tables to tallies: open what is named, count it part by part, and check what came out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hybriddp.tables.csv_format import CsvFormat
from hybriddp.tables.digests import DIGEST_COLUMN, Origin, by_digest
from hybriddp.tables.engines import open_files
from hybriddp.tables.frames import chosen_engine, file_names, lazy_frame, require_narwhals
from hybriddp.tables.names import expand, shown
from hybriddp.tables.query import Query
from hybriddp.tables.reading import reading
from hybriddp.tables.steps import Step, steps
from hybriddp.tables.summaries import Key
from hybriddp.tables.tally import Tally, check
from hybriddp.tables.text import bad_cell
from hybriddp.tables.users import one_row_each

Progress = Callable[[float | None], object]
"""Is told which share of a table has been counted, from 0 to 1; None while nobody can tell."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a table that is counted at once.

    Attributes
    ----------
    frame : narwhals.LazyFrame
        Its rows.
    size : int
        How large it is beside the others.
    origin : Origin
        What the metadata of its files say about its reports.
    """

    frame: Any
    size: int
    origin: Origin


class Source:
    """A table, and what to count in it."""

    def __init__(self, table: Any, query: Query, engine: str | None, csv: CsvFormat | None, *, in_steps: bool) -> None:  # noqa: ANN401
        self.query, self.names = query, file_names(table)
        reader = chosen_engine(self.names, engine)
        require_narwhals()  # before anything is opened
        self._files = [] if self.names is None else expand(self.names)
        self._wanted = query.wanted(csv)
        with self.reading():
            if self.names is None:
                opened = [(Step(table, 1), Origin())]
            else:
                groups = [(self._files, Origin())]
                if query.report is not None:
                    groups = by_digest(self._files, query.study, query.digests)
                opened = [(step, origin) for files, origin in groups for step in self._open(files, reader, in_steps)]
            answers = [query.trust.column] if query.trust else []
            texts = [DIGEST_COLUMN] if query.report is not None else []
            self.parts = [
                Part(lazy_frame(step.table, query.numbers, answers=answers, texts=texts), step.size, origin)
                for step, origin in opened
            ]

    def _open(self, files: Any, reader: str, in_steps: bool) -> list[Step]:  # noqa: ANN401
        if in_steps:
            return steps(files, reader, self._wanted)
        return [Step(table, 1) for table in open_files(files, reader, self._wanted)]

    def reading(self) -> Any:  # noqa: ANN401
        """A context in which an engine's errors say nothing about the data, but where the first bad cell is."""
        return reading(self.names, partial(bad_cell, self._files, self._wanted) if self._files else None)

    @property
    def title(self) -> str:
        """The table in an error."""
        return "The table" if self.names is None else shown(self.names)


def count(
    sources: Sequence[Source],
    keys: Sequence[Key],
    progress: Progress,
    *,
    repeated: str = "refuse",
    simulated: bool = False,
) -> dict[Key | None, Tally]:
    """The tallies of all keys, and of None for rows that have none of them."""
    tallies: dict[Key | None, Tally] = {key: Tally() for key in (*keys, None)}
    whole = sum(part.size for source in sources for part in source.parts) or 1
    several = sum(len(source.parts) for source in sources) > 1
    progress(0.0 if several else None)
    if any(source.query.user is not None for source in sources):
        _count_users(sources, tallies, repeated)
        progress(1.0)
    else:
        done = 0
        for source in sources:
            for part in source.parts:
                with source.reading():
                    source.query.count(source.query.cells(part.frame, part.origin), tallies)
                done += part.size
                progress(done / whole)
    query = sources[0].query
    title = " or ".join(source.title for source in sources if source.query.report is not None) or sources[0].title
    check(list(tallies.values()), query.study, title, query.trust, simulated=simulated)
    return tallies


def _count_users(sources: Sequence[Source], tallies: dict[Key | None, Tally], repeated: str) -> None:
    """Count all parts together, since a user may be in several of them."""
    cells: list[Any] = []
    for source in sources:
        with source.reading():
            cells += [source.query.cells(part.frame, part.origin) for part in source.parts]
    first = sources[0]
    with first.reading():
        first.query.count(one_row_each(cells, str(first.query.user), repeated), tallies)
