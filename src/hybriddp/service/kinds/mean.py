"""Studies of a mean on the server."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from hybriddp.channels.window import WindowChannel
from hybriddp.errors import ProtocolError
from hybriddp.mean.explain import published_rows
from hybriddp.mean.plausible import implausible_reports, spread_is_refuted
from hybriddp.mean.study import MeanStudy
from hybriddp.mean.summary import LocalSummary, TrustedSummary
from hybriddp.release.ledger import Ledger
from hybriddp.service.kinds.kind import Gathered, Released, StudyKind
from hybriddp.service.pages.intervals import STYLE, interval_blocks
from hybriddp.service.pages.result import result_page
from hybriddp.service.problems import Refusal
from hybriddp.service.store.sums import UNIT_SUMS, UnitSums


@dataclass(frozen=True)
class MeanKind(StudyKind):
    """A study of a mean: contributions are codes and units, and there is one release."""

    study: MeanStudy
    name: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        if not isinstance(self.study.channel, WindowChannel):
            raise ProtocolError('The server takes studies with channel="window": their reports are one byte each.')
        if self.study.users is not None:
            raise ProtocolError("The server takes studies of everybody, not of a part of the users.")

    @property
    def device_text(self) -> str:
        """The text that devices get."""
        return self.study.device_json()

    @property
    def sums(self) -> UnitSums:
        """Counts of codes, and a sum of units."""
        return UNIT_SUMS

    @cached_property
    def _codes(self) -> tuple[int, int]:
        return self.study.reports_between

    def report(self, code: int) -> int:
        """The code, if a device can have sent it."""
        least, most = self._codes
        if not least <= code <= most:
            raise Refusal("out-of-range", f"code must be a whole number from {least} to {most}.")
        return code

    def value(self, value: float | str | Sequence[float]) -> int:
        """A finite value in units; beyond the bounds it counts as the nearer one."""
        if not isinstance(value, float | int):
            raise Refusal("malformed", "value must be a number: this is a study of a mean.")
        return int(self.study.grid.place([value]).units[0])

    def _local(self, gathered: Gathered) -> LocalSummary:
        _, most = self._codes
        return LocalSummary(self.digest, tuple(gathered.tally.get(code, 0) for code in range(most + 1)), tied=True)

    def implausible(self, gathered: Gathered) -> int:
        """At least so many local reports did not come out of the study's channel."""
        return implausible_reports(self.study, self._local(gathered))

    def release(
        self, gathered: Gathered, *, single_group: bool, ledger: Ledger | None, warning: str | None = None
    ) -> Released:
        """The mean, once. Without a ledger it was charged to everybody when the study opened."""
        digest, local = self.study.digest, self._local(gathered)
        # Nobody can say something else once a study is closed, and what people send must not stop its release.
        refuted = spread_is_refuted(self.study, local)
        study = MeanStudy.from_json(self.device_text) if refuted else self.study
        estimate = study.estimate(
            trusted=TrustedSummary(digest, gathered.n_trusted, gathered.total),
            local=local,
            single_group=single_group,
            ledger=ledger,
        )
        if refuted:
            estimate = replace(estimate, refuted_sd=self.study.sd_at_most)
        if ledger is None:
            estimate = replace(estimate, privacy=replace(estimate.privacy, counted=True))
        published = estimate.to_dict()
        if warning is not None:
            published["warnings"] = [warning, *published["warnings"]]
        page = result_page(
            self.study.title,
            str(estimate).splitlines()[-1],  # behind the warnings
            warnings=published["warnings"],
            promise=str(estimate.privacy),
            n_trusted=estimate.n_trusted,
            n_local=estimate.n_local,
            drawing=interval_blocks(estimate),
            style=STYLE,
        )
        *groups, _ = published_rows(estimate)
        alone = [{"group": row.name.split()[0], "value": row.value, "interval_95": [*row.interval]} for row in groups]
        result = {"estimate": published, "groups": alone, "answer": str(estimate)}
        return Released(result, page, estimate.to_html())
