"""`Plan`: what a study would give, before anything is collected. A file per kind of study has what is special.

A plan holds the settings of a study that might be run and computes errors when they are asked for. `Plan.changed` is
the same study with other users, another ε or another fraction of opt-ins: alternatives and the solver are made of it.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from hybriddp import _check
from hybriddp.errors import MissingExtraError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.reporting.html import Section, paragraphs, render_page, wide
from hybriddp.reporting.html import table as html_table
from hybriddp.reporting.wording import significant

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure


class Table(NamedTuple):
    """Table of a plan, as text."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    caption: str = ""
    ours: int | None = None  # number of the row that stands out

    def to_html(self) -> str:
        """Return the table as a block of a page; a last row that is ours stands out."""
        return wide(html_table(self.headings, self.rows, last_is_ours=self.ours == len(self.rows) - 1), self.title)


@dataclass(frozen=True, slots=True)
class Poisoning:
    """Largest effect of forged contributions on an answer, the weight held fixed."""

    forged: int
    local: float  # if they are local reports: in the units of the values, or a share of the users
    trusted: float  # if they are trusted values


def readable(number: float) -> str:
    """Write a computed number with three digits."""
    return significant(number, 3)


@dataclass(frozen=True, repr=False)
class Plan(ABC):
    """What a study would give: who takes part, what they are promised, and the errors to expect."""

    n_users: int
    n_trusted: int
    privacy: Privacy

    single_groups: ClassVar[bool] = False  # whether a plan may have one group only
    solved_to: ClassVar[int] = 0  # one part in this many, to which numbers of users are found; 0 for exactly

    @classmethod
    def group_sizes(cls, n_users: int, trusted_fraction: float) -> dict[str, int]:
        """Check the number of users and the fraction who trust, and round the latter to whole users."""
        users = _check.integer("n_users", n_users, at_least=4)
        if users > _check.MOST_USERS:
            raise ParameterError("n_users", f"at most {_check.MOST_USERS:,}", n_users)
        possible = _check.WEIGHT if cls.single_groups else _check.FRACTION
        n_trusted = round(_check.number("trusted_fraction", trusted_fraction, possible) * users)
        if not cls.single_groups and not 2 <= n_trusted <= users - 2:
            words = f"such that each of the two groups of {users:,} users has at least two"
            raise ParameterError("trusted_fraction", words, trusted_fraction)
        return {"n_users": users, "n_trusted": n_trusted}

    def changed(
        self,
        *,
        n_users: int | None = None,
        trusted_fraction: float | None = None,
        epsilon: float | str | None = None,
        **others: Any,  # noqa: ANN401
    ) -> Self:
        """Return the plan of the same study with other users, another ε or other assumptions."""
        users = self.n_users if n_users is None else n_users
        fraction = self.trusted_fraction if trusted_fraction is None else trusted_fraction
        privacy = self.privacy
        if epsilon is not None:
            privacy = Privacy.promised(epsilon=epsilon, delta=privacy.delta)
        return replace(self, **self.group_sizes(users, fraction), privacy=privacy, **others)

    def checked(self) -> Self:
        """Return the plan if its assumptions fit together; raise `ParameterError` if they do not."""
        return self

    @property
    def n_local(self) -> int:
        """Number of local users."""
        return self.n_users - self.n_trusted

    @property
    def trusted_fraction(self) -> float:
        """Fraction of the users who trust the curator."""
        return self.n_trusted / self.n_users

    # What each kind of study says

    @property
    @abstractmethod
    def rows(self) -> Sequence[Any]:
        """Estimators, ranks or quantiles with their errors."""

    @property
    @abstractmethod
    def typical_error(self) -> str:
        """Typical error of the study, in words."""

    @abstractmethod
    def headline(self) -> tuple[str, ...]:
        """Return the answer in a few lines."""

    @abstractmethod
    def details(self) -> list[str]:
        """Return what the numbers mean and rest on, a line each."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """Return the plan's tables, as text."""

    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """Return what this kind of plan states beside users and promise, as plain values."""

    def achieved(self, target: str) -> float:
        """Return the error that a target of `solve` limits: ``"target_rmse"`` or, of quantiles, another one."""
        if target != "target_rmse":
            raise ParameterError(target, "left out: only quantiles have ranks", None)
        return self.rmse

    @property
    @abstractmethod
    def rmse(self) -> float:
        """Typical (root mean squared) error, in the worst case."""

    def in_words(self, error: float) -> str:
        """Write an error of this kind of study."""
        return readable(error)

    @property
    def most_solved(self) -> int:
        """Largest number of users that `solve` tries."""
        return 10**10

    @property
    def more_is_better(self) -> bool:
        """Whether errors surely fall as users, opt-ins or ε grow."""
        return True

    # How it is shown

    def explain(self) -> str:
        """Return the plan in plain words: the answer, then what each number means."""
        return "\n".join([*self.headline(), *self.details()])

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        users = f"{self.n_users:,} users, {self.n_trusted:,} trusted, ε = {self.privacy.epsilon}"
        return f"<{type(self).__name__}: {users}, typical error {self.typical_error}; explain() says more>"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        promise = {"epsilon": self.privacy.epsilon, "delta": self.privacy.delta}
        who = {"n_users": self.n_users, "n_trusted": self.n_trusted, "trusted_fraction": self.trusted_fraction}
        return {**who, **promise, **self._facts(), "words": [*self.headline(), *self.details()]}

    def to_json(self) -> str:
        """Return everything as text."""
        return json.dumps(self.to_dict(), indent=2)

    def to_pandas(self) -> "pd.DataFrame":
        """Return the estimators, ranks or quantiles as a table, a row each."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas", extra="tables", purpose="A plan as a table") from None
        return pd.json_normalize([plain(row) for row in self.rows], sep="_")

    def plot(self, path: "Path | str | None" = None) -> "Figure":
        """Draw the plan, and write the picture to ``path`` if it is given."""
        from pathlib import Path

        from hybriddp.figures.plan import draw

        return draw(self, path=None if path is None else Path(path))

    def to_html(self) -> str:
        """Return a page that stands alone: words, tables and the picture."""
        target = StringIO()
        self.plot().savefig(target, format="svg")
        picture = target.getvalue()
        sections = [
            Section("", paragraphs(self.headline())),
            *(Section(table.title, [table.to_html(), *paragraphs([table.caption])]) for table in self.tables()),
            Section("As a picture", [f'<div class="picture">{picture[picture.index("<svg") :]}</div>']),
            Section("In detail", paragraphs(self.details())),
        ]
        footer = "Made with hybriddp, before any data was collected."
        return render_page("Plan of a hybrid study", sections, footer=footer, width=56)

    def _repr_html_(self) -> str:
        return self.tables()[0].to_html()


def plain(row: Any) -> dict[str, Any]:  # noqa: ANN401  (any row of a plan)
    """Return a row as plain values, None where there is no number: JSON has no NaN."""
    fields: dict[str, Any] = asdict(row)
    return {name: None if value != value else value for name, value in fields.items()}  # noqa: PLR0124
