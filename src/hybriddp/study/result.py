"""`Result`: what the results of all kinds of studies have in common.

A kind says what it published (`Result.published`), what the curator has beside that, and the parts of its explanation.
How a result becomes JSON, a table, a sentence or a page is the same for all kinds, and written here and in
`hybriddp.study.page`.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from hybriddp.channels.plausible import implausible_words, short_doubt
from hybriddp.privacy import NEIGHBORS, Privacy
from hybriddp.release.charging import Charged
from hybriddp.reporting.wording import (
    SIMULATION,
    SINGLE_MODEL,
    UNTIED,
    participation,
    public_keys,
    shortened,
    trusted_weight,
)
from hybriddp.study import page

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table

    from hybriddp.release.event import Part
    from hybriddp.study.comparison import Comparison
    from hybriddp.study.published import Published

Step = Fraction | Decimal | str | float | None
"""A step of rounding, as people give it."""


class PrivateStudy(Protocol):
    """A study, as far as a statement needs it."""

    @property
    def privacy(self) -> Privacy:
        """What every user is promised."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Privacy of an answer: the promise, and whether it was kept and counted."""

    epsilon: str
    delta: str
    neighbors: str
    released: bool  # whether anything about the trusted group was; local reports are private by themselves
    counted: bool  # whether a ledger has that release
    seeded: bool  # whether this is a simulation, and no release at all
    already_charged: bool = field(default=False, repr=False)
    """Whether a ledger had charged the study before, so that this was free."""

    @classmethod
    def of(cls, study: PrivateStudy, *, released: bool, counted: bool, seeded: bool) -> "Statement":
        """State what a study promises, and what was done."""
        promise = study.privacy
        return cls(promise.epsilon, promise.delta, NEIGHBORS, released=released, counted=counted, seeded=seeded)

    def charged(self, charged: Charged) -> "Statement":
        """State whether a ledger was charged for an estimate without a release."""
        return (
            self if charged is Charged.NOT else replace(self, counted=True, already_charged=charged is Charged.BEFORE)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Statement":
        """Read what `to_dict` gave."""
        return cls(**content)

    def __str__(self) -> str:
        if self.seeded:
            return SIMULATION
        alone = self.released and not self.counted
        advice = " Nobody is counting: give a ledger to make sure that it stays one release." if alone else ""
        free = " The ledger was already charged for this study: this estimate is free." if self.already_charged else ""
        return (
            f"Every user, trusted or local, is promised ε = {self.epsilon}, δ = {self.delta} for this one release "
            f"({self.neighbors}).{advice}{free}"
        )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Result(ABC):
    """The answer of a study, from private numbers only."""

    published_type: ClassVar["type[Published]"]
    """What is published of it, which also reads it."""
    headings: ClassVar[tuple[str, ...]]
    """Columns of the table that shows it; the first one has names of rows."""

    study: Any
    """What was asked, under which promise."""
    privacy: Statement
    """What it cost."""
    tied: bool = True
    """Whether every local report came with the study's digest."""
    implausible_reports: int = 0
    """Lower bound on the number of local reports that did not come out of the study's channel
    (`hybriddp.channels.plausible`)."""

    if TYPE_CHECKING:  # attributes of some kinds, properties of others

        @property
        def n_trusted(self) -> int:
            """Number of users who trusted the curator."""

        @property
        def n_local(self) -> int:
            """Number of users who reported locally."""

        @property
        def divergence(self) -> Comparison | None:
            """How far the groups are apart; None where there was only one."""

    # What a kind says

    @property
    @abstractmethod
    def assumes_groups_alike(self) -> bool:
        """Whether the stated intervals hold only if those who trust are like those who do not."""

    @abstractmethod
    def published(self, *, level: float = 0.95, step: Step = None) -> "Published":
        """Round what may be published."""

    @abstractmethod
    def _curator(self) -> dict[str, Any]:
        """Return what is for the curator only, as plain values; ``"rows"`` are the numbers, not rounded."""

    @abstractmethod
    def _summary(self) -> str:
        """Describe the result in a few words, for `repr`."""

    @property
    @abstractmethod
    def answer(self) -> str:
        """The answer in a sentence, without a title."""

    def lead(self) -> list[str]:
        """Begin the explanation: the answer behind its title."""
        return [f"{self.title}: {self.answer}"]

    def _warnings(self) -> Iterable[str]:
        """Warn of what this kind of result has to warn of, the worst first."""
        return ()

    @abstractmethod
    def _meaning(self) -> list[str]:
        """Explain whom the intervals are about and what they assume."""

    def _left_out(self) -> str:
        """Explain why users may have been left out."""
        return "they have no value"

    def _weights(self) -> Sequence[float]:
        """List the weights on the trusted group's numbers."""
        return ()

    def _groups(self) -> list[str]:
        """Explain what each group contributed, and whether they agree."""
        gap, weights = self.divergence, self._weights()
        if gap is None:
            return [SINGLE_MODEL]
        shares = [trusted_weight(self.n_trusted, self.n_local, min(weights), max(weights))] if len(weights) else []
        return [*shares, gap.verdict, *([gap.effect] if gap.effect else [])]

    @abstractmethod
    def _details(self) -> list[str]:
        """Explain how the answer came about, behind what all kinds explain."""

    @abstractmethod
    def cells(self) -> Sequence[tuple[str, ...]]:
        """Write the rows of the table that shows it."""

    def part_cells(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Write headings and rows for a table of all parts of the users."""
        return self.headings, self.cells()

    def notes(self) -> list[str]:
        """List what belongs beside the table."""
        return [] if self.tied else [UNTIED]

    def drawing(self) -> str:
        """Draw it as SVG; empty if there is nothing to draw."""
        return ""

    def more_blocks(self) -> list[str]:
        """Make what a page has behind the explanation, as HTML."""
        return []

    @staticmethod
    @abstractmethod
    def plot_parts(parts: Sequence[Any], path: Path | str | None = None) -> "Figure":
        """Draw the results of parts of the users with matplotlib, and write them to ``path`` if that is given."""

    # What all kinds have

    @property
    def users(self) -> "Part | None":
        """Part of the users that it is about; None if it is about everybody."""
        users: Part | None = getattr(self.study, "users", None)
        return users

    @property
    def title(self) -> str:
        """Name of the study, and whom it is about if not everybody."""
        return str(self.study.name) if self.users is None else f"{self.study.name} [{self.users}]"

    @property
    def n_users(self) -> int:
        """Number of users in both groups."""
        return self.n_trusted + self.n_local

    @property
    def groups_differ(self) -> bool:
        """Whether the groups differ by more than chance explains in 95 % of studies."""
        return self.divergence is not None and self.divergence.differ

    @property
    def groups_clearly_differ(self) -> bool:
        """Whether the groups are more than four standard errors apart, which chance does not explain."""
        return self.divergence is not None and self.divergence.clearly_differ

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before the numbers, the worst first, from released numbers alone."""
        return (*implausible_words(self.implausible_reports, self.n_local), *self._warnings())

    def sentences(self) -> list[str]:
        """Explain what the answer assumes, how it came about and what it cost, a sentence each."""
        return [
            *self._meaning(),
            participation(self.n_trusted, self.n_local, self._left_out()),
            *([] if self.tied else [UNTIED]),
            *self._groups(),
            *self._details(),
            str(self.privacy),
            *([] if self.users is None else [public_keys(self.users.by)]),
        ]

    def explain(self) -> str:
        """Explain the answer, what it assumes, how it came about and what it cost, in plain words."""
        return "\n".join([*self.warnings, *self.lead(), *self.sentences()])

    def __str__(self) -> str:
        seeded = f" {self.privacy}" if self.privacy.seeded else ""
        return "\n".join([*self.warnings, f"{self.title}: {self.answer}{seeded}"])

    def __repr__(self) -> str:
        seeded = ", a simulation" if self.privacy.seeded else ""
        more = f"ε = {self.privacy.epsilon}{seeded}{short_doubt(self.implausible_reports)}"
        return f"{type(self).__name__}({shortened(self.title, 40)!r}: {self._summary()}, {more})"

    def _header(self) -> dict[str, Any]:
        """Return what is published beside the numbers, by the names that `Published` has."""
        return {
            "warnings": self.warnings,
            "study": self.study.name,
            "digest": self.study.digest,
            "users": self.users,
            "assumes_groups_alike": self.assumes_groups_alike,
            "n_trusted": self.n_trusted,
            "n_local": self.n_local,
            "tied": self.tied,
            "implausible_reports": self.implausible_reports,
            "privacy": self.privacy,
        }

    def to_dict(self, *, full: bool = False) -> dict[str, Any]:
        """Return what may be published as plain values: rounded numbers with their intervals, and the promise.

        With ``full`` also what the curator has beside it, unrounded: what each group says alone, weights, errors.
        """
        told = {"warnings": list(self.warnings), "implausible_reports": self.implausible_reports}
        curator = {"curator": self._curator()} if full else {}
        return self.published().to_dict() | told | curator

    def to_json(self, *, full: bool = False) -> str:
        """Return `to_dict` as text."""
        return json.dumps(self.to_dict(full=full), indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Published":
        """Read what `to_json` or a server gave: what was published, and with ``full`` what the curator has."""
        return cls.published_type.from_json(text)

    def to_pandas(self, *, full: bool = False) -> "pd.DataFrame":
        """Make a table of the numbers, rounded; with ``full`` unrounded, with what the curator has. Needs pandas."""
        import pandas as pd

        return pd.DataFrame(self._curator()["rows"]) if full else self.published().to_pandas()

    def plot(self, path: Path | str | None = None) -> "Figure":
        """Draw the answer and its intervals, and write the picture to ``path`` if that is given.

        Needs matplotlib (``pip install "hybriddp[plots]"``).
        """
        return self.plot_parts([self], path)

    def to_html(self) -> str:
        """Make a page that stands alone: the answer, a table, a drawing and the explanation."""
        return page.page([self])

    def _repr_html_(self) -> str:
        return page.fragment(self)

    def __rich__(self) -> "Table":
        return page.rich_table(self)
