"""Studies of a distribution, for quantiles, on the server."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from hybriddp.channels.masked import N_BINS
from hybriddp.distribution.study import DistributionStudy
from hybriddp.errors import DataError, ProtocolError
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service.kinds.kind import Gathered, Released, StudyKind
from hybriddp.service.pages.quantiles import curator_quantiles_page, quantiles_page
from hybriddp.service.problems import Refusal
from hybriddp.service.store.sums import CategorySums
from hybriddp.study.summary import LocalSummary, TrustedSummary


@dataclass(frozen=True)
class DistributionKind(StudyKind):
    """A study of a distribution: contributions are codes and bins, and there is one release.

    The integer of a trusted contribution is the number of the bin that the value is in, from 0 to 255. The bins'
    counts are all that the release needs: its 16 coarse counts are sums of them.
    """

    study: DistributionStudy
    name: ClassVar[str] = "distribution"

    def __post_init__(self) -> None:
        if self.study.users is not None:
            raise ProtocolError("The server takes studies of everybody, not of a part of the users.")

    @property
    def sums(self) -> CategorySums:
        """Counts of codes, and counts of bins."""
        return CategorySums(N_BINS)

    def report(self, code: int) -> int:
        """Check a report and return it, a pattern and a code in one number.

        Numbers that no device can send are refused.
        """
        most = self.study.channel.n_codes - 1
        if not 0 <= code <= most:
            raise Refusal("out-of-range", f"code must be a whole number from 0 to {most}.")
        return code

    def value(self, value: float | str | Sequence[float]) -> int:
        """Return the bin of a finite value.

        A value beyond the bounds counts as the nearer bound.
        """
        if not isinstance(value, float | int):
            raise Refusal("malformed", "value must be a number: this is a study of a distribution.")
        return self.study.bins.of_value(value)

    def implausible(self, gathered: Gathered) -> int:
        """At least so many local reports did not come out of the study's channel."""
        return self.study.implausible(self._local(gathered))

    def release(
        self, gathered: Gathered, *, single_group: bool, ledger: Ledger | None, warning: str | None = None
    ) -> Released:
        """Release the distribution once.

        Without a ledger, the study was charged to everybody when it opened.
        """
        estimate = self.study.estimate(
            trusted=self._trusted(gathered), local=self._local(gathered), single_group=single_group, ledger=ledger
        )
        if ledger is None:
            estimate = replace(estimate, privacy=replace(estimate.privacy, counted=True))
        published = estimate.to_dict()
        if warning is not None:
            published["warnings"] = [warning, *published["warnings"]]
        warnings = published["warnings"]
        return Released(
            {"estimate": published, "answer": str(estimate)},
            quantiles_page(estimate, warnings=warnings),
            curator_quantiles_page(estimate, warnings=warnings),
        )

    def _trusted(self, gathered: Gathered) -> TrustedSummary:
        counts = self.sums.counts(gathered.total)
        if sum(counts) != gathered.n_trusted:
            raise DataError("The counts of the trusted group do not add up to its size. Nothing was released.")
        return TrustedSummary(self.digest, gathered.n_trusted, counts)

    def _local(self, gathered: Gathered) -> LocalSummary:
        counts = tuple(gathered.tally.get(code, 0) for code in range(self.study.channel.n_codes))
        return LocalSummary.of_codes(self.digest, counts, tied=True)
