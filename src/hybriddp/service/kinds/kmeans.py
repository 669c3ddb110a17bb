"""K-means on the server: people enroll, then the local group is asked in rounds, each person in one of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hybriddp._check import FloatArray
from hybriddp.errors import DataError
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.study import KMeansStudy, integer_of_units, units_of, values_of
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.reporting.wording import counted
from hybriddp.service.kinds.kind import Gathered, Released, StudyKind
from hybriddp.service.pages.clusters import clusters_page, curator_clusters_page
from hybriddp.service.problems import Refusal
from hybriddp.service.store.point_sums import PointSums

ENROLLED = 0
"""The integer of a local person who enrolls: it says no more than that they do."""
_ROUNDS_FIRST = "The study has rounds, which are to be asked before its release: POST /studies/{id}/round."
_NO_REPORTS = "This study asks local participants in rounds. Enroll first, and answer when it is your turn."


@dataclass(frozen=True)
class KMeansKind(StudyKind):
    """A study of K-means: points of trusted people, answers of local people, and a release after each round.

    The integer of a trusted contribution is the number whose bytes are 1 and, for each dimension, the units of the
    coordinate in four bytes; `Grid` says which units. That of a local person who enrolls is 0.
    """

    study: KMeansStudy
    name: ClassVar[str] = "kmeans"
    steps: ClassVar[tuple[str, ...]] = ("rounds", "release")
    min_group_size: ClassVar[int] = 2

    @property
    def title(self) -> str:
        """What the study is about."""
        return self.study.name

    @property
    def sums(self) -> PointSums:
        """Points, and how many have enrolled."""
        return PointSums(self.study.box.n_dimensions)

    def report(self, code: int) -> int:  # noqa: ARG002
        """Nothing: answers are about rounds."""
        raise Refusal("malformed", _NO_REPORTS)

    def value(self, value: float | str | Sequence[float]) -> int:
        """Return the integer of a point.

        A coordinate beyond its bounds counts as the nearer bound.
        """
        d = self.study.box.n_dimensions
        if isinstance(value, (str, int, float)) or len(value) != d:
            raise Refusal("malformed", f"value must be a list of {d} numbers, one for each dimension of the study.")
        if not all(map(math.isfinite, value)):
            raise Refusal("out-of-range", "value must have finite numbers only.")
        return integer_of_units(units_of(self.study.box, value))

    def points(self, gathered: Gathered) -> FloatArray | None:
        """Return the points of the trusted group, or None if the group is empty.

        The points are in the units of the data.
        """
        if not gathered.n_trusted:
            return None
        units = self.sums.units(gathered.total)
        if len(units) != gathered.n_trusted:
            raise DataError("The points of the trusted group are not as many as its people. Nothing was released.")
        return values_of(self.study.box, units)

    def too_few(self, n_trusted: int, n_local: int) -> str:
        """Explain why there are too few people for the clusters, or return an empty text."""
        needed, people = self.study.n_clusters, counted(n_trusted + n_local, "participant", "has", "have")
        enrolled = f"{people} enrolled, and {needed:,} clusters need {needed:,}."
        return enrolled if n_trusted + n_local < needed else ""

    def release(
        self,
        gathered: Gathered,  # noqa: ARG002  (of no use here, nor is the rest)
        *,
        single_group: bool,  # noqa: ARG002
        ledger: Ledger | None,  # noqa: ARG002
        warning: str | None = None,  # noqa: ARG002
    ) -> Released:
        """Nothing: rounds come first, and then `clusters`."""
        raise Refusal("refused", _ROUNDS_FIRST)

    def clusters(
        self, server: HybridKMeansServer, *, counted: bool, warning: str | None, dimensions: Sequence[str] = ()
    ) -> Released:
        """Release the centers of a study whose rounds have ended; ``counted`` if its ε is in a ledger."""
        result = replace(server.result, columns=tuple(dimensions))
        if counted:
            result = replace(result, privacy=replace(result.privacy, counted=True))
        published: dict[str, Any] = {**result.to_dict(), "rejected": server.rejected}
        if warning is not None:
            published["warnings"] = [warning, *published["warnings"]]
        warnings = published["warnings"]
        return Released(
            {"estimate": published, "answer": f"{result.title}: {result.answer}"},
            clusters_page(result, warnings=warnings),
            curator_clusters_page(result, warnings=warnings),
        )
