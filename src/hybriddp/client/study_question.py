"""What every study asks one person for, whatever that is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from hybriddp.distribution import DistributionStudy
from hybriddp.items import HeavyHitterStudy
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.mean import MeanStudy
from hybriddp.shares import FrequencyStudy

__all__ = ["OfferedStudy", "ReportedStudy", "StudyQuestion", "TrustedValue"]

ReportedStudy = MeanStudy | DistributionStudy | FrequencyStudy
"""What reports can be about."""

OfferedStudy = ReportedStudy | HeavyHitterStudy | KMeansStudy
"""What people can take part in."""


@dataclass(frozen=True, slots=True, repr=False)
class TrustedValue:
    """What somebody trusts the curator with: as the integer that is committed to, and as it is sent."""

    integer: int
    sent: float | str | tuple[float, ...]


class StudyQuestion(ABC):
    """What a study asks one person for."""

    kind: ClassVar[str]
    noun: ClassVar[str]
    added: ClassVar[str]
    known: ClassVar[str] = ""
    """What the curator gets of somebody who trusts, if that is less than the noun says."""
    study: Any  # each kind has its own

    @property
    def reported(self) -> OfferedStudy:
        """The study that a report is about: this one, or the question about its list."""
        asked: OfferedStudy = self.study
        return asked

    @property
    def text(self) -> str:
        """The study's text, as devices get it."""
        text: str = self.study.device_json()
        return text

    @property
    def codes(self) -> tuple[int, int]:
        """The smallest and the largest code that a device can send."""
        least, most = self.reported.reports_between  # type: ignore[union-attr]  # those without have their own
        return least, most

    @abstractmethod
    def sentence(self) -> str:
        """Describe what is asked, to follow the name of the organization."""

    @abstractmethod
    def code(self, value: object) -> int:
        """Draw the code of one report."""

    @abstractmethod
    def trusted(self, value: object) -> TrustedValue:
        """Return a value as it is trusted.

        Raises `DataError`, which does not show the value, if the value is not valid.
        """

    @abstractmethod
    def received(self, sent: float | str) -> int:
        """Return the integer that the curator takes a value for.

        Raises `ProtocolError` if the value has a wrong type, and `DataError` if there is no integer for it.
        """
