"""What a study of K-means asks one person for: a point."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybriddp.client.plain import one_line
from hybriddp.client.study_question import StudyQuestion, TrustedValue
from hybriddp.errors import ProtocolError
from hybriddp.grid import as_floats
from hybriddp.kmeans.study import KMeansStudy, integer_of_units, units_of, values_of
from hybriddp.reporting.wording import significant

__all__ = ["PointQuestion"]

_SHOWN = 12  # dimensions whose bounds a promise names


@dataclass(frozen=True, slots=True)
class PointQuestion(StudyQuestion):
    """A study of K-means asks for a point; the local group is asked in rounds, each person in one of them."""

    study: KMeansStudy
    kind: ClassVar[str] = "kmeans"
    noun: ClassVar[str] = "point"
    added: ClassVar[str] = "keeps it, encrypted, until the study ends, deletes it then,"

    @property
    def text(self) -> str:
        """The study's text, as devices get it."""
        return self.study.to_json()

    @property
    def codes(self) -> tuple[int, int]:
        """Whoever enrolls sends no code."""
        return 0, 0

    def sentence(self) -> str:
        """Describe what is asked, to follow the name of the organization."""
        bounds = self.study.box.bounds
        ranges = "; ".join(f"from {significant(low, 6)} to {significant(high, 6)}" for low, high in bounds[:_SHOWN])
        more = f"; and {len(bounds) - _SHOWN:,} more" if len(bounds) > _SHOWN else ""
        numbers = f"{len(bounds):,} number{'s' if len(bounds) > 1 else ''}"
        return (
            f"asks for a point of {numbers}: {one_line(self.study.name)}, {ranges}{more}. Numbers outside count as the "
            "nearer bound. Those who do not trust are asked once, in a round that a hash of their name chooses."
        )

    def code(self, value: object) -> int:  # noqa: ARG002
        """Nothing: whoever reports enrolls first, and answers a round later."""
        raise ProtocolError("This study asks in rounds. Call enroll() now, and answer(point) when it is your turn.")

    def trusted(self, value: object) -> TrustedValue:
        """Return the integer of a point, and the point on the study's grid.

        The curator turns the point on the grid into the same integer.
        """
        point = [float(x) for x in as_floats(value)] if np.ndim(value) == 1 else []  # type: ignore[arg-type]
        units = units_of(self.study.box, point)
        sent = tuple(float(x) for x in values_of(self.study.box, [units])[0])
        if units_of(self.study.box, sent) != units:  # a tie, where floats are as far apart as units
            pairs = zip(point, self.study.box.bounds, strict=True)
            sent = tuple(min(max(x, low), high) for x, (low, high) in pairs)
        return TrustedValue(integer_of_units(units), sent)

    def received(self, sent: float | str | Sequence[float]) -> int:
        """Return the integer of a point."""
        if isinstance(sent, str | float | int):
            raise ProtocolError("The value must be a point.")
        return integer_of_units(units_of(self.study.box, sent))
