"""Studies of a mean on the server."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from hybriddp.errors import ProtocolError
from hybriddp.mean.estimate import Estimate
from hybriddp.mean.explain import published_rows
from hybriddp.mean.plausible import spread_is_refuted
from hybriddp.mean.study import MeanStudy
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service.kinds.kind import Gathered, Released, StudyKind
from hybriddp.service.pages.intervals import STYLE, interval_blocks
from hybriddp.service.pages.result import result_page
from hybriddp.service.problems import Refusal
from hybriddp.service.store.part_sums import PartSums
from hybriddp.service.store.sums import UNIT_SUMS, UnitSums
from hybriddp.study.summary import LocalSummary, TrustedSummary
from hybriddp.study.users import StudyParts


@dataclass(frozen=True)
class MeanKind(StudyKind):
    """A study of a mean: contributions are codes and units, and there is one release."""

    study: MeanStudy
    parts: StudyParts | None = None
    name: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        if self.study.users is not None:
            raise ProtocolError("The server takes studies of everybody, not of a part of the users.")

    @property
    def device_text(self) -> str:
        """The text that devices get."""
        return self.study.device_json()

    @property
    def sums(self) -> UnitSums | PartSums:
        """Counts of codes, and a sum of units; of each part, if there are parts."""
        return UNIT_SUMS if self.parts is None else self.part_sums

    @cached_property
    def part_sums(self) -> PartSums:
        """The sums of each part."""
        if self.parts is None:
            raise ProtocolError("The study is one of everybody: it has no parts.")
        return PartSums(len(self.parts.names), self.study.n_codes)

    @cached_property
    def _codes(self) -> tuple[int, int]:
        return self.study.reports_between

    def report(self, code: int) -> int:
        """Check a report and return its code.

        Codes that no device can send are refused.
        """
        least, most = self._codes
        if not least <= code <= most:
            raise Refusal("out-of-range", f"code must be a whole number from {least} to {most}.")
        return code

    def value(self, value: float | str | Sequence[float]) -> int:
        """Convert a finite value into units.

        A value beyond the bounds counts as the nearer bound.
        """
        if not isinstance(value, float | int):
            raise Refusal("malformed", "value must be a number: this is a study of a mean.")
        return int(self.study.grid.place([value]).units[0])

    def implausible(self, gathered: Gathered) -> int:
        """At least so many local reports did not come out of the study's channel, which all parts share."""
        tally: Counter[int] = Counter()
        for code, count in gathered.tally.items():
            tally[code % self.study.n_codes] += count if code >= 0 else 0
        return self.study.implausible(self.summaries(replace(gathered, tally=tally), self.study)[1])

    def release(
        self, gathered: Gathered, *, single_group: bool, ledger: Ledger | None, warning: str | None = None
    ) -> Released:
        """Release the mean once.

        Without a ledger, the study was charged to everybody when it opened.
        """
        trusted, local = self.summaries(gathered, self.study)
        study = self.plausible_study([local])
        estimate = study.estimate(trusted=trusted, local=local, single_group=single_group, ledger=ledger)
        estimate = self.told(estimate, local, counted=ledger is None)
        published = estimate.to_dict()
        if warning is not None:
            published["warnings"] = [warning, *published["warnings"]]
        page = result_page(
            self.study.title,
            estimate.answer,
            warnings=published["warnings"],
            promise=str(estimate.privacy),
            n_trusted=estimate.n_trusted,
            n_local=estimate.n_local,
            drawing=interval_blocks(estimate),
            style=STYLE,
        )
        *groups, _ = published_rows(estimate)
        result = {"estimate": published, "groups": [row.to_dict() for row in groups], "answer": str(estimate)}
        return Released(result, page, estimate.to_html())

    def summaries(self, gathered: Gathered, study: MeanStudy) -> tuple[TrustedSummary, LocalSummary]:
        """Summarize both groups' contributions to the study, or to the study of a part."""
        counts = tuple(gathered.tally.get(code, 0) for code in range(self.study.n_codes))
        local = LocalSummary.of_codes(study.digest, counts, tied=True)
        return TrustedSummary(study.digest, gathered.n_trusted, (gathered.total,)), local

    def plausible_study(self, reports: Iterable[LocalSummary]) -> MeanStudy:
        """Return the study, without its assumption about the spread if reports refute it.

        The assumption cannot be changed once a study is closed, and forged reports must not stop the release.
        """
        refuted = any(spread_is_refuted(self.study, local) for local in reports)
        return MeanStudy.from_json(self.device_text) if refuted else self.study

    def told(self, estimate: Estimate, local: LocalSummary, *, counted: bool) -> Estimate:
        """Return the estimate, marked if its reports refuted the assumed spread.

        ``counted`` means that the study has been charged to everybody already.
        """
        if spread_is_refuted(self.study, local):
            estimate = replace(estimate, refuted_sd=self.study.sd_at_most)
        return replace(estimate, privacy=replace(estimate.privacy, counted=True)) if counted else estimate
