"""The result of a K-means study: centers, how uncertain they are, and what each step cost."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.plausible import implausible_words
from hybriddp.kmeans import report
from hybriddp.kmeans.algorithm.problem import Doubts, StartDoubt
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.study.published import Published, Row
from hybriddp.study.result import Result, Step

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_HALF_OF_95_PERCENT = 1.96  # standard errors


@dataclass(frozen=True, slots=True)
class Spending:
    """What one step cost: each trusted user some of ε, each of the local users who reported all of it."""

    purpose: str
    trusted_epsilon: str  # as a decimal
    local_users: int


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PublishedCenters(Published):
    """Centers as they are published: all of a result, since it is computed from what was released.

    A row is a center: its value is the fraction of users who are nearest to it.
    """

    kind: ClassVar[str] = "kmeans"

    n_clusters: int
    bounds: tuple[tuple[float, float], ...]
    columns: tuple[str, ...]
    centers: list[list[float]]
    standard_errors: list[list[float | None]]
    """None where nothing is known: JSON has no infinity."""
    trusted_weight: list[float]
    doubt: float | None
    doubtful: bool
    doubts: dict[str, Any]
    trusted_used: bool
    n_answered: int
    """Number of local users who answered a round."""
    steps: list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class KMeansResult(Result):
    """Centers of a study that has ended, in the units of the data."""

    published_type: ClassVar[type[Published]] = PublishedCenters

    study: KMeansStudy
    centers: FloatArray
    """Shape (n_clusters, d)."""
    standard_errors: FloatArray
    """Uncertainty of each coordinate, by noise and sampling. What an unlucky start costs is not in it."""
    sizes: FloatArray
    """Fraction of the users nearest to each center, as released."""
    size_errors: FloatArray
    """Standard error of each size."""
    trusted_weight: FloatArray
    """How much of each center the trusted group decided, from 0 to 1."""
    doubt: float
    """Mean squared error of the least certain center, over the mean squared distance of a user to their center."""
    doubts: Doubts
    """Reasons why the cost may well be more than 1.2 times the best one, if it may."""
    start: StartDoubt | None
    """First centers beside the best other ones, if there were any."""
    steps: tuple[Spending, ...]
    n_trusted: int
    n_local: int
    trusted_used: bool
    """Whether the trusted group took part."""
    columns: tuple[str, ...] = ()
    """Names of the dimensions; empty if they have none."""

    @property
    def doubtful(self) -> bool:
        """Whether the cost may well be more than 1.2 times the best one."""
        return bool(self.doubts)

    @property
    def names(self) -> list[str]:
        """Names of the dimensions, which are numbered if they have none."""
        return list(self.columns or (f"dimension {j}" for j in range(self.study.box.n_dimensions)))

    @property
    def n_answered(self) -> int:
        """Number of local users who answered a round."""
        return sum(step.local_users for step in self.steps)

    @property
    def assumes_groups_alike(self) -> bool:
        """Whether both groups decide, each for the other one's users too."""
        return bool(self.trusted_used and self.n_local)

    def published(self, *, level: float = 0.95, step: Step = None) -> PublishedCenters:  # noqa: ARG002
        """Return everything, not rounded: all of it is computed from what was released."""
        width = _HALF_OF_95_PERCENT * self.size_errors
        ends = zip(np.clip(self.sizes - width, 0, 1), np.clip(self.sizes + width, 0, 1), strict=True)
        pairs = zip(self.sizes, ends, self.size_errors, strict=True)
        return PublishedCenters(
            **self._header(),
            rows=tuple(
                Row(k, float(size), float(low), float(high), standard_error=float(error))
                for k, (size, (low, high), error) in enumerate(pairs)
            ),
            n_clusters=self.study.n_clusters,
            bounds=self.study.box.bounds,
            columns=tuple(map(str, self.columns)),
            centers=self.centers.tolist(),
            standard_errors=[[_known(error) for error in row] for row in self.standard_errors.tolist()],
            trusted_weight=np.asarray(self.trusted_weight, np.float64).tolist(),
            doubt=_known(float(self.doubt)),
            doubtful=self.doubtful,
            doubts={name: list(x) if isinstance(x, tuple) else x for name, x in asdict(self.doubts).items()},
            trusted_used=self.trusted_used,
            n_answered=self.n_answered,
            steps=[asdict(step) for step in self.steps],
        )

    def _curator(self) -> dict[str, Any]:
        return {}

    def to_pandas(self, *, full: bool = False) -> "pd.DataFrame":  # noqa: ARG002  (nothing is rounded)
        """Make a table with a row for each center: its size and its coordinates, with their errors. Needs pandas."""
        import pandas as pd

        table = {"size": self.sizes, "size_error": self.size_errors, "trusted_weight": self.trusted_weight}
        for name, column, errors in zip(self.names, self.centers.T, self.standard_errors.T, strict=True):
            table |= {name: column, f"{name} (error)": errors}
        return pd.DataFrame(table)

    # How it is shown

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before the centers."""
        doubtful = (f"{report.DOUBTFUL}.",) if self.doubtful else ()
        return (*implausible_words(self.implausible_reports, self.n_answered), *doubtful)

    @property
    def headings(self) -> tuple[str, ...]:  # type: ignore[override]
        """Columns of the table that shows it, of which there may be many."""
        return report.headings(self)

    def cells(self) -> Sequence[tuple[str, ...]]:
        """Write the rows of the table: centers with their sizes and errors."""
        return report.cells(self)

    def notes(self) -> list[str]:
        """Explain the errors, and why the result is doubtful if it is."""
        return [report.ERRORS, *([f"{report.DOUBTFUL}: {report.doubt_words(self)}."] if self.doubtful else [])]

    @property
    def answer(self) -> str:
        """The answer in a sentence: how many centers, and where most people are."""
        return report.answer(self)

    def sentences(self) -> list[str]:
        """Explain how the answer came about and what it cost."""
        return report.story(self)

    def explain(self) -> str:
        """Explain what was spent where, how much each group decided, and how uncertain the centers are."""
        forged = implausible_words(self.implausible_reports, self.n_answered)
        return "\n".join([*forged, *self.sentences()])

    def drawing(self) -> str:
        """Draw the centers with their uncertainty as SVG."""
        return report.drawing(self)

    def to_html(self) -> str:
        """Make a page that stands alone: warnings, the answer, the centers, and the explanation."""
        return report.page(self)

    def plot(self, path: Path | str | None = None, *, dimensions: tuple[int, int] = (0, 1)) -> "Figure":
        """Draw the centers with ellipses of their uncertainty (95 %), in two of the dimensions; .png, .svg or .pdf."""
        from hybriddp.figures.kmeans import draw_centers

        return draw_centers(self, None if path is None else Path(path), dimensions)

    @staticmethod
    def plot_parts(parts: Sequence[Any], path: Path | str | None = None) -> "Figure":
        """Draw the centers of the only part: a K-means study is about everybody."""
        figure: Figure = parts[0].plot(path)
        return figure

    def _summary(self) -> str:
        return f"{len(self.centers):,} centers in {self.study.box.n_dimensions:,} dimensions"

    def _meaning(self) -> list[str]:
        return []

    def _details(self) -> list[str]:
        return []


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None
